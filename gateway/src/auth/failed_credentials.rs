//! Failed credentials, counted by source.
//!
//! Guessing a key is hopeless anyway. This bounds the work that a flood of invalid keys causes:
//! unknown ids from a source that failed too often are looked up one at a time, in a slot apart
//! from the others. A valid key is never refused here: a caller that shares an address with an
//! attacker waits at worst for the first look-up of its key. What a reader would get wrong: the
//! minute begins with a source's first failure and later failures do not extend it. So sources are
//! stored in the order in which they expire, and the table needs no sweep.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::address::Source;

/// Failures of one source per minute that are answered 401; further ones are answered 429.
const MOST_FAILURES: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);
/// Sources remembered, at about 100 bytes each. When the table is full the oldest are dropped.
const MOST_SOURCES: usize = 100_000;

/// Why a credential is invalid: a label of the metric. The answer is the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureReason {
    /// Not the form of a key or token, or a wrong checksum.
    Malformed,
    /// No key with this id was issued.
    Unknown,
    /// The id is known, but the secret is wrong.
    WrongSecret,
    /// Revoked, expired, or of a disabled tenant.
    NotGood,
    /// Token: its issuer is not configured.
    UnknownIssuer,
    /// Token: signed with an algorithm that its issuer may not use.
    WrongAlgorithm,
    /// Token: its issuer has no such key.
    UnknownSigner,
    /// Token: the signature does not match.
    WrongSignature,
    /// Token: meant for another audience.
    WrongAudience,
    /// Token: expired.
    Expired,
    /// Token: not valid yet.
    NotYet,
    /// Token: valid for more than an hour.
    LivesTooLong,
    /// Token: its issuer may not speak for that tenant.
    WrongTenant,
    /// Token: a claim is missing or malformed.
    WrongClaims,
    /// Token: it names more groups, or longer ones, than are compared with access rules.
    TooManyGroups,
}

impl FailureReason {
    pub(crate) fn label(self) -> &'static str {
        match self {
            FailureReason::Malformed => "malformed",
            FailureReason::Unknown => "unknown",
            FailureReason::WrongSecret => "wrong_secret",
            FailureReason::NotGood => "not_good",
            FailureReason::UnknownIssuer => "unknown_issuer",
            FailureReason::WrongAlgorithm => "wrong_algorithm",
            FailureReason::UnknownSigner => "unknown_signer",
            FailureReason::WrongSignature => "wrong_signature",
            FailureReason::WrongAudience => "wrong_audience",
            FailureReason::Expired => "expired",
            FailureReason::NotYet => "not_yet",
            FailureReason::LivesTooLong => "lives_too_long",
            FailureReason::WrongTenant => "wrong_tenant",
            FailureReason::WrongClaims => "wrong_claims",
            FailureReason::TooManyGroups => "too_many_groups",
        }
    }
}

/// The failures of the last minute.
#[derive(Default)]
pub(crate) struct FailedCredentials(Mutex<FailureTable>);

#[derive(Default)]
struct FailureTable {
    counted: HashMap<Source, FailureCount>,
    /// The same sources, oldest first.
    order: VecDeque<Source>,
}

struct FailureCount {
    since: Instant,
    failures: u32,
}

/// A source failed too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyFailures {
    /// Seconds until its failures are forgotten, at least 1.
    pub(crate) retry_after: u64,
}

impl TooManyFailures {
    fn until_over(left: Duration) -> Self {
        TooManyFailures {
            retry_after: left.as_secs() + u64::from(left.subsec_nanos() > 0),
        }
    }
}

impl FailedCredentials {
    /// Whether `source` has used up its failures, and for how long.
    pub(crate) fn exhausted(&self, source: Source) -> Option<TooManyFailures> {
        let table = self.0.lock();
        let count = table.counted.get(&source)?;
        let left = (count.since + MINUTE).duration_since(Instant::now());
        (count.failures >= MOST_FAILURES && !left.is_zero())
            .then(|| TooManyFailures::until_over(left))
    }

    /// Counts a failure of `source`.
    pub(crate) fn note(&self, source: Source) -> Result<(), TooManyFailures> {
        let now = Instant::now();
        let mut table = self.0.lock();
        table.forget(now);
        table.count(source, now)
    }
}

impl FailureTable {
    /// Drops expired sources, and the oldest one if the table is full.
    fn forget(&mut self, now: Instant) {
        while let Some(oldest) = self.order.front() {
            let over = |count: &FailureCount| now >= count.since + MINUTE;
            if self.order.len() < MOST_SOURCES && !self.counted.get(oldest).is_none_or(over) {
                return;
            }
            self.counted.remove(oldest);
            self.order.pop_front();
        }
    }

    fn count(&mut self, source: Source, now: Instant) -> Result<(), TooManyFailures> {
        let count = self.counted.entry(source).or_insert_with(|| {
            self.order.push_back(source);
            FailureCount {
                since: now,
                failures: 0,
            }
        });
        if count.failures < MOST_FAILURES {
            count.failures += 1;
            return Ok(());
        }
        Err(TooManyFailures::until_over(
            (count.since + MINUTE).duration_since(now),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Source = Source::V4(1);
    const THERE: Source = Source::V6(1);

    fn exhaust(failures: &FailedCredentials, source: Source) {
        for _ in 0..MOST_FAILURES {
            assert_eq!(failures.note(source), Ok(()));
        }
    }

    fn remembered(failures: &FailedCredentials) -> usize {
        let table = failures.0.lock();
        assert_eq!(table.counted.len(), table.order.len());
        table.order.len()
    }

    #[tokio::test(start_paused = true)]
    async fn the_61st_failure_of_a_minute_is_refused() {
        let failures = FailedCredentials::default();
        assert_eq!(failures.exhausted(HERE), None);
        exhaust(&failures, HERE);
        assert_eq!(
            failures.exhausted(HERE),
            Some(TooManyFailures { retry_after: 60 })
        );
        assert_eq!(failures.exhausted(THERE), None);
        assert_eq!(
            failures.note(HERE),
            Err(TooManyFailures { retry_after: 60 })
        );
        tokio::time::advance(Duration::from_millis(58_500)).await;
        assert_eq!(failures.note(HERE), Err(TooManyFailures { retry_after: 2 }));
        tokio::time::advance(Duration::from_millis(1_499)).await;
        assert_eq!(failures.note(HERE), Err(TooManyFailures { retry_after: 1 }));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(failures.exhausted(HERE), None);
        exhaust(&failures, HERE);
        assert!(failures.note(HERE).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn sources_are_counted_separately() {
        let failures = FailedCredentials::default();
        exhaust(&failures, HERE);
        assert!(failures.note(HERE).is_err());
        exhaust(&failures, THERE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_is_forgotten_after_its_minute() {
        let failures = FailedCredentials::default();
        for number in 0..1_000 {
            failures.note(Source::V4(number)).unwrap();
        }
        tokio::time::advance(Duration::from_secs(30)).await;
        failures.note(THERE).unwrap();
        assert_eq!(remembered(&failures), 1_001);
        tokio::time::advance(Duration::from_secs(30)).await;
        failures.note(THERE).unwrap();
        assert_eq!(remembered(&failures), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_table_drops_the_oldest_sources() {
        let failures = FailedCredentials::default();
        exhaust(&failures, THERE);
        exhaust(&failures, HERE);
        for number in 2..MOST_SOURCES {
            failures.note(Source::V6(number as u64)).unwrap();
        }
        assert!(failures.note(HERE).is_err());
        assert!(remembered(&failures) <= MOST_SOURCES);
        assert_eq!(failures.note(THERE), Ok(()), "forgotten");
    }
}
