//! The projects that calls opened, bounded by their memory and by their file descriptors.
//!
//! An opened project holds its git handle, its listing and two descriptors. The least recently used
//! ones are closed when all together exceed the limits; the next call opens them again.

use std::num::NonZeroU64;
use std::sync::Arc;

use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use rustix::process::{Resource, getrlimit};
use tokio::time::Duration;

use super::error::RepoError;
use super::key::Key;
use super::metrics::RepoMetrics;
use super::project::Project;

/// How long a project without calls stays open.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// Open projects per file descriptor of the process: each holds two, and as many remain for calls.
const DESCRIPTORS_PER_PROJECT: u64 = 4;

/// Memory that caches may use for all projects together, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct CacheBytes {
    /// Contents of files, between searches.
    pub contents: usize,
    /// Opened projects: git handles and listings.
    pub projects: usize,
}

impl Default for CacheBytes {
    fn default() -> CacheBytes {
        CacheBytes {
            contents: 64 << 20,
            projects: 256 << 20,
        }
    }
}

/// The opened projects.
pub(super) struct OpenProjects {
    cache: Cache<Key, Arc<Project>>,
    metrics: RepoMetrics,
}

impl OpenProjects {
    /// Keeps projects open up to `max_bytes` of memory, and up to a quarter of the process's limit
    /// of open files.
    pub(super) fn new(max_bytes: usize, metrics: RepoMetrics) -> OpenProjects {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        OpenProjects::with_limits(max_bytes, descriptors / DESCRIPTORS_PER_PROJECT, metrics)
    }

    fn with_limits(max_bytes: usize, max_projects: u64, metrics: RepoMetrics) -> OpenProjects {
        let max_projects = NonZeroU64::new(max_projects).unwrap_or(NonZeroU64::MIN);
        // The cache has one limit. With this least weight it holds for the number, too.
        let least = u32::try_from(max_bytes as u64 / max_projects).unwrap_or(u32::MAX);
        let counts = metrics.clone();
        let cache = Cache::builder()
            .max_capacity(max_bytes as u64)
            .weigher(move |_, project: &Arc<Project>| project.weigh().max(least))
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE)
            .eviction_listener(move |_, _, cause| match cause {
                RemovalCause::Replaced => {}
                RemovalCause::Size => counts.project_evicted(),
                RemovalCause::Expired | RemovalCause::Explicit => counts.project_closed(),
            })
            .build();
        OpenProjects { cache, metrics }
    }

    /// The project if it is open.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Project>> {
        self.cache.get(key)
    }

    /// The project, opened by `open` if it is not. Concurrent calls open it once.
    ///
    /// # Errors
    /// That of `open`.
    pub(super) fn get_or_open(
        &self,
        key: &Key,
        open: impl FnOnce() -> Result<Arc<Project>, RepoError>,
    ) -> Result<Arc<Project>, RepoError> {
        let counted = || open().inspect(|_| self.metrics.project_opened());
        let project = self.cache.try_get_with_by_ref(key, counted);
        let project = project.map_err(|error| RepoError::Io {
            what: "opening a project's folder",
            source: std::io::Error::other(error),
        })?;
        // What it caches grows with its use, and the cache weighs it when it is inserted.
        if project.has_grown() {
            self.cache.insert(key.clone(), Arc::clone(&project));
        }
        Ok(project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sandbox, cancel};

    #[test]
    fn the_least_recently_used_projects_are_closed_and_open_again() {
        let sandbox = Sandbox::new();
        sandbox.file("a", "").file("../b/b", "").file("../c/c", "");
        let metrics = RepoMetrics::default();
        let projects = OpenProjects::with_limits(100 << 20, 2, metrics.clone());
        let shared = &sandbox.repos.0;
        for name in ["app", "b", "c", "app"] {
            let located = shared.locate("acme", name).unwrap();
            let key = Key::of("acme", name, &located).unwrap();
            let open = || shared.new_project(key.clone(), &located);
            assert_eq!(projects.get_or_open(&key, open).unwrap().name(), name);
            projects.cache.run_pending_tasks();
        }
        assert_eq!(metrics.counts(), (2, 2), "open, evicted");
    }

    #[test]
    fn a_project_that_grew_weighs_more() {
        let sandbox = Sandbox::new();
        for file in 0..2_000 {
            sandbox.file(&format!("f{file}"), "");
        }
        let before = sandbox.repo();
        let project = before.snapshot.project();
        let weight = project.weigh();
        before.listing(&cancel()).unwrap();
        assert!(project.has_grown());
        sandbox.repo();
        assert!(!project.has_grown() && project.weigh() > weight + 200_000);
    }
}
