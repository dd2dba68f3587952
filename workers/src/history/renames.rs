//! Which deleted and added files are one file that was renamed, as `git diff -M` finds them.
//!
//! First files of the same id, those of the same name preferred.

use std::collections::HashMap;

use gix::ObjectId;

use super::changes::{Change, ChangeKind, Changes};
use super::trees::Difference;
use super::{HistoryError, Side};
use crate::repo::{Cancel, RepoPath};

/// How many files of one id are looked through for one of the same name.
const MAX_ALIKE: usize = 100;

/// A file that is only on one side, and may be found on the other under another name.
#[derive(Clone, Debug)]
pub(super) struct File {
    path: RepoPath,
    side: Side,
    /// The index of its counterpart.
    is_paired: bool,
}

/// What became of each file, in any order.
///
/// # Errors
/// If a file can't be read, or the call has to stop.
pub(super) fn pair(
    _git: &gix::Repository,
    found: Vec<Difference>,
    cancel: &Cancel,
) -> Result<Changes, HistoryError> {
    let mut files = Vec::new();
    let (mut sources, mut destinations) = (Vec::new(), Vec::new());
    for difference in found {
        let file = |path, side| File {
            path,
            side,
            is_paired: false,
        };
        match (difference.old, difference.new) {
            (Some(old), None) => sources.push(file(difference.path, old)),
            (None, Some(new)) => destinations.push(file(difference.path, new)),
            _ => files.extend(Change::plain(difference)),
        }
    }
    cancel.check()?;
    pair_identical(&mut sources, &mut destinations, &mut files);
    let left = |files: Vec<File>| files.into_iter().filter(|file| !file.is_paired);
    files.extend(left(sources).filter_map(|file| {
        Change::plain(Difference {
            path: file.path,
            old: Some(file.side),
            new: None,
        })
    }));
    files.extend(left(destinations).filter_map(|file| {
        Change::plain(Difference {
            path: file.path,
            old: None,
            new: Some(file.side),
        })
    }));
    Ok(Changes {
        files,
        renames_cut: false,
    })
}

fn pair_identical(sources: &mut [File], destinations: &mut [File], files: &mut Vec<Change>) {
    let mut by_id: HashMap<ObjectId, Vec<usize>> = HashMap::new();
    for (at, source) in sources.iter().enumerate() {
        by_id.entry(source.side.id).or_default().push(at);
    }
    for destination in destinations {
        let Some(alike) = by_id.get_mut(&destination.side.id) else {
            continue;
        };
        let fits = |&at: &usize| {
            sources
                .get(at)
                .is_some_and(|source| can_be_one(source.side, destination.side))
        };
        let has_name = |&at: &usize| {
            sources
                .get(at)
                .is_some_and(|source| source.path.name() == destination.path.name())
        };
        let candidates = || alike.iter().copied().filter(fits).take(MAX_ALIKE);
        let Some(best) = candidates().find(has_name).or_else(|| candidates().next()) else {
            continue;
        };
        alike.retain(|&at| at != best);
        if let Some(source) = sources.get_mut(best) {
            source.is_paired = true;
            destination.is_paired = true;
            files.push(renamed(source, destination));
        }
    }
}

/// Regular files may differ in their mode, all else may not.
fn can_be_one(old: Side, new: Side) -> bool {
    old.mode == new.mode || (old.mode.is_blob() && new.mode.is_blob())
}

fn renamed(source: &File, destination: &File) -> Change {
    Change {
        path: destination.path.clone(),
        kind: ChangeKind::Renamed(source.path.clone()),
        old: Some(source.side),
        new: Some(destination.side),
    }
}
