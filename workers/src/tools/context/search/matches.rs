//! Queries the index and ranks its matches, before any content is read.

use std::sync::Arc;

use archway_index::fuse::Candidate;
use archway_index::search::{SearchQuery, SearchResults, SearchableIndex, VectorUse};
use archway_index::vector_store::VectorStoreError;
use archway_proto::{chain::Chain, failure::Failure, fault::Fault};
use archway_store::{IndexRow, Source, StoreError};

use super::filter::Filter;
use super::ranked::{Ranked, ranked, with_notes};
use super::request::SearchRequest;
use crate::projects::Project;
use crate::tools::ToolContext;

/// Maximum number of results, shown or not.
const MAX_RESULTS: usize = 200;

/// The ranked matches of the index.
pub(super) struct IndexMatches {
    pub(super) ranked: Vec<Ranked>,
    pub total: usize,
    /// The state of the index of the requested project.
    pub(super) row: IndexRow,
    pub(super) is_hybrid: bool,
    pub(super) note: Option<String>,
}

impl IndexMatches {
    /// Finds at most `limit` results in the first project and those that it links to.
    ///
    /// # Errors
    /// If the first project has no index yet, or the index can't be searched.
    pub(super) async fn of(
        cx: &ToolContext,
        projects: &[Arc<Project>],
        request: &Arc<SearchRequest>,
        limit: usize,
    ) -> Result<IndexMatches, Failure> {
        let (mut indexes, mut missing) = indexes(cx, projects).await?;
        let filter = Arc::new(Filter::of(cx, projects, request).await?);
        let mut found = find(cx, &indexes, &filter, request).await?;
        if let Err(VectorStoreError::Lost { .. }) = found {
            // Reads them again: the lost ones are marked, and others may have changed meanwhile.
            (indexes, missing) = self::indexes(cx, projects).await?;
            found = find(cx, &indexes, &filter, request).await?;
        }
        let found = found.map_err(|error| not_searched(&error))?;
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
        let ranked = ranked(cx, projects, documented).await;
        let (mut ranked, all_read) = with_notes(cx, projects, ranked, limit).await;
        filter.hide_closed(&mut ranked);
        let may_mean_files = total == 0 && request.note_kind.is_some();
        Ok(IndexMatches {
            ranked,
            total,
            row: indexes
                .into_iter()
                .next()
                .map(|index| index.row)
                .unwrap_or_default(),
            is_hybrid: found.vectors == VectorUse::Used,
            note: note(
                &missing,
                &[
                    (found.vectors == VectorUse::Unavailable, NO_EMBEDDER),
                    (found.vectors == VectorUse::Incomplete, NO_VECTORS),
                    (!all_read, UNREAD),
                    (filter.is_cut, CUT),
                    (may_mean_files, FILES),
                ],
            ),
        })
    }
}

/// Queries the index of these projects.
async fn find(
    cx: &ToolContext,
    indexes: &[SearchableIndex],
    filter: &Arc<Filter>,
    request: &SearchRequest,
) -> Result<Result<SearchResults, VectorStoreError>, Failure> {
    // Documents that were closed after indexing must not displace open ones.
    let blobs = match request.is_filtered() || filter.is_newer(indexes) {
        true => Some(Filter::blobs(filter, cx, indexes).await?),
        false => None,
    };
    let query = SearchQuery {
        text: &request.query,
        kinds: request.kinds.clone(),
        is_filtered: request.is_filtered(),
        blobs,
        deadline: cx.cancel().deadline,
    };
    Ok(cx.index().find(cx.tenant(), indexes, &query).await)
}

/// Returns the indexes of projects, and the slugs of those without one.
async fn indexes(
    cx: &ToolContext,
    projects: &[Arc<Project>],
) -> Result<(Vec<SearchableIndex>, Vec<String>), Failure> {
    let (mut indexes, mut missing) = (Vec::new(), Vec::new());
    for (number, project) in projects.iter().enumerate() {
        let project_key = cx.project_key(project);
        let row = cx.index().row(project_key).await;
        // A project whose indexing has not begun counts as not indexed.
        let row = row
            .map_err(|error| index_unavailable(&error))?
            .unwrap_or_default();
        let index = cx.index().searchable(project_key, row.clone()).await;
        match index.map_err(|error| index_unavailable(&error))? {
            Some(index) => indexes.push(index),
            None if number == 0 => return Err(not_ready(row)),
            None => missing.push(project.slug.clone()),
        }
    }
    Ok((indexes, missing))
}

/// A candidate, and the document that it is shown as.
pub(super) struct DocumentMatch {
    pub(super) candidate: Candidate,
    /// The index of its project.
    pub(super) project: usize,
    pub(super) source: Source,
    pub(super) name: Vec<u8>,
}

const NO_EMBEDDER: &str = "the embedding service is unavailable: results are matched by words only";
const NO_VECTORS: &str = "the embedding service has not made the vectors of all files yet: \
    results are matched by words only";
const UNREAD: &str = "discoveries and memory can't be read now, and are left out";
const CUT: &str = "only the newest 10000 notes were searched";

const FILES: &str = "type finds what record_discovery and write_memory_entry noted; decisions, \
    patterns and guidelines that the repository keeps as files (ADRs) are found by \
    search_architecture, or here without type";

/// Joins the notes that apply, and names projects without an index.
fn note(missing: &[String], notes: &[(bool, &str)]) -> Option<String> {
    let mut notes: Vec<String> = notes
        .iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, note)| (*note).to_owned())
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        notes.push(format!(
            "these linked projects are not indexed yet: {missing}"
        ));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

const FALLBACK: &str = "use grep_codebase meanwhile, and try again in a while";

fn not_ready(row: IndexRow) -> Failure {
    let message = match row.total {
        0 => "the project is not indexed yet".to_owned(),
        total => format!(
            "the project is not indexed yet: {} of {total} files are",
            row.done
        ),
    };
    Failure::new(Fault::IndexNotReady, message, FALLBACK)
        .detail("indexed", row.done)
        .detail("total", row.total)
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
