//! Which trigrams a text must have for a pattern to match in it.
//!
//! The rule is that of R. Cox, "Regular Expression Matching with a Trigram Index" (2012): a part of
//! a pattern that matches few strings is expanded to them, and a string requires its trigrams. Every
//! simplification makes a requirement wider, never narrower.

mod strings;

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::trigram::{Trigram, normal_form, trigrams};
use strings::Strings;

/// Trigrams that a requirement may have. What exceeds it is not required.
const MAX_TRIGRAMS: usize = 256;
/// Copies of a repeated part that are expanded.
const MAX_COPIES: u32 = 8;

/// The trigrams that a text must have for a pattern to match in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Nothing is required.
    Nothing,
    /// This trigram, in the low 24 bits.
    Trigram(u32),
    /// All of these.
    All(Vec<Requirement>),
    /// At least one of these.
    Any(Vec<Requirement>),
}

/// What a part of a pattern matches.
enum Part {
    /// One of these strings and nothing else.
    Strings(Strings),
    /// Any text that meets the requirement.
    Text(Requirement),
}

impl Requirement {
    /// The requirement of `pattern`: plain text if `literal`, else a regular expression with
    /// Unicode and multi-line mode, as ripgrep reads it. [`Requirement::Nothing`] for a pattern
    /// that does not parse.
    pub fn of(pattern: &str, literal: bool, case_sensitive: bool) -> Requirement {
        let escaped = literal.then(|| regex_syntax::escape(pattern));
        let parsed = regex_syntax::ParserBuilder::new()
            .utf8(false)
            .multi_line(true)
            .crlf(true)
            .case_insensitive(!case_sensitive)
            .build()
            .parse(escaped.as_deref().unwrap_or(pattern));
        match parsed {
            Ok(hir) => Part::of(&hir).requirement().bounded(&mut { MAX_TRIGRAMS }),
            Err(_invalid) => Requirement::Nothing,
        }
    }

    fn all(mut parts: Vec<Requirement>) -> Requirement {
        parts.retain(|part| *part != Requirement::Nothing);
        parts.dedup();
        match parts.len() {
            0 => Requirement::Nothing,
            1 => parts.remove(0),
            _ => Requirement::All(parts),
        }
    }

    fn any(mut parts: Vec<Requirement>) -> Requirement {
        if parts.is_empty() || parts.contains(&Requirement::Nothing) {
            return Requirement::Nothing;
        }
        match parts.len() {
            1 => parts.remove(0),
            _ => Requirement::Any(parts),
        }
    }

    /// The same or a wider requirement of at most `left` trigrams, which is reduced by those it
    /// has.
    fn bounded(self, left: &mut usize) -> Requirement {
        match self {
            Requirement::Nothing => Requirement::Nothing,
            Requirement::Trigram(_) if *left == 0 => Requirement::Nothing,
            Requirement::Trigram(trigram) => {
                *left -= 1;
                Requirement::Trigram(trigram)
            }
            Requirement::All(parts) => {
                let parts = parts.into_iter().map(|part| part.bounded(left));
                Requirement::all(parts.collect())
            }
            Requirement::Any(parts) => {
                let parts = parts.into_iter().map(|part| part.bounded(left));
                Requirement::any(parts.collect())
            }
        }
    }
}

impl Part {
    fn of(hir: &Hir) -> Part {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Part::Strings(Strings::empty()),
            // Bytes that are no characters may be a part of one that has another normal form.
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => Part::Strings(Strings::one(normal_form(text))),
                Err(_) => Part::Text(Requirement::Nothing),
            },
            HirKind::Class(class) => Part::of_class(class),
            HirKind::Repetition(repetition) => Part::of_repetition(repetition),
            HirKind::Capture(capture) => Part::of(&capture.sub),
            HirKind::Concat(parts) => {
                let mut sequence = Sequence::default();
                parts
                    .iter()
                    .for_each(|part| sequence.append(Part::of(part)));
                sequence.finish()
            }
            HirKind::Alternation(parts) => Part::of_alternation(parts),
        }
    }

    fn of_class(class: &Class) -> Part {
        let characters = match class {
            Class::Unicode(class) => {
                let ranges = class.ranges().iter();
                Strings::characters(ranges.map(|range| range.start()..=range.end()))
            }
            Class::Bytes(class) if class.is_ascii() => {
                let ranges = class.ranges().iter();
                Strings::characters(ranges.map(|it| char::from(it.start())..=char::from(it.end())))
            }
            Class::Bytes(_) => None,
        };
        characters.map_or(Part::Text(Requirement::Nothing), Part::Strings)
    }

    fn of_repetition(repetition: &Repetition) -> Part {
        // Once: repetitions nest, and each of them would double the work.
        match (repetition.min, repetition.max, Part::of(&repetition.sub)) {
            (0, Some(1), Part::Strings(strings)) => strings
                .or(Strings::empty())
                .map_or(Part::Text(Requirement::Nothing), Part::Strings),
            (0, Some(0), _) => Part::Strings(Strings::empty()),
            (0, ..) => Part::Text(Requirement::Nothing),
            (_, _, text @ Part::Text(_)) => text,
            (min, max, Part::Strings(strings)) => {
                let mut sequence = Sequence::default();
                let copies = min.min(MAX_COPIES);
                (0..copies).for_each(|_| sequence.append(Part::Strings(strings.clone())));
                if max != Some(copies) {
                    sequence.append(Part::Text(Requirement::Nothing));
                    // The last copy stands before what follows.
                    sequence.append(Part::Strings(strings));
                }
                sequence.finish()
            }
        }
    }

    fn of_alternation(parts: &[Hir]) -> Part {
        let mut union = Some(Strings::none());
        let mut requirements = Vec::new();
        for part in parts.iter().map(Part::of) {
            union = match (union, &part) {
                (Some(union), Part::Strings(strings)) => union.or(strings.clone()),
                _ => None,
            };
            requirements.push(part.requirement());
        }
        match union {
            Some(strings) => Part::Strings(strings),
            None => Part::Text(Requirement::any(requirements)),
        }
    }

    fn requirement(self) -> Requirement {
        match self {
            Part::Strings(strings) => strings.requirement(),
            Part::Text(requirement) => requirement,
        }
    }
}

/// Parts that follow one another.
struct Sequence {
    /// How the text before the next part ends.
    ends: Strings,
    /// What is required of the text before those ends; `None` if there is none.
    before: Option<Vec<Requirement>>,
}

impl Default for Sequence {
    fn default() -> Sequence {
        Sequence {
            ends: Strings::empty(),
            before: None,
        }
    }
}

impl Sequence {
    fn append(&mut self, part: Part) {
        match part {
            Part::Strings(strings) => {
                if let Some(joined) = self.ends.followed_by(&strings) {
                    self.ends = joined;
                    return;
                }
                let tails = self.ends.tails();
                self.require(self.ends.requirement());
                self.ends = match tails.followed_by(&strings) {
                    Some(joined) => joined,
                    None => strings,
                };
            }
            Part::Text(requirement) => {
                self.require(self.ends.requirement());
                self.require(requirement);
                self.ends = Strings::empty();
            }
        }
    }

    fn require(&mut self, requirement: Requirement) {
        self.before.get_or_insert_default().push(requirement);
    }

    fn finish(mut self) -> Part {
        if self.before.is_none() {
            return Part::Strings(self.ends);
        }
        self.require(self.ends.requirement());
        Part::Text(Requirement::all(self.before.unwrap_or_default()))
    }
}

/// The distinct trigrams of a string in normal form, in order; at most as many as a requirement may
/// have.
fn distinct_trigrams(normal: &[u8]) -> Vec<Trigram> {
    let mut distinct = Vec::new();
    for trigram in trigrams(normal) {
        if distinct.len() == MAX_TRIGRAMS {
            break;
        }
        if !distinct.contains(&trigram) {
            distinct.push(trigram);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use grep_matcher::Matcher as _;
    use grep_regex::RegexMatcherBuilder;
    use proptest::prelude::*;

    use super::*;

    fn shown(requirement: &Requirement) -> String {
        let list = |parts: &[Requirement], by: &str| {
            let parts: Vec<String> = parts.iter().map(shown).collect();
            format!("({})", parts.join(by))
        };
        match requirement {
            Requirement::Nothing => "-".to_owned(),
            Requirement::Trigram(trigram) => {
                String::from_utf8_lossy(&trigram.to_be_bytes()[1..]).into_owned()
            }
            Requirement::All(parts) => list(parts, " "),
            Requirement::Any(parts) => list(parts, "|"),
        }
    }

    fn of(pattern: &str) -> String {
        shown(&Requirement::of(pattern, false, true))
    }

    fn is_met(requirement: &Requirement, has: &HashSet<Trigram>) -> bool {
        match requirement {
            Requirement::Nothing => true,
            Requirement::Trigram(trigram) => has.contains(trigram),
            Requirement::All(parts) => parts.iter().all(|part| is_met(part, has)),
            Requirement::Any(parts) => parts.iter().any(|part| is_met(part, has)),
        }
    }

    /// Whether the pattern matches a line of the text, and whether its requirement is met.
    fn judged(pattern: &str, case_sensitive: bool, text: &str) -> Option<(bool, bool)> {
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).crlf(true).unicode(true);
        let matcher = builder
            .case_insensitive(!case_sensitive)
            .build(pattern)
            .ok()?;
        let matches = text
            .lines()
            .any(|line| matcher.is_match(line.as_bytes()).unwrap());
        let has = trigrams(&normal_form(text)).collect();
        let requirement = Requirement::of(pattern, false, case_sensitive);
        Some((matches, is_met(&requirement, &has)))
    }

    #[test]
    fn patterns_require_the_trigrams_of_what_they_must_contain() {
        let expected = [
            ("abcd", "(abc bcd)"),
            ("ab", "-"),
            ("(foo|bar)baz", "((bar arb rba baz)|(foo oob oba baz))"),
            ("a{0}bcd", "bcd"),
            ("^$", "-"),
            (r"\bword\b", "(wor ord)"),
            ("[a-z]+_[0-9]{4}", "-"),
            ("abc.*def", "(abc def)"),
            ("abc|d", "-"),
            ("(abc)?", "-"),
            ("(abc)+", "abc"),
            ("[ab]cd", "(acd|bcd)"),
            ("ABC", "abc"),
        ];
        for (pattern, requirement) in expected {
            assert_eq!(of(pattern), requirement, "{pattern}");
        }
    }

    #[test]
    fn case_is_ignored_by_unicode_and_every_spelling_is_one_alternative() {
        let requirement = shown(&Requirement::of("Straße", true, false));
        assert_eq!(requirement.matches("str").count(), 2, "{requirement}");
        for text in ["STRAẞE", "ſtraße", "strasse"] {
            let (matches, is_met) = judged("(?i)Straße", true, text).unwrap();
            assert_eq!(matches, text != "strasse", "{text}");
            assert!(is_met || !matches, "{text}");
        }
    }

    #[test]
    fn a_pattern_that_expands_to_thousands_requires_a_bounded_number() {
        let words: Vec<String> = (0..2_000).map(|number| format!("word{number}")).collect();
        let patterns = [
            words.join("|"),
            "[abc][abc][abc][abc][abc][abc][abc][abc][abc]".to_owned(),
            "x".repeat(100_000),
            words.concat(),
            format!("abc{}", "+".repeat(199)),
            format!("{}abc{}", "(?:".repeat(40), "){9}".repeat(40)),
        ];
        for pattern in patterns {
            let requirement = shown(&Requirement::of(&pattern, false, false));
            let trigrams = requirement.split([' ', '|']).count();
            assert!(trigrams <= MAX_TRIGRAMS + 1, "{trigrams}");
        }
    }

    /// A pattern of a few letters, so that it often matches.
    fn pattern() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            "[abkKsSſßẞ_]{1,4}",
            Just("[a-c]".to_owned()),
            Just("[^a]".to_owned()),
            Just(".".to_owned()),
            Just(r"\w".to_owned()),
            Just(r"\b".to_owned()),
            Just("^".to_owned()),
            Just("$".to_owned()),
            Just(r"(?-u:\xBF)".to_owned()),
            Just("(?i:ks)".to_owned()),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                prop::collection::vec(inner.clone(), 1..4)
                    .prop_map(|parts| format!("({})", parts.join("|"))),
                (inner, "[*+?]|\\{0\\}|\\{2\\}|\\{1,3\\}")
                    .prop_map(|(part, times)| format!("(?:{part}){times}")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_text_that_matches_meets_the_requirement(
            pattern in pattern(),
            text in "[abckKsSſßẞ\u{212a}_ \r\n]{0,40}",
            case_sensitive: bool,
        ) {
            if let Some((matches, is_met)) = judged(&pattern, case_sensitive, &text) {
                prop_assert!(is_met || !matches, "{}", of(&pattern));
            }
        }
    }
}
