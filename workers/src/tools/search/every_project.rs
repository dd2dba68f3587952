//! Searches every project that the caller may read, in pages.
//!
//! The default project comes first, then the others by slug. A page has whole projects as far as it
//! has room, and part of one only if that has more matches than a page. The cursor names the
//! project and the place in it where the next page begins, and the default project that decided the
//! order. A project that takes the time of a whole page in vain is skipped, so that the others are reached.

use std::time::Duration;

use archway_proto::{failure::Failure, log::LogLevel};
use archway_repo::Matches;
use futures::StreamExt as _;
use tokio::time::{Instant, timeout_at};

use super::{
    batches::search_each,
    collected::Match,
    page::{EveryProject, Page, PageRequest, commit},
    place::Place,
    run::timeout,
};
use crate::{
    context::{Snapshot, ToolContext},
    tools::paging,
};

/// The least time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// How long after the deadline a search may still show what it found.
const GRACE: Duration = Duration::from_millis(300);

/// Searches the projects of a page.
///
/// # Errors
/// `search_timeout` if the time was up before the only project was searched; `invalid_arguments` for a cursor of
/// another state.
pub(super) async fn page<M: Match>(
    cx: &ToolContext,
    request: &PageRequest,
) -> Result<EveryProject<M>, Failure> {
    let readable = cx.projects().await?;
    let default = cx
        .default_project(&readable)
        .map(|it| paging::hash(&it.slug));
    let slugs = readable.iter().map(|project| project.slug.as_str());
    let start = request.cursor.as_deref();
    let start = start
        .map(|cursor| Place::parse(cursor, slugs))
        .transpose()?;
    let default = start
        .as_ref()
        .map_or(default, |start| start.default.clone());
    let order = Place::order(readable, default.as_deref(), start.as_ref());
    let warn = Box::new(|message| cx.log(LogLevel::Warning, message));
    let mut page = Page::new(warn, request, default, order.len());
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
        if page.add((project, following), skip, found)? {
            break;
        }
    }
    Ok(page.finish())
}

/// Checks that a project is still at the commit in which its matches were counted.
fn check(place: &Place, found: &Result<Snapshot<Matches>, Failure>) -> Result<(), Failure> {
    let Ok(snapshot) = found else {
        return Ok(());
    };
    let now = commit(snapshot);
    match now.as_deref().map(paging::short_commit) == place.commit.as_deref() {
        true => Ok(()),
        false => Err(paging::other_state()),
    }
}
