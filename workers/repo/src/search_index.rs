//! The search index: which files of a project can match a pattern, and their texts.
//!
//! An index has the distinct texts of a repository by their blobs, whatever file or commit has
//! them. It changes no answer: a file of which it knows nothing is scanned, and one that it proposes
//! is matched as in a scan. It is built in the background after a search that found files missing.
//!
//! Path rules are no part of it: a search looks up the files of a listing, which has none that is
//! closed to its caller.

// In the order in which a search uses them.
mod project_index;
mod segments;
mod selection;
mod recent_counts;
mod store;
mod queue;
mod builder;
mod build;
mod compaction;
mod room;
mod saved_files;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use archway_trigrams::BlobId;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;
use rustix::process::{Resource, getrlimit};
use tokio::time::Duration;

pub(crate) use build::{Build, BuildError, BuildSource, Content};
pub(crate) use project_index::ProjectIndex;
pub(crate) use saved_files::{SavedFile, encode as encode_files};
pub(crate) use selection::{IndexedFiles, Selection};

use crate::key::Key;
use crate::metrics::RepoMetrics;
use builder::Builder;
use project_index::Schedule;
use room::Room;
use store::SegmentStore;

/// Without a folder, the index takes at most this much memory, in bytes.
const MAX_MEMORY: u64 = 64 << 20;
/// Memory of the tables of indexes in a folder, in bytes.
const TABLE_BYTES: u64 = 64 << 20;
/// Open files of the process for each segment that may be open.
const DESCRIPTORS_PER_SEGMENT: u64 = 4;
/// Indexes whose next build time is remembered.
const MAX_SCHEDULES: u64 = 10_000;
/// How long the index of a project without searches stays open.
const IDLE: Duration = Duration::from_secs(60 * 60);

/// Where the index is, and how large it may become.
#[derive(Clone, Debug, Default)]
pub struct SearchIndexConfig {
    /// A folder that only this worker's user can access; without it the index is in memory.
    pub folder: Option<PathBuf>,
    /// The size of all indexes, in bytes. Zero: there is no index, and every search is a scan.
    pub bytes: u64,
}

/// The indexes of all repositories.
pub(crate) struct SearchIndex {
    indexes: Cache<Key, Arc<ProjectIndex>>,
    /// When builds may begin, also of closed indexes.
    schedules: Cache<Key, Arc<Mutex<Schedule>>>,
    segment_weight: usize,
    room: Arc<Room>,
    /// `None` if there is no index.
    builder: Option<Builder>,
}

impl SearchIndex {
    /// Starts the thread that builds, confined as the calling one.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(
        config: SearchIndexConfig,
        metrics: &RepoMetrics,
    ) -> io::Result<SearchIndex> {
        let (memory, bytes) = match config.folder {
            Some(_) => (TABLE_BYTES, config.bytes),
            // One index has at most half, so that it never drives out itself.
            None => (
                config.bytes.min(MAX_MEMORY),
                config.bytes.min(MAX_MEMORY) / 2,
            ),
        };
        let is_enabled = bytes > 0;
        let room = Arc::new(Room::new(config.folder, bytes));
        let start = || Builder::start(Arc::clone(&room), metrics.clone());
        let builder = is_enabled.then(start).transpose()?;
        let indexes = Cache::builder()
            .max_capacity(memory)
            .weigher(|_, index: &Arc<ProjectIndex>| index.weigh())
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE)
            .build();
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let segments = (descriptors / DESCRIPTORS_PER_SEGMENT).max(1);
        Ok(SearchIndex {
            indexes,
            schedules: Cache::new(MAX_SCHEDULES),
            segment_weight: usize::try_from(memory / segments).unwrap_or(usize::MAX),
            room,
            builder,
        })
    }

    /// The index of a repository. `None` if there is no index at all.
    pub(crate) fn of(&self, key: &Key) -> Option<Arc<ProjectIndex>> {
        let builder = self.builder.as_ref()?;
        let open = || {
            let store = SegmentStore::of(key, self.room.folder());
            let schedule = self.schedules.get_with_by_ref(key, Arc::default);
            let (weight, metrics) = (self.segment_weight, builder.metrics());
            Arc::new(ProjectIndex::open(store, schedule, weight, metrics))
        };
        let index = self.indexes.get_with_by_ref(key, open);
        // The cache weighs an index when it is inserted.
        if index.has_grown() {
            self.indexes.insert(key.clone(), Arc::clone(&index));
        }
        Some(index)
    }

    /// Requests a build of what the index lacks, unless one was requested or made recently.
    pub(crate) fn request(
        &self,
        index: &Arc<ProjectIndex>,
        tenant: &str,
        source: impl BuildSource,
    ) {
        if let Some(builder) = &self.builder {
            builder.request(index, tenant, source);
        }
    }
}

/// A blob's id as the index has it; `None` for an id of another hash.
pub(crate) fn blob_id(id: &gix::oid) -> Option<BlobId> {
    id.as_bytes().try_into().ok()
}

#[cfg(test)]
mod tests;
