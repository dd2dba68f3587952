//! The search threads, in two pools: tenants that search a lot do not slow down the others.
//!
//! One search can keep all threads busy. The fair queue of `blocking` limits how many begin, but a
//! tenant whose next search is always ready would still take half of the CPU from any other. So a
//! search that runs concurrently with another of its tenant, and every search of a tenant with
//! heavy recent [`usage`], runs in the low-priority pool, whose threads the system schedules after
//! all others. On an idle machine both pools are equally fast. A search can change pools between
//! two parts of its work.
//!
//! Background work has low-priority threads of its own.

use std::{num::NonZeroUsize, sync::Arc};

use parking_lot::Mutex;
use rayon::ThreadPool;
use tokio::time::Instant;

use crate::error::RepoError;
use usage::SearchUsage;

mod usage;

/// Added to the niceness of other threads. Next to one of those, a low-priority thread gets a tenth
/// of a core (sched(7): each step is a factor of about 1.25), so it never starves.
const LOW_PRIORITY: i32 = 10;

/// All pools, and the tenants' recent usage.
pub(super) struct SearchPools {
    normal: ThreadPool,
    low_priority: ThreadPool,
    /// For work that no caller waits for.
    background: ThreadPool,
    usage: Mutex<SearchUsage>,
}

impl SearchPools {
    /// Pools of `threads` threads each, started as in [`thread_pool`].
    pub(super) fn new(threads: NonZeroUsize) -> Result<Self, RepoError> {
        Ok(SearchPools {
            normal: thread_pool("search", threads, 0)?,
            low_priority: thread_pool("search-low", threads, LOW_PRIORITY)?,
            background: thread_pool("background", threads, LOW_PRIORITY)?,
            usage: Mutex::new(SearchUsage::new(Instant::now())),
        })
    }

    /// Begins a search of this tenant; it ends when the result is dropped.
    pub(super) fn begin(&self, tenant: &Arc<str>) -> SearchThreads<'_> {
        let is_concurrent = self.usage.lock().begin(tenant, Instant::now());
        SearchThreads {
            pools: self,
            tenant: Arc::clone(tenant),
            is_concurrent,
        }
    }

    /// Runs work that no caller waits for.
    pub(super) fn background<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.background.install(work)
    }
}

/// The threads of one running search.
pub(super) struct SearchThreads<'a> {
    pools: &'a SearchPools,
    tenant: Arc<str>,
    /// Whether another search of its tenant was running when it began.
    is_concurrent: bool,
}

impl SearchThreads<'_> {
    /// Runs a part of the search in the pool that the tenant's current usage selects.
    pub(super) fn install<T: Send>(&self, piece: impl FnOnce() -> T + Send) -> T {
        let is_heavy = || (self.pools.usage.lock()).is_heavy(&self.tenant, Instant::now());
        match self.is_concurrent || is_heavy() {
            true => self.pools.low_priority.install(piece),
            false => self.pools.normal.install(piece),
        }
    }
}

impl Drop for SearchThreads<'_> {
    fn drop(&mut self) {
        self.pools.usage.lock().end(&self.tenant, Instant::now());
    }
}

/// Lowers the priority of the calling thread for work that no caller waits for.
pub fn lower_priority_for_background(job: &'static str) {
    lower_priority(job, LOW_PRIORITY);
}

fn lower_priority(job: &'static str, niceness: i32) {
    // On Linux this affects the calling thread only (nice(2), "C library/kernel differences"). If it
    // is not permitted, all threads have the same priority.
    if let Err(error) = rustix::process::nice(niceness) {
        tracing::debug!(%error, job, "thread priority could not be lowered");
    }
}

/// Starts a pool of threads with the calling thread's confinement, named after `job`, with
/// `niceness` added.
pub fn thread_pool(
    job: &'static str,
    threads: NonZeroUsize,
    niceness: i32,
) -> Result<ThreadPool, RepoError> {
    let begin = move |_| {
        if niceness != 0 {
            lower_priority(job, niceness);
        }
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.get())
        .thread_name(move |number| format!("{job}-{number}"))
        .start_handler(begin)
        .build()
        .map_err(|error| RepoError::Io {
            what: "starting the threads that list and search",
            source: std::io::Error::other(error),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread's name and niceness.
    fn thread() -> (String, i32) {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        (name, rustix::process::nice(0).unwrap())
    }

    /// The niceness of low-priority threads; 19 is the maximum.
    fn low_priority() -> i32 {
        (thread().1 + LOW_PRIORITY).min(19)
    }

    fn search_pools() -> SearchPools {
        SearchPools::new(NonZeroUsize::MIN).unwrap()
    }

    #[test]
    fn a_tenants_concurrent_search_runs_at_low_priority() {
        let (search_pools, quiet, heavy) = (search_pools(), "quiet".into(), "heavy".into());
        let first = search_pools.begin(&heavy);
        assert_eq!(first.install(thread).0, "search-0");
        let (name, niceness) = search_pools.begin(&heavy).install(thread);
        assert_eq!(name, "search-low-0");
        assert_eq!(niceness, low_priority());
        assert_eq!(search_pools.begin(&quiet).install(thread).0, "search-0");
        assert_eq!(first.install(thread).0, "search-0");
    }

    #[test]
    fn many_concurrent_searches_move_even_a_running_one_to_low_priority() {
        let (search_pools, quiet, heavy) = (search_pools(), "quiet".into(), "heavy".into());
        let first = search_pools.begin(&heavy);
        assert_eq!(first.install(thread).0, "search-0");
        for _ in 0..5 {
            search_pools.begin(&heavy);
        }
        assert_eq!(first.install(thread).0, "search-low-0");
        drop(first);
        assert_eq!(search_pools.begin(&heavy).install(thread).0, "search-low-0");
        assert_eq!(search_pools.begin(&quiet).install(thread).0, "search-0");
    }

    #[test]
    fn background_work_never_blocks_a_search() {
        let (search_pools, heavy) = (search_pools(), "heavy".into());
        let _first = search_pools.begin(&heavy);
        let (name, niceness) = search_pools.background(|| {
            assert_eq!(search_pools.begin(&heavy).install(thread).0, "search-low-0");
            thread()
        });
        assert_eq!((name.as_str(), niceness), ("background-0", low_priority()));
    }
}
