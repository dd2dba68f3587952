//! Commits in the order of `git log`, and those of them that it shows.
//!
//! A commit's parents are reached when it is taken, and the youngest of all that were reached is
//! taken next: nothing is sorted, so where clocks were wrong, the order is that of git and not that
//! of time. A walk within a folder goes the way that git calls simplified: a merge that has the
//! folder as one of its parents has it is not shown, and the walk goes on with that parent alone.

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
    /// Where it begins.
    pub(super) from: Vec<ObjectId>,
    /// All that this commit reaches is left out.
    pub(super) without: Option<ObjectId>,
    pub(super) dates: Dates,
}

/// When commits were made, in seconds since 1970; both ends belong to the span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dates {
    /// An older commit is left out, with all that is reached through it alone.
    pub(super) since: Option<i64>,
    /// A younger commit is not shown.
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

/// A walk that is under way.
pub(super) struct Walk<'a> {
    pub(super) history: &'a History,
    pub(super) plan: Plan,
    /// The folder that is looked at; all commits are shown without one.
    scope: Option<Scope>,
    pub(super) frontier: Frontier<'a>,
    /// Goes where the walk would, for a file that is followed.
    course: Option<Course<'a>>,
    /// What is shown, the last first, where that had to be found out before.
    listed: Option<Vec<Step>>,
}

impl<'a> Walk<'a> {
    /// A walk from its beginning, or from where another one stood.
    ///
    /// # Errors
    /// If a commit can't be read.
    pub(super) fn new(
        history: &'a History,
        plan: Plan,
        scope: Option<Scope>,
        stand: Option<&Stand>,
    ) -> Result<Walk<'a>, HistoryError> {
        // What another commit reaches is only known by walking over all of it.
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

    /// The walk of a followed file, from its beginning, by a course in place of the frontier.
    pub(super) fn along(self, course: Course<'a>) -> Walk<'a> {
        let course = Some(course);
        Walk { course, ..self }
    }

    /// Whether a walk of a followed file can go by a course: what dates and commits leave out may
    /// change which commits are met first.
    pub(super) fn can_go_along(plan: &Plan) -> bool {
        plan.without.is_none() && plan.dates.since.is_none()
    }

    /// [`Walk::next`] where only commits count that may have changed the file that is called `path`
    /// now; others may come all the same.
    ///
    /// # Errors
    /// As [`Walk::next`].
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

    /// The next commit that is shown.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop: then the walk can go on later.
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

    /// Gives back the commit that came last: it will be the next again.
    pub(super) fn give_back(&mut self, step: Step) {
        match (&mut self.listed, &mut self.course) {
            (Some(listed), _) => listed.push(step),
            (None, Some(course)) => course.give_back(),
            (None, None) => self.frontier.give_back(step),
        }
    }

    /// Where the walk stands, if a later one can go on from there.
    pub(super) fn stand(&self) -> Option<Stand> {
        let is_elsewhere = self.plan.without.is_some() || self.course.is_some();
        (!is_elsewhere).then(|| self.frontier.written()).flatten()
    }

    /// Lets the parents join through which the walk goes on; whether the commit is shown.
    fn pass(&mut self, step: &Step, cancel: &Cancel) -> Result<bool, HistoryError> {
        let (parents, is_shown) = self.simplified(step, |_| true, cancel)?;
        for parent in parents {
            self.frontier.join(parent)?;
        }
        Ok(is_shown)
    }

    /// The parents through which the walk goes on, and whether the commit differs from them in
    /// what is looked at. Only parents that count decide, if any does.
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
