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
        metrics.limits().replicas(1);
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

    /// Whether there is a name at which they are counted.
    pub(super) fn are_counted(&self) -> bool {
        self.service.is_some()
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
            self.metrics.limits().replicas(count);
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

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    fn set(addresses: &[&str]) -> HashSet<IpAddr> {
        let parsed = addresses.iter().map(|address| address.parse().unwrap());
        parsed.collect()
    }

    #[test]
    fn an_address_of_each_family_is_one_gateway() {
        assert_eq!(gateways(&set(&["10.0.0.1"])), 1);
        assert_eq!(
            gateways(&set(&["10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"])),
            2
        );
        assert_eq!(
            gateways(&set(&["10.0.0.1", "fd00::1", "fd00::2", "fd00::3"])),
            3
        );
    }

    #[tokio::test(start_paused = true)]
    async fn gateways_are_counted_every_few_seconds_and_the_last_good_count_is_kept() {
        let replicas = Replicas::new(Some("gateways".into()), Arc::new(Metrics::new()));
        assert_eq!(replicas.count(), 1);
        let answers = Mutex::new(vec![
            Ok(set(&["10.0.0.1"])),
            Err(io::Error::other("no answer")),
            Ok(set(&[])),
            Ok(set(&["10.0.0.1", "10.0.0.2", "10.0.0.3"])),
        ]);
        // What is not answered at all is given up.
        let lookup = || async {
            let answer = answers.lock().pop();
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        };
        let counts = async {
            let mut counts = Vec::new();
            tokio::time::sleep(Duration::from_millis(1)).await;
            for _ in 0..5 {
                counts.push(replicas.count());
                tokio::time::sleep(EVERY).await;
            }
            counts
        };
        tokio::select! {
            counts = counts => assert_eq!(counts, [3, 3, 3, 1, 1]),
            () = replicas.keep_by(lookup) => panic!("it never ends"),
        }
    }

    #[tokio::test]
    async fn a_name_is_looked_up_and_one_that_is_nobodys_is_one_gateway() {
        assert!(gateways(&addresses("localhost").await.unwrap()) >= 1);
        assert!(addresses("gateways.invalid").await.is_err());
    }
}
