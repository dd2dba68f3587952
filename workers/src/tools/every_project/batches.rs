//! Reads projects in batches, several at once, in their order.

use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_repo::{Cancel, Repo};
use futures::{Stream, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;

use super::{ReadResult, as_search_timeout};
use crate::{context::ToolContext, projects::Project};

/// Projects that one thread reads, one after the other: with an index, that takes less than waking a
/// thread for each. The first batches are smaller, because the first project may fill the page.
const LARGEST_BATCH: usize = 8;
/// Batches that are read at once: the next ones while the results of one are used.
const AT_ONCE: usize = 4;

/// The result of each project, in their order, until `stop`. Earlier pages have `skip` items of the
/// first one.
pub(super) fn read_each<'a, T, R>(
    cx: &'a ToolContext,
    read: Arc<R>,
    (projects, skip): (&[Arc<Project>], usize),
    stop: &CancellationToken,
) -> impl Stream<Item = ReadResult<T>> + 'a
where
    T: Send + 'static,
    R: Fn(&Repo, &Cancel, usize, &[ReadResult<T>]) -> Result<T, Failure> + Send + Sync + 'static,
{
    let batches = batches(projects).into_iter().enumerate();
    let batches = batches.map(move |(nth, batch)| (batch, if nth == 0 { skip } else { 0 }));
    let stop = stop.clone();
    let reads = stream::iter(batches);
    let reads = reads.map(move |batch| read_batch(cx, Arc::clone(&read), batch, stop.clone()));
    reads.buffered(AT_ONCE).flat_map(stream::iter)
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

/// Reads some projects, from the item after `skip`.
async fn read_batch<T, R>(
    cx: &ToolContext,
    read: Arc<R>,
    (batch, skip): (Vec<Arc<Project>>, usize),
    stop: CancellationToken,
) -> Vec<ReadResult<T>>
where
    T: Send + 'static,
    R: Fn(&Repo, &Cancel, usize, &[ReadResult<T>]) -> Result<T, Failure> + Send + Sync + 'static,
{
    let read = move |repo: &Repo, cancel: &Cancel, before: &[ReadResult<T>]| {
        let cancel = Cancel::new(cancel.deadline, stop.clone());
        read(repo, &cancel, skip, before)
    };
    let found = match cx.read_each(&batch, read).await {
        Ok(found) => found,
        Err(failure) => batch.iter().map(|_| Err(failure.clone())).collect(),
    };
    let found = found.into_iter();
    found
        .map(|found| found.map_err(as_search_timeout))
        .collect()
}
