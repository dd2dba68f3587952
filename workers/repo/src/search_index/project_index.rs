//! The index of one repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use archway_trigrams::SegmentError;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::segments::{OpenSegment, Segments};
use super::store::{SegmentStore, WriteLock};
use crate::metrics::RepoMetrics;

/// How often the use of an index is recorded.
const USE_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Memory of an index without segments, in bytes.
const WEIGHT_OPEN: usize = 1 << 10;

/// The index of one repository.
#[derive(Debug)]
pub(crate) struct ProjectIndex {
    pub(super) store: SegmentStore,
    pub(super) schedule: Mutex<Schedule>,
    segments: Mutex<Arc<Segments>>,
    used: Mutex<Option<Instant>>,
    last_weight: AtomicU32,
    metrics: RepoMetrics,
}

/// When the next build may begin.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// A build waits or runs.
    pub(super) is_queued: bool,
    /// The next build may not begin earlier.
    pub(super) next: Option<Instant>,
}

impl ProjectIndex {
    /// Opens the segments that the store has.
    pub(super) fn open(store: SegmentStore, metrics: &RepoMetrics) -> ProjectIndex {
        let index = ProjectIndex {
            store,
            schedule: Mutex::default(),
            segments: Mutex::new(Arc::new(Segments::new(Vec::new()))),
            used: Mutex::new(None),
            last_weight: AtomicU32::new(0),
            metrics: metrics.clone(),
        };
        index.refresh();
        index
    }

    pub(super) fn segments(&self) -> Arc<Segments> {
        Arc::clone(&self.segments.lock())
    }

    /// Records that the index is used, unless it was recorded recently.
    pub(super) fn record_use(&self) {
        let mut used = self.used.lock();
        if used.is_none_or(|last| last.elapsed() >= USE_INTERVAL) {
            *used = Some(Instant::now());
            drop(used);
            self.store.record_use();
        }
    }

    /// Opens the segments that other workers wrote, and closes those that are gone.
    pub(super) fn refresh(&self) {
        if self.store.folder().is_none() {
            return;
        }
        let (names, open) = (self.store.names(), self.segments());
        let mut list = open.list.clone();
        list.retain(|segment| names.contains(&segment.name));
        let known: Vec<PathBuf> = list.iter().map(|segment| segment.name.clone()).collect();
        let new = names.into_iter().filter(|name| !known.contains(name));
        let before = list.len();
        list.extend(new.filter_map(|name| self.open_segment(name)));
        if list.len() != before || before != open.list.len() {
            *self.segments.lock() = Arc::new(Segments::new(list));
        }
    }

    /// Takes the only right to write to the store. `None` if another process has it, or if the
    /// store cannot be used.
    pub(super) fn lock(&self) -> Option<WriteLock> {
        match self.store.lock() {
            Ok(lock) => lock,
            Err(error) => {
                let error = error.kind();
                tracing::warn!(%error, "the folder of a search index can't be used");
                None
            }
        }
    }

    /// Replaces the segments of these names by new ones.
    pub(super) fn replace(&self, old: &[PathBuf], new: Vec<Arc<OpenSegment>>) {
        let mut segments = self.segments.lock();
        let mut list = segments.list.clone();
        list.retain(|open| !old.contains(&open.name));
        list.extend(new);
        *segments = Arc::new(Segments::new(list));
        drop(segments);
        old.iter().for_each(|name| self.store.remove(name));
    }

    /// Stops using a segment that could not be read; a damaged one is removed.
    pub(super) fn report(&self, bad: &OpenSegment, error: &SegmentError) {
        if bad.mark_damaged() {
            self.warn(error);
            let names = [bad.name.clone()];
            let mut segments = self.segments.lock();
            let list = segments.list.iter().filter(|open| open.name != bad.name);
            *segments = Arc::new(Segments::new(list.cloned().collect()));
            drop(segments);
            names.iter().for_each(|name| self.store.remove(name));
        }
    }

    /// Its memory, in bytes.
    pub(super) fn weigh(&self) -> u32 {
        let weight = self.weight();
        self.last_weight.store(weight, Ordering::Relaxed);
        weight
    }

    /// Whether it uses a quarter more than when it was weighed.
    pub(super) fn has_grown(&self) -> bool {
        let last = self.last_weight.load(Ordering::Relaxed);
        self.weight() > last.saturating_add(last / 4)
    }

    fn weight(&self) -> u32 {
        let memory = self.segments.lock().memory() + WEIGHT_OPEN;
        u32::try_from(memory).unwrap_or(u32::MAX)
    }

    fn open_segment(&self, name: PathBuf) -> Option<Arc<OpenSegment>> {
        match self.store.open(&name) {
            Ok(segment) => Some(OpenSegment::new(name, segment)),
            Err(error) => {
                self.refuse(&name, &error);
                None
            }
        }
    }

    fn refuse(&self, name: &Path, error: &SegmentError) {
        match error {
            // Another worker removed it.
            SegmentError::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            error => {
                self.warn(error);
                self.store.remove(name);
            }
        }
    }

    fn warn(&self, error: &SegmentError) {
        self.metrics.search_index_damaged();
        tracing::warn!(%error, "a part of a search index is removed and will be built again");
    }
}
