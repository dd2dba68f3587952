//! Searches many projects: in batches, several at once, with results in the order of the projects.

use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_repo::{Cancel, MatchRange, Matches, Repo};
use futures::{Stream, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use super::{page::PageRequest, run::as_search_timeout};
use crate::{
    context::{Snapshot, ToolContext},
    projects::Project,
};

/// Projects that one thread searches, one after the other: with an index, that takes less than waking a
/// thread for each. The first batches are smaller, because the first project may fill the page.
const LARGEST_BATCH: usize = 8;
/// Batches that are searched at once: the next ones while the results of one are used.
const AT_ONCE: usize = 4;

/// What the search of a project found.
type SearchResult = Result<Snapshot<Matches>, Failure>;

/// The result of each project, in their order, until `stop`. Earlier pages have `skip` matches of the
/// first one.
pub(super) fn search_each<'a>(
    cx: &'a ToolContext,
    request: &'a PageRequest,
    (projects, skip): (&[Arc<Project>], usize),
    stop: &CancellationToken,
) -> impl Stream<Item = SearchResult> + 'a {
    let batches = batches(projects).into_iter().enumerate();
    let batches = batches.map(move |(nth, batch)| (batch, if nth == 0 { skip } else { 0 }));
    let stop = stop.clone();
    let searches = stream::iter(batches);
    let searches = searches.map(move |batch| search_batch(cx, request, batch, stop.clone()));
    searches.buffered(AT_ONCE).flat_map(stream::iter)
}

/// Divides projects into batches that grow: the first has one.
fn batches(projects: &[Arc<Project>]) -> Vec<Vec<Arc<Project>>> {
    let (mut batches, mut rest, mut size) = (Vec::new(), projects, 1);
    while !rest.is_empty() {
        let (batch, others) = rest.split_at(size.min(rest.len()));
        batches.push(batch.to_vec());
        (rest, size) = (others, (size * 2).min(LARGEST_BATCH));
    }
    batches
}

/// Searches some projects, from the match after `skip`.
async fn search_batch(
    cx: &ToolContext,
    request: &PageRequest,
    (batch, skip): (Vec<Arc<Project>>, usize),
    stop: CancellationToken,
) -> Vec<SearchResult> {
    let (query, limit) = (Arc::clone(&request.query), request.limit);
    let search = move |repo: &Repo, cancel: &Cancel, before: &[SearchResult]| {
        let cancel = Cancel::new(cancel.deadline, stop.clone());
        // A page takes no part of a project that has more lines than fit: a batch renders at most a page.
        let lines = before.iter().flatten().map(|found| found.value.lines.len());
        let limit = limit.saturating_sub(lines.sum());
        Ok(repo.search(&query, MatchRange::of(skip, limit), &cancel)?)
    };
    let found = match cx.read_each(&batch, search).await {
        Ok(found) => found,
        Err(failure) => batch.iter().map(|_| Err(failure.clone())).collect(),
    };
    let found = found.into_iter();
    found
        .map(|found| found.map_err(as_search_timeout))
        .collect()
}
