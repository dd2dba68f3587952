//! Reads the content of results from the commit that was indexed.

use std::sync::Arc;

use archway_history::HistoryError;
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Kind, Repo, RepoError, RepoPath, Stopped};
use archway_store::Source;

use super::matches::IndexMatches;
use super::ranked::Ranked;
use super::result::{IndexState, SearchResult};
use crate::projects::Project;
use crate::tools::{Snapshot, ToolContext, paging};

/// Maximum size in bytes of a file whose text is read. Larger files are not indexed.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Bytes that a result needs besides its content.
const OVERHEAD_BYTES: usize = 1024;
/// Bytes around a string in JSON.
const QUOTE_BYTES: usize = 2;
/// Maximum number of commits that are counted as missing in an index.
const MAX_BEHIND: usize = 1000;

/// A page of results.
pub(super) struct ResultPage {
    pub(super) results: Vec<SearchResult>,
    pub(super) total: usize,
    pub(super) index: IndexState,
    pub(super) note: Option<String>,
}

impl ResultPage {
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

/// The texts of one project.
struct ProjectTexts {
    /// One text for each piece, in order.
    texts: Vec<Content>,
    behind: Option<u64>,
}

/// The content of a result, and whether the file differs in the work tree. `None` if it can't be
/// read any more.
type Content = Option<(String, bool)>;

/// A part of a file.
struct Piece {
    path: RepoPath,
    blob: gix::ObjectId,
    bytes: std::ops::Range<usize>,
}

/// Reads the content of the results, project by project. Results that can't be read are left out.
///
/// # Errors
/// If a project can't be read, or the call was stopped.
pub(super) async fn read(
    cx: &ToolContext,
    (first, projects): (&Project, &[Arc<Project>]),
    found: IndexMatches,
) -> Result<Snapshot<ResultPage>, Failure> {
    let mut contents: Vec<Content> = found.ranked.iter().map(note_content).collect();
    for (number, project) in projects.iter().enumerate().skip(1) {
        if !found.pieces_of(number).is_empty() {
            read_project(cx, project, &found, number, &mut contents).await?;
        }
    }
    let snapshot = read_project(cx, first, &found, 0, &mut contents).await?;
    let budget = cx.max_result_bytes();
    Ok(snapshot.map(|behind| found.shown(projects, contents, behind, budget)))
}

/// Reads the content of one project's results. Returns how many commits its index lacks.
async fn read_project(
    cx: &ToolContext,
    project: &Project,
    found: &IndexMatches,
    number: usize,
    contents: &mut [Content],
) -> Result<Snapshot<Option<u64>>, Failure> {
    let indexes = found.pieces_of(number);
    let pieces = indexes
        .iter()
        .filter_map(|at| piece(found.ranked.get(*at)?));
    let pieces: Vec<Piece> = pieces.collect();
    let commit = found.row.commit.clone().filter(|_| number == 0);
    let read = move |repo: &Repo, cancel: &Cancel| {
        // Without readable content there would be no results, which would be a wrong answer.
        if let (Some(why), Some(_)) = (repo.git_refused(), &commit) {
            return Err(HistoryError::UnusableRepository { why }.into());
        }
        Ok(texts(repo, &pieces, commit.as_deref(), cancel)?)
    };
    let snapshot = cx.read(project, read).await?;
    Ok(snapshot.map(|ProjectTexts { texts, behind }| {
        for (at, text) in indexes.into_iter().zip(texts) {
            if let Some(content) = contents.get_mut(at) {
                *content = text;
            }
        }
        behind
    }))
}

impl IndexMatches {
    /// The indexes of the results that are files of this project.
    fn pieces_of(&self, project: usize) -> Vec<usize> {
        let results = self.ranked.iter().enumerate();
        let files = results.filter(|(_, found)| found.project == project && found.path.is_some());
        files.map(|(at, _)| at).collect()
    }

    fn shown(
        self,
        projects: &[Arc<Project>],
        contents: Vec<Content>,
        behind: Option<u64>,
        budget: usize,
    ) -> ResultPage {
        let room = budget / contents.len().max(1);
        let mode = if self.is_hybrid { "hybrid" } else { "lexical" };
        let results = self.ranked.into_iter().zip(contents);
        let results = results.filter_map(|(found, content)| {
            let project = projects.get(found.project)?;
            let (mut content, stale) = content?;
            let mut result = SearchResult::of(found, &project.slug);
            let paths = result.paths.len();
            result
                .paths
                .truncate(paging::fit_within(&result.paths, room / 4));
            result.paths_truncated = result.paths.len() < paths;
            let overhead = paging::size(&result).max(OVERHEAD_BYTES);
            result.stale = stale;
            result.content_truncated = cut(&mut content, room.saturating_sub(overhead));
            result.content = content;
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
            note: self.note,
        }
    }
}

fn note_content(found: &Ranked) -> Content {
    let note = found.note.as_ref()?;
    Some((note.content.clone(), false))
}

fn piece(found: &Ranked) -> Option<Piece> {
    let (from, to) = found.candidate.location.bytes;
    Some(Piece {
        path: found
            .path
            .clone()
            .filter(|_| found.source == Source::File)?,
        blob: gix::ObjectId::from(found.candidate.blob),
        bytes: from as usize..to as usize,
    })
}

fn texts(
    repo: &Repo,
    pieces: &[Piece],
    indexed: Option<&str>,
    cancel: &Cancel,
) -> Result<ProjectTexts, RepoError> {
    let rules = repo.rules();
    let mut texts = Vec::with_capacity(pieces.len());
    for piece in pieces {
        cancel.check()?;
        // Paths that were closed after indexing are hidden.
        let is_open = rules.check(&piece.path, Kind::File).is_ok();
        let content = repo.blob(piece.blob, MAX_FILE_BYTES).filter(|_| is_open);
        let text = content.and_then(|content| {
            let text = content.get(piece.bytes.clone())?;
            Some(String::from_utf8_lossy(text).into_owned())
        });
        let text = text.map(|text| {
            let differs = repo.differs_from(&piece.path, piece.blob, cancel)?;
            Ok::<_, Stopped>((text, differs))
        });
        texts.push(text.transpose()?);
    }
    let behind = indexed.and_then(|indexed| repo.commits_since(indexed, MAX_BEHIND, cancel));
    Ok(ProjectTexts { texts, behind })
}

/// Cuts a content at a line end so that it fits once it is escaped. Returns whether it was cut.
fn cut(content: &mut String, room: usize) -> bool {
    let size = |piece: &str| paging::size(&piece) - QUOTE_BYTES;
    if size(content) <= room {
        return false;
    }
    let fits = |piece: &str, left: usize| left.checked_sub(size(piece));
    let (mut end, mut left) = (0, room);
    for line in content.split_inclusive('\n') {
        let Some(rest) = fits(line, left) else { break };
        (end, left) = (end + line.len(), rest);
    }
    if end == 0 {
        // A single line that is too long.
        for (at, letter) in content.char_indices() {
            let Some(rest) = fits(letter.encode_utf8(&mut [0; 4]), left) else {
                break;
            };
            (end, left) = (at + letter.len_utf8(), rest);
        }
    }
    content.truncate(end);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of a text that fits into `room` bytes.
    fn left(text: &str, room: usize) -> String {
        let mut content = text.to_owned();
        let is_cut = cut(&mut content, room);
        assert_eq!(is_cut, content != text);
        assert!(paging::size(&content) <= room + QUOTE_BYTES);
        content
    }

    #[test]
    fn content_is_cut_by_its_escaped_size() {
        assert_eq!(left("one\ntwo\n", 100), "one\ntwo\n");
        assert_eq!(left("one\ntwo\n", 8), "one\n");
        assert_eq!(left("three", 3), "thr");
        // Each is escaped to six characters, with a backslash that JSON doubles.
        let hidden = "\u{7f}".repeat(100);
        assert!(left(&hidden, 200).chars().count() < 30);
        assert_eq!(left("", 0), "");
    }
}
