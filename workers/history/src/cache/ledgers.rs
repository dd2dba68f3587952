//! The ledger of each project: which files its commits changed.

use std::sync::Arc;

use archway_repo::{Cancel, Key, Stopped};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;

use super::super::ledger::Ledger;
use super::folder::{HistoryFolder, Part};
use super::{IDLE_TIMEOUT, MAX_PROJECTS, idle_timeout};

/// Size of all ledgers in memory, in KiB.
const MAX_KIB: u64 = 512 << 10;

/// Ledgers by project.
#[derive(Clone)]
pub(super) struct Ledgers {
    ledgers: Cache<Key, Arc<Ledger>>,
    /// Held while a project's ledger is read or replaced.
    locks: Cache<Key, Arc<Mutex<()>>>,
    folder: Option<HistoryFolder>,
}

impl Ledgers {
    pub(super) fn new(folder: Option<HistoryFolder>) -> Ledgers {
        let kib = |_: &Key, ledger: &Arc<Ledger>| {
            u32::try_from((ledger.bytes() >> 10) + 1).unwrap_or(u32::MAX)
        };
        // LRU never rejects a new entry: it may have taken half an hour to build.
        let ledgers = Cache::builder().max_capacity(MAX_KIB).weigher(kib);
        let locks = Cache::builder().max_capacity(MAX_PROJECTS);
        Ledgers {
            ledgers: ledgers
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(idle_timeout(folder.as_ref()))
                .build(),
            locks: locks.time_to_idle(IDLE_TIMEOUT).build(),
            folder,
        }
    }

    /// The project's ledger. Empty before the first build.
    ///
    /// # Errors
    /// If the call has to stop. The next call reads the ledger again.
    pub(super) fn get(&self, project: &Key, cancel: &Cancel) -> Result<Arc<Ledger>, Stopped> {
        if let Some(ledger) = self.ledgers.get(project) {
            return Ok(ledger);
        }
        // Concurrent calls wait here, and find the ledger: it may be large, and is read once.
        let lock = self.lock_of(project);
        let _guard = cancel.lock(&lock)?;
        if let Some(ledger) = self.ledgers.get(project) {
            return Ok(ledger);
        }
        let parse = |content| Ledger::checked(content, cancel);
        let load = |folder: &HistoryFolder| folder.load(project, Part::Ledger, parse, cancel);
        let saved = self.folder.as_ref().map(load).transpose()?;
        let ledger = Arc::new(saved.flatten().unwrap_or_default());
        self.ledgers.insert(project.clone(), Arc::clone(&ledger));
        Ok(ledger)
    }

    /// Saves and caches a ledger that was built.
    pub(super) fn insert(&self, project: &Key, file: Vec<u8>, cancel: &Cancel) {
        if let Some(folder) = &self.folder
            && let Err(error) = folder.save(project, Part::Ledger, &file)
        {
            tracing::warn!(%error, "a ledger could not be saved");
        }
        match Ledger::checked(file, cancel) {
            Ok(ledger) => {
                let lock = self.lock_of(project);
                // A concurrent reader would replace it by the previous ledger.
                let _no_readers = cancel.lock(&lock);
                self.ledgers.insert(project.clone(), Arc::new(ledger));
            }
            Err(error) => tracing::error!(%error, "a built ledger is invalid"),
        }
    }

    fn lock_of(&self, project: &Key) -> Arc<Mutex<()>> {
        self.locks.get_with_by_ref(project, Arc::default)
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::{Sandbox, cancel};

    use super::*;

    #[test]
    fn waiting_for_another_calls_ledger_finds_it_or_is_cancelled() {
        let app = Sandbox::new();
        let (repo, ledgers) = (app.repo(), Ledgers::new(None));
        let lock = ledgers.lock_of(repo.key());
        let reading = lock.lock();
        let left = ledgers.get(repo.key(), &cancel().cancel_at_check(3));
        assert_eq!(left.err(), Some(Stopped::Cancelled));
        let found = std::thread::scope(|scope| {
            let waits = scope.spawn(|| ledgers.get(repo.key(), &cancel()).unwrap());
            let read = Arc::new(Ledger::default());
            ledgers
                .ledgers
                .insert(repo.key().clone(), Arc::clone(&read));
            drop(reading);
            Arc::ptr_eq(&waits.join().unwrap(), &read)
        });
        assert!(found);
    }
}
