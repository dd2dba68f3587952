//! A page of a search of every project, while projects are added.

use std::sync::Arc;

use archway_proto::{failure::Failure, fault::Fault, log::LogLevel};
use archway_repo::{Matches, Query, SearchTotals};
use serde_json::{Value, json};

use super::{
    collected::{CollectedMatches, Match, SkippedProject},
    place::Place,
    run::timeout,
};
use crate::{
    context::{Snapshot, ToolContext},
    projects::Project,
    tools::is_of_the_project,
};

/// Projects of one page that may be skipped: an answer names them all, and has a bound.
const MAX_SKIPPED: usize = 50;

/// The search and how much a page may have.
pub(super) struct PageRequest {
    pub(super) query: Arc<Query>,
    /// Matching lines.
    pub(super) limit: usize,
    /// Bytes.
    pub(super) budget: usize,
    pub(super) cursor: Option<String>,
}

/// A page in the making.
pub(super) struct EveryProject<M> {
    pub(super) collected: CollectedMatches<M>,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
    /// `{searched, remaining, skipped}`, for `_meta`.
    pub(super) projects: Value,
}

/// What one project adds to a page.
enum Added {
    /// All of its matches.
    Whole,
    /// As many matches as the page had room for; or none, as the page has some already.
    Part { next: Place },
    /// The matches before the time was up.
    TimeUp { next: Place },
}

pub(super) fn commit(snapshot: &Snapshot<Matches>) -> Option<String> {
    snapshot.repo.head().map(|head| head.commit)
}

/// A page, while projects are added.
pub(super) struct Page<'a, M> {
    cx: &'a ToolContext,
    request: &'a PageRequest,
    default: Option<String>,
    collected: CollectedMatches<M>,
    /// Projects of this page and of later ones.
    projects: usize,
    searched: usize,
    codes: Vec<Value>,
    next: Option<Place>,
}

impl<'a, M: Match> Page<'a, M> {
    pub(super) fn new(
        cx: &'a ToolContext,
        request: &'a PageRequest,
        default: Option<String>,
        projects: usize,
    ) -> Page<'a, M> {
        Page {
            cx,
            request,
            default,
            collected: CollectedMatches::new(String::new()),
            projects,
            searched: 0,
            codes: Vec::new(),
            next: None,
        }
    }

    /// Adds a project, of which earlier pages have `skip` matches. Returns true if the page ends.
    /// `following` is the project after it.
    pub(super) fn add(
        &mut self,
        (project, following): (&Project, Option<&Project>),
        skip: usize,
        found: Result<Snapshot<Matches>, Failure>,
    ) -> Result<bool, Failure> {
        let snapshot = match found {
            Ok(snapshot) => snapshot,
            Err(failure) if is_of_the_project(failure.code) => {
                self.skip(project, failure);
                let next = following.filter(|_| self.codes.len() >= MAX_SKIPPED);
                self.next = next.map(|next| self.place(next, None, 0));
                return Ok(self.next.is_some());
            }
            Err(failure) if failure.code == Fault::SearchTimeout && self.searched > 0 => {
                self.collected.totals.incomplete = true;
                self.next = Some(self.place(project, None, 0));
                return Ok(true);
            }
            Err(failure) => return Err(failure),
        };
        let commit = commit(&snapshot);
        let moved = snapshot.moved;
        let added = self.add_matches(project, (skip, commit), snapshot.value);
        if !matches!(&added, Added::Part { next } if next.skip == 0) {
            self.collected.moved |= moved;
        }
        self.next = match added {
            Added::Whole => {
                self.searched += 1;
                return Ok(false);
            }
            Added::Part { next } => Some(next),
            Added::TimeUp { next } if self.searched == 0 && next.skip == skip => {
                if self.request.cursor.is_none() {
                    return Err(timeout());
                }
                // Its next page would be as empty. The others follow.
                self.skip(project, timeout());
                self.collected.totals.incomplete = true;
                following.map(|next| self.place(next, None, 0))
            }
            Added::TimeUp { next } => {
                self.collected.totals.incomplete = true;
                Some(next)
            }
        };
        Ok(true)
    }

    fn add_matches(
        &mut self,
        project: &Project,
        (skip, commit): (usize, Option<String>),
        mut found: Matches,
    ) -> Added {
        let room = self.request.limit.saturating_sub(self.collected.len());
        let rest = usize::try_from(found.totals.matches).unwrap_or(usize::MAX);
        let rest = rest.saturating_sub(skip);
        let is_empty = self.collected.len() == 0;
        if !is_empty && rest > room {
            return Added::Part {
                next: self.place(project, None, 0),
            };
        }
        let (totals, lines) = (found.totals, found.lines.len());
        found.totals = SearchTotals::default();
        let before = self.collected.len();
        self.collected.add(found, Some(&project.slug));
        let mut shown = lines;
        if !self.collected.fits(self.request.budget) {
            if !is_empty {
                self.collected.truncate(before);
                return Added::Part {
                    next: self.place(project, None, 0),
                };
            }
            shown = self.collected.cut(self.request.budget);
        }
        self.collected.totals += SearchTotals {
            incomplete: false,
            ..totals
        };
        let next = self.place(project, commit, skip + shown);
        match (shown < rest, totals.incomplete) {
            (_, true) => Added::TimeUp { next },
            (true, false) => Added::Part { next },
            (false, false) => Added::Whole,
        }
    }

    fn place(&self, project: &Project, commit: Option<String>, skip: usize) -> Place {
        Place {
            default: self.default.clone(),
            project: project.slug.clone(),
            commit: commit.filter(|_| skip > 0),
            skip,
        }
    }

    /// Logs to the caller at once that a project was skipped. The answer says so, too.
    fn skip(&mut self, project: &Project, failure: Failure) {
        let (slug, why) = (project.slug.clone(), failure.message);
        let message = json!({ "message": format!("not searched: {why}"), "project": slug });
        self.cx.log(LogLevel::Warning, message);
        self.codes
            .push(json!({ "project": slug, "code": failure.code }));
        self.collected.skipped.push(SkippedProject { slug, why });
    }

    pub(super) fn finish(mut self) -> EveryProject<M> {
        let done = self.searched + self.codes.len();
        self.collected.projects = done + usize::from(self.next.is_some());
        let projects = json!({
            "searched": self.searched,
            "remaining": self.projects.saturating_sub(done),
            "skipped": self.codes,
        });
        EveryProject {
            collected: self.collected,
            next: self.next.map(|place| place.cursor()),
            projects,
        }
    }
}
