//! Looks at this process's mirrors from time to time: for `/metrics`, for `/readyz`, and for the room that is left.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use archway_proto::chain::Chain;
use tokio::time::{Duration, Instant};

use crate::metrics::SyncMetrics;
use crate::store::SyncStore;

/// How often it looks.
const INTERVAL: Duration = Duration::from_secs(30);
/// How often it looks before each mirror was tried once, or while the database does not answer.
const SOON: Duration = Duration::from_secs(1);
/// The pause is at least so many times what the look took: thousands of mirrors that are new take hours to clone.
const REST: u32 = 50;

/// Whether each mirror was tried once since the process started. It stays so.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaughtUp(Arc<AtomicBool>);

impl CaughtUp {
    pub(crate) fn is_reached(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The volume of the mirrors.
#[derive(Debug)]
pub(crate) struct Volume {
    folder: PathBuf,
    /// Its size, if that is not the size of its file system.
    size: Option<u64>,
    /// The size of all mirrors, as of the last look.
    mirrored: AtomicU64,
}

impl Volume {
    pub(crate) fn new(folder: &Path, size: Option<u64>) -> Volume {
        Volume {
            folder: folder.to_owned(),
            size,
            mirrored: AtomicU64::new(0),
        }
    }

    /// The folder of mirrors, on it.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The share of it that is used, from 0 to 1. `None` if the system does not say.
    pub(crate) fn used(&self) -> Option<f64> {
        // As `df` counts: without what is reserved for the system.
        let system = rustix::fs::statvfs(&self.folder).ok().map(|system| {
            let used = system.f_blocks.saturating_sub(system.f_bfree);
            share(used, used.saturating_add(system.f_bavail))
        });
        let own = self
            .size
            .map(|size| share(self.mirrored.load(Ordering::Acquire), size));
        match (system, own) {
            (Some(system), Some(own)) => Some(own.max(system)),
            (system, own) => own.or(system),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
fn share(used: u64, all: u64) -> f64 {
    match all {
        0 => 1.0,
        all => used as f64 / all as f64,
    }
}

/// What looks at the mirrors.
pub(crate) struct Overview {
    pub(crate) store: SyncStore,
    pub(crate) metrics: Arc<SyncMetrics>,
    pub(crate) volume: Arc<Volume>,
    pub(crate) caught_up: CaughtUp,
}

impl Overview {
    /// Looks until the future is dropped.
    pub(crate) async fn run(&self) {
        let mut is_away = false;
        loop {
            let begun = Instant::now();
            let seen = self.store.overview().await;
            let rest = (begun.elapsed() * REST).min(INTERVAL);
            match &seen {
                Ok(mirrors) => {
                    self.volume.mirrored.store(mirrors.bytes, Ordering::Release);
                    self.metrics.mirrors(mirrors);
                    if mirrors.is_caught_up() && !self.caught_up.0.swap(true, Ordering::AcqRel) {
                        tracing::debug!("each mirror was tried once");
                    }
                }
                Err(error) if !is_away => {
                    tracing::warn!(error = %Chain(error), "the database does not say how mirrors are; retrying");
                }
                Err(_) => {}
            }
            is_away = seen.is_err();
            if let Some(used) = self.volume.used() {
                self.metrics.volume_used(used);
            }
            let is_soon = is_away || !self.caught_up.is_reached();
            tokio::time::sleep(if is_soon { SOON.max(rest) } else { INTERVAL }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MirrorsOverview;

    #[test]
    fn a_volume_of_its_own_size_is_used_by_its_mirrors() {
        let volume = Volume::new(Path::new("/nowhere"), Some(200));
        volume.mirrored.store(50, Ordering::Release);
        assert_eq!(volume.used(), Some(0.25));
        assert_eq!(Volume::new(Path::new("/nowhere"), None).used(), None);
        let system = Volume::new(&std::env::temp_dir(), None).used().unwrap();
        assert!((0.0..=1.0).contains(&system), "{system}");
    }

    #[test]
    fn mirrors_are_caught_up_once_none_is_untried() {
        let of = |states: &[(&str, u64)]| MirrorsOverview {
            states: states.iter().map(|(s, n)| ((*s).to_owned(), *n)).collect(),
            ..MirrorsOverview::default()
        };
        assert!(of(&[]).is_caught_up());
        assert!(of(&[("ok", 3), ("not_found", 1), ("new", 0)]).is_caught_up());
        assert!(!of(&[("ok", 3), ("new", 1)]).is_caught_up());
        assert!(!of(&[("cloning", 1)]).is_caught_up());
    }
}
