//! What a host's headers say of its rate limit, and how much of it may be used.

use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use parking_lot::Mutex;
use reqwest::header::HeaderMap;

/// How long to wait if a host limits the rate and doesn't say how long.
const DEFAULT_WAIT: SignedDuration = SignedDuration::from_secs(60);
pub(super) const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(3600);
pub(super) const SHORTEST_WAIT: SignedDuration = SignedDuration::from_secs(1);

/// The part of a host's rate limit that may be used, by whoever has the same credential.
///
/// What a webhook asked for may use half. The rest leaves a tenth of the limit for it.
#[derive(Debug, Default)]
pub struct Budget {
    noted: Mutex<Option<Noted>>,
}

/// What the last answer with a limit said.
#[derive(Clone, Copy, Debug)]
struct Noted {
    limit: i64,
    remaining: i64,
    /// When the host counts anew.
    reset_at: Timestamp,
}

impl Budget {
    /// When a request may be made again; `None` if one may be made now.
    pub(crate) fn spent_until(&self, is_requested: bool, now: Timestamp) -> Option<Timestamp> {
        let noted = (*self.noted.lock()).filter(|noted| now < noted.reset_at)?;
        let used = noted.limit.saturating_sub(noted.remaining);
        let most = match is_requested {
            true => noted.limit / 2,
            false => noted.limit.saturating_mul(2) / 5,
        };
        (used >= most).then_some(noted.reset_at)
    }

    pub(super) fn note(&self, numbers: &Numbers<'_>, now: Timestamp) {
        let limit = numbers.either("ratelimit-limit").filter(|limit| *limit > 0);
        let remaining = numbers.either("ratelimit-remaining");
        if let (Some(limit), Some(remaining)) = (limit, remaining) {
            let reset_at = later(now, numbers.reset(now));
            *self.noted.lock() = Some(Noted {
                limit,
                remaining,
                reset_at,
            });
        }
    }
}

/// The headers of an answer.
pub(super) struct Numbers<'a>(&'a HeaderMap);

impl Numbers<'_> {
    pub(super) fn of(headers: &HeaderMap) -> Numbers<'_> {
        Numbers(headers)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str().ok().map(str::trim)
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    /// A header that some hosts write with `x-` before it.
    pub(super) fn either(&self, bare: &str) -> Option<i64> {
        self.number(&format!("x-{bare}"))
            .or_else(|| self.number(bare))
    }

    /// The host's clock, against which its times are meant.
    pub(super) fn host_now(&self, now: Timestamp) -> Timestamp {
        self.text("date").and_then(http_date).unwrap_or(now)
    }

    /// Seconds until the host counts anew.
    pub(super) fn reset(&self, now: Timestamp) -> Option<i64> {
        let at = self.either("ratelimit-reset")?;
        Some(at.saturating_sub(self.host_now(now).as_second()))
    }
}

/// So many seconds later: at least 1 s and at most 1 h, and a minute if nothing is said.
pub(super) fn later(now: Timestamp, seconds: Option<i64>) -> Timestamp {
    let wait = seconds.map_or(DEFAULT_WAIT, SignedDuration::from_secs);
    let wait = wait.clamp(SHORTEST_WAIT, LONGEST_WAIT);
    now.saturating_add(wait).unwrap_or(now)
}

pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn budget(pairs: &[(&'static str, &str)], now: Timestamp) -> Budget {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        let budget = Budget::default();
        budget.note(&Numbers::of(&headers), now);
        budget
    }

    #[test]
    fn rounds_use_two_fifths_of_a_limit_and_webhooks_half() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let reset = (now.as_second() + 600).to_string();
        let reset_at = now + SignedDuration::from_secs(600);
        for (remaining, round, webhook) in [
            ("5000", None, None),
            ("3001", None, None),
            ("3000", Some(reset_at), None),
            ("2501", Some(reset_at), None),
            ("2500", Some(reset_at), Some(reset_at)),
            ("0", Some(reset_at), Some(reset_at)),
        ] {
            let headers = [
                ("x-ratelimit-limit", "5000"),
                ("x-ratelimit-remaining", remaining),
                ("x-ratelimit-reset", &reset),
            ];
            let budget = budget(&headers, now);
            assert_eq!(budget.spent_until(false, now), round, "{remaining}");
            assert_eq!(budget.spent_until(true, now), webhook, "{remaining}");
            assert_eq!(budget.spent_until(false, reset_at), None);
        }
    }

    #[test]
    fn a_host_without_limits_is_not_waited_for() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        for headers in [
            &[][..],
            &[("ratelimit-remaining", "0")],
            &[("ratelimit-limit", "0"), ("ratelimit-remaining", "0")],
            &[("ratelimit-limit", "many"), ("ratelimit-remaining", "0")],
        ] {
            assert_eq!(budget(headers, now).spent_until(false, now), None);
        }
        // Without a time: a minute.
        let spent = budget(
            &[("ratelimit-limit", "60"), ("ratelimit-remaining", "9")],
            now,
        );
        assert_eq!(spent.spent_until(true, now), Some(now + DEFAULT_WAIT));
    }
}
