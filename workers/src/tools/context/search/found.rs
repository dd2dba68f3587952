//! What the index finds, ranked, before anything is read.

use std::sync::Arc;

use archway_index::fuse::Candidate;
use archway_index::meaning::{self, Query, Vectors, Whole};
use archway_index::vector_store::HomeError;
use archway_proto::{chain::Chain, failure::Failure, fault::Fault};
use archway_store::{IndexRow, Source, StoreError};

use super::asked::Asked;
use super::filter::Filter;
use super::ranked::{Ranked, ranked, with_notes};
use crate::projects::Project;
use crate::tools::ToolContext;

/// How many results there are at most, shown or not.
const MOST: usize = 200;

/// What was found.
pub(super) struct Found {
    pub(super) ranked: Vec<Ranked>,
    pub total: usize,
    /// How the index of the project stands that was asked about.
    pub(super) row: IndexRow,
    pub(super) is_hybrid: bool,
    pub(super) note: Option<String>,
}

impl Found {
    /// What answers, of the first project and those that it links to; at most `limit` results.
    ///
    /// # Errors
    /// If the first project has no index yet, or the index gives no answer.
    pub(super) async fn of(
        cx: &ToolContext,
        projects: &[Arc<Project>],
        asked: &Arc<Asked>,
        limit: usize,
    ) -> Result<Found, Failure> {
        let (mut wholes, mut missing) = wholes(cx, projects).await?;
        let filter = Arc::new(Filter::of(cx, projects, asked).await?);
        let mut found = find(cx, &wholes, &filter, asked).await?;
        if let Err(HomeError::Lost { .. }) = found {
            // As they stand now: lost ones are marked, and others may have changed meanwhile.
            (wholes, missing) = self::wholes(cx, projects).await?;
            found = find(cx, &wholes, &filter, asked).await?;
        }
        let found = found.map_err(|error| not_searched(&error))?;
        let candidates = found.candidates.into_iter();
        let named: Vec<Named> = candidates
            .filter_map(|candidate| filter.named(candidate, &wholes))
            .take(MOST)
            .collect();
        // What is hidden now was not found: else the refusal would tell that it is there.
        if named.is_empty() {
            no_words(found.vectors).map_or(Ok(()), Err)?;
        }
        let total = named.len();
        let ranked = ranked(cx, projects, named).await;
        let (mut ranked, all_read) = with_notes(cx, projects, ranked, limit).await;
        filter.hide_closed(&mut ranked);
        let are_files_meant = total == 0 && asked.note_kind.is_some();
        Ok(Found {
            ranked,
            total,
            row: wholes
                .into_iter()
                .next()
                .map(|whole| whole.row)
                .unwrap_or_default(),
            is_hybrid: found.vectors == Vectors::Counted,
            note: note(
                &missing,
                &[
                    (found.vectors == Vectors::Away, NO_EMBEDDER),
                    (found.vectors == Vectors::Lacking, NO_VECTORS),
                    (!all_read, UNREAD),
                    (filter.is_cut, CUT),
                    (are_files_meant, FILES),
                ],
            ),
        })
    }
}

/// What the index finds in these projects.
async fn find(
    cx: &ToolContext,
    wholes: &[Whole],
    filter: &Arc<Filter>,
    asked: &Asked,
) -> Result<Result<meaning::Found, HomeError>, Failure> {
    // What was closed since a project was indexed must not take the place of what is open.
    let blobs = match asked.is_filtered() || filter.is_newer(wholes) {
        true => Some(Filter::blobs(filter, cx, wholes).await?),
        false => None,
    };
    let query = Query {
        text: &asked.query,
        kinds: asked.kinds.clone(),
        is_filtered: asked.is_filtered(),
        blobs,
        deadline: cx.cancel().deadline,
    };
    Ok(cx.meaning().find(cx.tenant(), wholes, &query).await)
}

/// The indexes of projects, and which others have none yet.
async fn wholes(
    cx: &ToolContext,
    projects: &[Arc<Project>],
) -> Result<(Vec<Whole>, Vec<String>), Failure> {
    let (mut wholes, mut missing) = (Vec::new(), Vec::new());
    for (number, project) in projects.iter().enumerate() {
        let shelf = cx.shelf(project);
        let row = cx.meaning().row(shelf).await;
        // What was never begun is not whole, either.
        let row = row.map_err(|error| away(&error))?.unwrap_or_default();
        let whole = cx.meaning().whole(shelf, row.clone()).await;
        match whole.map_err(|error| away(&error))? {
            Some(whole) => wholes.push(whole),
            None if number == 0 => return Err(not_ready(row)),
            None => missing.push(project.slug.clone()),
        }
    }
    Ok((wholes, missing))
}

/// A candidate, and the document that it is shown as.
pub(super) struct Named {
    pub(super) candidate: Candidate,
    /// Which of the projects, from 0.
    pub(super) project: usize,
    pub(super) source: Source,
    pub(super) name: Vec<u8>,
}

const NO_EMBEDDER: &str =
    "the embedding service can't be asked now: these are matches of words alone";
const NO_VECTORS: &str = "the embedding service has not made the vectors of all files yet: these \
    are matches of words alone";
const UNREAD: &str = "discoveries and memory can't be read now, and are left out";
const CUT: &str = "of what was noted only the newest 10000 were looked through";

const FILES: &str = "type finds what record_discovery and write_memory_entry noted; decisions, \
    patterns and guidelines that the repository keeps as files (ADRs) are found by \
    search_architecture, or here without type";

/// What else is to be known: of these, what is so, and which projects have no index.
fn note(missing: &[String], notes: &[(bool, &str)]) -> Option<String> {
    let mut notes: Vec<String> = notes
        .iter()
        .filter(|(is_so, _)| *is_so)
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

fn not_searched(error: &HomeError) -> Failure {
    match error {
        // It is the project's, and nobody else tells of it.
        HomeError::TooLarge { .. } => {
            tracing::warn!(error = %Chain(error), "an index could not be searched");
        }
        _ => tracing::debug!(error = %Chain(error), "an index could not be searched"),
    }
    let message = match error {
        HomeError::Lost { .. } => "the index of the project was lost, and is made anew",
        HomeError::Late(_) => "the index did not answer in time",
        HomeError::TooLarge { .. } => "the project's index is too large for the memory it may have",
        _ => "the index can't be searched now",
    };
    Failure::new(Fault::IndexNotReady, message, FALLBACK).detail("retry_after_seconds", 5)
}

/// That nothing was found where only words were looked for, and vectors were to be; `None` where
/// all was looked for that there is.
fn no_words(vectors: Vectors) -> Option<Failure> {
    let message = match vectors {
        Vectors::Counted | Vectors::None => return None,
        Vectors::Away => {
            "the embedding service can't be asked now, and nothing has the words of the query"
        }
        Vectors::Lacking => {
            "the embedding service has not made the vectors of all files yet, and nothing has the \
             words of the query"
        }
    };
    let suggestion = "use words that the code has, or grep_codebase; or try again in a while";
    let failure = Failure::new(Fault::EmbeddingUnavailable, message, suggestion);
    Some(failure.detail("retry_after_seconds", 5))
}

pub(super) fn away(error: &StoreError) -> Failure {
    tracing::warn!(error = %Chain(error), "the index could not be looked up");
    let (fault, message) = match error.is_late() {
        true => (Fault::DeadlineExceeded, "the index did not answer in time"),
        false => (Fault::Unavailable, "the index can't be looked up now"),
    };
    let suggestion = "try again in a few seconds, or use grep_codebase";
    Failure::new(fault, message, suggestion).detail("retry_after_seconds", 5)
}
