//! Builds a ledger of all commits of a graph, extending the previous one.
//!
//! The youngest commits come first: they are requested most, and neighbours share most of their
//! trees. The sources of added files come last, as they take longest. A partial ledger is usable,
//! so a build can stop at any time.

use std::cmp::Reverse;

use archway_repo::{Cancel, RepoError, Stopped};
use gix::ObjectId;
use tokio::time::{Duration, Instant};

use super::super::blobs::Blobs;
use super::super::change::Changes;
use super::super::changed_file::ChangedFile;
use super::super::error::HistoryError;
use super::super::graph::{Graph, Position};
use super::super::trees::{self, Limits};
use super::Ledger;
use super::draft::Draft;
use super::entry::{Entry, Source};
use super::sources::SourceFinder;

/// A commit with more files is left out: it takes much space, and is requested rarely.
const MAX_FILES: usize = 512;
/// A commit with more changed folders is left out, too. A few objects can describe trees that no
/// walk could finish, and one thread builds all projects' ledgers.
const MAX_FOLDERS: usize = 20_000;
/// Time reserved for assembling the result.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// Time limit for finding sources: one thread serves all projects, and the pause after a build
/// grows with the build.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(5 * 60);

/// Builds the file of a ledger. Returns it with the number of commits that `before` lacked. `None`
/// if it would add nothing.
///
/// # Errors
/// Only if time was up before anything was done.
pub(crate) fn build(
    git: &gix::Repository,
    graph: &Graph,
    before: &Ledger,
    cancel: &Cancel,
) -> Result<Option<(Vec<u8>, usize)>, HistoryError> {
    let mut draft = Draft::default();
    for commit in before.ids().filter(|id| graph.find(id).is_some()) {
        if draft.add(commit, before.entries(&commit)).is_none() {
            return Ok(None);
        }
    }
    let earlier = cancel.deadline.checked_sub(WRITE_TIME);
    let until = Cancel::new(earlier.unwrap_or(cancel.deadline), cancel.token.clone());
    let mut all: Vec<Position> = graph.positions().collect();
    all.sort_unstable_by_key(|at| Reverse(graph.time(*at)));
    let new = all.iter().filter(|at| !before.has(&graph.id(**at)));
    let written = write_files(git, graph, new, (&mut draft, &until))?;
    let searched = search(git, graph, &all, (&mut draft, &until));
    if written + searched == 0 {
        return Ok(None);
    }
    Ok(draft.finish(cancel)?.map(|file| (file, written)))
}

/// Records the files of as many commits as time and space allow. Returns their number.
fn write_files<'p>(
    git: &gix::Repository,
    graph: &Graph,
    new: impl Iterator<Item = &'p Position>,
    (draft, cancel): (&mut Draft, &Cancel),
) -> Result<usize, Stopped> {
    let mut written = 0;
    for &at in new {
        let files = match files(git, graph, at, cancel) {
            Err(stopped) if written == 0 => return Err(stopped),
            Err(_stopped) => break,
            Ok(files) => files,
        };
        let entry = |file: ChangedFile| Entry {
            path: file.path,
            old_path: file.old_path,
            status: file.status,
            source: Source::NotSearched,
        };
        let entries = files.map(|files| files.into_iter().map(entry).collect());
        if draft.add(graph.id(at), entries).is_none() {
            break;
        }
        written += 1;
    }
    Ok(written)
}

/// Finds the sources of added files, as far as time allows. Skips merges: a followed file skips
/// them. Returns the number of commits.
fn search(
    git: &gix::Repository,
    graph: &Graph,
    all: &[Position],
    (draft, cancel): (&mut Draft, &Cancel),
) -> usize {
    let last = cancel.deadline.min(Instant::now() + MAX_SEARCH_TIME);
    let cancel = Cancel::new(last, cancel.token.clone());
    let mut finder = SourceFinder::new(git);
    let mut searched = 0;
    for &at in all {
        let mut parents = graph.parents(at).map(|parent| graph.tree(parent));
        let (parent, another) = (parents.next(), parents.next());
        let commit = graph.id(at);
        let known = draft.entries(&commit).filter(|_| another.is_none());
        let is_open = |entries: &Vec<Entry<_>>| entries.iter().any(Entry::needs_source);
        let Some(mut entries) = known.filter(is_open) else {
            continue;
        };
        let trees = (parent, graph.tree(at));
        let filled = finder.fill(&mut entries, trees, &cancel);
        // If the mount itself is gone, the failures say nothing about the commits.
        if filled.is_err() || !git.has_object(commit) {
            break;
        }
        if draft.add(commit, Some(entries)).is_none() {
            break;
        }
        searched += 1;
    }
    searched
}

/// The files of a commit. `None` if they could not all be determined within the limits.
fn files(
    git: &gix::Repository,
    graph: &Graph,
    at: Position,
    cancel: &Cancel,
) -> Result<Option<Vec<ChangedFile>>, Stopped> {
    let parent: Option<ObjectId> = graph.parents(at).next().map(|parent| graph.tree(parent));
    let sides = (parent, Some(graph.tree(at)));
    let limits = Limits {
        files: MAX_FILES,
        folders: MAX_FOLDERS,
    };
    let found = trees::all_differences(git, sides, limits, cancel);
    let changes = found.and_then(|found| Changes::of(&Blobs::new(git), found, cancel));
    let changes = match changes {
        Ok(changes) => changes,
        Err(HistoryError::Repo(RepoError::Stopped(stopped))) => return Err(stopped),
        // The mount itself is gone: earlier results are valid, and no more will follow.
        Err(_) if !git.has_object(graph.id(at)) => return Err(Stopped::Cancelled),
        // A clone may lack objects of this commit. Callers who request it get the error.
        Err(_lacking_or_too_many) => return Ok(None),
    };
    let files = changes.files.into_iter().map(ChangedFile::of).collect();
    Ok(Some(files).filter(|_| !changes.renames_cut))
}
