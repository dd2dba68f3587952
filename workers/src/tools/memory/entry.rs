//! Validates an entry of a memory file: a small JSON object with a time and a text.
//!
//! The order of failures is part of the contract: the size is reported first, and alone. All other
//! problems are reported together.

use std::collections::BTreeSet;

use archway_proto::{failure::Failure, fault::Fault};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::{Map, Value, json};

use archway_store::memory::words;

/// Maximum size of an entry in bytes of compact JSON.
const MAX_BYTES: usize = 10_240;
/// Maximum nesting of objects and arrays, including the entry itself.
const MAX_DEPTH: usize = 32;
/// How far an entry's timestamp may be ahead of the server's clock.
const MAX_AHEAD_SECONDS: i64 = 24 * 60 * 60;

/// A validated entry.
#[derive(Debug)]
pub(super) struct Entry {
    /// Compact JSON.
    pub(super) text: String,
    /// The words of its keys and strings.
    pub(super) words: Vec<String>,
}

impl Entry {
    pub(super) fn check(entry: Map<String, Value>, now: Timestamp) -> Result<Entry, Failure> {
        let fields = Value::Object(entry);
        let text = fields.to_string();
        if text.len() > MAX_BYTES {
            return Err(too_large(text.len()));
        }
        let mut violations = Vec::new();
        if let Err(problem) = timestamp(&fields["timestamp"], now) {
            violations.push(violation("entry.timestamp", problem, ALLOWED_TIMES));
        }
        violations.extend(check_texts(&fields));
        let mut words_found = BTreeSet::new();
        if let Err(problem) = check_value(&fields, 1, &mut words_found) {
            violations.push(violation("entry", problem, "plain JSON, not too deep"));
        }
        match violations.is_empty() {
            true => Ok(Entry {
                text,
                words: words_found.into_iter().collect(),
            }),
            false => Err(invalid(&violations)),
        }
    }
}

const ALLOWED_TIMES: &str =
    "an ISO 8601 date and time, as 2026-01-07T14:00:00Z, from 1970 to tomorrow";

/// A problem: where, what, and what is allowed.
struct Violation {
    path: &'static str,
    problem: &'static str,
    allowed: &'static str,
}

fn violation(path: &'static str, problem: &'static str, allowed: &'static str) -> Violation {
    Violation {
        path,
        problem,
        allowed,
    }
}

/// Checks the writer's own time, which may be left out. Without a zone it is UTC. A date alone is rejected.
fn timestamp(value: &Value, now: Timestamp) -> Result<(), &'static str> {
    let text = match value {
        Value::Null => return Ok(()),
        Value::String(text) => text.as_str(),
        _ => return Err("is no string"),
    };
    // The parser also accepts dates alone, and zone names in brackets.
    let is_time = text.contains(['T', 't', ' ']) && !text.contains('[');
    let in_utc = || {
        let civil: DateTime = text.parse().ok()?;
        Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let moment = text.parse().ok().or_else(in_utc).filter(|_| is_time);
    let moment: Timestamp = moment.ok_or("is no date and time")?;
    let latest = now.as_second().saturating_add(MAX_AHEAD_SECONDS);
    match moment.as_second() {
        second if second < 0 => Err("is before 1970"),
        second if second > latest => Err("is more than a day ahead"),
        _ => Ok(()),
    }
}

/// Checks `event` and `decision`: at least one says what the entry is about.
fn check_texts(fields: &Value) -> Vec<Violation> {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let given = [("entry.event", "event"), ("entry.decision", "decision")];
    let given = given.map(|(path, name)| (path, &fields[name]));
    let bad = given
        .iter()
        .filter(|(_, value)| !value.is_null() && !is_text(value));
    let mut violations: Vec<Violation> = bad
        .map(|(path, _)| violation(path, "is no text, or empty", "a string that is not empty"))
        .collect();
    if !given.iter().any(|(_, value)| is_text(value)) {
        let problem = "needs one of `event` and `decision`, a text that is not empty";
        violations.push(violation("entry", problem, "`event`, `decision` or both"));
    }
    violations
}

/// Checks depth and characters that can't be stored, and collects words.
fn check_value(
    value: &Value,
    depth: usize,
    words_found: &mut BTreeSet<String>,
) -> Result<(), &'static str> {
    let nested = |depth: usize| match depth > MAX_DEPTH {
        true => Err("is nested deeper than 32 levels"),
        false => Ok(()),
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => check_text(text, words_found),
        Value::Array(items) => {
            nested(depth)?;
            items
                .iter()
                .try_for_each(|item| check_value(item, depth + 1, words_found))
        }
        Value::Object(fields) => {
            nested(depth)?;
            fields.iter().try_for_each(|(key, value)| {
                check_text(key, words_found)?;
                check_value(value, depth + 1, words_found)
            })
        }
    }
}

fn check_text(text: &str, words_found: &mut BTreeSet<String>) -> Result<(), &'static str> {
    if text.contains('\0') {
        return Err("has a character U+0000 in it");
    }
    words(text, words_found);
    Ok(())
}

fn too_large(size: usize) -> Failure {
    Failure::new(
        Fault::EntryTooLarge,
        format!("the entry has {size} bytes as compact JSON, more than {MAX_BYTES}"),
        "write down what matters, in several entries if need be, and name files by path",
    )
    .detail("size", size)
    .detail("limit", MAX_BYTES)
}

fn invalid(violations: &[Violation]) -> Failure {
    let sentence =
        |it: &Violation| format!("{}: {} (allowed: {})", it.path, it.problem, it.allowed);
    let sentences: Vec<String> = violations.iter().map(sentence).collect();
    let listed: Vec<Value> = violations
        .iter()
        .map(|it| json!({ "path": it.path, "problem": it.problem, "allowed": it.allowed }))
        .collect();
    Failure::new(
        Fault::InvalidArguments,
        sentences.join("; "),
        "correct the listed fields and call again",
    )
    .detail("violations", listed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(entry: Value) -> Result<Entry, Failure> {
        let Value::Object(entry) = entry else {
            panic!("an object")
        };
        Entry::check(entry, "2026-01-08T00:00:00Z".parse().unwrap())
    }

    fn at(timestamp: Value) -> Result<Entry, Failure> {
        check(json!({ "timestamp": timestamp, "event": "x" }))
    }

    fn paths(entry: Value) -> Vec<String> {
        let failure = check(entry).unwrap_err();
        assert_eq!(failure.code, Fault::InvalidArguments);
        let violations = failure.details["violations"].as_array().unwrap();
        let path = |it: &Value| it["path"].as_str().unwrap().to_owned();
        violations.iter().map(path).collect()
    }

    #[test]
    fn times_are_iso_8601_with_a_time_of_day_from_1970_to_a_day_ahead() {
        for good in [
            "2026-01-07T14:00:00Z",
            "2026-01-07T14:00:00.123456+02:00",
            "2026-01-07t14:00",
            "2026-01-07 14:00:00",
            "20260107T140000Z",
            "1970-01-01T00:00:00Z",
            "2026-01-09T00:00:00Z",
        ] {
            assert!(at(json!(good)).is_ok(), "{good}");
        }
        for bad in [
            "",
            "now",
            "2026-01-07",
            "14:00:00",
            "2026-02-30T00:00:00Z",
            "2026-01-07T25:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-01-09T00:00:01Z",
            "2026-01-07T14:00:00[Europe/Berlin]",
        ] {
            assert!(at(json!(bad)).is_err(), "{bad}");
        }
        assert!(at(json!(1_767_794_400)).is_err());
        assert!(at(Value::Null).is_ok(), "the server's time is taken");
    }

    #[test]
    fn all_violations_are_reported_together() {
        assert_eq!(paths(json!({})), ["entry"]);
        assert_eq!(
            paths(json!({ "timestamp": "x", "event": 7, "decision": "" })),
            ["entry.timestamp", "entry.event", "entry.decision", "entry"]
        );
        let time = "2026-01-07T14:00:00Z";
        assert_eq!(
            paths(json!({ "timestamp": time, "event": "a\0b" })),
            ["entry"]
        );
        let one_is_good = json!({ "timestamp": time, "event": "", "decision": "x" });
        assert_eq!(paths(one_is_good), ["entry.event"]);
        let other = json!({ "timestamp": time, "decision": "x", "event": null });
        assert!(check(other).is_ok());
    }

    #[test]
    fn an_entry_that_is_too_large_gets_only_that_failure() {
        let entry = |fill: usize| json!({ "timestamp": "x", "event": "e".repeat(fill) });
        let frame = entry(0).to_string().len();
        let code = |fill: usize| check(entry(fill)).unwrap_err().code;
        assert_eq!(code(MAX_BYTES - frame), Fault::InvalidArguments);
        assert_eq!(code(MAX_BYTES - frame + 1), Fault::EntryTooLarge);
    }

    #[test]
    fn levels_are_counted_from_the_entry_itself() {
        let nested = |levels: usize| {
            let inner = (1..levels).fold(json!("deep"), |inner, _| json!([inner]));
            json!({ "timestamp": "2026-01-07T14:00:00Z", "event": "x", "inner": inner })
        };
        assert!(check(nested(32)).is_ok());
        assert_eq!(paths(nested(33)), ["entry"]);
    }

    #[test]
    fn words_come_from_keys_and_strings() {
        let entry = json!({
            "timestamp": "2026-01-07T14:00:00Z", "event": "Task-completed",
            "more": [{ "Module": "auth" }, 17, true],
        });
        let words = check(entry).unwrap().words;
        for word in [
            "event",
            "task",
            "completed",
            "module",
            "auth",
            "14",
            "07t14",
        ] {
            assert_eq!(words.contains(&word.to_owned()), word != "14", "{word}");
        }
        assert!(!words.contains(&"17".to_owned()), "{words:?}");
    }

    proptest! {
        #[test]
        fn a_stored_entry_reads_back_as_the_same_value(number in any::<f64>(), whole in any::<i64>(), text in "\\PC{0,40}") {
            prop_assume!(number.is_finite());
            let entry = json!({ "timestamp": "2026-01-07T14:00:00Z", "event": "x", "n": number, "i": whole, "t": text });
            let stored: Value = serde_json::from_str(&check(entry.clone()).unwrap().text).unwrap();
            prop_assert_eq!(stored, entry);
        }
    }
}
