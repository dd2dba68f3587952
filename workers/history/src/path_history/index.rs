//! The commits of a graph that changed each path: the inverse of a ledger.
//!
//! Four bytes for each path, and for each file of each commit. It is built in memory, since it
//! holds graph positions, which are valid for one graph only.

use archway_repo::{Cancel, Stopped};

use super::super::ledger::Ledger;
use super::super::walk_node::CommitKey;
use super::super::{Graph, Position};

/// Number of commits that are looked up between two deadline checks.
const CHECK_INTERVAL: usize = 1 << 12;

/// Commits by path.
pub(super) struct PathIndex {
    /// The end of each path's commits in `commits`.
    ends: Vec<u32>,
    /// In order, for each path.
    commits: Vec<Position>,
    /// Commits whose changes the ledger lacks, in order.
    unknown: Vec<Position>,
}

/// The commits that may have changed one path.
pub(super) struct ChangingCommits<'i> {
    commits: &'i [Position],
    unknown: &'i [Position],
}

impl PathIndex {
    /// Inverts a ledger.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn of(
        graph: &Graph,
        ledger: &Ledger,
        cancel: &Cancel,
    ) -> Result<PathIndex, Stopped> {
        let mut changes: Vec<(u32, Position)> = Vec::new();
        let mut unknown = Vec::new();
        let mut paths = Vec::new();
        let mut ids = ledger.ids().enumerate().peekable();
        let mut last = None;
        for position in graph.positions() {
            if position.index().is_multiple_of(CHECK_INTERVAL) {
                cancel.check()?;
            }
            let id = graph.id(position);
            // Positions follow the order of ids, which starts over in each file of a chain.
            if last.replace(id).is_some_and(|last| last > id) {
                ids = ledger.ids().enumerate().peekable();
            }
            while ids.next_if(|(_, other)| *other < id).is_some() {}
            let index = ids.next_if(|(_, other)| *other == id);
            paths.clear();
            match index.and_then(|(index, _)| ledger.append_changed_paths(index, &mut paths)) {
                Some(()) => changes.extend(paths.iter().map(|path| (*path, position))),
                None => unknown.push(position),
            }
        }
        // The sort is stable: positions stay in order within a path.
        let (ends, commits) = by_path(ledger.paths(), &changes);
        Ok(PathIndex {
            ends,
            commits,
            unknown,
        })
    }

    /// Its size, in bytes.
    pub(super) fn bytes(&self) -> usize {
        (self.ends.len() + self.commits.len() + self.unknown.len()) * size_of::<u32>()
    }

    /// The commits that may have changed the path of this number. `None`: a path that no commit of
    /// the ledger changed.
    pub(super) fn changing(&self, path: Option<u32>) -> ChangingCommits<'_> {
        let end = |path: usize| self.ends.get(path).map_or(0, |end| *end as usize);
        let commits = path.and_then(|path| {
            let path = path as usize;
            let from = path.checked_sub(1).map_or(0, end);
            self.commits.get(from..end(path))
        });
        ChangingCommits {
            commits: commits.unwrap_or_default(),
            unknown: &self.unknown,
        }
    }
}

impl<'i> ChangingCommits<'i> {
    /// Those of the graph.
    pub(super) fn in_graph(&self) -> impl Iterator<Item = Position> + use<'i> {
        self.commits.iter().chain(self.unknown).copied()
    }

    /// Whether the commit is one of them. A commit outside the graph always may be.
    pub(super) fn may_contain(&self, key: CommitKey) -> bool {
        let CommitKey::InGraph(position) = key else {
            return true;
        };
        let is_in = |positions: &[Position]| positions.binary_search(&position).is_ok();
        is_in(self.commits) || is_in(self.unknown)
    }
}

/// A counting sort by path.
fn by_path(paths: usize, changes: &[(u32, Position)]) -> (Vec<u32>, Vec<Position>) {
    let mut starts = vec![0_u32; paths + 1];
    for (path, _) in changes {
        if let Some(count) = starts.get_mut(*path as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut commits = vec![Position::default(); changes.len()];
    for (path, position) in changes {
        if let Some(next) = starts.get_mut(*path as usize) {
            if let Some(slot) = commits.get_mut(*next as usize) {
                *slot = *position;
            }
            *next += 1;
        }
    }
    // Each path's start has advanced to its end.
    starts.truncate(paths);
    (starts, commits)
}
