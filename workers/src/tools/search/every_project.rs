//! Searches every project that the caller may read, in pages.
//!
//! The default project comes first, then the others by slug. A page has whole projects as far as it
//! has room, and part of one only if that has more matches than a page. The cursor names the
//! project and the place in it where the next page begins, and the default project that decided the
//! order.

use std::{sync::Arc, time::Duration};

use archway_proto::{failure::Failure, fault::Fault, log::LogLevel};
use archway_repo::{Matches, Query, SearchTotals};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    batches::search_each,
    collected::{CollectedMatches, Match, SkippedProject},
    place::Place,
    run::timeout,
};
use crate::{
    context::{Snapshot, ToolContext},
    projects::Project,
    tools::{is_of_the_project, paging},
};

/// The least time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Projects of one page that may be skipped: an answer names them all, and has a bound.
const MAX_SKIPPED: usize = 50;

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

/// The search and how much a page may have.
pub(super) struct PageRequest {
    pub(super) query: Arc<Query>,
    /// Matching lines.
    pub(super) limit: usize,
    /// Bytes.
    pub(super) budget: usize,
    pub(super) cursor: Option<String>,
}

/// Searches the projects of a page.
///
/// # Errors
/// [`Fault::SearchTimeout`] if the time was up before anything was searched;
/// [`Fault::InvalidArguments`] for a cursor of another state.
pub(super) async fn page<M: Match>(
    cx: &ToolContext,
    request: &PageRequest,
) -> Result<EveryProject<M>, Failure> {
    let readable = cx.projects().await?;
    let default = cx.default_project(&readable).map(|it| it.slug.clone());
    let start = request.cursor.as_deref().map(Place::parse).transpose()?;
    let default = start
        .as_ref()
        .map_or(default, |start| start.default.clone());
    let order = in_order(readable, default.as_deref(), start.as_ref());
    let mut page = Page::new(cx, request, default, order.len());
    let begins = order.first().map(|project| &project.slug);
    let begins = start
        .as_ref()
        .filter(|start| begins == Some(&start.project));
    let skipped = begins.map_or(0, |start| start.skip);
    // Once the page is full, searches that still run stop.
    let stop = cx.cancel().token.child_token();
    let _stop = stop.clone().drop_guard();
    let found = search_each(cx, request, (&order, skipped), &stop);
    let mut found = std::pin::pin!(found);
    let mut reported: Option<Instant> = None;
    for (position, project) in order.iter().enumerate() {
        if reported.is_none_or(|last| last.elapsed() >= REPORT_INTERVAL) {
            reported = Some(Instant::now());
            let message = format!("searching {}", project.slug);
            cx.progress(position as f64, order.len() as f64, message);
        }
        let Some(found) = found.next().await else {
            break;
        };
        let skip = if position == 0 { skipped } else { 0 };
        if let Some(start) = start.as_ref().filter(|_| skip > 0) {
            check(start, &found)?;
        }
        let following = order.get(position + 1).map(|project| &**project);
        if page.add((project, following), skip, found)? {
            break;
        }
    }
    Ok(page.finish())
}

/// The projects of a page in their order: from the place where it begins.
fn in_order(
    mut projects: Vec<Arc<Project>>,
    default: Option<&str>,
    start: Option<&Place>,
) -> Vec<Arc<Project>> {
    let key = |slug: &str| (Some(slug) != default, slug.to_owned());
    projects.sort_by_cached_key(|project| key(&project.slug));
    if let Some(start) = start {
        let first = key(&start.project);
        projects.retain(|project| key(&project.slug) >= first);
    }
    projects
}

/// Checks that a project is still at the commit in which its matches were counted.
fn check(place: &Place, found: &Result<Snapshot<Matches>, Failure>) -> Result<(), Failure> {
    let Ok(snapshot) = found else {
        return Ok(());
    };
    match commit(snapshot) == place.commit {
        true => Ok(()),
        false => Err(paging::other_state()),
    }
}

fn commit(snapshot: &Snapshot<Matches>) -> Option<String> {
    snapshot.repo.head().map(|head| head.commit)
}

/// A page, while projects are added.
struct Page<'a, M> {
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
    fn new(
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
    fn add(
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

    fn finish(mut self) -> EveryProject<M> {
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
