//! Which workers exist: the fixed addresses, and those that the configured names resolve to.
//!
//! Each name is resolved every 5 s, or every 500 ms until it has addresses. A lost worker resolves
//! all of them early. This runs in the background: calls use the last result, which stays in use
//! while a name cannot be resolved (`dns`).

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use http::Uri;
use tokio::time::{Instant, sleep_until};

use super::{config::ConfiguredAddress, pool::Pool, replica::Address};
use crate::dns::{HostName, REFRESH, Resolver};

/// Minimum interval between lookups of a name, including requested ones.
const MIN_LOOKUP_INTERVAL: Duration = Duration::from_millis(500);

/// Puts the workers of these addresses into the pool. If any address is a host name, spawns a task
/// that resolves the names until the upstream is dropped. Fixed addresses are in the pool when this
/// returns.
pub(super) fn begin(pool: &Arc<Pool>, addresses: Vec<ConfiguredAddress>, resolver: &Resolver) {
    let mut discovery = Discovery::new(addresses);
    pool.replace(discovery.current_addresses());
    if discovery.names.is_empty() {
        return;
    }
    let (pool, resolver) = (Arc::clone(pool), Arc::clone(resolver));
    tokio::spawn(async move {
        tokio::select! {
            () = pool.dropped() => {}
            () = discovery.run(&pool, &resolver) => {}
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
    next_lookup: Instant,
}

impl NamedWorkers {
    /// Resolves the name and schedules its next lookup. Returns whether the answer was accepted.
    async fn resolve(&mut self, resolver: &Resolver) -> bool {
        let accepted = self.name.resolve(resolver).await;
        let interval = match self.name.addresses() {
            [] => MIN_LOOKUP_INTERVAL,
            _ => REFRESH,
        };
        self.next_lookup = Instant::now() + interval;
        accepted
    }
}

impl Discovery {
    fn new(addresses: Vec<ConfiguredAddress>) -> Self {
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
                        next_lookup: Instant::now(),
                    })
                }
            }
        }
        discovery
    }

    async fn run(&mut self, pool: &Arc<Pool>, resolver: &Resolver) {
        loop {
            let started = Instant::now();
            let names = self.names.iter_mut();
            let due = names.filter(|named| named.next_lookup <= started);
            let results = join_all(due.map(|named| named.resolve(resolver))).await;
            for _failed in results.iter().filter(|accepted| !**accepted) {
                pool.metrics().dns_failed(pool.name());
            }
            pool.replace(self.current_addresses());
            let next = self.names.iter().map(|named| named.next_lookup).min();
            tokio::select! {
                () = sleep_until(next.unwrap_or(started + REFRESH)) => {}
                () = pool.lookup_requested() => {
                    sleep_until(started + MIN_LOOKUP_INTERVAL).await;
                    // Any name may have had the lost worker.
                    for named in &mut self.names {
                        named.next_lookup = Instant::now();
                    }
                }
            }
        }
    }

    fn current_addresses(&self) -> Vec<Address> {
        let named = self.names.iter().flat_map(|named| {
            named.name.addresses().iter().map(|address| Address {
                text: format!("http://{address}"),
                origin: Some(named.origin.clone()),
            })
        });
        self.fixed.iter().cloned().chain(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, io};

    use parking_lot::Mutex;
    use tokio::time::timeout;

    use super::{super::pool::tests::context, *};

    /// A pool that does not connect to its workers.
    fn unwatched_pool() -> Arc<Pool> {
        let context = context();
        context.dropped.cancel();
        Arc::new(Pool::new("shared", context))
    }

    fn named(host: &str) -> ConfiguredAddress {
        ConfiguredAddress::Named {
            host: host.to_owned(),
            port: 7,
            origin: Uri::from_static("http://workers.test"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_unknown_name_does_not_speed_up_the_lookups_of_others() {
        let lookups = Arc::new(Mutex::new(HashMap::<String, u32>::new()));
        let counted = lookups.clone();
        let resolver: Resolver = Arc::new(move |host, _port| {
            let known = host == "known.test";
            *counted.lock().entry(host).or_default() += 1;
            Box::pin(async move {
                match known {
                    true => Ok(vec!["10.0.0.1:7".parse().unwrap()]),
                    false => Err(io::ErrorKind::NotFound.into()),
                }
            })
        });
        let pool = unwatched_pool();
        let mut discovery = Discovery::new(vec![named("known.test"), named("unknown.test")]);
        let count = |host| lookups.lock().get(host).copied();
        let mut run = async |time| {
            let run = timeout(time, discovery.run(&pool, &resolver)).await;
            assert!(run.is_err());
        };
        run(Duration::from_millis(9900)).await;
        assert_eq!(count("known.test"), Some(2));
        assert_eq!(count("unknown.test"), Some(20));

        // A lost worker resolves the known name early.
        pool.request_lookup();
        run(Duration::from_millis(600)).await;
        assert_eq!(count("known.test"), Some(3));
    }
}
