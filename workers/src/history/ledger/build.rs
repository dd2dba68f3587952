//! Making a ledger of all commits of a graph, from the one before.
//!
//! The youngest commits come first: they are asked for most, and neighbours have most of their
//! trees in common. What is done when time is up is good as it is.

use std::cmp::Reverse;

use gix::ObjectId;
use tokio::time::Duration;

use super::super::blobs::Blobs;
use super::super::changes::Changes;
use super::super::error::HistoryError;
use super::super::follow::LogFile;
use super::super::graph::{Graph, Position};
use super::super::trees::{self, Most};
use super::Ledger;
use super::draft::Draft;
use crate::repo::{Cancel, RepoError, Stopped};

/// A commit with more files is left out: it takes much room, and is asked for seldom.
const MAX_FILES: usize = 512;
/// Nor is one whose files lie in more folders: a few objects can describe trees that nobody could
/// ever walk, and it is one thread that makes all projects' ledgers.
const MAX_FOLDERS: usize = 20_000;
/// What is kept of the time for putting together what was found out.
const FINISHING: Duration = Duration::from_secs(30);

/// The file of a ledger, and how many of its commits `before` had not. `None` if there are no more
/// commits to be written down than there were.
///
/// # Errors
/// Only that time was up before anything was done.
pub(in crate::history) fn build(
    git: &gix::Repository,
    graph: &Graph,
    before: &Ledger,
    cancel: &Cancel,
) -> Result<Option<(Vec<u8>, usize)>, HistoryError> {
    let mut draft = Draft::default();
    for commit in before.ids().filter(|id| graph.find(id).is_some()) {
        if draft
            .add(commit, before.files(&commit).as_deref())
            .is_none()
        {
            return Ok(None);
        }
    }
    let mut new: Vec<Position> = graph
        .positions()
        .filter(|at| !before.has(&graph.id(*at)))
        .collect();
    new.sort_unstable_by_key(|at| Reverse(graph.time(*at)));
    let mut written = 0;
    let earlier = cancel.deadline.checked_sub(FINISHING);
    let until = Cancel::new(earlier.unwrap_or(cancel.deadline), cancel.token.clone());
    for at in new {
        let files = match files(git, graph, at, &until) {
            Err(stopped) if written == 0 => return Err(stopped.into()),
            Err(_stopped) => break,
            Ok(files) => files,
        };
        if draft.add(graph.id(at), files.as_deref()).is_none() {
            break;
        }
        written += 1;
    }
    if written == 0 {
        return Ok(None);
    }
    Ok(draft.finish(cancel)?.map(|file| (file, written)))
}

/// The files of a commit; `None` if not all could be found out in time.
fn files(
    git: &gix::Repository,
    graph: &Graph,
    at: Position,
    cancel: &Cancel,
) -> Result<Option<Vec<LogFile>>, Stopped> {
    let parent: Option<ObjectId> = graph.parents(at).next().map(|parent| graph.tree(parent));
    let sides = (parent, Some(graph.tree(at)));
    let most = Most {
        files: MAX_FILES,
        folders: MAX_FOLDERS,
    };
    let found = trees::all_differences(git, sides, most, cancel);
    let changes = found.and_then(|found| Changes::of(&Blobs::new(git), found, cancel));
    let changes = match changes {
        Ok(changes) => changes,
        Err(HistoryError::Repo(RepoError::Stopped(stopped))) => return Err(stopped),
        // The mount itself is gone: what was found out until now is good, and no more of it will be.
        Err(_) if !git.has_object(graph.id(at)) => return Err(Stopped::Cancelled),
        // A clone may lack what one commit needs; who asks for it is told.
        Err(_lacking_or_too_many) => return Ok(None),
    };
    let files = changes.files.into_iter().map(LogFile::of).collect();
    Ok(Some(files).filter(|_| !changes.renames_cut))
}
