//! The ledger of each project: what is kept of which files its commits changed.

use std::sync::Arc;

use moka::sync::Cache;

use super::super::ledger::Ledger;
use super::IDLE;
use super::folder::{CacheFolder, Part};
use crate::repo::{Cancel, Key, Stopped};

/// What all ledgers may take in memory, in KiB.
const MAX_KIB: u64 = 512 << 10;

/// Ledgers by project.
#[derive(Clone)]
pub(super) struct Ledgers {
    held: Cache<Key, Arc<Ledger>>,
    folder: Option<CacheFolder>,
}

impl Ledgers {
    pub(super) fn new(folder: Option<CacheFolder>) -> Ledgers {
        let kib = |_: &Key, ledger: &Arc<Ledger>| {
            u32::try_from((ledger.bytes() >> 10) + 1).unwrap_or(u32::MAX)
        };
        let held = Cache::builder().max_capacity(MAX_KIB).weigher(kib);
        Ledgers {
            held: held.time_to_idle(IDLE).build(),
            folder,
        }
    }

    /// The project's ledger; an empty one if none was made yet.
    ///
    /// # Errors
    /// If the call has to stop: the next one reads it anew.
    pub(super) fn get(&self, project: &Key, cancel: &Cancel) -> Result<Arc<Ledger>, Stopped> {
        if let Some(held) = self.held.get(project) {
            return Ok(held);
        }
        let parse = |content| Ledger::checked(content, cancel);
        let load = |folder: &CacheFolder| folder.load(project, Part::Ledger, parse, cancel);
        let saved = self.folder.as_ref().map(load).transpose()?;
        let ledger = Arc::new(saved.flatten().unwrap_or_default());
        self.held.insert(project.clone(), Arc::clone(&ledger));
        Ok(ledger)
    }

    /// Takes a ledger that was made.
    pub(super) fn take(&self, project: &Key, file: Vec<u8>, cancel: &Cancel) {
        if let Some(folder) = &self.folder
            && let Err(error) = folder.save(project, Part::Ledger, &file)
        {
            tracing::warn!(%error, "a ledger can't be saved");
        }
        match Ledger::checked(file, cancel) {
            Ok(ledger) => self.held.insert(project.clone(), Arc::new(ledger)),
            Err(error) => tracing::error!(%error, "a ledger that was made can't be used"),
        }
    }
}
