//! The threads that search, in two search_pools: who searches much does not slow who searches now and then.
//!
//! A search would keep all threads busy by itself. The turns of `blocking` let few of them begin,
//! but those of a tenant that has the next one ready whenever one ends still take half of the CPU
//! from whoever comes beside it. So a search beside another of its tenant, and all of a tenant that
//! searched much lately ([`usage`]), go to the patient crew, whose threads the system runs after
//! all others. Where nothing else wants the CPU both are equally fast. A search changes over between
//! two pieces of its work.
//!
//! What nobody waits for has patient threads of its own.

use std::{num::NonZeroUsize, sync::Arc};

use parking_lot::Mutex;
use rayon::ThreadPool;
use tokio::time::Instant;

use crate::error::RepoError;
use usage::SearchUsage;

mod usage;

/// Above the other threads' niceness. Against one of them a thread of the patient crew has a tenth
/// of a core (sched(7): each step is a factor of about 1.25), so that it never starves.
const LOW_PRIORITY: i32 = 10;

/// All search_pools, and what tenants owe for their searches.
pub(super) struct SearchPools {
    normal: ThreadPool,
    low_priority: ThreadPool,
    /// For what nobody waits for.
    background: ThreadPool,
    usage: Mutex<SearchUsage>,
}

impl SearchPools {
    /// SearchPools of so many threads each, started and confined as [`crew`]'s.
    pub(super) fn new(threads: NonZeroUsize) -> Result<Self, RepoError> {
        Ok(SearchPools {
            normal: thread_pool("search", threads, 0)?,
            low_priority: thread_pool("search-low", threads, LOW_PRIORITY)?,
            background: thread_pool("background", threads, LOW_PRIORITY)?,
            usage: Mutex::new(SearchUsage::new(Instant::now())),
        })
    }

    /// Begins a search of this tenant, which ends when what it is given is dropped.
    pub(super) fn begin(&self, tenant: &Arc<str>) -> SearchThreads<'_> {
        let is_concurrent = self.usage.lock().begin(tenant, Instant::now());
        SearchThreads {
            pools: self,
            tenant: Arc::clone(tenant),
            is_concurrent,
        }
    }

    /// Does work that nobody waits for.
    pub(super) fn background<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.background.install(work)
    }
}

/// Who does a search, as long as it runs.
pub(super) struct SearchThreads<'a> {
    pools: &'a SearchPools,
    tenant: Arc<str>,
    /// Whether another of its tenant was running when it began.
    is_concurrent: bool,
}

impl SearchThreads<'_> {
    /// How many threads there are, whichever crew it is: [`rayon::current_thread_index`] is less.
    pub(super) fn count(&self) -> usize {
        self.pools.normal.current_num_threads()
    }

    /// Does a piece of the search, on threads of the crew whose turn it is by now.
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

/// Threads of the calling thread's confinement, named for their job, and so much nicer than it.
pub fn thread_pool(
    job: &'static str,
    threads: NonZeroUsize,
    niceness: i32,
) -> Result<ThreadPool, RepoError> {
    let begin = move |_| {
        // Of this thread alone, on Linux (nice(2), "C library/kernel differences"). Where it may
        // not be, all are served alike.
        if niceness != 0
            && let Err(error) = rustix::process::nice(niceness)
        {
            tracing::debug!(%error, job, "threads keep their priority");
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

    /// Which thread it is, and how nice.
    fn thread() -> (String, i32) {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        (name, rustix::process::nice(0).unwrap())
    }

    /// As nice as patient threads are; nothing is nicer than 19.
    fn low_priority() -> i32 {
        (thread().1 + LOW_PRIORITY).min(19)
    }

    fn search_pools() -> SearchPools {
        SearchPools::new(NonZeroUsize::MIN).unwrap()
    }

    #[test]
    fn a_tenants_second_search_at_once_goes_to_the_patient_crew() {
        let (search_pools, calm, loud) = (search_pools(), "calm".into(), "loud".into());
        let first = search_pools.begin(&loud);
        assert_eq!(first.install(thread).0, "search-0");
        let (name, niceness) = search_pools.begin(&loud).install(thread);
        assert_eq!(name, "search-low-0");
        assert_eq!(niceness, low_priority());
        assert_eq!(search_pools.begin(&calm).install(thread).0, "search-0");
        assert_eq!(first.install(thread).0, "search-0");
    }

    #[test]
    fn who_had_many_at_once_is_patient_with_one_too_also_in_the_middle_of_it() {
        let (search_pools, calm, loud) = (search_pools(), "calm".into(), "loud".into());
        let first = search_pools.begin(&loud);
        assert_eq!(first.install(thread).0, "search-0");
        for _ in 0..5 {
            search_pools.begin(&loud);
        }
        assert_eq!(first.install(thread).0, "search-low-0");
        drop(first);
        assert_eq!(search_pools.begin(&loud).install(thread).0, "search-low-0");
        assert_eq!(search_pools.begin(&calm).install(thread).0, "search-0");
    }

    #[test]
    fn what_nobody_waits_for_keeps_no_search_waiting() {
        let (search_pools, loud) = (search_pools(), "loud".into());
        let _first = search_pools.begin(&loud);
        let (name, niceness) = search_pools.background(|| {
            assert_eq!(search_pools.begin(&loud).install(thread).0, "search-low-0");
            thread()
        });
        assert_eq!((name.as_str(), niceness), ("background-0", low_priority()));
    }
}
