//! The thread that builds indexes: one repository at a time, at low CPU priority.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use archway_trigrams::SegmentError;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::build::{Build, BuildError, BuildSource};
use super::compaction::Compaction;
use super::project_index::ProjectIndex;
use super::queue::BuildQueue;
use super::room::Room;
use crate::cancel::Cancel;
use crate::metrics::RepoMetrics;
use crate::search_pool::lower_priority_for_background;

/// A longer build ends with what it has. The next one finds these texts in the index.
const MAX_BUILD_TIME: Duration = Duration::from_secs(30 * 60);
/// After a build, its repository rests this many times as long as the build took.
const REST: u32 = 9;
const MIN_REST: Duration = Duration::from_millis(500);
/// A snapshot of which a build could not read all is built again after this time.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// The rest after a build that failed.
const FAILURE_REST: Duration = Duration::from_secs(60);

/// Requests builds. Dropping it ends the thread, and the build in progress.
pub(super) struct Builder {
    queue: Arc<BuildQueue<Job>>,
    end: CancellationToken,
    metrics: RepoMetrics,
}

/// A repository whose index is to be built.
struct Job {
    index: Arc<ProjectIndex>,
    source: Box<dyn BuildSource>,
}

/// What a pass over a snapshot did.
struct Added {
    /// The index still lacks texts for want of room.
    is_full: bool,
    /// Texts that no file has were dropped.
    has_dropped: bool,
}

/// The state of the thread.
struct BuilderThread {
    queue: Arc<BuildQueue<Job>>,
    room: Arc<Room>,
    end: CancellationToken,
    metrics: RepoMetrics,
}

impl Builder {
    /// Starts the thread, confined as the calling one.
    pub(super) fn start(room: Arc<Room>, metrics: RepoMetrics) -> io::Result<Builder> {
        let (queue, end) = (Arc::new(BuildQueue::new()), CancellationToken::new());
        let thread = BuilderThread {
            queue: Arc::clone(&queue),
            room,
            end: end.clone(),
            metrics: metrics.clone(),
        };
        let named = std::thread::Builder::new().name("search-index".to_owned());
        named.spawn(move || thread.run())?;
        Ok(Builder {
            queue,
            end,
            metrics,
        })
    }

    pub(super) fn metrics(&self) -> &RepoMetrics {
        &self.metrics
    }

    /// Requests a build, unless one is requested, the index rests, or the same snapshot was built.
    pub(super) fn request(
        &self,
        index: &Arc<ProjectIndex>,
        tenant: &str,
        source: impl BuildSource,
    ) {
        let mut schedule = index.schedule.lock();
        let rests = schedule.next.is_some_and(|next| Instant::now() < next);
        // A snapshot that is incomplete after a build has objects that cannot be read.
        let is_built = schedule.built.as_ref().is_some_and(|(snapshot, built)| {
            source.snapshot() == Some(snapshot) && built.elapsed() < RETRY_INTERVAL
        });
        if schedule.is_queued || rests || is_built {
            return;
        }
        let job = Job {
            index: Arc::clone(index),
            source: Box::new(source),
        };
        schedule.is_queued = self.queue.push(tenant, job);
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        self.end.cancel();
        self.queue.close();
    }
}

impl BuilderThread {
    fn run(&self) {
        lower_priority_for_background("search-index");
        while let Some(job) = self.queue.pop() {
            let started = Instant::now();
            // A panic on one repository must not end builds for all.
            let built = catch_unwind(AssertUnwindSafe(|| self.build(&job)));
            let is_whole = matches!(built, Ok(Ok(())));
            let rest = match built {
                Ok(Ok(())) => MIN_REST,
                Ok(Err(error)) => self.report(&error),
                Err(_panic) => {
                    tracing::error!("the build of a search index panicked: bug");
                    FAILURE_REST
                }
            };
            let mut schedule = job.index.schedule.lock();
            schedule.is_queued = false;
            let snapshot = job.source.snapshot().filter(|_| is_whole);
            schedule.built = snapshot.map(|snapshot| (snapshot.to_owned(), Instant::now()));
            schedule.next = Some(Instant::now() + rest.max(started.elapsed() * REST));
        }
    }

    fn build(&self, job: &Job) -> Result<(), BuildError> {
        let lock = job.index.store.lock().map_err(SegmentError::Io)?;
        let _lock = lock.ok_or(BuildError::Busy)?;
        // A folder that was only just made would be the first to be removed.
        job.index.store.record_use();
        job.index.refresh();
        self.room.make(0);
        let cancel = Cancel::new(Instant::now() + MAX_BUILD_TIME, self.end.clone());
        // A full index may have room once it has dropped the texts that no file has any more.
        let mut added = self.add_missing(job, &cancel)?;
        if added.is_full && added.has_dropped {
            added = self.add_missing(job, &cancel)?;
        }
        if added.is_full {
            return Err(BuildError::Full);
        }
        self.metrics.search_index_built();
        Ok(())
    }

    /// Adds what the index lacks, then joins and cleans its segments.
    fn add_missing(&self, job: &Job, cancel: &Cancel) -> Result<Added, BuildError> {
        let mut build = Build::new(&job.index, &self.room, cancel);
        let read = job.source.read(&mut build);
        let built = build.finish()?;
        job.source.finish(&job.index);
        // Of a snapshot that was read in part, it is not known what it lacks.
        let live = read.is_ok().then_some(built.live);
        let compaction = Compaction {
            index: &job.index,
            room: &self.room,
            cancel,
        };
        let has_dropped = compaction.run(live, built.is_full)?;
        read?;
        Ok(Added {
            is_full: built.is_full,
            has_dropped,
        })
    }

    /// Logs why a build failed, and returns how long its repository rests.
    fn report(&self, error: &BuildError) -> Duration {
        match error {
            BuildError::Stopped(_) | BuildError::Closed | BuildError::Busy => return MIN_REST,
            BuildError::Full => tracing::info!(
                "a repository is larger than the search index may become \
                 (--search-cache-bytes): a part of it is searched without the index"
            ),
            BuildError::Segment(error) => {
                tracing::warn!(%error, "a search index could not be written");
            }
        }
        self.metrics.search_index_failed();
        FAILURE_REST
    }
}
