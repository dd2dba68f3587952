//! Numbers with units, and whether one breaks the bound that another sets.

use super::tokens::Token;

/// A number with a unit: seconds, bytes, or a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measure {
    kind: Kind,
    value: f32,
    bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Size,
    Share,
}

/// Which numbers keep to a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    AtMost,
    AtLeast,
    Equal,
}

impl Measure {
    /// Whether both measure the same kind of thing, and if so whether this one is outside of what
    /// `rule` allows. Durations that differ by less than 2 % are equal: a year has 365 days or 12 months.
    pub(super) fn breaks(&self, rule: &Measure) -> Option<bool> {
        let (above, below) = (
            self.value > rule.value * 1.02,
            self.value < rule.value * 0.98,
        );
        (self.kind == rule.kind).then_some(match rule.bound {
            Bound::AtMost => above,
            Bound::AtLeast => below,
            Bound::Equal => above || below,
        })
    }
}

/// The measures of a sentence.
pub(super) fn measures(tokens: &[Token]) -> Vec<Measure> {
    let lower: Vec<&str> = tokens.iter().map(|token| token.lower.as_str()).collect();
    let mut found = Vec::new();
    for (at, token) in lower.iter().enumerate() {
        let (digits, glued) = split_unit(token);
        let Some(number) = number(digits) else {
            continue;
        };
        let skipped = usize::from(matches!(
            lower.get(at + 1),
            Some(&"working" | &"more" | &"whole")
        ));
        let unit = if glued.is_empty() {
            lower.get(at + 1 + skipped).copied()
        } else {
            Some(glued)
        };
        if let Some((kind, scale)) = unit.and_then(unit_of) {
            let before = lower
                .get(at.saturating_sub(4)..at)
                .unwrap_or_default()
                .join(" ");
            found.push(Measure {
                kind,
                value: number * scale,
                bound: bound(&before),
            });
        }
    }
    found
}

/// Splits `30d`, `64kb` and `two-day` into number and unit.
fn split_unit(token: &str) -> (&str, &str) {
    if let Some(parts) = token.split_once('-') {
        return parts;
    }
    let digits = token.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    match digits {
        Some(end) if end > 0 => token.split_at(end),
        _ => (token, ""),
    }
}

pub(super) fn number(word: &str) -> Option<f32> {
    const WORDS: [&str; 13] = [
        "a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    let words = WORDS
        .iter()
        .zip([1_u8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let mut named = words.chain([
        (&"an", 1),
        (&"thirteen", 13),
        (&"fifteen", 15),
        (&"twenty", 20),
        (&"thirty", 30),
        (&"ninety", 90),
    ]);
    let named = named
        .find(|(name, _)| **name == word)
        .map(|(_, value)| f32::from(value));
    named.or_else(|| word.replace(',', "").parse().ok())
}

/// The kind of a unit, and how many seconds, bytes or whole it is.
fn unit_of(word: &str) -> Option<(Kind, f32)> {
    const UNITS: [(&str, Kind, f32); 25] = [
        ("ms", Kind::Time, 0.001),
        ("millisecond", Kind::Time, 0.001),
        ("s", Kind::Time, 1.0),
        ("sec", Kind::Time, 1.0),
        ("second", Kind::Time, 1.0),
        ("minute", Kind::Time, 60.0),
        ("min", Kind::Time, 60.0),
        ("hour", Kind::Time, 3600.0),
        ("h", Kind::Time, 3600.0),
        ("d", Kind::Time, 86_400.0),
        ("day", Kind::Time, 86_400.0),
        ("week", Kind::Time, 604_800.0),
        ("month", Kind::Time, 2_628_000.0),
        ("quarter", Kind::Time, 7_884_000.0),
        ("year", Kind::Time, 31_536_000.0),
        ("byte", Kind::Size, 1.0),
        ("kb", Kind::Size, 1e3),
        ("kib", Kind::Size, 1e3),
        ("mb", Kind::Size, 1e6),
        ("mib", Kind::Size, 1_048_576.0),
        ("gb", Kind::Size, 1e9),
        ("gib", Kind::Size, 1_073_741_824.0),
        ("tb", Kind::Size, 1e12),
        ("%", Kind::Share, 0.01),
        ("percent", Kind::Share, 0.01),
    ];
    let one = word
        .strip_suffix('s')
        .filter(|one| one.len() > 1)
        .unwrap_or(word);
    let unit = UNITS
        .iter()
        .find(|(name, ..)| *name == one || *name == word);
    unit.map(|(_, kind, scale)| (*kind, *scale))
}

/// The bound that the words before a number set: the longest phrase decides, "no less than" before "less than".
fn bound(before: &str) -> Bound {
    use Bound::{AtLeast, AtMost};
    const PHRASES: [(&str, Bound); 21] = [
        ("at most", AtMost),
        ("no more than", AtMost),
        ("not more than", AtMost),
        ("no longer than", AtMost),
        ("not longer than", AtMost),
        ("not exceed", AtMost),
        ("not be over", AtMost),
        ("maximum", AtMost),
        ("max", AtMost),
        ("below", AtMost),
        ("under", AtMost),
        ("within", AtMost),
        ("up to", AtMost),
        ("less than", AtMost),
        ("at least", AtLeast),
        ("no less than", AtLeast),
        ("not less than", AtLeast),
        ("minimum", AtLeast),
        ("min", AtLeast),
        ("more than", AtLeast),
        ("over", AtLeast),
    ];
    let before = before.strip_suffix(" of").unwrap_or(before);
    let is_last = |phrase: &str| {
        let rest = before.strip_suffix(phrase);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
    };
    let said = PHRASES.into_iter().filter(|(phrase, _)| is_last(phrase));
    let longest = said.max_by_key(|(phrase, _)| phrase.len());
    longest.map_or(Bound::Equal, |(_, bound)| bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_phrase_before_a_number_sets_its_bound() {
        for (before, expected) in [
            ("for at most", Bound::AtMost),
            ("for no less than", Bound::AtLeast),
            ("not more than", Bound::AtMost),
            ("a maximum of", Bound::AtMost),
            ("kept more than", Bound::AtLeast),
            ("stays under", Bound::AtMost),
            ("moreover", Bound::Equal),
            ("", Bound::Equal),
        ] {
            assert_eq!(bound(before), expected, "{before}");
        }
    }

    #[test]
    fn numbers_with_glued_units_are_measures() {
        for (unit, expected) in [
            ("d", Some(86_400.0)),
            ("s", Some(1.0)),
            ("seconds", Some(1.0)),
            ("mib", Some(1_048_576.0)),
            ("percent", Some(0.01)),
            ("parcels", None),
        ] {
            assert_eq!(unit_of(unit).map(|(_, scale)| scale), expected, "{unit}");
        }
    }
}
