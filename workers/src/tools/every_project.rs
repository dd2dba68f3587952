//! A page of an answer from every project that the caller may read.
//!
//! The default project comes first, then the others by slug. The cursor names the project where the next page
//! begins, and how many of its items earlier pages have.

mod place;
mod batches;
mod page;

use std::{sync::Arc, time::Duration};

use archway_proto::{failure::Failure, fault::Fault, log::LogLevel};
use archway_repo::{Cancel, Repo};
use futures::StreamExt as _;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use batches::read_each;
pub(super) use page::{Added, SkippedProject};
use page::{Page, commit};
use place::Place;

use super::paging;
use crate::{
    context::{Snapshot, ToolContext},
    projects::Project,
};

/// The least time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// How long after the deadline a page may still show what was found: longer than a search may render lines, and
/// shorter than the part of a call's time that is reserved for its answer.
const GRACE: Duration = Duration::from_millis(90);

/// What a tool looks for in each project, and how it collects a page.
pub(super) trait Collect {
    /// What one project has.
    type Found: Send + 'static;
    /// Reads one project: what it has after the `skip` items of earlier pages. The last argument is what the
    /// projects before it in the same batch have.
    fn read(
        &self,
    ) -> impl Fn(&Repo, &Cancel, usize, &[ReadResult<Self::Found>]) -> Result<Self::Found, Failure>
    + Send
    + Sync
    + use<Self>
    + 'static;

    /// Adds what a project has, after the `skip` items of earlier pages.
    fn add(&mut self, project: &Project, skip: usize, found: Self::Found) -> Added;
}

/// What was read of a project.
type ReadResult<T> = Result<Snapshot<T>, Failure>;

/// What a page says beside its items.
pub(super) struct EveryProject {
    /// The cursor of the next page.
    pub(super) next: Option<String>,
    /// `{searched, remaining, skipped}`, for `_meta`.
    pub(super) projects: Value,
    /// Projects that were searched to their end or skipped.
    pub(super) done: usize,
    pub(super) skipped: Vec<SkippedProject>,
    /// The time was up before the page was full.
    pub(super) is_late: bool,
    /// A repository moved while it was read.
    pub(super) moved: bool,
}

/// Collects a page.
///
/// # Errors
/// `search_timeout` if the time was up before the only project was searched; `invalid_arguments` for a cursor of
/// another state.
pub(super) async fn collect<C: Collect>(
    cx: &ToolContext,
    cursor: Option<&str>,
    collected: &mut C,
) -> Result<EveryProject, Failure> {
    let (order, default, start) = order(cx, cursor).await?;
    let warn = Box::new(|message| cx.log(LogLevel::Warning, message));
    let mut page = Page::new(warn, cursor.is_some(), default, order.len());
    let begins = order.first().map(|project| &project.slug);
    let begins = start
        .as_ref()
        .filter(|start| begins == Some(&start.project));
    let skipped = begins.map_or(0, |start| start.skip);
    // Once the page is full, reads that still run stop.
    let stop = cx.cancel().token.child_token();
    let _stop = stop.clone().drop_guard();
    let found = read_each(cx, Arc::new(collected.read()), (&order, skipped), &stop);
    let mut found = std::pin::pin!(found);
    let latest = cx.cancel().deadline + GRACE;
    let mut reported: Option<Instant> = None;
    for (position, project) in order.iter().enumerate() {
        if reported.is_none_or(|last| last.elapsed() >= REPORT_INTERVAL) {
            reported = Some(Instant::now());
            let message = format!("searching {}", project.slug);
            cx.progress(position as f64, order.len() as f64, message);
        }
        let found = match timeout_at(latest, found.next()).await {
            Ok(Some(found)) => found,
            Ok(None) => break,
            // A folder may not respond.
            Err(_elapsed) => Err(timeout()),
        };
        let skip = if position == 0 { skipped } else { 0 };
        if let Some(start) = start.as_ref().filter(|_| skip > 0) {
            check(start, &found)?;
        }
        let following = order.get(position + 1).map(|project| &**project);
        if page.add(collected, (project, following), skip, found)? {
            break;
        }
    }
    Ok(page.finish())
}

/// The projects of a page in their order, the hash of the default one, and where the page begins.
type Order = (Vec<Arc<Project>>, Option<String>, Option<Place>);

async fn order(cx: &ToolContext, cursor: Option<&str>) -> Result<Order, Failure> {
    let readable = cx.projects().await?;
    let slugs = readable.iter().map(|project| project.slug.as_str());
    let start = cursor
        .map(|cursor| Place::parse(cursor, slugs))
        .transpose()?;
    let default = match &start {
        Some(start) => start.default.clone(),
        None => cx
            .default_project(&readable)
            .map(|it| paging::hash(&it.slug)),
    };
    let order = Place::order(readable, default.as_deref(), start.as_ref());
    Ok((order, default, start))
}

/// Checks that a project is still at the commit in which its items were counted.
fn check<T>(place: &Place, found: &ReadResult<T>) -> Result<(), Failure> {
    let Ok(snapshot) = found else {
        return Ok(());
    };
    let now = commit(snapshot);
    match now.as_deref().map(paging::short_commit) == place.commit.as_deref() {
        true => Ok(()),
        false => Err(paging::other_state()),
    }
}

/// A search whose time was up before it began has a fault of its own.
pub(super) fn as_search_timeout(failure: Failure) -> Failure {
    match failure.code {
        Fault::DeadlineExceeded => timeout(),
        _ => failure,
    }
}

/// The time was up before anything was searched.
fn timeout() -> Failure {
    Failure::new(
        Fault::SearchTimeout,
        "the time was up before the search began",
        "narrow the search: one project, a glob, a rarer pattern",
    )
}
