//! Which workers there are: the addresses that the configured names have, asked for every 5 s.
//!
//! Off the path: calls use the last answer, and go on with it while a name can't be resolved
//! (`dns`).

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use http::Uri;
use tokio::time::{Instant, sleep, sleep_until};

use super::{config::Place, pool::Pool, replica::Address};
use crate::dns::{HostName, REFRESH, Resolver};

/// Between two questions, however many workers are lost.
const LEAST_PAUSE: Duration = Duration::from_millis(500);

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

/// A name of workers.
struct Known {
    name: HostName,
    /// What they are called in requests.
    origin: Uri,
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
                Place::Named { host, port, origin } => search.names.push(Known {
                    name: HostName::new(host, port),
                    origin,
                }),
            }
        }
        search
    }

    async fn keep(&mut self, pool: &Arc<Pool>, resolver: &Resolver) {
        loop {
            let asked = Instant::now();
            let asking = self.names.iter_mut().map(|known| known.name.ask(resolver));
            let answered = join_all(asking).await;
            for _failed in answered.iter().filter(|answered| !**answered) {
                pool.metrics().dns_failed(pool.name());
            }
            pool.replace(self.found());
            let is_unknown = |known: &Known| known.name.addresses().is_empty();
            let unknown = self.names.iter().any(is_unknown);
            let pause = if unknown { LEAST_PAUSE } else { REFRESH };
            tokio::select! {
                () = sleep(pause) => {}
                () = pool.hurried() => sleep_until(asked + LEAST_PAUSE).await,
            }
        }
    }

    fn found(&self) -> Vec<Address> {
        let named = self.names.iter().flat_map(|known| {
            known.name.addresses().iter().map(|address| Address {
                text: format!("http://{address}"),
                origin: Some(known.origin.clone()),
            })
        });
        self.fixed.iter().cloned().chain(named).collect()
    }
}
