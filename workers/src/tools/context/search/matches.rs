//! Queries the index and ranks its matches, before any content is read.

use std::sync::Arc;

use archway_index::fuse::Candidate;
use archway_index::search::{SearchQuery, SearchResults, SearchableIndex, VectorUse};
use archway_index::vector_store::VectorStoreError;
use archway_proto::{chain::Chain, failure::Failure, fault::Fault};
use archway_store::{IndexRow, Source, StoreError};
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::filter::Filter;
use super::ranked::{Ranked, ranked, with_notes};
use super::request::SearchRequest;
use super::scope::{LeftOut, SearchScope, WhyLeftOut};
use crate::tools::ToolContext;

/// Maximum number of results, shown or not.
const MAX_RESULTS: usize = 200;
/// Projects whose documents are read at once, where they are not cached.
const CONCURRENT_READS: usize = 4;

/// The ranked matches of the index.
pub(super) struct IndexMatches {
    pub(super) ranked: Vec<Ranked>,
    pub total: usize,
    /// The state of the index of the current project; the default if there is none.
    pub(super) row: IndexRow,
    pub(super) is_hybrid: bool,
    pub(super) notes: Vec<&'static str>,
    /// Projects that were not searched.
    pub(super) left_out: LeftOut,
}

impl IndexMatches {
    /// Finds at most `limit` results in these projects.
    ///
    /// # Errors
    /// If the required project has no index yet, or the index can't be searched.
    pub(super) async fn of(
        cx: &ToolContext,
        scope: &SearchScope,
        request: &Arc<SearchRequest>,
        limit: usize,
    ) -> Result<IndexMatches, Failure> {
        let (mut indexes, mut left_out) = indexes(cx, scope).await?;
        let filter = Arc::new(Filter::of(cx, &scope.projects, request).await?);
        let mut found = find(cx, scope, &indexes, &filter, request).await?;
        if let Err(VectorStoreError::Lost { .. }) = found {
            // Reads them again: the lost ones are marked, and others may have changed meanwhile.
            (indexes, left_out) = self::indexes(cx, scope).await?;
            found = find(cx, scope, &indexes, &filter, request).await?;
        }
        let found = found.map_err(|error| not_searched(&error))?;
        for project in &scope.projects {
            if found.unsearched.contains(&project.id) {
                left_out.add(project, WhyLeftOut::Unsearched);
            }
        }
        let candidates = found.candidates.into_iter();
        let documented: Vec<DocumentMatch> = candidates
            .filter_map(|candidate| filter.documented(candidate, &indexes))
            .take(MAX_RESULTS)
            .collect();
        // A hidden match counts as no match. Otherwise the failure would reveal that it exists.
        if documented.is_empty() {
            words_only_failure(found.vectors).map_or(Ok(()), Err)?;
        }
        let total = documented.len();
        let is_hybrid = found.vectors == VectorUse::Used;
        let is_wordless = !documented.iter().any(|found| found.candidate.has_word);
        let ranked = ranked(cx, documented).await;
        let (mut ranked, all_read) = with_notes(cx, ranked, limit).await;
        filter.hide_closed(&mut ranked);
        let may_mean_files = total == 0 && request.note_kind.is_some();
        let notes = [
            (found.vectors == VectorUse::Unavailable, NO_EMBEDDER),
            (found.vectors == VectorUse::Incomplete, NO_VECTORS),
            (!all_read, UNREAD),
            (filter.is_cut, CUT),
            (is_hybrid && total > 0 && is_wordless, WORDLESS),
            (may_mean_files, FILES),
        ];
        let notes = notes.into_iter().filter(|(applies, _)| *applies);
        Ok(IndexMatches {
            ranked,
            total,
            row: row(scope, indexes),
            is_hybrid,
            notes: notes.map(|(_, note)| note).collect(),
            left_out,
        })
    }
}

/// The state of the current project's index, with the files left out of all indexes.
fn row(scope: &SearchScope, indexes: Vec<SearchableIndex>) -> IndexRow {
    let left_out = indexes.iter().map(|index| index.row.left_out).sum();
    let current = scope.current().map(|project| project.id);
    let mut indexes = indexes.into_iter();
    let row = indexes.find(|index| Some(index.project) == current);
    IndexRow {
        left_out,
        ..row.map(|index| index.row).unwrap_or_default()
    }
}

/// Queries the index of these projects.
async fn find(
    cx: &ToolContext,
    scope: &SearchScope,
    indexes: &[SearchableIndex],
    filter: &Arc<Filter>,
    request: &SearchRequest,
) -> Result<Result<SearchResults, VectorStoreError>, Failure> {
    // Documents that were closed after indexing must not displace open ones.
    let blobs = match request.is_filtered() || filter.is_newer(indexes) {
        true => Filter::blobs(filter, cx, indexes).await?,
        false => None,
    };
    let query = SearchQuery {
        text: &request.query,
        kinds: request.kinds.clone(),
        is_filtered: request.is_filtered(),
        blobs,
        required: scope.required().map(|project| project.id),
        deadline: cx.cancel().deadline,
    };
    Ok(cx.index().find(cx.tenant(), indexes, &query).await)
}

/// Returns the indexes of projects, and the projects without one.
async fn indexes(
    cx: &ToolContext,
    scope: &SearchScope,
) -> Result<(Vec<SearchableIndex>, LeftOut), Failure> {
    let ids: Vec<Uuid> = scope.projects.iter().map(|project| project.id).collect();
    let rows = cx.index().rows(cx.tenant(), &ids).await;
    let rows = rows.map_err(|error| index_unavailable(&error))?;
    let reads = scope.projects.iter().map(|project| {
        // A project whose indexing has not begun counts as not indexed.
        let row = rows.get(&project.id).cloned().unwrap_or_default();
        cx.index().searchable(cx.project_key(project), row)
    });
    let reads: Vec<_> = reads.collect();
    let mut reads = stream::iter(reads).buffered(CONCURRENT_READS);
    let (mut indexes, mut left_out) = (Vec::new(), LeftOut::default());
    let required = scope.required().map(|project| project.id);
    let until = read_until(cx, scope);
    for (at, project) in scope.projects.iter().enumerate() {
        let Ok(read) = timeout_at(until, reads.next()).await else {
            let unread = scope.projects.iter().skip(at);
            unread.for_each(|project| left_out.add(project, WhyLeftOut::Unsearched));
            break;
        };
        match read.transpose() {
            Ok(Some(Some(index))) => indexes.push(index),
            Ok(_) if Some(project.id) == required => {
                return Err(not_ready(rows.get(&project.id)));
            }
            Ok(_) => left_out.add(project, WhyLeftOut::NotIndexed),
            Err(error) if scope.is_all => {
                tracing::debug!(error = %Chain(&error), "the documents of a project could not be read");
                left_out.add(project, WhyLeftOut::Unsearched);
            }
            Err(error) => return Err(index_unavailable(&error)),
        }
    }
    match indexes.is_empty() {
        true => Err(not_ready(None)),
        false => Ok((indexes, left_out)),
    }
}

/// Until when documents are read. Of all projects, those that are not read in half of the time are left out: the others
/// still have to be searched.
fn read_until(cx: &ToolContext, scope: &SearchScope) -> Instant {
    let (now, deadline) = (Instant::now(), cx.cancel().deadline);
    match scope.is_all {
        true => now + deadline.saturating_duration_since(now) / 2,
        false => deadline,
    }
}

/// A candidate, and the document that it is shown as.
pub(super) struct DocumentMatch {
    pub(super) candidate: Candidate,
    /// The index of its project.
    pub(super) project: usize,
    pub(super) source: Source,
    pub(super) name: Vec<u8>,
}

impl DocumentMatch {
    /// The id of its project.
    pub(super) fn owner(&self) -> Uuid {
        self.candidate.project
    }
}

const NO_EMBEDDER: &str = "the embedding service is unavailable: results are matched by words only";
const NO_VECTORS: &str = "the embedding service has not made the vectors of all files yet: \
    results are matched by words only";
const UNREAD: &str = "discoveries and memory can't be read now, and are left out";
const CUT: &str = "only the newest 10000 notes were searched";

const WORDLESS: &str = "no result has a word of the query: these are the nearest by meaning, and may be about something else";

const FILES: &str = "type finds what record_discovery and write_memory_entry noted; decisions, \
    patterns and guidelines that the repository keeps as files (ADRs) are found by \
    search_architecture, or here without type";

const FALLBACK: &str = "use grep_codebase meanwhile, and try again in a while";

fn not_ready(row: Option<&IndexRow>) -> Failure {
    let (done, total) = row.map_or((0, 0), |row| (row.done, row.total));
    let message = match total {
        0 => "the project is not indexed yet".to_owned(),
        total => format!("the project is not indexed yet: {done} of {total} files are"),
    };
    Failure::new(Fault::IndexNotReady, message, FALLBACK)
        .detail("indexed", done)
        .detail("total", total)
}

fn not_searched(error: &VectorStoreError) -> Failure {
    match error {
        // This depends on the project, and nothing else reports it.
        VectorStoreError::TooLarge { .. } => {
            tracing::warn!(error = %Chain(error), "an index could not be searched");
        }
        _ => tracing::debug!(error = %Chain(error), "an index could not be searched"),
    }
    let message = match error {
        VectorStoreError::Lost { .. } => "the index of the project was lost and is being rebuilt",
        VectorStoreError::Late(_) => "the index did not answer in time",
        VectorStoreError::TooLarge { .. } => {
            "the project's index is too large for the memory it may have"
        }
        _ => "the index can't be searched now",
    };
    Failure::new(Fault::IndexNotReady, message, FALLBACK).detail("retry_after_seconds", 5)
}

/// The failure if a search by words only found nothing although vectors were expected. `None` if the
/// search was complete.
fn words_only_failure(vectors: VectorUse) -> Option<Failure> {
    let message = match vectors {
        VectorUse::Used | VectorUse::None => return None,
        VectorUse::Unavailable => {
            "the embedding service is unavailable, and no result has the words of the query"
        }
        VectorUse::Incomplete => {
            "the embedding service has not made the vectors of all files yet, and no result has \
             the words of the query"
        }
    };
    let suggestion = "use words that the code has, or grep_codebase; or try again in a while";
    let failure = Failure::new(Fault::EmbeddingUnavailable, message, suggestion);
    Some(failure.detail("retry_after_seconds", 5))
}

pub(super) fn index_unavailable(error: &StoreError) -> Failure {
    tracing::warn!(error = %Chain(error), "the index could not be looked up");
    let (fault, message) = match error.is_late() {
        true => (Fault::DeadlineExceeded, "the index did not answer in time"),
        false => (Fault::Unavailable, "the index can't be looked up now"),
    };
    let suggestion = "try again in a few seconds, or use grep_codebase";
    Failure::new(fault, message, suggestion).detail("retry_after_seconds", 5)
}
