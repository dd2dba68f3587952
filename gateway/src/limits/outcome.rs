//! What a caller is told of its limits: what is left after a message, or how long to wait for it.
//!
//! Owns the words and headers of both. `RateLimit-Policy` and `RateLimit` are structured fields of
//! draft-ietf-httpapi-ratelimit-headers: a policy's name, quota `q` and window `w`, then what is left
//! of it, `r`, and the seconds `t` until it is whole again. They tell of the tightest of the buckets
//! that were asked: the one that would let the fewest further calls like this one pass. A refusal is
//! told by the bucket that makes the caller wait longest, since it is that one's time that counts.

use std::{fmt::Write, sync::Arc, time::Duration};

use archway_proto::{failure::Failure, fault::Fault};
use http::{HeaderMap, HeaderName, HeaderValue, header::RETRY_AFTER};
use serde_json::{Value, json};

use super::charge::{Bill, Charge, Debts, FULL, Verdict};
use crate::{
    error::{GatewayError, OverLimit},
    terms::{Level, TOTAL},
};

/// The least that a refusal asks to wait, in microseconds.
const SHORTEST_WAIT: u64 = 1_000;
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LEFT: HeaderName = HeaderName::from_static("ratelimit");

/// One bucket, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Balance {
    level: Level,
    /// A tool or method; `None` is everything.
    tool: Option<Arc<str>>,
    /// Calls, or units of everything, a minute.
    limit: u32,
    /// Until it is full, in microseconds.
    debt: u64,
}

impl Balance {
    fn of(bill: &Bill, charge: &Charge, debt: u64) -> Self {
        Balance {
            level: charge.level,
            tool: bill.tool.clone().filter(|_| !charge.total),
            limit: charge.limit,
            debt,
        }
    }

    /// Of its limit, what could be spent now.
    fn left(&self) -> u64 {
        FULL.saturating_sub(self.debt) * u64::from(self.limit) / FULL
    }

    /// The two headers that describe it.
    fn tell(&self, headers: &mut HeaderMap) {
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
        // Writing to a string can't fail, and only a tool's name could be no header's text.
        write!(name, ";q={};w=60", self.limit).ok();
        write!(left, ";r={};t={full_in}", self.left()).ok();
        if let (Ok(policy), Ok(left)) = (HeaderValue::try_from(name), HeaderValue::try_from(left)) {
            headers.insert(POLICY, policy);
            headers.insert(LEFT, left);
        }
    }
}

/// What a store's word means to the caller. A refusal that none of the store's own debts explain is
/// not believed.
pub(super) fn settle(bill: &Bill, verdict: &Verdict) -> Result<Spent, Over> {
    match verdict {
        Verdict::Passed(debts) => Ok(Spent::new(bill, debts)),
        Verdict::Refused(debts) => match Over::new(bill, debts) {
            Some(over) => Err(over),
            None => Ok(Spent::new(bill, debts)),
        },
    }
}

/// A message that was paid for.
#[derive(Clone, Debug)]
#[must_use = "every answer tells what is left"]
pub(crate) struct Spent(Option<Balance>);

impl Spent {
    /// By the debts that the bill's buckets have now.
    fn new(bill: &Bill, debts: &Debts) -> Self {
        let charges = bill.charges.iter().zip(debts);
        // Of equals the widest: it is the one that another session would not loosen.
        let tightest = charges
            .rev()
            .min_by_key(|(charge, debt)| charge.calls_left(**debt));
        Spent(tightest.map(|(charge, debt)| Balance::of(bill, charge, *debt)))
    }

    /// Where nothing was counted.
    pub(super) fn nothing() -> Self {
        Spent(None)
    }

    /// Says in an answer's headers what is left; nothing where nothing is limited.
    pub(crate) fn tell(&self, headers: &mut HeaderMap) {
        if let Some(tightest) = &self.0 {
            tightest.tell(headers);
        }
    }
}

/// A message that was not paid for, and cost nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Over {
    by: Balance,
    /// Until the message would pass, in microseconds.
    wait: u64,
}

impl Over {
    /// By the debts that the bill's buckets have; `None` if they would take all charges.
    fn new(bill: &Bill, debts: &Debts) -> Option<Self> {
        let charges = bill.charges.iter().zip(debts);
        // Of equals the widest, which comes last.
        let (charge, debt) = charges.max_by_key(|(charge, debt)| charge.wait(**debt))?;
        let wait = charge.wait(*debt);
        (wait > 0).then(|| Over {
            by: Balance::of(bill, charge, *debt),
            wait,
        })
    }

    /// The same, told so much later: the bucket refilled meanwhile.
    pub(super) fn after(mut self, held: Duration) -> Self {
        let held = u64::try_from(held.as_micros()).unwrap_or(u64::MAX);
        self.by.debt = self.by.debt.saturating_sub(held);
        // Somebody else may have spent what was refilled: there is something to wait for.
        self.wait = self.wait.saturating_sub(held).max(SHORTEST_WAIT);
        self
    }

    /// The same, so much later; `None` once the message would pass.
    pub(super) fn still(&self, later: Duration) -> Option<Self> {
        let lasts = later < Duration::from_micros(self.wait);
        lasts.then(|| self.clone().after(later))
    }

    /// Whose limit it was.
    pub(super) fn scope(&self) -> &'static str {
        self.by.level.name()
    }

    /// What it was a limit of.
    pub(super) fn of(&self) -> Arc<str> {
        let tool = self.by.tool.clone();
        tool.unwrap_or_else(|| Arc::from(TOTAL))
    }

    /// Says in an answer's headers when to come again, and what is left.
    pub(super) fn tell(&self, headers: &mut HeaderMap) {
        headers.insert(RETRY_AFTER, HeaderValue::from(self.whole_seconds()));
        self.by.tell(headers);
    }

    /// The refusal of a tool call: a result, as clients drop the body of a 429.
    pub(super) fn failure(&self) -> Failure {
        let suggestion = format!("wait {} seconds, then call again", self.seconds());
        let mut failure = Failure::new(Fault::RateLimited, self.message(), suggestion);
        if let Value::Object(details) = self.details() {
            failure.details.extend(details);
        }
        failure
    }

    /// The refusal of anything else.
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
            // Of what was refused nothing more passes.
            "remaining": 0,
            "retry_after_seconds": self.seconds(),
        })
    }

    /// The wait in seconds, to a thousandth, rounded up: who waits that long will pass.
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

    /// A tool's 60 a minute of a session, and 600 units of a key at 5 a call.
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
    fn an_answer_tells_of_the_bucket_that_lets_the_fewest_more_calls_pass() {
        // 59 more by the tool's, then 20 by the total's: 101 of its units are left.
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
            let spent = settle(&bill(), &Verdict::Passed([tool, total, 0, 0, 0, 0])).unwrap();
            let (name, policy, left) = expected;
            assert_eq!(
                headers(|map| spent.tell(map)),
                pairs(&[
                    ("ratelimit-policy", &format!("{name};{policy}")),
                    ("ratelimit", &format!("{name};{left}")),
                ])
            );
        }
        let free = settle(&Bill::for_tests(&[]), &Verdict::Passed([0; 6])).unwrap();
        assert_eq!(headers(|map| free.tell(map)), []);
    }

    #[test]
    fn a_refusal_tells_of_the_longest_wait() {
        let debts = [FULL - SECOND + 1_400, FULL - 100, 0, 0, 0, 0];
        let refused = settle(&bill(), &Verdict::Refused(debts)).unwrap_err();
        let details = json!({
            "scope": "key", "of": "total", "limit": 600, "remaining": 0,
            "retry_after_seconds": 0.5,
        });
        assert_eq!(refused.details(), details);
        assert_eq!(
            headers(|map| refused.tell(map)),
            pairs(&[
                ("retry-after", "1"),
                ("ratelimit-policy", "\"key\";q=600;w=60"),
                ("ratelimit", "\"key\";r=0;t=60"),
            ])
        );
        let debts = [FULL - SECOND + 1_400, 0, 0, 0, 0, 0];
        let failure = settle(&bill(), &Verdict::Refused(debts))
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
    fn a_refusal_that_was_held_asks_for_what_is_left() {
        let debts = [0, FULL - 100, 0, 0, 0, 0];
        let over = settle(&bill(), &Verdict::Refused(debts)).unwrap_err();
        let later = over.clone().after(Duration::from_millis(200));
        assert_eq!(later.details()["retry_after_seconds"], 0.3);
        let much_later = over.after(Duration::from_secs(61));
        assert_eq!(much_later.details()["retry_after_seconds"], 0.001);
        assert_eq!(much_later.whole_seconds(), 1);
    }

    #[test]
    fn a_refusal_that_its_debts_do_not_explain_is_none() {
        assert!(settle(&bill(), &Verdict::Refused([0; 6])).is_ok());
    }
}
