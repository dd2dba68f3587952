//! Commits in the order of `git log`, and which of them are shown.
//!
//! Visiting a commit queues its parents, and the youngest queued commit is visited next. Nothing is
//! sorted: where clocks were wrong, the order is git's and not that of time. A walk limited to a
//! folder follows git's history simplification: a merge whose folder equals that of one parent is
//! not shown, and the walk continues with that parent alone.

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;

use super::frontier::Frontier;
use super::path_history::Course;
use super::place::Stand;
use super::scope::Scope;
use super::steps::{Spot, Step};
use super::{History, HistoryError};

/// Which commits are walked over.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The commits at which the walk begins.
    pub(super) from: Vec<ObjectId>,
    /// Excludes this commit and all its ancestors.
    pub(super) without: Option<ObjectId>,
    pub(super) dates: Dates,
}

/// A span of committer times, in seconds since 1970. Both ends belong to the span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dates {
    /// Excludes an older commit, and all that is reached through it alone.
    pub(super) since: Option<i64>,
    /// Hides a younger commit.
    pub(super) until: Option<i64>,
}

impl Dates {
    pub(super) fn ends_at(self, time: i64) -> bool {
        self.since.is_some_and(|since| time < since)
    }

    pub(super) fn shows(self, time: i64) -> bool {
        self.until.is_none_or(|until| time <= until)
    }
}

/// A walk in progress.
pub(super) struct Walk<'a> {
    pub(super) history: &'a History,
    pub(super) plan: Plan,
    /// Limits the walk to a folder. Without one, all commits are shown.
    scope: Option<Scope>,
    pub(super) frontier: Frontier<'a>,
    /// Replaces the frontier for a followed file.
    course: Option<Course<'a>>,
    /// The shown commits, the last one first, where they have to be computed up front.
    listed: Option<Vec<Step>>,
}

impl<'a> Walk<'a> {
    /// Starts a walk, or resumes a saved one.
    ///
    /// # Errors
    /// If a commit can't be read.
    pub(super) fn new(
        history: &'a History,
        plan: Plan,
        scope: Option<Scope>,
        stand: Option<&Stand>,
    ) -> Result<Walk<'a>, HistoryError> {
        // Exclusions are only known by walking over all of them.
        let stand = stand.filter(|_| plan.without.is_none());
        let frontier = match stand {
            Some(stand) => Frontier::resume(history, stand)?,
            None => Frontier::at(history, &plan.from)?,
        };
        Ok(Walk {
            history,
            plan,
            scope,
            frontier,
            course: None,
            listed: None,
        })
    }

    /// Walks a followed file from the beginning, by path history in place of the frontier.
    pub(super) fn along(self, course: Course<'a>) -> Walk<'a> {
        let course = Some(course);
        Walk { course, ..self }
    }

    /// Whether path history can replace the walk of a followed file. Excluded dates and commits may
    /// change which commits are met first.
    pub(super) fn can_go_along(plan: &Plan) -> bool {
        plan.without.is_none() && plan.dates.since.is_none()
    }

    /// [`LogWalk::next`] for a caller that only needs commits that may have changed the file named
    /// `path` at this point. May return others as well.
    ///
    /// # Errors
    /// As [`LogWalk::next`].
    pub(super) fn next_of(
        &mut self,
        path: &RepoPath,
        cancel: &Cancel,
    ) -> Result<Option<Step>, HistoryError> {
        let Some(course) = &mut self.course else {
            return self.next(cancel);
        };
        loop {
            let step = course.next(path, cancel)?;
            if step
                .as_ref()
                .is_none_or(|step| self.plan.dates.shows(step.time))
            {
                return Ok(step);
            }
        }
    }

    /// The next shown commit.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop. The walk can continue later.
    pub(super) fn next(&mut self, cancel: &Cancel) -> Result<Option<Step>, HistoryError> {
        if let Some(without) = self.plan.without {
            if self.listed.is_none() {
                self.listed = Some(self.list_without(without, cancel)?);
            }
            return Ok(self.listed.as_mut().and_then(Vec::pop));
        }
        loop {
            cancel.check()?;
            let Some(step) = self.frontier.take() else {
                return Ok(None);
            };
            if self.plan.dates.ends_at(step.time) {
                continue;
            }
            match self.pass(&step, cancel) {
                Ok(true) if self.plan.dates.shows(step.time) => return Ok(Some(step)),
                Ok(_) => {}
                Err(error) => {
                    self.frontier.give_back(step);
                    return Err(error);
                }
            }
        }
    }

    /// Returns the commit that came last: it becomes the next again.
    pub(super) fn give_back(&mut self, step: Step) {
        match (&mut self.listed, &mut self.course) {
            (Some(listed), _) => listed.push(step),
            (None, Some(course)) => course.give_back(),
            (None, None) => self.frontier.give_back(step),
        }
    }

    /// The state to resume from, if the walk can be resumed.
    pub(super) fn stand(&self) -> Option<Stand> {
        let is_elsewhere = self.plan.without.is_some() || self.course.is_some();
        (!is_elsewhere).then(|| self.frontier.written()).flatten()
    }

    /// Queues the parents through which the walk continues. Returns whether the commit is shown.
    fn pass(&mut self, step: &Step, cancel: &Cancel) -> Result<bool, HistoryError> {
        let (parents, is_shown) = self.simplified(step, |_| true, cancel)?;
        for parent in parents {
            self.frontier.join(parent)?;
        }
        Ok(is_shown)
    }

    /// The parents through which the walk continues, and whether the commit differs from them at
    /// the limiting path. If any parents count, only those decide.
    pub(super) fn simplified(
        &mut self,
        step: &Step,
        counts: impl Fn(Spot) -> bool,
        cancel: &Cancel,
    ) -> Result<(Vec<Spot>, bool), HistoryError> {
        let Some(scope) = &mut self.scope else {
            return Ok((step.parents.clone(), true));
        };
        let history = self.history;
        if step.parents.is_empty() {
            let known = scope.is_known_same(history, step.spot);
            let differs = !known && scope.differs(history, step, None, cancel)?;
            return Ok((Vec::new(), differs));
        }
        let (mut any_counts, mut differs, mut differs_otherwise) = (false, false, false);
        for (nth, &parent) in step.parents.iter().enumerate() {
            let it_counts = counts(parent);
            any_counts |= it_counts;
            let known = nth == 0 && scope.is_known_same(history, step.spot);
            let is_same = known || !scope.differs(history, step, Some(parent), cancel)?;
            match (is_same, it_counts) {
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
        Ok((step.parents.clone(), is_shown))
    }
}
