//! Dates as `since` and `until` take them: in UTC, by the calendar or counted back from now.
//!
//! Callers try any other text as a revision. A tag named like a date is therefore only reachable as
//! `refs/tags/…`.

use jiff::{
    Timestamp,
    civil::{Date, DateTime},
    tz::TimeZone,
};

const DAY: i64 = 24 * 60 * 60;

/// `YYYY-MM-DD`, in bytes.
const DAY_LENGTH: usize = 10;

/// Which end of a span of time a date stands for. Both ends belong to the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanEnd {
    /// A day begins it at 00:00:00.
    Since,
    /// A day ends it at 23:59:59.
    Until,
}

/// Parses `text` as one end of a span, in seconds since 1970. `None` if it is not a date.
///
/// Accepts RFC 3339 (in UTC without an offset), `YYYY-MM-DD`, `today`, `yesterday`, and `N units
/// ago` with second, minute, hour, day, week, month (30 days) or year (365 days).
pub fn parse_bound(text: &str, end: SpanEnd, now: Timestamp) -> Option<i64> {
    let text = text.trim();
    let words = text.to_ascii_lowercase();
    let today = now.to_zoned(TimeZone::UTC).date();
    match words.as_str() {
        "today" => of_day(today, end),
        "yesterday" => of_day(today.yesterday().ok()?, end),
        words => match ago(words) {
            Some(seconds) => now.as_second().checked_sub(seconds),
            None => calendar(text, end),
        },
    }
}

/// Parses the date in `branch@{text}`, in seconds since 1970. `None` if it is not a date.
///
/// Git keeps the time of day here: a bare day means that day at the current time, and `yesterday`
/// means 24 hours ago. Dots may separate words.
pub(crate) fn moment(text: &str, now: Timestamp) -> Option<i64> {
    let words = text.trim().to_ascii_lowercase().replace('.', " ");
    let second = now.as_second();
    match words.as_str() {
        "now" => Some(second),
        "yesterday" => Some(second - DAY),
        words => ago(words)
            .map(|seconds| second.checked_sub(seconds))
            .or_else(|| {
                let start = parse_bound(text, SpanEnd::Since, now)?;
                let is_day = text.trim().len() == DAY_LENGTH;
                Some(start.checked_add(if is_day { second.rem_euclid(DAY) } else { 0 }))
            })?,
    }
}

/// The number of seconds in `N units ago`.
fn ago(words: &str) -> Option<i64> {
    let mut words = words.split_ascii_whitespace();
    let (count, unit) = (words.next()?, words.next()?);
    if words.next() != Some("ago") || words.next().is_some() {
        return None;
    }
    let seconds = match unit.strip_suffix('s').unwrap_or(unit) {
        "second" => 1,
        "minute" => 60,
        "hour" => 60 * 60,
        "day" => DAY,
        "week" => 7 * DAY,
        "month" => 30 * DAY,
        "year" => 365 * DAY,
        _ => return None,
    };
    let is_number = count.bytes().all(|byte| byte.is_ascii_digit());
    let count: i64 = count.parse().ok().filter(|_| is_number)?;
    count.checked_mul(seconds)
}

/// Parses a day, or a time of a day.
fn calendar(text: &str, end: SpanEnd) -> Option<i64> {
    let (day, time) = text.split_at_checked(DAY_LENGTH)?;
    let is_day = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    match time.as_bytes() {
        _ if !is_day => None,
        [] => of_day(day.parse().ok()?, end),
        [b'T' | b't' | b' ', rest @ ..] if rest.contains(&b':') => {
            let in_utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok();
            let time = text.parse::<Timestamp>().ok();
            let time = time.or_else(|| Some(in_utc(text.parse().ok()?)?.timestamp()))?;
            // Commit times are whole seconds: a span that begins within a second begins with the
            // next one.
            let begins_within = end == SpanEnd::Since && time.subsec_nanosecond() != 0;
            Some(time.as_nanosecond().div_euclid(1_000_000_000))
                .and_then(|second| i64::try_from(second).ok())
                .map(|second| second + i64::from(begins_within))
        }
        _ => None,
    }
}

/// The first or the last second of a day.
fn of_day(day: Date, end: SpanEnd) -> Option<i64> {
    let first = day.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    Some(match end {
        SpanEnd::Since => first,
        SpanEnd::Until => first + DAY - 1,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-03-04T05:06:07Z.
    const NOW: i64 = 1_772_600_767;

    fn now() -> Timestamp {
        Timestamp::from_second(NOW).unwrap()
    }

    fn ends(text: &str) -> Option<(i64, i64)> {
        let since = parse_bound(text, SpanEnd::Since, now())?;
        Some((since, parse_bound(text, SpanEnd::Until, now()).unwrap()))
    }

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_second()
    }

    #[test]
    fn a_day_spans_its_first_to_its_last_second() {
        let day = |day: &str| {
            let (first, last) = (format!("{day}T00:00:00Z"), format!("{day}T23:59:59Z"));
            Some((at(&first), at(&last)))
        };
        assert_eq!(ends("2025-10-09"), day("2025-10-09"));
        assert_eq!(ends(" 2024-02-29 "), day("2024-02-29"));
        assert_eq!(ends("today"), day("2026-03-04"));
        assert_eq!(ends("Yesterday"), day("2026-03-03"));
    }

    #[test]
    fn an_instant_is_the_same_bound_at_both_ends_and_in_utc() {
        let both = |second| Some((second, second));
        for (text, utc) in [
            ("2025-10-09T10:20:30Z", "2025-10-09T10:20:30Z"),
            ("2025-10-09t10:20:30z", "2025-10-09T10:20:30Z"),
            ("2025-10-09T10:20:30+02:00", "2025-10-09T08:20:30Z"),
            ("2025-10-09 10:20:30", "2025-10-09T10:20:30Z"),
            ("2025-10-09T10:20", "2025-10-09T10:20:00Z"),
            ("1969-12-31T23:59:58Z", "1969-12-31T23:59:58Z"),
        ] {
            assert_eq!(ends(text), both(at(utc)), "{text}");
        }
        // Between two seconds: the next one begins a span, the previous one ends it.
        assert_eq!(ends("1970-01-01T00:00:00.5Z"), Some((1, 0)));
        assert_eq!(ends("1969-12-31T23:59:59.5Z"), Some((0, -1)));
    }

    #[test]
    fn units_are_counted_back_from_now() {
        for (text, seconds) in [
            ("1 second ago", 1),
            ("2 minutes ago", 120),
            ("3 hours ago", 10_800),
            ("30 days ago", 30 * DAY),
            ("1 day ago", DAY),
            ("2  Weeks  AGO", 14 * DAY),
            ("1 month ago", 30 * DAY),
            ("2 years ago", 730 * DAY),
            ("0 days ago", 0),
        ] {
            assert_eq!(ends(text), Some((NOW - seconds, NOW - seconds)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_dates() {
        for text in [
            "",
            "main",
            "v1.0.0",
            "now",
            "ago",
            "days ago",
            "-1 days ago",
            "+1 days ago",
            "1 fortnight ago",
            "1 day",
            "1 day ago or so",
            "2025-1-1",
            "2025-13-01",
            "2025-02-30",
            "2025-10-09T",
            "2025-10-09T10",
            "2025-10-09T25:00:00Z",
            "2025-10-09-rc1",
            "20251009",
            "99999999999999999999 days ago",
            "9223372036854775807 years ago",
            "ääääää",
        ] {
            assert_eq!(ends(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_date_at_both_ends_or_at_neither(text in "\\PC{0,64}", days in "[0-9]{4}-[0-9]{2}-[0-9]{2}.{0,20}") {
            for text in [text, days] {
                let (since, until) = (parse_bound(&text, SpanEnd::Since, now()), parse_bound(&text, SpanEnd::Until, now()));
                prop_assert_eq!(since.is_some(), until.is_some());
            }
        }
    }
}
