//! The contract of a store, one function per clause. `every_case!(Fixture)` turns them into tests of
//! one store: here, and in the end-to-end tests of the Postgres store, which include this file.

use std::{
    panic::{AssertUnwindSafe, resume_unwind},
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, LocalBoxFuture},
};
use tokio::time::Instant;
use uuid::Uuid;

use super::index::vector_store::{
    AllowedBlobs, Candidates, ChunkLocation, Filter, Hit, IndexedChunk, IndexedText, NearestQuery,
    SearchedProject, VectorStore,
};
use super::index::{
    chunk::{DeclarationPlace, Kind},
    terms::{AVERAGE, Term, Terms},
};
use super::store::{Blob, ProjectKey};

pub(crate) mod filters;
pub(crate) mod storing;
pub(crate) mod ranking;
pub(crate) mod tenants;

/// A prepared, empty store for a single test.
pub(crate) trait StoreFixture: Sized {
    /// A store for vectors of this many dimensions; `None`: for words alone.
    fn start(dimensions: Option<usize>) -> LocalBoxFuture<'static, Self>;

    fn store(&self) -> &dyn VectorStore;

    /// Removes what the test stored.
    fn end(self) -> LocalBoxFuture<'static, ()>;
}

/// Runs a case in a store of its own, and cleans up even if it fails.
pub(crate) async fn run_case<S: StoreFixture>(
    dimensions: Option<usize>,
    case: impl for<'a> FnOnce(&'a dyn VectorStore) -> BoxFuture<'a, ()>,
) {
    let fixture = S::start(dimensions).await;
    let outcome = AssertUnwindSafe(case(fixture.store())).catch_unwind().await;
    fixture.end().await;
    if let Err(failed) = outcome {
        resume_unwind(failed);
    }
}

/// Turns every case into a test of the fixture's store.
macro_rules! every_case {
    ($fixture:path) => {
        every_case! { $fixture, Some(2);
            ranking::an_empty_store_has_no_matches_and_no_chunks
            ranking::the_nearest_by_vector_come_first_with_their_cosines
            ranking::words_are_ranked_by_bm25
            ranking::a_rare_word_weighs_more_than_a_common_one
            ranking::a_repeated_query_word_counts_once
            ranking::results_are_the_best_within_the_limit
            ranking::a_query_without_vector_or_words_uses_the_other
            ranking::chunks_without_vector_or_words_match_by_the_other
            ranking::locations_are_returned_as_stored
            filters::only_chunks_that_pass_the_filter_match
            filters::a_filter_changes_no_score
            filters::a_filter_without_values_matches_nothing
            filters::a_filter_of_many_blobs_misses_none
            storing::storing_a_text_twice_keeps_one_copy
            storing::a_replaced_text_loses_its_old_chunks
            storing::a_text_without_chunks_replaces_its_old_chunks
            storing::removing_a_blob_keeps_the_others
            storing::removing_a_missing_blob_is_no_error
            storing::many_chunks_are_all_stored
            storing::concurrent_writes_of_a_text_keep_one_copy
            tenants::tenants_cannot_find_count_or_remove_anothers_chunks
            tenants::words_of_other_tenants_change_no_score
            tenants::only_the_named_projects_are_searched
            tenants::document_frequencies_span_the_searched_projects
            tenants::projects_store_a_shared_blob_separately
        }
        every_case! { $fixture, None;
            ranking::a_store_without_vectors_ranks_by_words
        }
    };
    ($fixture:path, $dimensions:expr; $($file:ident::$case:ident)*) => {$(
        #[tokio::test]
        async fn $case() {
            super::cases::run_case::<$fixture>($dimensions, |store| {
                Box::pin(super::cases::$file::$case(store))
            })
            .await;
        }
    )*};
}

/// Counts editions of projects.
static EDITION: AtomicI64 = AtomicI64::new(1);

pub(crate) fn project_key(tenant: u128, project: u128) -> ProjectKey {
    ProjectKey {
        tenant: Uuid::from_u128(tenant),
        project: Uuid::from_u128(project),
    }
}

fn blob(number: u32) -> Blob {
    let mut blob = [0; 20];
    blob[..4].copy_from_slice(&number.to_be_bytes());
    blob
}

/// A chunk with these word counts, whose vector has this angle.
pub(crate) fn chunk_at(degrees: f32, words: &[(Term, u16)]) -> IndexedChunk {
    let (y, x) = degrees.to_radians().sin_cos();
    IndexedChunk {
        location: ChunkLocation {
            kind: Kind::Function,
            symbol: Some("f".to_owned()),
            parent: None,
            bytes: (0, 10),
            lines: (1, 2),
            declaration: None,
        },
        terms: Terms {
            counts: words.to_vec(),
            length: words.iter().map(|(_, count)| u32::from(*count)).sum(),
        },
        dense: Some(vec![x, y]),
    }
}

pub(crate) fn text(number: u32, chunks: Vec<IndexedChunk>) -> IndexedText {
    IndexedText {
        blob: blob(number),
        chunks,
    }
}

async fn upsert(store: &dyn VectorStore, project_key: ProjectKey, texts: &[IndexedText]) {
    store.upsert(project_key, texts).await.unwrap();
}

/// A query by these words and the vector at 0 degrees.
pub(crate) fn query(terms: &[Term]) -> NearestQuery {
    NearestQuery {
        dense: Some(vec![1.0, 0.0]),
        terms: terms.to_vec(),
        filter: Filter::default(),
        limit: 10,
        required: None,
        deadline: Instant::now() + Duration::from_secs(20),
    }
}

async fn search(
    store: &dyn VectorStore,
    project_key: ProjectKey,
    query: &NearestQuery,
) -> Candidates {
    search_all(store, &[project_key], query).await
}

/// Searches several projects of one tenant.
async fn search_all(
    store: &dyn VectorStore,
    project_keys: &[ProjectKey],
    query: &NearestQuery,
) -> Candidates {
    // A new edition, since the projects may have changed.
    let edition = EDITION.fetch_add(1, Ordering::Relaxed);
    let id = store.identity().await.unwrap().unwrap();
    let mut projects = Vec::new();
    for project_key in project_keys {
        projects.push(SearchedProject {
            project: project_key.project,
            edition,
            store_id: id,
            chunks: store.count(*project_key).await.unwrap(),
        });
    }
    let tenant = project_keys
        .first()
        .map_or(Uuid::nil(), |project_key| project_key.tenant);
    store.nearest(tenant, &projects, query).await.unwrap()
}

/// The number of each chunk's blob, and its position in it.
fn identities(hits: &[Hit]) -> Vec<(u32, u32)> {
    let chunk = |hit: &Hit| {
        let number = hit.blob.first_chunk().copied().unwrap();
        (u32::from_be_bytes(number), hit.position)
    };
    hits.iter().map(chunk).collect()
}

fn scores(hits: &[Hit]) -> Vec<f32> {
    hits.iter().map(|hit| hit.score).collect()
}

/// Asserts equality within the rounding of 8-bit numbers.
fn near(found: &[f32], expected: &[f32]) {
    let pairs = found.iter().zip(expected);
    let far = pairs.filter(|(a, b)| (**a - **b).abs() > 0.01).count();
    let same = found.len() == expected.len() && far == 0;
    assert!(same, "{found:?} is not {expected:?}");
}

/// BM25 of a word that occurs `count` times in a chunk of `words` words, and in `with` of `all` chunks.
fn bm25(count: u16, words: u16, with: u16, all: u16) -> f32 {
    let (count, with, all) = (f32::from(count), f32::from(with), f32::from(all));
    let length = f32::from(words) / AVERAGE;
    let rarity = ((all - with + 0.5) / (with + 0.5) + 1.0).ln();
    rarity * count * 2.5 / (count + 1.5 * (0.25 + 0.75 * length))
}
