//! Reads the texts of all results, and makes a page of those that fit.

use std::sync::Arc;

use archway_proto::failure::Failure;
use futures::{StreamExt as _, stream};
use serde_json::Value;

use super::matches::IndexMatches;
use super::request::SearchRequest;
use super::result::{IndexState, SearchResult};
use super::room::{cut, share};
use super::scope::{SearchScope, WhyLeftOut};
use super::texts::{Content, ProjectTexts, note_content, piece, read_project};
use crate::tools::{Snapshot, ToolContext, is_of_the_project, paging};

/// Bytes of an answer, of 5 results or fewer,
const ANSWER_BYTES: usize = 8_000;
/// and for each further result.
const MORE_BYTES: usize = 800;
/// Bytes of text that a result needs besides its content and paths.
const OVERHEAD_BYTES: usize = 560;
/// Projects that are read at once.
const CONCURRENT_READS: usize = 4;

/// A page of results.
pub(super) struct ResultPage {
    pub(super) results: Vec<SearchResult>,
    pub(super) total: usize,
    pub(super) index: IndexState,
    pub(super) note: Option<String>,
    /// `{searched, remaining, skipped}` if every project was searched.
    pub(super) projects: Option<Value>,
}

impl ResultPage {
    /// Says which filters to leave out, if nothing was found with them.
    pub(super) fn advise(&mut self, request: &SearchRequest) {
        if !self.results.is_empty() || !request.is_filtered() {
            return;
        }
        let filters: Vec<&str> = request.filters().collect();
        let advice = format!("try it without {}", filters.join(", "));
        let note = self.note.take().into_iter().chain([advice]);
        self.note = Some(note.collect::<Vec<_>>().join("; "));
    }

    /// The files of the results, prefixed with their projects if several are searched.
    pub(super) fn files(&self, one_project: bool) -> Vec<String> {
        let results = self.results.iter();
        let file = |result: &SearchResult| {
            let path = result.path.as_deref()?;
            Some(match one_project {
                true => path.to_owned(),
                false => format!("{}/{path}", result.project),
            })
        };
        results.filter_map(file).collect()
    }
}

/// Reads the content of the results, project by project. Results that can't be read are left out.
/// Returns the snapshot of the current project, if there is one.
///
/// # Errors
/// If the required project can't be read, or the call was stopped.
pub(super) async fn read(
    cx: &ToolContext,
    scope: &SearchScope,
    mut found: IndexMatches,
) -> Result<(ResultPage, Option<Snapshot<()>>), Failure> {
    let mut contents: Vec<Content> = found.ranked.iter().map(note_content).collect();
    let (mut behind, mut snapshot) = (None, None);
    for (number, read) in read_projects(cx, scope, &found).await {
        let is_required = scope.required().is_some() && scope.is_current(number);
        let read = match read {
            Ok(read) => read,
            Err(failure) if !is_required && is_of_the_project(failure.code) => {
                if let Some(project) = scope.projects.get(number) {
                    let why = WhyLeftOut::Unreadable(failure.code);
                    found.left_out.add(project, why);
                }
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let indexes = found.indexes_of(number);
        let read = read.map(
            |ProjectTexts {
                 texts,
                 behind: commits,
             }| {
                for (at, text) in indexes.into_iter().zip(texts) {
                    if let Some(content) = contents.get_mut(at) {
                        *content = text;
                    }
                }
                behind = behind.or(commits);
            },
        );
        if scope.is_current(number) {
            snapshot = Some(read);
        }
    }
    let page = found.page(scope, contents, behind, cx.max_result_bytes());
    Ok((page, snapshot))
}

/// Reads the texts of the projects with results, and of the current one. Returns them with the
/// indexes of their projects.
async fn read_projects(
    cx: &ToolContext,
    scope: &SearchScope,
    found: &IndexMatches,
) -> Vec<(usize, Result<Snapshot<ProjectTexts>, Failure>)> {
    let projects = scope.projects.iter().enumerate();
    let reads = projects.filter_map(|(number, project)| {
        let indexes = found.indexes_of(number);
        if indexes.is_empty() && !scope.is_current(number) {
            return None;
        }
        let pieces = indexes
            .iter()
            .filter_map(|at| piece(found.ranked.get(*at)?));
        let commit = found.row.commit.clone();
        let commit = commit.filter(|_| scope.is_current(number));
        let (project, pieces) = (Arc::clone(project), pieces.collect());
        Some(async move { (number, read_project(cx, &project, pieces, commit).await) })
    });
    let reads: Vec<_> = reads.collect();
    stream::iter(reads)
        .buffered(CONCURRENT_READS)
        .collect()
        .await
}

impl IndexMatches {
    /// The indexes of the results that are files of this project.
    fn indexes_of(&self, project: usize) -> Vec<usize> {
        let results = self.ranked.iter().enumerate();
        let files = results.filter(|(_, found)| found.project == project && found.path.is_some());
        files.map(|(at, _)| at).collect()
    }

    fn page(
        self,
        scope: &SearchScope,
        contents: Vec<Content>,
        behind: Option<u64>,
        budget: usize,
    ) -> ResultPage {
        let notes = self.notes.iter().map(|note| (*note).to_owned());
        let notes: Vec<String> = notes.chain(scope.notes(&self.left_out)).collect();
        let answer = ANSWER_BYTES + MORE_BYTES * contents.len().saturating_sub(5);
        let answer = answer.min(budget);
        let room = answer / contents.len().max(1);
        let needs = contents.iter().flatten();
        let needs = needs.map(|text| OVERHEAD_BYTES + paging::size(&text.content));
        let share = share(needs.collect(), answer);
        let mode = if self.is_hybrid { "hybrid" } else { "lexical" };
        let results = self.ranked.into_iter().zip(contents);
        let results = results.filter_map(|(found, content)| {
            let project = scope.projects.get(found.project)?;
            let mut text = content?;
            let mut result = SearchResult::of(found, &project.slug);
            let paths = result.paths.len();
            result
                .paths
                .truncate(paging::fit_within(&result.paths, room / 4));
            result.paths_truncated = result.paths.len() < paths;
            let overhead = OVERHEAD_BYTES + paging::size(&result.paths);
            result.stale = text.stale;
            result.part_of = text.part_of;
            result.end_line = text.last_line.or(result.end_line);
            result.last_commit = text.last_commit;
            result.content_truncated = cut(&mut text.content, share.saturating_sub(overhead));
            result.content = text.content;
            Some(result)
        });
        let mut results: Vec<SearchResult> = results.collect();
        results.truncate(paging::fit(&results, budget).max(1));
        ResultPage {
            results,
            total: self.total,
            index: IndexState {
                commit: self.row.commit,
                indexed_at: self.row.indexed_at.map(|time| time.to_string()),
                behind,
                mode: mode.to_owned(),
                left_out: u64::try_from(self.row.left_out)
                    .ok()
                    .filter(|files| *files > 0),
            },
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            projects: scope.is_all.then(|| scope.meta(&self.left_out)),
        }
    }
}
