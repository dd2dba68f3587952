//! Commits in the order of `git log`, and which of them are shown.
//!
//! Visiting a commit queues its parents, and the youngest queued commit is visited next. Nothing is
//! sorted: where clocks were wrong, the order is git's and not that of time. A walk limited to a
//! folder follows git's history simplification: a merge whose folder equals that of one parent is
//! not shown, and the walk continues with that parent only.

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;

use super::cursor::WalkState;
use super::frontier::Frontier;
use super::path_history::PathHistory;
use super::path_limiter::PathLimiter;
use super::walk_node::{CommitKey, WalkNode};
use super::{History, HistoryError};

/// Which commits are walked over.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The commits at which the walk begins.
    pub(super) from: Vec<ObjectId>,
    /// Excludes this commit and all its ancestors.
    pub(super) excluded: Option<ObjectId>,
    pub(super) dates: Dates,
}

/// A span of committer times, in seconds since 1970. Both ends belong to the span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dates {
    /// Excludes an older commit, and commits that are reached only through it.
    pub(super) since: Option<i64>,
    /// Hides a younger commit.
    pub(super) until: Option<i64>,
}

impl Dates {
    pub(super) fn excludes(self, time: i64) -> bool {
        self.since.is_some_and(|since| time < since)
    }

    pub(super) fn shows(self, time: i64) -> bool {
        self.until.is_none_or(|until| time <= until)
    }
}

/// A walk in progress.
pub(super) struct LogWalk<'a> {
    pub(super) history: &'a History,
    pub(super) plan: Plan,
    /// Limits the walk to a folder. Without one, all commits are shown.
    limiter: Option<PathLimiter>,
    pub(super) frontier: Frontier<'a>,
    /// Replaces the frontier for a followed file.
    path_history: Option<PathHistory<'a>>,
    /// The shown commits, the last one first, where they have to be computed up front.
    listed: Option<Vec<WalkNode>>,
}

impl<'a> LogWalk<'a> {
    /// Starts a walk, or resumes a saved one.
    ///
    /// # Errors
    /// If a commit can't be read.
    pub(super) fn new(
        history: &'a History,
        plan: Plan,
        limiter: Option<PathLimiter>,
        saved: Option<&WalkState>,
    ) -> Result<LogWalk<'a>, HistoryError> {
        // Exclusions are only known by walking over all of them.
        let saved = saved.filter(|_| plan.excluded.is_none());
        let frontier = match saved {
            Some(saved) => Frontier::resume(history, saved)?,
            None => Frontier::starting_at(history, &plan.from)?,
        };
        Ok(LogWalk {
            history,
            plan,
            limiter,
            frontier,
            path_history: None,
            listed: None,
        })
    }

    /// Walks a followed file from the beginning, by path history in place of the frontier.
    pub(super) fn with_path_history(self, path_history: PathHistory<'a>) -> LogWalk<'a> {
        let path_history = Some(path_history);
        LogWalk {
            path_history,
            ..self
        }
    }

    /// Whether path history can replace the walk of a followed file. Excluded dates and commits may
    /// change which commits are met first.
    pub(super) fn allows_path_history(plan: &Plan) -> bool {
        plan.excluded.is_none() && plan.dates.since.is_none()
    }

    /// [`LogWalk::next`] for a caller that only needs commits that may have changed the file named
    /// `path` at this point. May return others as well.
    ///
    /// # Errors
    /// As [`LogWalk::next`].
    pub(super) fn next_touching(
        &mut self,
        path: &RepoPath,
        cancel: &Cancel,
    ) -> Result<Option<WalkNode>, HistoryError> {
        let Some(path_history) = &mut self.path_history else {
            return self.next(cancel);
        };
        loop {
            let node = path_history.next(path, cancel)?;
            if node
                .as_ref()
                .is_none_or(|node| self.plan.dates.shows(node.time))
            {
                return Ok(node);
            }
        }
    }

    /// The next shown commit.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop. The walk can continue later.
    pub(super) fn next(&mut self, cancel: &Cancel) -> Result<Option<WalkNode>, HistoryError> {
        if let Some(excluded) = self.plan.excluded {
            if self.listed.is_none() {
                self.listed = Some(self.list_excluding(excluded, cancel)?);
            }
            return Ok(self.listed.as_mut().and_then(Vec::pop));
        }
        loop {
            cancel.check()?;
            let Some(node) = self.frontier.pop() else {
                return Ok(None);
            };
            if self.plan.dates.excludes(node.time) {
                continue;
            }
            match self.advance(&node, cancel) {
                Ok(true) if self.plan.dates.shows(node.time) => return Ok(Some(node)),
                Ok(_) => {}
                Err(error) => {
                    self.frontier.put_back(node);
                    return Err(error);
                }
            }
        }
    }

    /// Returns the commit that came last: it becomes the next again.
    pub(super) fn put_back(&mut self, node: WalkNode) {
        match (&mut self.listed, &mut self.path_history) {
            (Some(listed), _) => listed.push(node),
            (None, Some(path_history)) => path_history.put_back(),
            (None, None) => self.frontier.put_back(node),
        }
    }

    /// The state to resume from, if the walk can be resumed.
    pub(super) fn state(&self) -> Option<WalkState> {
        let uses_frontier = self.plan.excluded.is_none() && self.path_history.is_none();
        uses_frontier.then(|| self.frontier.state()).flatten()
    }

    /// Queues the parents through which the walk continues. Returns whether the commit is shown.
    fn advance(&mut self, node: &WalkNode, cancel: &Cancel) -> Result<bool, HistoryError> {
        let (parents, is_shown) = self.simplify(node, |_| true, cancel)?;
        for parent in parents {
            self.frontier.push(parent)?;
        }
        Ok(is_shown)
    }

    /// The parents through which the walk continues, and whether the commit differs from them at
    /// the limiting path. If any parents count, only those decide.
    pub(super) fn simplify(
        &mut self,
        node: &WalkNode,
        counts: impl Fn(CommitKey) -> bool,
        cancel: &Cancel,
    ) -> Result<(Vec<CommitKey>, bool), HistoryError> {
        let Some(limiter) = &mut self.limiter else {
            return Ok((node.parents.clone(), true));
        };
        let history = self.history;
        if node.parents.is_empty() {
            let known = limiter.is_proven_same(history, node.key);
            let differs = !known && limiter.differs(history, node, None, cancel)?;
            return Ok((Vec::new(), differs));
        }
        let (mut any_counts, mut differs, mut differs_otherwise) = (false, false, false);
        for (nth, &parent) in node.parents.iter().enumerate() {
            let parent_counts = counts(parent);
            any_counts |= parent_counts;
            let known = nth == 0 && limiter.is_proven_same(history, node.key);
            let is_same = known || !limiter.differs(history, node, Some(parent), cancel)?;
            match (is_same, parent_counts) {
                (true, true) => return Ok((vec![parent], false)),
                (true, false) => {}
                (false, true) => differs = true,
                (false, false) => differs_otherwise = true,
            }
        }
        let is_shown = if any_counts {
            differs
        } else {
            differs_otherwise
        };
        Ok((node.parents.clone(), is_shown))
    }
}
