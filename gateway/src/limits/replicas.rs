//! How many gateways there are, counted by the addresses of a DNS name.
//!
//! Beside the path: asked every few seconds, and the last good count is kept when DNS fails. A
//! gateway that has an address of each family is one (`dns`).

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tokio::time::{MissedTickBehavior, interval};

use crate::{
    dns::{self, HostName, REFRESH, Resolver},
    metrics::Metrics,
};

/// The count: at least 1.
pub(super) struct Replicas {
    service: Option<String>,
    count: AtomicU32,
    metrics: Arc<Metrics>,
}

impl Replicas {
    /// One gateway, until [`Replicas::keep`] counts more at the name. An empty name is none.
    pub(super) fn new(service: Option<String>, metrics: Arc<Metrics>) -> Self {
        metrics.limits().replicas(1);
        Replicas {
            // Templates of deployments leave it empty.
            service: service.filter(|name| !name.is_empty()),
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
        self.keep_by(&dns::system()).await;
    }

    async fn keep_by(&self, resolver: &Resolver) {
        let Some(service) = &self.service else {
            return;
        };
        // The port is no part of the question, only of the answer's type.
        let mut name = HostName::new(service.clone(), 0);
        let mut ticks = interval(REFRESH);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if name.ask(resolver).await {
                self.set(u32::try_from(name.addresses().len()).unwrap_or(u32::MAX));
            }
        }
    }

    fn set(&self, count: u32) {
        if self.count.swap(count, Ordering::Relaxed) != count {
            tracing::info!(count, "gateways were counted");
            self.metrics.limits().replicas(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io, net::SocketAddr, time::Duration};

    use parking_lot::Mutex;

    use super::*;

    fn list(addresses: &[&str]) -> Vec<SocketAddr> {
        let parsed = addresses.iter().map(|address| address.parse().unwrap());
        parsed.collect()
    }

    #[tokio::test]
    async fn an_empty_name_is_nobodys_and_not_asked_for() {
        let replicas = Replicas::new(Some(String::new()), Arc::new(Metrics::new()));
        assert!(!replicas.are_counted());
        let resolver: Resolver = Arc::new(|host, _port| panic!("{host:?} is no name"));
        replicas.keep_by(&resolver).await;
    }

    #[tokio::test(start_paused = true)]
    async fn gateways_are_counted_every_few_seconds_and_the_last_good_count_is_kept() {
        let replicas = Replicas::new(Some("gateways".into()), Arc::new(Metrics::new()));
        assert_eq!(replicas.count(), 1);
        let answers = Mutex::new(vec![
            Ok(list(&["10.0.0.1:0"])),
            Err(io::Error::other("no answer")),
            Ok(Vec::new()),
            // An address of each family is one gateway.
            Ok(list(&[
                "10.0.0.1:0",
                "10.0.0.2:0",
                "[fd00::1]:0",
                "[fd00::2]:0",
            ])),
        ]);
        let resolver: Resolver = Arc::new(move |_host, _port| match answers.lock().pop() {
            Some(answer) => Box::pin(async { answer }),
            None => Box::pin(std::future::pending()),
        });
        let counts = async {
            let mut counts = Vec::new();
            tokio::time::sleep(Duration::from_millis(1)).await;
            for _ in 0..5 {
                counts.push(replicas.count());
                tokio::time::sleep(REFRESH).await;
            }
            counts
        };
        tokio::select! {
            counts = counts => assert_eq!(counts, [2, 2, 2, 1, 1]),
            () = replicas.keep_by(&resolver) => panic!("it never ends"),
        }
    }
}
