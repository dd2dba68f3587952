//! What a home promises, a function each. A home is asked all of it by `every_case!(Stage)`, here
//! and in the tests that have a Postgres, which take this file as it is.

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
    Asked, Candidates, Filter, Hit, Home, Piece, Place, Question, Text,
};
use super::index::{
    chunk::Kind,
    terms::{AVERAGE, Term, Terms},
};
use super::store::{Blob, Shelf};

pub(crate) mod filters;
pub(crate) mod keeping;
pub(crate) mod ranking;
pub(crate) mod tenants;

/// A home as the cases need it: prepared, empty, and for a test alone.
pub(crate) trait Stage: Sized {
    /// One that keeps vectors of so many numbers; `None`: words alone.
    fn start(dimensions: Option<usize>) -> LocalBoxFuture<'static, Self>;

    fn home(&self) -> &dyn Home;

    /// Removes what was kept.
    fn end(self) -> LocalBoxFuture<'static, ()>;
}

/// Runs a case in a home of its own, and removes what it kept even if it fails.
pub(crate) async fn play<S: Stage>(
    dimensions: Option<usize>,
    case: impl for<'a> FnOnce(&'a dyn Home) -> BoxFuture<'a, ()>,
) {
    let stage = S::start(dimensions).await;
    let outcome = AssertUnwindSafe(case(stage.home())).catch_unwind().await;
    stage.end().await;
    if let Err(failed) = outcome {
        resume_unwind(failed);
    }
}

/// Every case as a test of a home, which the stage makes.
macro_rules! every_case {
    ($stage:path) => {
        every_case! { $stage, Some(2);
            ranking::an_empty_home_finds_and_counts_nothing
            ranking::the_nearest_by_vector_come_first_with_their_cosines
            ranking::words_are_ranked_by_bm25
            ranking::a_rare_word_tells_more_than_a_common_one
            ranking::a_word_that_is_asked_twice_counts_once
            ranking::no_more_are_found_than_asked_for_and_those_are_the_best
            ranking::a_question_without_vector_or_words_finds_by_the_other
            ranking::chunks_without_vector_or_words_are_found_by_the_other
            ranking::what_is_found_stands_where_it_was_kept
            filters::only_the_kinds_and_blobs_that_are_asked_for_are_found
            filters::a_filter_changes_no_score
            filters::a_filter_that_lets_nothing_be_finds_nothing
            filters::of_a_great_many_blobs_none_is_passed_over
            keeping::what_is_kept_twice_is_there_once
            keeping::a_text_that_is_kept_anew_loses_its_former_chunks
            keeping::a_text_without_chunks_is_forgotten
            keeping::a_blob_that_is_removed_is_gone_and_no_other
            keeping::what_is_not_there_can_be_removed
            keeping::a_great_many_chunks_are_all_kept
            keeping::two_who_keep_the_same_at_once_keep_it_once
            tenants::no_tenant_finds_counts_or_removes_what_is_anothers
            tenants::words_of_other_tenants_change_no_score
            tenants::only_the_projects_that_are_asked_are_searched
            tenants::words_are_as_rare_as_in_all_projects_that_are_asked
            tenants::a_blob_of_two_projects_is_in_each_by_itself
        }
        every_case! { $stage, None;
            ranking::a_home_of_words_finds_by_them_alone
        }
    };
    ($stage:path, $dimensions:expr; $($file:ident::$case:ident)*) => {$(
        #[tokio::test]
        async fn $case() {
            super::cases::play::<$stage>($dimensions, |home| {
                Box::pin(super::cases::$file::$case(home))
            })
            .await;
        }
    )*};
}

/// How often projects were made whole.
static EDITION: AtomicI64 = AtomicI64::new(1);

pub(crate) fn shelf(tenant: u128, project: u128) -> Shelf {
    Shelf {
        tenant: Uuid::from_u128(tenant),
        project: Uuid::from_u128(project),
    }
}

fn blob(number: u32) -> Blob {
    let mut blob = [0; 20];
    blob[..4].copy_from_slice(&number.to_be_bytes());
    blob
}

/// A chunk of these words, whose vector has this angle.
pub(crate) fn piece(degrees: f32, words: &[(Term, u16)]) -> Piece {
    let (y, x) = degrees.to_radians().sin_cos();
    Piece {
        place: Place {
            kind: Kind::Function,
            symbol: Some("f".to_owned()),
            parent: None,
            bytes: (0, 10),
            lines: (1, 2),
        },
        terms: Terms {
            counts: words.to_vec(),
            length: words.iter().map(|(_, count)| u32::from(*count)).sum(),
        },
        dense: Some(vec![x, y]),
    }
}

pub(crate) fn text(number: u32, pieces: Vec<Piece>) -> Text {
    Text {
        blob: blob(number),
        pieces,
    }
}

async fn keep(home: &dyn Home, shelf: Shelf, texts: &[Text]) {
    home.upsert(shelf, texts).await.unwrap();
}

/// What is nearest to 0 degrees and these words.
pub(crate) fn question(terms: &[Term]) -> Question {
    Question {
        dense: Some(vec![1.0, 0.0]),
        terms: terms.to_vec(),
        filter: Filter::default(),
        most: 10,
        deadline: Instant::now() + Duration::from_secs(20),
    }
}

async fn ask(home: &dyn Home, shelf: Shelf, question: &Question) -> Candidates {
    ask_all(home, &[shelf], question).await
}

/// Asks several projects of one tenant.
async fn ask_all(home: &dyn Home, shelves: &[Shelf], question: &Question) -> Candidates {
    // Each project may have changed since it was asked last.
    let edition = EDITION.fetch_add(1, Ordering::Relaxed);
    let store = home.identity().await.unwrap().unwrap();
    let mut asked = Vec::new();
    for shelf in shelves {
        asked.push(Asked {
            project: shelf.project,
            edition,
            home: store,
            chunks: home.count(*shelf).await.unwrap(),
        });
    }
    let tenant = shelves.first().map_or(Uuid::nil(), |shelf| shelf.tenant);
    home.nearest(tenant, &asked, question).await.unwrap()
}

/// Which chunks, best first: the number of the blob and the position in it.
fn found(hits: &[Hit]) -> Vec<(u32, u32)> {
    let chunk = |hit: &Hit| {
        let number = hit.blob.first_chunk().copied().unwrap();
        (u32::from_be_bytes(number), hit.position)
    };
    hits.iter().map(chunk).collect()
}

fn scores(hits: &[Hit]) -> Vec<f32> {
    hits.iter().map(|hit| hit.score).collect()
}

/// Within what numbers of 8 bits lose.
fn near(found: &[f32], expected: &[f32]) {
    let pairs = found.iter().zip(expected);
    let far = pairs.filter(|(a, b)| (**a - **b).abs() > 0.01).count();
    let same = found.len() == expected.len() && far == 0;
    assert!(same, "{found:?} is not {expected:?}");
}

/// BM25 of one word: how often it is in a chunk of so many words, and in how many of all chunks.
fn bm25(count: u16, words: u16, with: u16, all: u16) -> f32 {
    let (count, with, all) = (f32::from(count), f32::from(with), f32::from(all));
    let length = f32::from(words) / AVERAGE;
    let rarity = ((all - with + 0.5) / (with + 0.5) + 1.0).ln();
    rarity * count * 2.5 / (count + 1.5 * (0.25 + 0.75 * length))
}
