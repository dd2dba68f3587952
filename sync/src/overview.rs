//! Looks at this process's mirrors from time to time: for `/metrics`, for `/readyz`, and for the room that is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use archway_proto::chain::Chain;
use tokio::time::{Duration, Instant};

use crate::gone;
use crate::metrics::SyncMetrics;
use crate::mirror::Mirrors;
use crate::store::{SyncStore, SyncStoreError};
use crate::volume::Volume;

/// How often it looks.
const INTERVAL: Duration = Duration::from_secs(30);
/// How often it looks before each mirror was tried once, or while the database does not answer.
const SOON: Duration = Duration::from_secs(1);
/// The pause is at least so many times what the look took: thousands of mirrors that are new take hours to clone.
const REST: u32 = 50;
/// How often it looks while mirrors grow: a run has to end before the volume is full.
const WHILE_RUNNING: Duration = Duration::from_secs(5);

/// Whether each mirror was tried once since the process started. It stays so.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaughtUp(Arc<AtomicBool>);

impl CaughtUp {
    pub(crate) fn is_reached(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn reach(&self) {
        if !self.0.swap(true, Ordering::AcqRel) {
            tracing::debug!("each mirror was tried once");
        }
    }
}

/// What looks at the mirrors.
pub(crate) struct Overview {
    pub(crate) store: SyncStore,
    pub(crate) mirrors: Mirrors,
    pub(crate) metrics: Arc<SyncMetrics>,
    pub(crate) volume: Arc<Volume>,
    pub(crate) caught_up: CaughtUp,
}

impl Overview {
    /// Looks until the future is dropped.
    pub(crate) async fn run(&self) {
        let (mut is_away, mut are_compared) = (false, false);
        loop {
            // First: a mirror whose folder is gone counts as untried.
            if !are_compared {
                are_compared = matches!(self.are_all_there().await, Ok(true));
            }
            let begun = Instant::now();
            let seen = self.store.overview().await;
            let rest = (begun.elapsed() * REST).min(INTERVAL);
            match &seen {
                Ok(mirrors) => {
                    self.volume.set_mirrored(mirrors.bytes);
                    self.metrics.mirrors(mirrors);
                    if are_compared && mirrors.is_caught_up() {
                        self.caught_up.reach();
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
            let pause = match self.metrics.running() {
                _ if is_away || !self.caught_up.is_reached() => SOON.max(rest),
                1.. => WHILE_RUNNING.max(rest),
                _ => INTERVAL,
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Has mirrors cloned again that are gone from the volume. Returns whether there were none.
    async fn are_all_there(&self) -> Result<bool, SyncStoreError> {
        let known = self.store.mirrors_here().await?;
        let any = gone::clone_again(&self.store, &self.mirrors, &known).await?;
        Ok(!any)
    }
}

#[cfg(test)]
mod tests {
    use crate::store::MirrorsOverview;

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
