//! What callers read about their limits: the allowance left after a message, or how long to wait.
//!
//! Owns the text and the headers of both. `RateLimit-Policy` and `RateLimit` are structured fields
//! of draft-ietf-httpapi-ratelimit-headers: a policy's name, quota `q` and window `w`, then the
//! remaining quota `r` and the seconds `t` until it is full. They describe the tightest of the
//! charged buckets: the one that admits the fewest further calls of the same cost. A refusal
//! describes the bucket with the longest wait, since that wait decides when the caller can
//! continue.

use std::{fmt::Write, sync::Arc, time::Duration};

use archway_proto::{failure::Failure, fault::Fault};
use http::{HeaderMap, HeaderName, HeaderValue, header::RETRY_AFTER};
use serde_json::{Value, json};

use super::{
    cost::{Bill, Charge, Debts, FULL, Verdict},
    month::MonthQuota,
};
use crate::{
    error::{GatewayError, OverLimit},
    terms::{Level, TOTAL},
};

/// The shortest wait that a refusal states, in microseconds.
const SHORTEST_WAIT: u64 = 1_000;
pub(super) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub(super) const LEFT: HeaderName = HeaderName::from_static("ratelimit");

/// One bucket after a charge.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BucketState {
    level: Level,
    /// A tool or method; `None` for the total.
    tool: Option<Arc<str>>,
    /// Calls, or units of the total, a minute.
    limit: u32,
    /// Time until it is full, in microseconds.
    debt: u64,
}

impl BucketState {
    fn of(bill: &Bill, charge: &Charge, debt: u64) -> Self {
        BucketState {
            level: charge.level,
            tool: bill.tool.clone().filter(|_| !charge.total),
            limit: charge.limit,
            debt,
        }
    }

    /// The part of the limit that is available now.
    fn left(&self) -> u64 {
        FULL.saturating_sub(self.debt) * u64::from(self.limit) / FULL
    }

    /// Writes the two headers that describe this bucket.
    fn write_headers(&self, headers: &mut HeaderMap) {
        let mut name = String::with_capacity(64);
        name.push('"');
        name.push_str(self.level.name());
        if let Some(tool) = &self.tool {
            name.push(':');
            name.push_str(tool);
        }
        name.push('"');
        let mut left = name.clone();
        let full_in = self.debt.div_ceil(1_000_000);
        // Writing to a string cannot fail, and only a tool's name could be invalid in a header.
        write!(name, ";q={};w=60", self.limit).ok();
        write!(left, ";r={};t={full_in}", self.left()).ok();
        if let (Ok(policy), Ok(left)) = (HeaderValue::try_from(name), HeaderValue::try_from(left)) {
            headers.insert(POLICY, policy);
            headers.insert(LEFT, left);
        }
    }
}

/// Turns a store's verdict into the caller's result. A refusal that the store's own debts do not
/// explain counts as passed.
pub(super) fn interpret(bill: &Bill, verdict: &Verdict) -> Result<RemainingLimit, ExceededLimit> {
    match verdict {
        Verdict::Passed(debts) => Ok(RemainingLimit::new(bill, debts)),
        Verdict::Refused(debts) => match ExceededLimit::new(bill, debts) {
            Some(over) => Err(over),
            None => Ok(RemainingLimit::new(bill, debts)),
        },
    }
}

/// What is left after a message was charged.
#[derive(Clone, Debug)]
#[must_use = "every answer carries what is left"]
pub(crate) struct RemainingLimit {
    tightest: Option<BucketState>,
    /// The tenant's quota, once it is nearly spent.
    month: Option<Box<MonthQuota>>,
}

impl RemainingLimit {
    /// Uses the debts after the charge.
    fn new(bill: &Bill, debts: &Debts) -> Self {
        let charges = bill.charges.iter().zip(debts);
        // Among equals take the widest level: opening another session would not relax it.
        let tightest = charges
            .rev()
            .min_by_key(|(charge, debt)| charge.calls_left(**debt));
        RemainingLimit {
            tightest: tightest.map(|(charge, debt)| BucketState::of(bill, charge, *debt)),
            month: None,
        }
    }

    /// For a message that nothing was counted for.
    pub(super) fn nothing() -> Self {
        RemainingLimit {
            tightest: None,
            month: None,
        }
    }

    /// Names the tenant's quota as well.
    pub(super) fn with_month(self, month: MonthQuota) -> Self {
        RemainingLimit {
            month: Some(Box::new(month)),
            ..self
        }
    }

    /// Writes the headers of the tightest bucket, and of a quota that is nearly spent; none if nothing
    /// is limited.
    pub(crate) fn write_headers(&self, headers: &mut HeaderMap) {
        if let Some(tightest) = &self.tightest {
            tightest.write_headers(headers);
        }
        if let Some(month) = &self.month {
            month.write_headers(headers);
        }
    }
}

/// A message over a limit. It was charged nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExceededLimit {
    by: BucketState,
    /// Time until the message would pass, in microseconds.
    wait: u64,
}

impl ExceededLimit {
    /// The exceeded bucket with the longest wait. `None` if the buckets could take all charges.
    fn new(bill: &Bill, debts: &Debts) -> Option<Self> {
        let charges = bill.charges.iter().zip(debts);
        // Among equals take the widest level, which comes last.
        let (charge, debt) = charges.max_by_key(|(charge, debt)| charge.wait(**debt))?;
        let wait = charge.wait(*debt);
        (wait > 0).then(|| ExceededLimit {
            by: BucketState::of(bill, charge, *debt),
            wait,
        })
    }

    /// The same refusal, sent `held` later: the bucket has refilled meanwhile.
    pub(super) fn after(mut self, held: Duration) -> Self {
        let held = u64::try_from(held.as_micros()).unwrap_or(u64::MAX);
        self.by.debt = self.by.debt.saturating_sub(held);
        // Another call may have spent the refill, so the wait is never zero.
        self.wait = self.wait.saturating_sub(held).max(SHORTEST_WAIT);
        self
    }

    /// The refusal as of `later` from now; `None` once the message would pass.
    pub(super) fn still(&self, later: Duration) -> Option<Self> {
        let lasts = later < Duration::from_micros(self.wait);
        lasts.then(|| self.clone().after(later))
    }

    /// The level of the limit.
    pub(super) fn scope(&self) -> &'static str {
        self.by.level.name()
    }

    /// The tool or method of the limit, or the total.
    pub(super) fn of(&self) -> Arc<str> {
        let tool = self.by.tool.clone();
        tool.unwrap_or_else(|| Arc::from(TOTAL))
    }

    /// Writes `Retry-After` and the headers of the exceeded bucket.
    pub(super) fn write_headers(&self, headers: &mut HeaderMap) {
        headers.insert(RETRY_AFTER, HeaderValue::from(self.whole_seconds()));
        self.by.write_headers(headers);
    }

    /// The refusal of a tool call. A tool result, because MCP clients drop the body of a 429.
    pub(super) fn failure(&self) -> Failure {
        let suggestion = format!("wait {} seconds, then call again", self.seconds());
        let mut failure = Failure::new(Fault::RateLimited, self.message(), suggestion);
        if let Value::Object(details) = self.details() {
            failure.details.extend(details);
        }
        failure
    }

    /// The refusal of any other message.
    pub(super) fn error(&self) -> GatewayError {
        GatewayError::RateLimited(Box::new(OverLimit {
            message: format!("{}: wait {} seconds", self.message(), self.seconds()),
            retry_after: self.whole_seconds(),
            details: self.details(),
        }))
    }

    fn message(&self) -> String {
        let (level, limit) = (self.by.level.name(), self.by.limit);
        match &self.by.tool {
            Some(tool) => format!("the {level}'s limit of {limit} a minute for {tool} is spent"),
            None => format!("the {level}'s limit of {limit} units a minute is spent"),
        }
    }

    fn details(&self) -> Value {
        json!({
            "scope": self.scope(),
            "of": &*self.of(),
            "limit": self.by.limit,
            // A refused message leaves no allowance.
            "remaining": 0,
            "retry_after_seconds": self.seconds(),
        })
    }

    /// The wait in seconds, rounded up to a thousandth: a caller that waits this long passes.
    fn seconds(&self) -> f64 {
        let milliseconds = u32::try_from(self.wait.div_ceil(1_000)).unwrap_or(u32::MAX);
        f64::from(milliseconds) / 1_000.0
    }

    fn whole_seconds(&self) -> u64 {
        self.wait.div_ceil(1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// A session's 60 a minute of a tool, and a key's 600 units at 5 a call.
    fn bill() -> Bill {
        let mut total = Charge::for_tests(2, Level::Key, 600, 5);
        total.total = true;
        Bill::for_tests(&[Charge::for_tests(1, Level::Session, 60, 1), total])
    }

    fn headers(tell: impl FnOnce(&mut HeaderMap)) -> Vec<(String, String)> {
        let mut map = HeaderMap::new();
        tell(&mut map);
        let pairs = map.iter();
        pairs
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = expected.iter();
        owned
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    }

    #[test]
    fn an_answer_describes_the_bucket_with_the_fewest_calls_left() {
        // 59 more calls fit the tool's bucket; then 20 fit the total's, of which 101 units are
        // left.
        for (debts, expected) in [
            (
                [SECOND, SECOND / 2],
                ("\"session:hello\"", "q=60;w=60", "r=59;t=1"),
            ),
            (
                [SECOND, FULL - 10_100_000],
                ("\"key\"", "q=600;w=60", "r=101;t=50"),
            ),
        ] {
            let [tool, total] = debts;
            let spent = interpret(&bill(), &Verdict::Passed([tool, total, 0, 0, 0, 0])).unwrap();
            let (name, policy, left) = expected;
            assert_eq!(
                headers(|map| spent.write_headers(map)),
                pairs(&[
                    ("ratelimit-policy", &format!("{name};{policy}")),
                    ("ratelimit", &format!("{name};{left}")),
                ])
            );
        }
        let free = interpret(&Bill::for_tests(&[]), &Verdict::Passed([0; 6])).unwrap();
        assert_eq!(headers(|map| free.write_headers(map)), []);
    }

    #[test]
    fn a_refusal_states_the_longest_wait() {
        let debts = [FULL - SECOND + 1_400, FULL - 100, 0, 0, 0, 0];
        let refused = interpret(&bill(), &Verdict::Refused(debts)).unwrap_err();
        let details = json!({
            "scope": "key", "of": "total", "limit": 600, "remaining": 0,
            "retry_after_seconds": 0.5,
        });
        assert_eq!(refused.details(), details);
        assert_eq!(
            headers(|map| refused.write_headers(map)),
            pairs(&[
                ("retry-after", "1"),
                ("ratelimit-policy", "\"key\";q=600;w=60"),
                ("ratelimit", "\"key\";r=0;t=60"),
            ])
        );
        let debts = [FULL - SECOND + 1_400, 0, 0, 0, 0, 0];
        let failure = interpret(&bill(), &Verdict::Refused(debts))
            .unwrap_err()
            .failure();
        assert_eq!(failure.code, Fault::RateLimited);
        assert_eq!(failure.details["retry_after_seconds"], 0.002);
        assert_eq!(
            failure.message,
            "the session's limit of 60 a minute for hello is spent"
        );
        assert_eq!(failure.suggestion, "wait 0.002 seconds, then call again");
    }

    #[test]
    fn a_delayed_refusal_states_the_wait_that_is_left() {
        let debts = [0, FULL - 100, 0, 0, 0, 0];
        let over = interpret(&bill(), &Verdict::Refused(debts)).unwrap_err();
        let later = over.clone().after(Duration::from_millis(200));
        assert_eq!(later.details()["retry_after_seconds"], 0.3);
        let much_later = over.after(Duration::from_secs(61));
        assert_eq!(much_later.details()["retry_after_seconds"], 0.001);
        assert_eq!(much_later.whole_seconds(), 1);
    }

    #[test]
    fn a_refusal_without_a_debt_that_explains_it_passes() {
        assert!(interpret(&bill(), &Verdict::Refused([0; 6])).is_ok());
    }
}
