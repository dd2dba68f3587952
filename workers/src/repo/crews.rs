//! The threads that search, in two crews: who searches much at once does not slow who searches now
//! and then.
//!
//! A search would keep all threads busy by itself. The turns of `blocking` let few of them begin,
//! but those of a tenant that has the next one ready whenever one ends still take half of the CPU
//! from whoever comes beside it. So while a tenant has a search running, its further ones go to the
//! patient crew, whose threads the system runs after all others. Where nothing else wants the CPU
//! both are equally fast.

use std::{collections::HashMap, num::NonZeroUsize, sync::Arc};

use parking_lot::Mutex;
use rayon::ThreadPool;

use super::error::RepoError;

/// Above the other threads' niceness. Against one of them a thread of the patient crew has a tenth
/// of a core (sched(7): each step is a factor of about 1.25), so that it never starves.
const PATIENCE: i32 = 10;

/// Both crews, and who has searches running.
pub(super) struct Crews {
    first: ThreadPool,
    patient: ThreadPool,
    /// By tenant, those that have any.
    running: Mutex<HashMap<Arc<str>, usize>>,
}

impl Crews {
    /// Two crews of so many threads, started and confined as [`crew`]'s.
    pub(super) fn new(threads: NonZeroUsize) -> Result<Self, RepoError> {
        Ok(Crews {
            first: crew("search", threads, 0)?,
            patient: crew("patient", threads, PATIENCE)?,
            running: Mutex::default(),
        })
    }

    /// Has one of the crews do a search of this tenant.
    pub(super) fn search<T>(&self, tenant: &Arc<str>, work: impl FnOnce(&ThreadPool) -> T) -> T {
        let running = Running::begin(self, Arc::clone(tenant));
        work(match running.is_first {
            true => &self.first,
            false => &self.patient,
        })
    }
}

/// A search that runs, counted until it is dropped.
struct Running<'a> {
    crews: &'a Crews,
    tenant: Arc<str>,
    /// Whether its tenant had no other when it began.
    is_first: bool,
}

impl<'a> Running<'a> {
    fn begin(crews: &'a Crews, tenant: Arc<str>) -> Self {
        let mut running = crews.running.lock();
        let count = running.entry(Arc::clone(&tenant)).or_default();
        *count += 1;
        let is_first = *count == 1;
        Running {
            crews,
            tenant,
            is_first,
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut running = self.crews.running.lock();
        if let Some(count) = running.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.tenant);
            }
        }
    }
}

/// Threads of the calling thread's confinement, named for their job, and so much nicer than it.
pub(super) fn crew(
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

    /// Which thread does it, and how nice it is.
    fn on(crew: &ThreadPool) -> (String, i32) {
        crew.install(|| {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            (name, rustix::process::nice(0).unwrap())
        })
    }

    #[test]
    fn a_tenants_second_search_at_once_goes_to_the_patient_crew() {
        let crews = Crews::new(NonZeroUsize::MIN).unwrap();
        let (calm, loud): (Arc<str>, Arc<str>) = ("calm".into(), "loud".into());
        crews.search(&loud, |crew| {
            assert_eq!(on(crew).0, "search-0");
            let (name, niceness) = crews.search(&loud, on);
            assert_eq!(name, "patient-0");
            assert_eq!(niceness, rustix::process::nice(0).unwrap() + PATIENCE);
            assert_eq!(crews.search(&calm, on).0, "search-0");
        });
        assert!(crews.running.lock().is_empty());
        assert_eq!(crews.search(&loud, on).0, "search-0");
    }
}
