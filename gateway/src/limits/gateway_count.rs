//! The number of gateways: the number of addresses that one DNS name has.
//!
//! Runs in the background. The name is resolved every few seconds, and a failed lookup keeps the
//! last count. A gateway with an IPv4 and an IPv6 address counts as one (`dns`).

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tokio::time::{MissedTickBehavior, interval};

use crate::{
    dns::{self, HostName, REFRESH, Resolver},
    metrics::Metrics,
};

/// The number of gateways: at least 1.
pub(super) struct GatewayCount {
    service: Option<String>,
    count: AtomicU32,
    metrics: Arc<Metrics>,
}

impl GatewayCount {
    /// Starts at one gateway, until [`GatewayCount::run`] counts more. An empty name counts as
    /// absent.
    pub(super) fn new(service: Option<String>, metrics: Arc<Metrics>) -> Self {
        metrics.limits().replicas(1);
        GatewayCount {
            // Deployment templates leave it empty.
            service: service.filter(|name| !name.is_empty()),
            count: AtomicU32::new(1),
            metrics,
        }
    }

    /// The last successful count.
    pub(super) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether a name to count by is configured.
    pub(super) fn is_configured(&self) -> bool {
        self.service.is_some()
    }

    /// Counts until it is dropped. Returns at once if no name is configured.
    pub(super) async fn run(&self) {
        self.run_with(&dns::system()).await;
    }

    async fn run_with(&self, resolver: &Resolver) {
        let Some(service) = &self.service else {
            return;
        };
        // The resolver needs a port for its return type; the lookup does not use it.
        let mut name = HostName::new(service.clone(), 0);
        let mut ticks = interval(REFRESH);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if name.resolve(resolver).await {
                self.set(u32::try_from(name.addresses().len()).unwrap_or(u32::MAX));
            }
        }
    }

    fn set(&self, count: u32) {
        if self.count.swap(count, Ordering::Relaxed) != count {
            tracing::info!(count, "the number of gateways changed");
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
    async fn an_empty_name_is_never_resolved() {
        let gateways = GatewayCount::new(Some(String::new()), Arc::new(Metrics::new()));
        assert!(!gateways.is_configured());
        let resolver: Resolver = Arc::new(|host, _port| panic!("{host:?} is no name"));
        gateways.run_with(&resolver).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_lookup_keeps_the_last_count_of_gateways() {
        let gateways = GatewayCount::new(Some("gateways".into()), Arc::new(Metrics::new()));
        assert_eq!(gateways.count(), 1);
        let answers = Mutex::new(vec![
            Ok(list(&["10.0.0.1:0"])),
            Err(io::Error::other("no answer")),
            Ok(Vec::new()),
            // One address of each family belongs to one gateway.
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
                counts.push(gateways.count());
                tokio::time::sleep(REFRESH).await;
            }
            counts
        };
        tokio::select! {
            counts = counts => assert_eq!(counts, [2, 2, 2, 1, 1]),
            () = gateways.run_with(&resolver) => panic!("it never returns"),
        }
    }
}
