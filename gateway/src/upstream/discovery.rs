//! Which workers there are: the addresses that the configured names have, asked for every 5 s.
//!
//! Off the path: calls use the last answer, and go on with it while the name can't be resolved. A
//! name that is unknown all at once is taken for a fault of the resolver, too: were it believed,
//! a restart of the cluster's DNS would end every pool.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures::future::{BoxFuture, join_all};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    config::{Name, Place},
    pool::Pool,
    replica::Address,
};

const REFRESH: Duration = Duration::from_secs(5);
/// Between two questions, however many workers are lost.
const LEAST_PAUSE: Duration = Duration::from_millis(500);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Asks for the addresses of a host, with this port.
pub(crate) type Resolver =
    Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// What the system answers.
pub(crate) fn system() -> Resolver {
    Arc::new(|host, port| {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    })
}

/// Has the pool the workers of these places, and goes on to look for them as long as one is a
/// name. The fixed ones are there when this returns.
pub(super) fn begin(pool: &Arc<Pool>, places: Vec<Place>, resolver: &Resolver) {
    let mut search = Search::of(places);
    pool.replace(search.found());
    if search.names.is_empty() {
        return;
    }
    let (pool, resolver) = (Arc::clone(pool), Arc::clone(resolver));
    tokio::spawn(async move {
        tokio::select! {
            () = pool.dropped() => {}
            () = search.keep(&pool, &resolver) => {}
        }
    });
}

struct Search {
    fixed: Vec<Address>,
    names: Vec<Known>,
}

/// A name and what it last stood for.
struct Known {
    name: Name,
    addresses: Vec<SocketAddr>,
    failing: bool,
}

impl Search {
    fn of(places: Vec<Place>) -> Self {
        let mut search = Search {
            fixed: Vec::new(),
            names: Vec::new(),
        };
        for place in places {
            match place {
                Place::Fixed(text) => search.fixed.push(Address { text, origin: None }),
                Place::Named(name) => search.names.push(Known {
                    name,
                    addresses: Vec::new(),
                    failing: false,
                }),
            }
        }
        search
    }

    async fn keep(&mut self, pool: &Arc<Pool>, resolver: &Resolver) {
        loop {
            let asked = Instant::now();
            let asking = self.names.iter_mut().map(|known| known.ask(pool, resolver));
            join_all(asking).await;
            pool.replace(self.found());
            let unknown = self.names.iter().any(|known| known.addresses.is_empty());
            let pause = if unknown { LEAST_PAUSE } else { REFRESH };
            tokio::select! {
                () = sleep(pause) => {}
                () = pool.hurried() => sleep_until(asked + LEAST_PAUSE).await,
            }
        }
    }

    fn found(&self) -> Vec<Address> {
        let named = self.names.iter().flat_map(|known| {
            known.addresses.iter().map(|address| Address {
                text: format!("http://{address}"),
                origin: Some(known.name.origin.clone()),
            })
        });
        self.fixed.iter().cloned().chain(named).collect()
    }
}

impl Known {
    async fn ask(&mut self, pool: &Pool, resolver: &Resolver) {
        let host = self.name.host.clone();
        let answer = timeout(ANSWER_TIMEOUT, resolver(host, self.name.port)).await;
        let answer = answer.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
        let error = match answer {
            Ok(addresses) if !addresses.is_empty() => {
                self.addresses = addresses;
                self.failing = false;
                return;
            }
            Ok(_none) => io::ErrorKind::NotFound.into(),
            Err(error) => error,
        };
        pool.metrics().dns_failed(pool.name());
        // Once an outage, not every 5 s of it.
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(
                pool = pool.name(), host = self.name.host, %error, kept = self.addresses.len(),
                "workers' name can't be resolved: the last answer is kept"
            );
        }
    }
}
