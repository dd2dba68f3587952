//! Limits: what a message costs is spent before anything is done for it, or it is refused.
//!
//! Met in `mcp`, once it is known what a message is and whose, and before the catalogue judges it:
//! that a tool is unknown or its arguments are bad costs, too. Up to six buckets are asked (a
//! session's, its key's and its tenant's, of the tool and of everything), and spent together or not
//! at all, so a refusal costs nothing and opening sessions buys nothing. `terms` says how much each
//! may hold, `charge` what a message costs them, `local` keeps them.
//!
//! What a reader would get wrong: nothing counts in windows. A bucket of N a minute takes N at once,
//! then one every 60/N seconds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{auth::Principal, metrics::Metrics, session::SessionKey};
use charge::Bill;
use local::Buckets;

pub(crate) use charge::{Price, Tariff};
pub(crate) use outcome::{Refused, Spent};

mod charge;
mod local;
mod outcome;

/// How often full buckets are looked for where nobody calls.
const SWEEP: Duration = Duration::from_secs(10);
/// A minute's worth that a gateway among others lets pass at least, if the limit is as high.
const LEAST_SHARE: u32 = 60;

/// The limits of all callers.
pub(crate) struct Limits {
    buckets: Buckets,
    /// Gateways that share what a caller may spend, this one included.
    replicas: AtomicU32,
    /// What the buckets' time counts from.
    epoch: Instant,
    metrics: Arc<Metrics>,
}

impl Limits {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Limits {
            buckets: Buckets::new(
                metrics.buckets_kept().clone(),
                metrics.sessions_unbounded().clone(),
            ),
            replicas: AtomicU32::new(1),
            epoch: Instant::now(),
            metrics,
        }
    }

    /// Spends the price of a message; all of it, or nothing and says why. A message whose session
    /// isn't known is its key's.
    pub(crate) async fn spend(
        &self,
        who: &Principal,
        session: Option<SessionKey>,
        price: &Price,
    ) -> Result<Spent, Refused> {
        let replicas = self.replicas.load(Ordering::Relaxed);
        let bill = Bill::new(who, session, price, |limit| share(limit, replicas));
        let verdict = self.buckets.spend(&bill, self.now());
        outcome::settle(&bill, &verdict).inspect_err(|refused| {
            self.metrics.limited(refused.scope(), refused.of());
        })
    }

    /// Forgets buckets that are full, until `shutdown`.
    pub(crate) async fn keep(&self, shutdown: &CancellationToken) {
        let mut ticks = tokio::time::interval(SWEEP);
        while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
            self.buckets.sweep(self.now());
        }
    }

    /// Microseconds of this process.
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// What one of so many gateways gives of a limit a minute. Callers are spread over gateways
/// unevenly, so it is not less than one a second.
fn share(limit: u32, replicas: u32) -> u32 {
    (limit / replicas.max(1)).max(limit.min(LEAST_SHARE))
}
