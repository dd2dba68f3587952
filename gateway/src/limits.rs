//! Limits: what a message costs is spent before anything is done for it, or it is refused.
//!
//! Met in `mcp`, once it is known what a message is and whose, and before the catalogue judges it:
//! that a tool is unknown or its arguments are bad costs, too. Up to six buckets are asked (a
//! session's, its key's and its tenant's, of the tool and of everything), and spent together or not
//! at all, so a refusal costs nothing and opening sessions buys nothing. `terms` says how much each
//! may hold, `charge` what a message costs them; `local` keeps them, or `shared` does for all gateways.
//!
//! What a reader would get wrong: nothing counts in windows. A bucket of N a minute takes N at once,
//! then one every 60/N seconds.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    caller::{Principal, SessionKey},
    metrics::Metrics,
};
use charge::{Bill, Debts, Verdict};
use holding::Holding;
use local::Buckets;
use replicas::Replicas;
use shared::Shared;

pub(crate) use charge::{Price, Tariff};
pub(crate) use outcome::Spent;
pub(crate) use refused::Refused;

pub use config::{LimitsConfig, LimitsError, WhenDown};

mod charge;
mod config;
mod holding;
mod local;
mod outcome;
mod refused;
mod replicas;
mod shared;

/// How often full buckets are looked for where nobody calls.
const SWEEP: Duration = Duration::from_secs(10);
/// A minute's worth that a gateway among others lets pass at least, if the limit is as high.
const LEAST_SHARE: u32 = 60;

/// The limits of all callers.
pub(crate) struct Limits {
    /// Where all gateways count, if they do.
    shared: Option<Shared>,
    when_down: WhenDown,
    /// Where this one counts otherwise.
    buckets: Buckets,
    replicas: Replicas,
    holding: Holding,
    /// What the time of this process counts from.
    epoch: Instant,
    metrics: Arc<Metrics>,
}

impl Limits {
    /// Connects to nothing yet.
    pub(crate) fn new(config: &LimitsConfig, metrics: Arc<Metrics>) -> Result<Self, LimitsError> {
        let shared = Shared::new(config, &metrics)?;
        if shared.is_none() && config.limits_when_down == WhenDown::Closed {
            return Err(LimitsError::ClosedWithoutStore);
        }
        Ok(Limits {
            shared,
            when_down: config.limits_when_down,
            buckets: Buckets::new(
                metrics.limits().buckets().clone(),
                metrics.limits().unbounded().clone(),
            ),
            replicas: Replicas::new(config.gateway_service.clone(), metrics.clone()),
            holding: Holding::new(),
            epoch: Instant::now(),
            metrics,
        })
    }

    /// Spends the price of a message; all of it, or nothing and says why. A message whose session
    /// isn't known is its key's. A refusal goes on to [`Limits::turn_away`].
    pub(crate) async fn spend(
        &self,
        who: &Principal,
        session: Option<SessionKey>,
        price: &Price,
    ) -> Result<Spent, Refused> {
        let (bill, verdict) = match &self.shared {
            None => self.spend_here(who, session, price),
            Some(shared) => {
                let bill = Bill::new(who, session, price, |limit| limit);
                match shared.spend(&bill, self.now()).await {
                    Ok(verdict) => (bill, verdict),
                    Err(_away) => {
                        self.metrics.limit_store().fallback(self.when_down.name());
                        match self.when_down {
                            WhenDown::Shares => self.spend_here(who, session, price),
                            WhenDown::Closed => return Err(Refused::Uncounted),
                            WhenDown::Open => return Ok(Spent::nothing()),
                        }
                    }
                }
            }
        };
        outcome::settle(&bill, &verdict).map_err(Refused::Over)
    }

    /// The refusal that any message of this caller would meet, as far as this gateway knows: nothing
    /// is spent for it, and nobody asked. Whoever is refused again and again, be it for one tool,
    /// is taken to go on with that: what it calls is not known before its message is read.
    pub(crate) fn foresee(&self, who: &Principal) -> Option<Refused> {
        if let Some(over) = self.holding.flood(who) {
            return Some(Refused::Over(over));
        }
        let (bill, debts) = match &self.shared {
            None => self.foresee_here(who),
            Some(shared) => {
                let bill = Bill::new(who, None, &Price::UNIT, |limit| limit);
                match (shared.refusal(&bill, self.now()), self.when_down) {
                    (Ok(debts), _) => (bill, debts),
                    (Err(_away), WhenDown::Shares) => self.foresee_here(who),
                    (Err(_away), WhenDown::Closed) => {
                        self.metrics.limit_store().fallback(self.when_down.name());
                        return Some(Refused::Uncounted);
                    }
                    (Err(_away), WhenDown::Open) => return None,
                }
            }
        };
        let over = outcome::settle(&bill, &Verdict::Refused(debts?)).err()?;
        Some(Refused::Over(over))
    }

    /// Counts a refusal, and waits with it if its caller is refused again and again, and so has to
    /// hear of it late. Many wait at once: whoever calls this lets go of the message first.
    pub(crate) async fn turn_away(&self, who: &Principal, refused: Refused) -> Refused {
        match refused {
            Refused::Over(over) => {
                self.metrics.limits().refused(over.scope(), over.of());
                Refused::Over(self.holding.hold(who, over).await)
            }
            Refused::Uncounted => Refused::Uncounted,
        }
    }

    /// Spends of this gateway's share.
    fn spend_here(
        &self,
        who: &Principal,
        session: Option<SessionKey>,
        price: &Price,
    ) -> (Bill, Verdict) {
        let replicas = self.replicas.count();
        let bill = Bill::new(who, session, price, |limit| share(limit, replicas));
        let verdict = self.buckets.spend(&bill, self.now());
        (bill, verdict)
    }

    /// What this gateway's share says to a unit of the totals.
    fn foresee_here(&self, who: &Principal) -> (Bill, Option<Debts>) {
        let replicas = self.replicas.count();
        let bill = Bill::new(who, None, &Price::UNIT, |limit| share(limit, replicas));
        let debts = self.buckets.refusal(&bill, self.now());
        (bill, debts)
    }

    /// Whether the store that gateways share answers; `None` if there is none.
    pub(crate) fn store_answers(&self) -> Option<bool> {
        self.shared.as_ref().map(Shared::is_there)
    }

    /// Why nothing could be served at the moment: whatever has a limit is refused.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        let shared = self.shared.as_ref()?;
        let closed = self.when_down == WhenDown::Closed && !shared.is_there();
        closed.then_some("the store of limits does not answer")
    }

    /// Forgets buckets that are full, counts gateways, and keeps the way to the store, until
    /// `shutdown`.
    pub(crate) async fn keep(&self, shutdown: &CancellationToken) {
        let shared = async {
            if let Some(shared) = &self.shared {
                shared.keep(|| self.meanwhile()).await;
            }
        };
        let all = async { tokio::join!(self.sweep(), self.replicas.keep(), shared) };
        shutdown.run_until_cancelled(all).await;
    }

    /// What passes while the store is away, for the log. Who shares a store has several gateways, most
    /// likely, and each gives away all of a limit unless it is told of the others.
    fn meanwhile(&self) -> String {
        let passes = match self.when_down {
            WhenDown::Shares => {
                let gateways = self.replicas.count();
                format!("limits are divided by the number of gateways, {gateways},")
            }
            WhenDown::Closed => "whatever has a limit is refused".to_owned(),
            WhenDown::Open => "nothing is limited".to_owned(),
        };
        let mode = self.when_down.name();
        let uncounted = match self.when_down == WhenDown::Shares && !self.replicas.are_counted() {
            true => "; gateways are not counted: name the address of all (--gateway-service)",
            false => "",
        };
        format!("{passes} until it is back (--limits-when-down {mode}){uncounted}")
    }

    async fn sweep(&self) {
        let mut ticks = tokio::time::interval(SWEEP);
        loop {
            ticks.tick().await;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(url: &str, when_down: WhenDown) -> Result<Limits, LimitsError> {
        let config = LimitsConfig {
            limits_url: Some(url.into()),
            limits_when_down: when_down,
            ..LimitsConfig::default()
        };
        Limits::new(&config, Arc::new(Metrics::new()))
    }

    #[test]
    fn an_empty_url_names_no_store() {
        let none = limits("", WhenDown::Shares).unwrap();
        assert_eq!(none.store_answers(), None);
    }

    #[test]
    fn closed_needs_a_store_that_can_be_away() {
        let refused = limits("", WhenDown::Closed).err().unwrap().to_string();
        assert!(refused.contains("--limits-when-down closed"), "{refused}");
        assert!(refused.contains("--limits-url"), "{refused}");
        let store = limits("redis://limits", WhenDown::Closed).unwrap();
        assert_eq!(store.store_answers(), Some(false));
    }

    #[test]
    fn the_log_is_told_what_passes_while_the_store_is_away() {
        for (when_down, words) in [
            (WhenDown::Shares, ["number of gateways, 1,", "-down shares"]),
            (WhenDown::Closed, ["is refused", "-down closed"]),
            (WhenDown::Open, ["nothing is limited", "-down open"]),
        ] {
            let told = limits("redis://limits", when_down).unwrap().meanwhile();
            assert!(words.iter().all(|word| told.contains(word)), "{told}");
        }
    }
}
