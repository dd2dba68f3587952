//! Which workers exist: the addresses that the configured names resolve to, refreshed every 5 s.
//!
//! Runs in the background: calls use the last result, which stays in use while a name cannot be
//! resolved (`dns`).

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use http::Uri;
use tokio::time::{Instant, sleep, sleep_until};

use super::{config::ConfiguredAddress, pool::Pool, replica::Address};
use crate::dns::{HostName, REFRESH, Resolver};

/// Least time between lookups, however many workers are lost.
const LEAST_PAUSE: Duration = Duration::from_millis(500);

/// Puts the workers of these addresses into the pool, and keeps resolving as long as one is a name.
/// Fixed addresses are in the pool when this returns.
pub(super) fn begin(pool: &Arc<Pool>, addresses: Vec<ConfiguredAddress>, resolver: &Resolver) {
    let mut discovery = Discovery::of(addresses);
    pool.replace(discovery.found());
    if discovery.names.is_empty() {
        return;
    }
    let (pool, resolver) = (Arc::clone(pool), Arc::clone(resolver));
    tokio::spawn(async move {
        tokio::select! {
            () = pool.dropped() => {}
            () = discovery.keep(&pool, &resolver) => {}
        }
    });
}

struct Discovery {
    fixed: Vec<Address>,
    names: Vec<NamedWorkers>,
}

/// A configured name and the workers behind it.
struct NamedWorkers {
    name: HostName,
    /// The `:authority` of requests to them.
    origin: Uri,
}

impl Discovery {
    fn of(addresses: Vec<ConfiguredAddress>) -> Self {
        let mut discovery = Discovery {
            fixed: Vec::new(),
            names: Vec::new(),
        };
        for address in addresses {
            match address {
                ConfiguredAddress::Fixed(text) => {
                    discovery.fixed.push(Address { text, origin: None })
                }
                ConfiguredAddress::Named { host, port, origin } => {
                    discovery.names.push(NamedWorkers {
                        name: HostName::new(host, port),
                        origin,
                    })
                }
            }
        }
        discovery
    }

    async fn keep(&mut self, pool: &Arc<Pool>, resolver: &Resolver) {
        loop {
            let asked = Instant::now();
            let asking = self.names.iter_mut().map(|named| named.name.ask(resolver));
            let answered = join_all(asking).await;
            for _failed in answered.iter().filter(|answered| !**answered) {
                pool.metrics().dns_failed(pool.name());
            }
            pool.replace(self.found());
            let is_unknown = |named: &NamedWorkers| named.name.addresses().is_empty();
            let unknown = self.names.iter().any(is_unknown);
            let pause = if unknown { LEAST_PAUSE } else { REFRESH };
            tokio::select! {
                () = sleep(pause) => {}
                () = pool.lookup_requested() => sleep_until(asked + LEAST_PAUSE).await,
            }
        }
    }

    fn found(&self) -> Vec<Address> {
        let named = self.names.iter().flat_map(|named| {
            named.name.addresses().iter().map(|address| Address {
                text: format!("http://{address}"),
                origin: Some(named.origin.clone()),
            })
        });
        self.fixed.iter().cloned().chain(named).collect()
    }
}
