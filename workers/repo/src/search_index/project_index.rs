//! The index of one repository.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use archway_trigrams::{BlobId, SegmentError};
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::saved_files::{self, Damaged, SavedFile};
use super::segments::{OpenSegment, Segments};
use super::store::SegmentStore;
use crate::metrics::RepoMetrics;
use crate::weight::CachedWeight;

/// How often the use of an index is recorded.
const USE_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// With the files of so many projects, those that are closed are forgotten.
const MANY_PROJECTS: usize = 64;
/// Memory of an index without segments, in bytes.
const WEIGHT_OPEN: usize = 1 << 10;

/// The index of one repository.
#[derive(Debug)]
pub(crate) struct ProjectIndex {
    pub(super) store: SegmentStore,
    /// Outlives the index: a closed one must not be built again at once.
    pub(super) schedule: Arc<Mutex<Schedule>>,
    /// The blobs of the last listing of each project that was searched by this index.
    files: Mutex<HashMap<String, Weak<Vec<Option<BlobId>>>>>,
    /// The least weight of a segment: it takes a descriptor.
    segment_weight: usize,
    segments: Mutex<Arc<Segments>>,
    used: Mutex<Option<Instant>>,
    last_weight: CachedWeight,
    metrics: RepoMetrics,
}

/// When the next build may begin.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// A build waits or runs.
    pub(super) is_queued: bool,
    /// The next build may not begin earlier.
    pub(super) next: Option<Instant>,
    /// The snapshot that was built last, and when.
    pub(super) built: Option<(String, Instant)>,
}

impl ProjectIndex {
    /// Opens the segments that the store has.
    pub(super) fn open(
        store: SegmentStore,
        schedule: Arc<Mutex<Schedule>>,
        segment_weight: usize,
        metrics: &RepoMetrics,
    ) -> ProjectIndex {
        let index = ProjectIndex {
            store,
            schedule,
            files: Mutex::default(),
            segment_weight,
            segments: Mutex::new(Arc::new(Segments::new(Vec::new()))),
            used: Mutex::new(None),
            last_weight: CachedWeight::default(),
            metrics: metrics.clone(),
        };
        index.refresh();
        index
    }

    pub(super) fn segments(&self) -> Arc<Segments> {
        Arc::clone(&self.segments.lock())
    }

    /// Records the blobs of a project's files: their texts are kept.
    pub(super) fn record_files(&self, project: &str, blobs: &Arc<Vec<Option<BlobId>>>) {
        let mut files = self.files.lock();
        if files.len() >= MANY_PROJECTS {
            files.retain(|_, blobs| blobs.strong_count() > 0);
        }
        let blobs = Arc::downgrade(blobs);
        let is_known = |known: &Weak<_>| known.ptr_eq(&blobs);
        if !files.get(project).is_some_and(is_known) {
            files.insert(project.to_owned(), blobs);
        }
    }

    /// The blobs of all projects that were searched by this index and are still open.
    pub(super) fn blobs_in_use(&self) -> HashSet<BlobId> {
        let files = self.files.lock();
        let open = files.values().filter_map(Weak::upgrade);
        open.flat_map(|blobs| blobs.iter().flatten().copied().collect::<Vec<_>>())
            .collect()
    }

    /// Records that the index is used, unless it was recorded recently.
    pub(super) fn record_use(&self) {
        let mut used = self.used.lock();
        if used.is_none_or(|last| last.elapsed() >= USE_INTERVAL) {
            *used = Some(Instant::now());
            drop(used);
            self.store.record_use();
            // Other workers may have replaced segments: their space is free once they are closed.
            self.refresh();
        }
    }

    /// Opens the segments that other workers wrote, and closes those that are gone.
    pub(super) fn refresh(&self) {
        if self.store.folder().is_none() {
            return;
        }
        // Before the names: if a build replaces segments meanwhile, the next refresh opens what it wrote.
        let open = self.segments();
        let names = match self.store.names() {
            Ok(names) => names,
            Err(error) => {
                let error = error.kind();
                tracing::debug!(%error, "the folder of a search index can't be read");
                return;
            }
        };
        let mut list = open.list.clone();
        list.retain(|segment| names.contains(&segment.name));
        let known: Vec<PathBuf> = list.iter().map(|segment| segment.name.clone()).collect();
        let new = names.into_iter().filter(|name| !known.contains(name));
        let before = list.len();
        list.extend(new.filter_map(|name| self.open_segment(name)));
        if list.len() != before || before != open.list.len() {
            let mut segments = self.segments.lock();
            if Arc::ptr_eq(&segments, &open) {
                *segments = Arc::new(Segments::new(list));
            }
        }
    }

    /// The files of a project, as they were saved with this basis. Damaged ones are removed.
    pub(crate) fn saved_files(&self, project: &str, basis: &str) -> Option<Vec<SavedFile>> {
        let saved = self.store.load(project)?;
        saved_files::decode(&saved, basis).unwrap_or_else(|Damaged| {
            self.metrics.search_index_damaged();
            tracing::warn!(
                "a project's saved list of files is damaged: it is removed and will be made again"
            );
            self.store.remove_saved(project);
            None
        })
    }

    /// Saves the files of a project, for a worker that starts again.
    pub(crate) fn save_files(&self, project: &str, files: Option<Vec<u8>>) {
        let saved = files.map_or(Ok(()), |files| self.store.save(project, &files));
        if let Err(error) = saved.map_err(|error| error.kind()) {
            tracing::debug!(%error, "the files of a project could not be saved");
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

    /// Stops using a segment that is damaged, and removes it. After another error it stays: the
    /// system may have lacked a descriptor for a moment.
    pub(super) fn report(&self, bad: &OpenSegment, error: &SegmentError) {
        if error.is_damage() && bad.mark_damaged() {
            self.warn(error);
            self.replace(std::slice::from_ref(&bad.name), Vec::new());
        } else if !error.is_damage() && bad.mark_unreadable() {
            tracing::warn!(%error, "a part of a search index can't be read: its files are scanned");
        }
    }

    /// Its memory, in bytes.
    pub(super) fn weigh(&self) -> u32 {
        self.last_weight.record(self.weight())
    }

    /// Whether it uses a quarter more than when it was weighed.
    pub(super) fn has_grown(&self) -> bool {
        self.last_weight.is_outgrown_by(self.weight())
    }

    fn weight(&self) -> usize {
        let segments = self.segments();
        let descriptors = segments.list.len() * self.segment_weight;
        segments.memory().max(descriptors) + WEIGHT_OPEN
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
        // Otherwise another worker removed it, or the system lacked a descriptor for a moment.
        if error.is_damage() {
            self.warn(error);
            self.store.remove(name);
        }
    }

    fn warn(&self, error: &SegmentError) {
        self.metrics.search_index_damaged();
        tracing::warn!(%error, "a part of a search index is removed and will be built again");
    }
}
