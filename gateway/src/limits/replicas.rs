//! How many gateways there are, counted by the addresses of a DNS name.
//!
//! Beside the path: asked every few seconds, and the last good count is kept when DNS fails. A name
//! that has addresses of both families has each gateway twice, so the larger family is counted.

use std::{
    collections::HashSet,
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::metrics::Metrics;

/// How often DNS is asked.
const EVERY: Duration = Duration::from_secs(5);
/// How long it has for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

/// The count: at least 1.
pub(super) struct Replicas {
    service: Option<String>,
    count: AtomicU32,
    metrics: Arc<Metrics>,
}

impl Replicas {
    /// One gateway, until [`Replicas::keep`] counts more at the name.
    pub(super) fn new(service: Option<String>, metrics: Arc<Metrics>) -> Self {
        metrics.limit_replicas(1);
        Replicas {
            service,
            count: AtomicU32::new(1),
            metrics,
        }
    }

    /// The last good count.
    pub(super) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts until it is dropped; without a name there is nothing to do.
    pub(super) async fn keep(&self) {
        let Some(name) = self.service.as_deref() else {
            return;
        };
        self.keep_by(|| addresses(name)).await;
    }

    async fn keep_by<F>(&self, lookup: impl Fn() -> F)
    where
        F: Future<Output = io::Result<HashSet<IpAddr>>>,
    {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = true;
        loop {
            ticks.tick().await;
            let found = timeout(ANSWER_TIMEOUT, lookup()).await;
            let now = match found.map_err(io::Error::from).flatten() {
                Ok(found) if !found.is_empty() => {
                    self.set(gateways(&found));
                    true
                }
                Ok(_none) => false,
                Err(error) => {
                    if heard {
                        tracing::warn!(%error, "gateways can't be counted: the last count is kept");
                    }
                    false
                }
            };
            heard = now;
        }
    }

    fn set(&self, count: u32) {
        if self.count.swap(count, Ordering::Relaxed) != count {
            tracing::info!(count, "gateways were counted");
            self.metrics.limit_replicas(count);
        }
    }
}

async fn addresses(name: &str) -> io::Result<HashSet<IpAddr>> {
    // The port is no part of the question, only of the answer's type.
    let found = tokio::net::lookup_host((name, 0)).await?;
    Ok(found.map(|address| address.ip()).collect())
}

/// As many as the family has that has more: an address of each is the same gateway.
fn gateways(addresses: &HashSet<IpAddr>) -> u32 {
    let fourth = addresses.iter().filter(|address| address.is_ipv4()).count();
    let most = fourth.max(addresses.len() - fourth).max(1);
    u32::try_from(most).unwrap_or(u32::MAX)
}
