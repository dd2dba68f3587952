//! What is shown of what was found: read from the commit that the index is of.

use std::sync::Arc;

use archway_history::HistoryError;
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Kind, Repo, RepoError, RepoPath, Stopped};
use archway_store::Source;

use super::found::Found;
use super::ranked::Ranked;
use super::result::{IndexState, SearchResult};
use crate::projects::Project;
use crate::tools::{Snapshot, ToolContext, paging};

/// The largest file whose text is read, in bytes: no larger one is indexed.
const MAX_FILE: u64 = 1 << 20;
/// What a result needs besides its content, in bytes.
const OVERHEAD: usize = 1024;
/// What stands around a string in JSON, in bytes.
const QUOTES: usize = 2;
/// How many commits are counted that an index lacks.
const MOST_BEHIND: usize = 1000;

/// A page of results.
pub(super) struct Shown {
    pub(super) results: Vec<SearchResult>,
    pub(super) total: usize,
    pub(super) index: IndexState,
    pub(super) note: Option<String>,
}

impl Shown {
    /// The files that results are of, below their projects' names where several are searched.
    pub(super) fn files(&self, is_of_one: bool) -> Vec<String> {
        let results = self.results.iter();
        let file = |result: &SearchResult| {
            let path = result.path.as_deref()?;
            Some(match is_of_one {
                true => path.to_owned(),
                false => format!("{}/{path}", result.project),
            })
        };
        results.filter_map(file).collect()
    }
}

/// What is read of a project.
struct Texts {
    /// Of each piece, in their order.
    texts: Vec<Content>,
    behind: Option<u64>,
}

/// What a result says, and whether the work tree has something else there; `None` if it can't be read
/// any longer.
type Content = Option<(String, bool)>;

/// A piece of a file.
struct Piece {
    path: RepoPath,
    blob: gix::ObjectId,
    bytes: std::ops::Range<usize>,
}

/// Reads what is shown, project by project. What can't be read any longer is left out.
///
/// # Errors
/// If a project can't be read, or the call has to stop.
pub(super) async fn read(
    cx: &ToolContext,
    (first, projects): (&Project, &[Arc<Project>]),
    found: Found,
) -> Result<Snapshot<Shown>, Failure> {
    let mut contents: Vec<Content> = found.ranked.iter().map(noted).collect();
    for (number, project) in projects.iter().enumerate().skip(1) {
        if !found.pieces_of(number).is_empty() {
            read_of(cx, project, &found, number, &mut contents).await?;
        }
    }
    let snapshot = read_of(cx, first, &found, 0, &mut contents).await?;
    let budget = cx.max_result_bytes();
    Ok(snapshot.map(|behind| found.shown(projects, contents, behind, budget)))
}

/// Reads what is shown of one project; how far behind its index is.
async fn read_of(
    cx: &ToolContext,
    project: &Project,
    found: &Found,
    number: usize,
    contents: &mut [Content],
) -> Result<Snapshot<Option<u64>>, Failure> {
    let places = found.pieces_of(number);
    let pieces = places.iter().filter_map(|at| piece(found.ranked.get(*at)?));
    let pieces: Vec<Piece> = pieces.collect();
    let commit = found.row.commit.clone().filter(|_| number == 0);
    let read = move |repo: &Repo, cancel: &Cancel| {
        // Where nothing can be read, nothing would be found: that is another answer.
        if let (Some(why), Some(_)) = (repo.git_refused(), &commit) {
            return Err(HistoryError::UnusableRepository { why }.into());
        }
        Ok(texts(repo, &pieces, commit.as_deref(), cancel)?)
    };
    let snapshot = cx.read(project, read).await?;
    Ok(snapshot.map(|Texts { texts, behind }| {
        for (at, text) in places.into_iter().zip(texts) {
            if let Some(content) = contents.get_mut(at) {
                *content = text;
            }
        }
        behind
    }))
}

impl Found {
    /// Which of the results are files of this project.
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
    ) -> Shown {
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
            let around = paging::size(&result).max(OVERHEAD);
            result.stale = stale;
            result.content_truncated = cut(&mut content, room.saturating_sub(around));
            result.content = content;
            Some(result)
        });
        let mut results: Vec<SearchResult> = results.collect();
        results.truncate(paging::fit(&results, budget).max(1));
        Shown {
            results,
            total: self.total,
            index: IndexState {
                commit: self.row.commit,
                indexed_at: self.row.indexed_at.map(|time| time.to_string()),
                behind,
                mode: mode.to_owned(),
            },
            note: self.note,
        }
    }
}

fn noted(found: &Ranked) -> Content {
    let note = found.note.as_ref()?;
    Some((note.content.clone(), false))
}

fn piece(found: &Ranked) -> Option<Piece> {
    let (from, to) = found.candidate.place.bytes;
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
) -> Result<Texts, RepoError> {
    let rules = repo.rules();
    let mut texts = Vec::with_capacity(pieces.len());
    for piece in pieces {
        cancel.check()?;
        // What the repository has closed since it was indexed is closed.
        let is_seen = rules.check(&piece.path, Kind::File).is_ok();
        let content = repo.blob(piece.blob, MAX_FILE).filter(|_| is_seen);
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
    let behind = indexed.and_then(|indexed| repo.commits_since(indexed, MOST_BEHIND, cancel));
    Ok(Texts { texts, behind })
}

/// Cuts a content at the end of a line, so that it has room as it will be shown, escapes and all;
/// whether it was cut.
fn cut(content: &mut String, room: usize) -> bool {
    let size = |piece: &str| paging::size(&piece) - QUOTES;
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

    /// What is left of a text where there is so much room.
    fn left(text: &str, room: usize) -> String {
        let mut content = text.to_owned();
        let is_cut = cut(&mut content, room);
        assert_eq!(is_cut, content != text);
        assert!(paging::size(&content) <= room + QUOTES);
        content
    }

    #[test]
    fn a_content_is_cut_by_how_it_is_shown() {
        assert_eq!(left("one\ntwo\n", 100), "one\ntwo\n");
        assert_eq!(left("one\ntwo\n", 8), "one\n");
        assert_eq!(left("three", 3), "thr");
        // Shown as six letters each, with a backslash that JSON doubles.
        let hidden = "\u{7f}".repeat(100);
        assert!(left(&hidden, 200).chars().count() < 30);
        assert_eq!(left("", 0), "");
    }
}
