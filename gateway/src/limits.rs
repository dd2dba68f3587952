//! Rate limits: every message is charged before any work is done for it, or it is refused.
//!
//! `mcp` charges a message once its method and caller are known, before the catalog validates it. A
//! call of an unknown tool, or one with bad arguments, is charged too. A message is charged to up
//! to six buckets: those of its session, its key and its tenant, each for the tool and for the
//! total. All of them are charged or none is, so a refusal costs nothing and opening more sessions
//! gains nothing. `terms` holds the configured limits, `cost` turns a message into charges, and
//! `local` or `shared` (one store for all gateways) keeps the buckets.
//!
//! What a reader would get wrong: there are no fixed windows. A bucket of N a minute admits N at
//! once, then one every 60/N seconds.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    caller::{Principal, SessionKey},
    metrics::Metrics,
    store::Stores,
    terms::{Level, MONTH},
};
use cost::{Bill, Debts, Verdict};
use delay::RefusalDelay;
use gateway_count::GatewayCount;
use local::Buckets;
use month::Months;
use shared::SharedStore;

pub(crate) use cost::{CountedTool, MessageCost};
pub(crate) use outcome::RemainingLimit;
pub(crate) use refusal::LimitRefusal;

pub use config::{LimitsConfig, LimitsError, WhenDown};

mod cost;
mod config;
mod delay;
mod month;
mod local;
mod outcome;
mod refusal;
mod gateway_count;
mod shared;

/// Interval of the sweep that drops full buckets of idle shards.
const SWEEP: Duration = Duration::from_secs(10);
/// Units a minute that one of several gateways admits at least, unless the limit is lower.
const LEAST_SHARE: u32 = 60;

/// The limits of all callers.
pub(crate) struct Limits {
    /// The store shared by all gateways, if one is configured.
    shared: Option<SharedStore>,
    when_down: WhenDown,
    /// This gateway's own buckets: used without a shared store, or while it is down.
    buckets: Buckets,
    gateway_count: GatewayCount,
    delay: RefusalDelay,
    months: Months,
    month_interval: Duration,
    /// Origin of [`Limits::now`].
    epoch: Instant,
    metrics: Arc<Metrics>,
}

impl Limits {
    /// Opens no connection yet.
    pub(crate) fn new(config: &LimitsConfig, metrics: Arc<Metrics>) -> Result<Self, LimitsError> {
        let shared = SharedStore::new(config, &metrics)?;
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
            gateway_count: GatewayCount::new(config.gateway_service.clone(), metrics.clone()),
            delay: RefusalDelay::new(),
            months: Months::new(metrics.limits().quotas_nearly_spent().clone()),
            month_interval: config.month_interval,
            epoch: Instant::now(),
            metrics,
        })
    }

    /// Charges the cost of a message to all of its buckets, or to none. A message without a known
    /// session is charged to its key and tenant only. Calls, and other messages with a price of
    /// their own, need a quota that is not spent. Pass an error on to [`Limits::refuse`], which counts
    /// and delays it.
    pub(crate) async fn spend(
        &self,
        who: &Principal,
        session: Option<SessionKey>,
        price: &MessageCost,
    ) -> Result<RemainingLimit, LimitRefusal> {
        let remaining = self.charge(who, session, price).await?;
        match self.months.of(who).filter(|_| price.tool.is_some()) {
            Some(month) if month.is_spent() => Err(LimitRefusal::MonthSpent(month)),
            Some(month) if month.is_named() => Ok(remaining.with_month(month)),
            _ => Ok(remaining),
        }
    }

    async fn charge(
        &self,
        who: &Principal,
        session: Option<SessionKey>,
        price: &MessageCost,
    ) -> Result<RemainingLimit, LimitRefusal> {
        let (bill, verdict) = match &self.shared {
            None => self.charge_here(who, session, price),
            Some(shared) => {
                let bill = Bill::new(who, session, price, |limit| limit);
                match shared.spend(&bill, self.now()).await {
                    Ok(verdict) => (bill, verdict),
                    Err(_away) => {
                        self.metrics.limit_store().fallback(self.when_down.name());
                        match self.when_down {
                            WhenDown::Shares => self.charge_here(who, session, price),
                            WhenDown::Closed => return Err(LimitRefusal::Uncounted),
                            WhenDown::Open => return Ok(RemainingLimit::nothing()),
                        }
                    }
                }
            }
        };
        outcome::interpret(&bill, &verdict).map_err(LimitRefusal::Exceeded)
    }

    /// The refusal that any message of this caller would get, as far as this gateway knows. Charges
    /// nothing and contacts no store. A caller that floods is assumed to repeat the refused call,
    /// even if only one tool was over its limit: the next message is not parsed yet.
    pub(crate) fn expected_refusal(&self, who: &Principal) -> Option<LimitRefusal> {
        if let Some(over) = self.delay.flood(who) {
            return Some(LimitRefusal::Exceeded(over));
        }
        let (bill, debts) = match &self.shared {
            None => self.expected_here(who),
            Some(shared) => {
                let bill = Bill::new(who, None, &MessageCost::UNIT, |limit| limit);
                match (shared.refusal(&bill, self.now()), self.when_down) {
                    (Ok(debts), _) => (bill, debts),
                    (Err(_away), WhenDown::Shares) => self.expected_here(who),
                    (Err(_away), WhenDown::Closed) => {
                        self.metrics.limit_store().fallback(self.when_down.name());
                        return Some(LimitRefusal::Uncounted);
                    }
                    (Err(_away), WhenDown::Open) => return None,
                }
            }
        };
        let over = outcome::interpret(&bill, &Verdict::Refused(debts?)).err()?;
        Some(LimitRefusal::Exceeded(over))
    }

    /// Counts a refusal, and delays it if the caller is refused again and again. Many refusals wait
    /// at once, so the caller of this function drops the message first.
    pub(crate) async fn refuse(&self, who: &Principal, refused: LimitRefusal) -> LimitRefusal {
        match refused {
            LimitRefusal::Exceeded(over) => {
                self.metrics.limits().refused(over.scope(), over.of());
                LimitRefusal::Exceeded(self.delay.wait(who, over).await)
            }
            LimitRefusal::MonthSpent(month) => {
                self.metrics
                    .limits()
                    .refused(Level::Tenant.name(), MONTH.into());
                LimitRefusal::MonthSpent(month)
            }
            LimitRefusal::Uncounted => LimitRefusal::Uncounted,
        }
    }

    /// Charges this gateway's own buckets, with its share of each limit.
    fn charge_here(
        &self,
        who: &Principal,
        session: Option<SessionKey>,
        price: &MessageCost,
    ) -> (Bill, Verdict) {
        let replicas = self.gateway_count.count();
        let bill = Bill::new(who, session, price, |limit| share(limit, replicas));
        let verdict = self.buckets.spend(&bill, self.now());
        (bill, verdict)
    }

    /// The debts for which this gateway's own buckets would refuse one unit of the totals.
    fn expected_here(&self, who: &Principal) -> (Bill, Option<Debts>) {
        let replicas = self.gateway_count.count();
        let bill = Bill::new(who, None, &MessageCost::UNIT, |limit| {
            share(limit, replicas)
        });
        let debts = self.buckets.refusal(&bill, self.now());
        (bill, debts)
    }

    /// Whether the shared store answers. `None` if none is configured.
    pub(crate) fn store_answers(&self) -> Option<bool> {
        self.shared.as_ref().map(SharedStore::is_up)
    }

    /// Why every limited message is refused at the moment: the store is down and the mode is
    /// `closed`.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        let shared = self.shared.as_ref()?;
        let closed = self.when_down == WhenDown::Closed && !shared.is_up();
        closed.then_some("the store of limits does not answer")
    }

    /// Runs until `shutdown`: drops full buckets, counts gateways, reads the sums of the month, and
    /// maintains the connection to the store.
    pub(crate) async fn run(&self, stores: &Stores, shutdown: &CancellationToken) {
        let shared = async {
            if let Some(shared) = &self.shared {
                shared.run(|| self.meanwhile()).await;
            }
        };
        let months = self.months.run(stores, self.month_interval);
        let all = async { tokio::join!(self.sweep(), self.gateway_count.run(), shared, months) };
        shutdown.run_until_cancelled(all).await;
    }

    /// What passes while the store is down, for the log. An installation with a shared store most
    /// likely has several gateways; without a count of them, each one grants every limit in full.
    fn meanwhile(&self) -> String {
        let passes = match self.when_down {
            WhenDown::Shares => {
                let gateways = self.gateway_count.count();
                format!("limits are divided by the number of gateways, {gateways},")
            }
            WhenDown::Closed => "whatever has a limit is refused".to_owned(),
            WhenDown::Open => "nothing is limited".to_owned(),
        };
        let mode = self.when_down.name();
        let uncounted =
            match self.when_down == WhenDown::Shares && !self.gateway_count.is_configured() {
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

    /// Microseconds since this process started.
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// One gateway's share of a limit a minute. Load balancers spread callers unevenly, so a share is
/// at least [`LEAST_SHARE`], one a second, unless the limit is lower.
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
    fn an_empty_url_means_no_store() {
        let none = limits("", WhenDown::Shares).unwrap();
        assert_eq!(none.store_answers(), None);
    }

    #[test]
    fn closed_mode_needs_a_store() {
        let refused = limits("", WhenDown::Closed).err().unwrap().to_string();
        assert!(refused.contains("--limits-when-down closed"), "{refused}");
        assert!(refused.contains("--limits-url"), "{refused}");
        let store = limits("redis://limits", WhenDown::Closed).unwrap();
        assert_eq!(store.store_answers(), Some(false));
    }

    #[test]
    fn the_log_says_what_passes_while_the_store_is_down() {
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
