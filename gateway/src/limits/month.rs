//! Quotas by the month: what a tenant may spend in a calendar month of UTC, judged by what was counted.
//!
//! PostgreSQL counts units with the audit trail, for all gateways, and each gateway reads the sums. So a quota is
//! exceeded by what its tenant spends between two readings. What a reader would get wrong: a sum that is older than
//! 60 s refuses nobody, as while PostgreSQL is down.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use archway_proto::{chain::Chain, failure::Failure, fault::Fault};
use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};
use parking_lot::{Mutex, RwLock};
use prometheus_client::metrics::gauge::Gauge;
use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::outcome::{LEFT, POLICY};
use crate::{
    caller::Principal,
    error::{GatewayError, OverLimit},
    store::{MonthSums, Stores},
    terms::{Level, MONTH},
};

/// How long a reading is used.
const OLDEST: Duration = Duration::from_secs(60);
/// From this part of a quota on, answers name it: four fifths.
const NAMED_FROM: (u64, u64) = (4, 5);

/// How long a tenant is counted whose quota is nearly spent, after its last message.
const COUNTED_FOR: Duration = Duration::from_secs(10 * 60);

/// The sums that were read last, and the tenants that they are about to stop.
#[derive(Default)]
pub(super) struct Months {
    read: RwLock<Option<ReadSums>>,
    /// When tenants called last whose quota is nearly spent.
    nearly_spent: Mutex<HashMap<Uuid, Instant>>,
    /// How many of them there are.
    count: Gauge,
}

struct ReadSums {
    at: Instant,
    ends: SystemTime,
    /// The day on which the next month begins.
    next: Arc<str>,
    /// Units by tenant. Only tenants with a quota are there.
    units: HashMap<Uuid, u64>,
}

/// A tenant's quota, and what it spent of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MonthQuota {
    limit: u32,
    units: u64,
    /// Until the month ends, in seconds.
    ends_in: u64,
    /// The day on which the next month begins: `2026-12-01`.
    next: Arc<str>,
}

impl Months {
    pub(super) fn new(count: Gauge) -> Months {
        Months {
            count,
            ..Months::default()
        }
    }

    /// The quota of the caller's tenant. `None` if it has none, or if the sums are too old.
    pub(super) fn of(&self, who: &Principal) -> Option<MonthQuota> {
        let limit = who.terms().of_month().per_minute?;
        let read = self.read.read();
        let sums = read.as_ref().filter(|read| read.at.elapsed() < OLDEST)?;
        let ends_in = sums.ends.duration_since(SystemTime::now()).ok()?;
        let quota = MonthQuota {
            limit,
            units: *sums.units.get(&who.tenant_id())?,
            ends_in: ends_in.as_secs().max(1),
            next: sums.next.clone(),
        };
        if quota.is_named() {
            let mut tenants = self.nearly_spent.lock();
            tenants.insert(who.tenant_id(), Instant::now());
            self.show(&tenants);
        }
        Some(quota)
    }

    /// Forgets tenants that no longer call.
    fn sweep(&self) {
        let mut tenants = self.nearly_spent.lock();
        tenants.retain(|_, last| last.elapsed() < COUNTED_FOR);
        self.show(&tenants);
    }

    fn show(&self, tenants: &HashMap<Uuid, Instant>) {
        let count = i64::try_from(tenants.len()).unwrap_or(i64::MAX);
        self.count.set(count);
    }

    /// Reads the sums for as long as it is polled.
    pub(super) async fn run(&self, stores: &Stores, every: Duration) {
        let mut ticks = tokio::time::interval(every);
        loop {
            ticks.tick().await;
            self.sweep();
            match stores.month_sums().await {
                Ok(sums) => self.set(sums),
                // `/readyz` reports an unavailable Postgres.
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), "the sums of the month are not read yet");
                }
            }
        }
    }

    fn set(&self, sums: MonthSums) {
        *self.read.write() = Some(ReadSums {
            at: Instant::now(),
            ends: sums.ends,
            next: sums.next.into(),
            units: sums.units,
        });
    }
}

impl MonthQuota {
    /// Whether nothing is left.
    pub(super) fn is_spent(&self) -> bool {
        self.units >= u64::from(self.limit)
    }

    /// Whether so much is spent that answers name it.
    pub(super) fn is_named(&self) -> bool {
        self.units * NAMED_FROM.1 >= u64::from(self.limit) * NAMED_FROM.0
    }

    /// Adds the quota to the headers that describe limits, which are lists.
    pub(super) fn write_headers(&self, headers: &mut HeaderMap) {
        let left = u64::from(self.limit).saturating_sub(self.units);
        let policy = format!("\"{MONTH}\";q={}", self.limit);
        let left = format!("\"{MONTH}\";r={left};t={}", self.ends_in);
        if let (Ok(policy), Ok(left)) = (HeaderValue::try_from(policy), HeaderValue::try_from(left))
        {
            headers.append(POLICY, policy);
            headers.append(LEFT, left);
        }
        if self.is_spent() {
            headers.insert(RETRY_AFTER, HeaderValue::from(self.ends_in));
        }
    }

    /// The refusal of a tool call.
    pub(super) fn failure(&self) -> Failure {
        let suggestion = "ask the operator for more units, or wait until the next month begins";
        let mut failure = Failure::new(Fault::RateLimited, self.message(), suggestion);
        if let Value::Object(details) = self.details() {
            failure.details.extend(details);
        }
        failure
    }

    /// The refusal of any other message.
    pub(super) fn error(&self) -> GatewayError {
        GatewayError::RateLimited(Box::new(OverLimit {
            message: self.message(),
            retry_after: self.ends_in,
            details: self.details(),
        }))
    }

    fn message(&self) -> String {
        let (limit, next) = (self.limit, &self.next);
        format!(
            "the tenant's {limit} units of this month are spent; the next begins on {next} (UTC)"
        )
    }

    fn details(&self) -> Value {
        json!({
            "scope": Level::Tenant.name(),
            "of": MONTH,
            "limit": self.limit,
            "remaining": 0,
            "retry_after_seconds": self.ends_in,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn months(units: u64, ends: SystemTime) -> Months {
        let months = Months::default();
        let who = Principal::for_tests(&[], None);
        months.set(MonthSums {
            ends,
            next: "2026-12-01".to_owned(),
            units: HashMap::from([(who.tenant_id(), units)]),
        });
        months
    }

    fn quota(units: u64) -> MonthQuota {
        let months = months(units, SystemTime::now() + DAY);
        months.of(&Principal::with_quota_for_tests(100)).unwrap()
    }

    #[tokio::test]
    async fn a_quota_is_named_from_four_fifths_on_and_spent_at_its_end() {
        for (units, named, spent) in [
            (0, false, false),
            (79, false, false),
            (80, true, false),
            (99, true, false),
            (100, true, true),
            (1_000, true, true),
        ] {
            let quota = quota(units);
            assert_eq!(
                (quota.is_named(), quota.is_spent()),
                (named, spent),
                "{units}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tenants_whose_quota_is_nearly_spent_are_counted_while_they_call() {
        let count = |months: &Months| {
            months.sweep();
            months.count.get()
        };
        let who = Principal::with_quota_for_tests(100);
        let early = months(79, SystemTime::now() + DAY);
        early.of(&who).unwrap();
        assert_eq!(count(&early), 0);
        let late = months(80, SystemTime::now() + DAY);
        late.of(&who).unwrap();
        late.of(&who).unwrap();
        assert_eq!(count(&late), 1);
        tokio::time::advance(COUNTED_FOR).await;
        assert_eq!(count(&late), 0);
    }

    #[tokio::test]
    async fn a_refusal_says_when_the_month_ends_and_headers_what_is_left() {
        let spent = quota(130);
        let text = spent.failure().message;
        assert!(
            text.ends_with("the next begins on 2026-12-01 (UTC)"),
            "{text}"
        );
        let mut headers = HeaderMap::new();
        headers.insert(LEFT, HeaderValue::from_static("\"key\";r=1;t=1"));
        quota(85).write_headers(&mut headers);
        let left: Vec<_> = headers.get_all(LEFT).iter().collect();
        let own = left[1].to_str().unwrap();
        assert!(own.starts_with("\"month\";r=15;t=8639"), "{own}");
        assert_eq!(headers.get(RETRY_AFTER), None);
        spent.write_headers(&mut headers);
        assert!(headers.contains_key(RETRY_AFTER));
    }

    #[tokio::test(start_paused = true)]
    async fn old_sums_and_those_of_a_past_month_judge_nobody() {
        let who = Principal::with_quota_for_tests(100);
        let current = months(100, SystemTime::now() + DAY);
        assert!(current.of(&who).is_some());
        assert_eq!(
            current.of(&Principal::for_tests(&[], None)),
            None,
            "no quota"
        );
        tokio::time::advance(OLDEST).await;
        assert_eq!(current.of(&who), None);
        assert_eq!(months(100, SystemTime::now() - DAY).of(&who), None);
        assert_eq!(Months::default().of(&who), None);
    }
}
