//! Numbers with units in a text, and whether one violates another's bound.

use std::ops::Range;

use super::words::{Concept, Separator, Token, joined, stem_concept};

/// A number with a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measure {
    pub(super) unit: Unit,
    /// The amount in seconds, bytes, percent or pieces.
    pub(super) amount: f64,
    /// Whether the text limits it.
    pub(super) bound: Bound,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    /// Seconds.
    Time,
    /// Bytes.
    Size,
    Percent,
    /// Pieces of this concept.
    Pieces(Concept),
}

/// The bound that a text sets by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Exactly this amount.
    Exact,
    /// At most this amount.
    AtMost,
    /// At least this amount.
    AtLeast,
}

/// The numbers in these tokens.
pub(super) fn measures(tokens: &[Token]) -> Vec<Measure> {
    let mut found: Vec<Measure> = (0..tokens.len())
        .filter_map(|at| measure(tokens, at))
        .collect();
    found.extend(unlimited(tokens));
    found
}

/// Whether a number violates a bound with the same unit; `None` if they are not comparable.
pub(super) fn violates(number: &Measure, bound: &Measure) -> Option<bool> {
    if number.unit != bound.unit {
        return None;
    }
    let slack = bound.amount * 0.01;
    let (above, below) = (
        number.amount > bound.amount + slack,
        number.amount < bound.amount - slack,
    );
    match (bound.bound, number.bound) {
        (Bound::AtMost, _) => Some(above),
        (Bound::AtLeast, _) => Some(below),
        // More than "kept for 30 days" violates it; less may refer to something else.
        (Bound::Exact, _) if matches!(bound.unit, Unit::Time) => above.then_some(true),
        (Bound::Exact, _) => None,
    }
}

fn measure(tokens: &[Token], at: usize) -> Option<Measure> {
    if let Some(measure) = joined_measure(tokens, at) {
        return Some(measure);
    }
    let (amount, length) = number(tokens, at)?;
    let after_number = at + length;
    let (unit, scale) = unit_after(tokens, after_number)?;
    Some(Measure {
        unit,
        amount: amount * scale,
        bound: bound(tokens, at, after_number),
    })
}

/// A number and its unit in one word: `8h`, `200ms`.
fn joined_measure(tokens: &[Token], at: usize) -> Option<Measure> {
    let word = tokens.get(at)?.lower.as_str();
    let end = word
        .find(|c: char| !c.is_ascii_digit())
        .filter(|end| *end > 0)?;
    let (digits, unit) = word.split_at_checked(end)?;
    let unit = if unit == "d" { "day" } else { unit };
    let (unit, scale) = unit_scale(unit)?;
    Some(Measure {
        unit,
        amount: digits.parse::<f64>().ok()? * scale,
        bound: bound(tokens, at, at + 1),
    })
}

/// The number that begins at a token, and its length in tokens.
fn number(tokens: &[Token], at: usize) -> Option<(f64, usize)> {
    let word = |at: usize| tokens.get(at).map(|token| token.lower.as_str());
    let first = word(at)?;
    if first == "half" && matches!(word(at + 1), Some("a" | "an")) {
        return Some((0.5, 2));
    }
    if let Some(number) = word_number(first) {
        return Some((number, 1));
    }
    // "a year", "an hour": a number only before a unit.
    if matches!(first, "a" | "an")
        && tokens
            .get(at + 1)
            .is_some_and(|next| unit_scale(&next.lower).is_some())
    {
        let is_half = word(at.checked_sub(1)?) == Some("half");
        return (!is_half).then_some((1.0, 1));
    }
    if at > 0 && first.len() == 3 && is_joined(tokens, at - 1) {
        return None;
    }
    let digits: f64 = first.parse().ok()?;
    // "2,000" is two tokens.
    match tokens.get(at + 1) {
        Some(next) if next.lower.len() == 3 && is_joined(tokens, at) => {
            let rest: f64 = next.lower.parse().ok()?;
            Some((digits * 1000.0 + rest, 2))
        }
        _ => Some((digits, 1)),
    }
}

/// Whether a single comma separates a token from the next.
fn is_joined(tokens: &[Token], at: usize) -> bool {
    match (tokens.get(at), tokens.get(at + 1)) {
        (Some(left), Some(right)) => {
            right.at.start == left.at.end + 1 && right.before == Separator::Comma
        }
        _ => false,
    }
}

fn word_number(word: &str) -> Option<f64> {
    const WORDS: [(&str, f64); 24] = [
        ("one", 1.0),
        ("two", 2.0),
        ("twice", 2.0),
        ("three", 3.0),
        ("four", 4.0),
        ("five", 5.0),
        ("six", 6.0),
        ("seven", 7.0),
        ("eight", 8.0),
        ("nine", 9.0),
        ("ten", 10.0),
        ("eleven", 11.0),
        ("twelve", 12.0),
        ("thirteen", 13.0),
        ("fourteen", 14.0),
        ("fifteen", 15.0),
        ("eighteen", 18.0),
        ("twenty", 20.0),
        ("thirty", 30.0),
        ("forty", 40.0),
        ("fifty", 50.0),
        ("sixty", 60.0),
        ("ninety", 90.0),
        ("hundred", 100.0),
    ];
    WORDS
        .iter()
        .find(|(name, _)| *name == word)
        .map(|(_, number)| *number)
}

/// The unit that a word names, and its factor.
fn unit_scale(word: &str) -> Option<(Unit, f64)> {
    Some(match word {
        "ms" | "millisecond" | "milliseconds" => (Unit::Time, 0.001),
        "s" | "sec" | "second" | "seconds" => (Unit::Time, 1.0),
        "min" | "minute" | "minutes" => (Unit::Time, 60.0),
        "h" | "hour" | "hours" => (Unit::Time, 3600.0),
        "day" | "days" => (Unit::Time, 86_400.0),
        "week" | "weeks" => (Unit::Time, 604_800.0),
        "month" | "months" => (Unit::Time, 2_630_000.0),
        "quarter" | "quarters" => (Unit::Time, 7_890_000.0),
        "year" | "years" => (Unit::Time, 31_560_000.0),
        "kb" | "kib" => (Unit::Size, 1e3),
        "mb" | "mib" | "megabyte" | "megabytes" => (Unit::Size, 1e6),
        "gb" | "gib" | "gig" | "gigs" | "gigabyte" | "gigabytes" => (Unit::Size, 1e9),
        "tb" | "tib" | "terabyte" | "terabytes" => (Unit::Size, 1e12),
        "percent" => (Unit::Percent, 1.0),
        _ => return None,
    })
}

/// The unit after a number: a unit word, or the next noun.
fn unit_after(tokens: &[Token], at: usize) -> Option<(Unit, f64)> {
    let next = tokens.get(at)?;
    if next.before != Separator::None {
        return None;
    }
    if let Some(known) = unit_scale(&next.lower) {
        return Some(known);
    }
    if matches!(
        next.lower.as_str(),
        "times" | "attempts" | "tries" | "attempt"
    ) {
        return Some((Unit::Pieces(stem_concept("attempt")), 1.0));
    }
    // "two server languages": an adjective may precede the noun.
    let near = tokens.get(at..(at + 2).min(tokens.len()))?;
    let last = near.iter().rev().find(|token| {
        token.before == Separator::None && token.lower.ends_with('s') && token.concept.is_some()
    });
    let is_one = |token: &Token| token.concept.is_some();
    let counted = last.or_else(|| Some(next).filter(|next| is_one(next)))?;
    Some((Unit::Pieces(counted.concept?), 1.0))
}

/// Phrases before an upper bound.
const UPPER_BOUNDS: [&str; 17] = [
    "at most",
    "no more than",
    "not more than",
    "no longer than",
    "up to",
    "within",
    "less than",
    "under",
    "below",
    "maximum of",
    "max",
    "not exceed",
    "until",
    "fewer than",
    "after",
    "limit of",
    "as many as",
];
/// Phrases before a lower bound.
const LOWER_BOUNDS: [&str; 8] = [
    "at least",
    "no fewer than",
    "no less than",
    "not less than",
    "minimum of",
    "more than",
    "over",
    "from",
];

/// The bound that the words around a number express.
fn bound(tokens: &[Token], at: usize, after_number: usize) -> Bound {
    let before = words_of(tokens, at.saturating_sub(4)..at);
    let after = words_of(tokens, after_number..(after_number + 5).min(tokens.len()));
    let is_before = |words: &[&str]| words.iter().any(|word| before.ends_with(word));
    let is_after = |words: [&str; 3]| words.iter().any(|word| after.contains(word));
    if is_before(&UPPER_BOUNDS) || is_after(["at the most", "at most", "or less"]) {
        Bound::AtMost
    } else if is_before(&LOWER_BOUNDS) || is_after(["at the least", "at least", "or more"]) {
        Bound::AtLeast
    } else {
        Bound::Exact
    }
}

fn words_of(tokens: &[Token], range: Range<usize>) -> String {
    let tokens = tokens.get(range).unwrap_or_default().iter();
    let words: Vec<&str> = tokens.map(|token| token.lower.as_str()).collect();
    words.join(" ")
}

/// "Without expiry", "for ever": more than any time bound.
fn unlimited(tokens: &[Token]) -> Option<Measure> {
    let text = joined(tokens);
    const UNLIMITED: [&str; 12] = [
        " forever ",
        " for ever ",
        " indefinitely ",
        " without expiry ",
        " never expire ",
        " never expires ",
        " no expiry ",
        " without a time to live ",
        " without a ttl ",
        " no ttl ",
        " without an end ",
        " permanently ",
    ];
    let is_unlimited = UNLIMITED.iter().any(|word| text.contains(word));
    is_unlimited.then_some(Measure {
        unit: Unit::Time,
        amount: f64::MAX,
        bound: Bound::Exact,
    })
}

#[cfg(test)]
mod tests {
    use super::super::words::tokens;
    use super::*;

    fn of(text: &str) -> Vec<(f64, Bound)> {
        let found = measures(&tokens(text));
        found
            .iter()
            .map(|measure| (measure.amount, measure.bound))
            .collect()
    }

    #[test]
    fn numbers_are_parsed_with_units_and_bounds() {
        assert_eq!(of("at most 200 GB"), [(2e11, Bound::AtMost)]);
        assert_eq!(of("half a terabyte"), [(5e11, Bound::Exact)]);
        assert_eq!(of("for a year"), [(31_560_000.0, Bound::Exact)]);
        assert_eq!(of("with at least two replicas"), [(2.0, Bound::AtLeast)]);
        assert_eq!(of("no longer than 10 seconds"), [(10.0, Bound::AtMost)]);
        assert_eq!(of("up to 2,000 parcels"), [(2000.0, Bound::AtMost)]);
        assert_eq!(of("one"), []);
    }

    #[test]
    fn a_number_violates_only_bounds_with_its_unit() {
        let one = |text: &str| measures(&tokens(text)).remove(0);
        let broken = |number: &str, bound: &str| violates(&one(number), &one(bound));
        assert_eq!(broken("half a terabyte", "at most 200 GB"), Some(true));
        assert_eq!(broken("90 GB", "at most 200 GB"), Some(false));
        assert_eq!(broken("one replica", "at least two replicas"), Some(true));
        assert_eq!(broken("one locker", "at least two replicas"), None);
        assert_eq!(broken("for a year", "for 30 days"), Some(true));
        assert_eq!(broken("for ever", "after 12 hours"), Some(true));
    }
}
