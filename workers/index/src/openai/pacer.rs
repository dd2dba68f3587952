//! When to retry a service: after a growing, jittered delay; and after a pause that the service
//! requested, which holds back all callers.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Duration,
};

use http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::{Unavailable, failure::Failure};

/// Attempts of one request, the first included.
const MOST_ATTEMPTS: u32 = 4;
/// Delay after the first failure; it doubles with each.
pub const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest pause that is honoured; after it, requests are sent whatever the service said.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);
/// Callers that waited for the same moment start spread over this time.
const SPREAD: Duration = Duration::from_millis(200);

/// The pause that the service requested.
#[derive(Default)]
pub(super) struct Pacer {
    until: Mutex<Option<Instant>>,
}

impl Pacer {
    /// Waits until the pause ends.
    ///
    /// # Errors
    /// Immediately, if the pause ends after `deadline`.
    pub(super) async fn wait(&self, deadline: Instant) -> Result<(), Unavailable> {
        let now = Instant::now();
        let until = self.until.lock().filter(|until| *until > now);
        let Some(until) = until else {
            return Ok(());
        };
        let begin = until + SPREAD.mul_f64(random_share());
        if begin >= deadline {
            let retry_after = until - now;
            return Err(Unavailable::Paused { retry_after });
        }
        sleep(begin - now).await;
        Ok(())
    }

    /// Whether a pause is in effect.
    pub(super) fn is_paused(&self) -> bool {
        self.until
            .lock()
            .is_some_and(|until| until > Instant::now())
    }

    /// Extends the pause for all callers by what a failed answer requests.
    pub(super) fn note<E>(&self, failure: &Failure<E>) {
        if let Some(asked) = capped_wait(failure) {
            let end = Instant::now() + asked;
            let mut until = self.until.lock();
            *until = until.max(Some(end));
        }
    }
}

/// How long to wait before the next attempt; `None` if a retry is pointless.
pub(super) fn retry_delay<E>(failure: &Failure<E>, attempts: u32) -> Option<Duration> {
    let again = failure.is_retryable() && attempts < MOST_ATTEMPTS;
    again.then(|| match capped_wait(failure) {
        Some(asked) => asked + SPREAD.mul_f64(random_share()),
        None => backoff(attempts),
    })
}

/// The pause that the service requested, capped.
fn capped_wait<E>(failure: &Failure<E>) -> Option<Duration> {
    failure.retry_after().map(|wait| wait.min(LONGEST_PAUSE))
}

/// Exponential, half of it random.
fn backoff(attempts: u32) -> Duration {
    let whole = FIRST_WAIT * (1 << attempts.saturating_sub(1).min(MOST_ATTEMPTS));
    whole.mul_f64(0.5 + random_share() / 2.0)
}

/// A random number from 0 to 1, of a hasher's seed: enough to spread callers.
fn random_share() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 32;
    f64::from(u32::try_from(bits).unwrap_or(0)) / f64::from(u32::MAX)
}

/// How long the headers of an answer ask to wait: `Retry-After` in seconds or as a date (RFC 9110,
/// 10.2.3), else when an exhausted quota resets, in OpenAI's form (`6m0s`).
pub(super) fn requested_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = headers.get(header::RETRY_AFTER) {
        return parse(wait.to_str().ok()?.trim(), Timestamp::now());
    }
    let quota = |remaining, reset| {
        let is_exhausted = text(remaining)? == "0";
        let reset: SignedDuration = text(reset)?.parse().ok()?;
        Duration::try_from(reset).ok().filter(|_| is_exhausted)
    };
    let requests = quota(
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    );
    let tokens = quota("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens");
    requests.max(tokens)
}

fn parse(wait: &str, now: Timestamp) -> Option<Duration> {
    // Some services send fractions of seconds, which the standard does not allow.
    if let Ok(seconds) = wait.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = rfc2822::parse(wait).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::Unreadable;

    const SECOND: Duration = Duration::from_secs(1);

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, http::HeaderValue::from_static(value))
        });
        pairs.collect()
    }

    #[test]
    fn seconds_and_dates_say_how_long_to_wait() {
        let now: Timestamp = "2026-11-22T08:49:37Z".parse().unwrap();
        for (wait, long) in [
            ("0", Some(Duration::ZERO)),
            ("7", Some(7 * SECOND)),
            ("0.5", Some(SECOND / 2)),
            ("Sun, 22 Nov 2026 08:49:47 GMT", Some(10 * SECOND)),
            ("Sun, 22 Nov 2026 08:49:27 GMT", Some(Duration::ZERO)),
            ("-3", None),
            ("NaN", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(parse(wait, now), long, "{wait}");
        }
    }

    #[test]
    fn an_exhausted_quota_says_when_it_resets() {
        let quota = |requests, tokens| {
            requested_wait(&headers(&[
                ("x-ratelimit-remaining-requests", requests),
                ("x-ratelimit-reset-requests", "1.5s"),
                ("x-ratelimit-remaining-tokens", tokens),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ]))
        };
        assert_eq!(quota("0", "17"), Some(SECOND * 3 / 2));
        assert_eq!(quota("3", "0"), Some(360 * SECOND));
        assert_eq!(quota("3", "17"), None);
        assert_eq!(
            requested_wait(&headers(&[("retry-after", "2")])),
            Some(2 * SECOND)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn all_callers_wait_as_long_as_the_service_requested() {
        let pacer = Pacer::default();
        let limited: Failure<Unreadable> = Failure::Limited {
            retry_after: Some(5 * SECOND),
        };
        pacer.note(&limited);
        let wait = retry_delay(&limited, 1).unwrap();
        assert!(
            (5 * SECOND..=5 * SECOND + SPREAD).contains(&wait),
            "{wait:?}"
        );
        let started = Instant::now();
        let refused = pacer.wait(started + 4 * SECOND).await.unwrap_err();
        let retry_after = 5 * SECOND;
        assert_eq!(refused, Unavailable::Paused { retry_after });
        assert_eq!(started.elapsed(), Duration::ZERO, "rejected at once");
        pacer.wait(started + 9 * SECOND).await.unwrap();
        assert!(started.elapsed() >= 5 * SECOND);
        let over = Instant::now();
        pacer.wait(over).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_of_days_is_capped() {
        let pacer = Pacer::default();
        let limited: Failure<Unreadable> = Failure::Limited {
            retry_after: Some(Duration::MAX),
        };
        pacer.note(&limited);
        let rejected = pacer.wait(Instant::now()).await.unwrap_err();
        let retry_after = LONGEST_PAUSE;
        assert_eq!(rejected, Unavailable::Paused { retry_after });
    }

    #[test]
    fn delays_grow_vary_and_end() {
        let wait = |attempts| retry_delay::<Unreadable>(&Failure::Late, attempts);
        for attempts in 1..MOST_ATTEMPTS {
            let whole = FIRST_WAIT * 2_u32.pow(attempts - 1);
            let waits: Vec<_> = (0..16).map(|_| wait(attempts).unwrap()).collect();
            assert!(waits.iter().all(|wait| (whole / 2..=whole).contains(wait)));
            assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
        }
        assert_eq!(wait(MOST_ATTEMPTS), None);
        let refused: Failure<Unreadable> = Failure::Refused { status: 400 };
        assert_eq!(retry_delay(&refused, 1), None);
    }
}
