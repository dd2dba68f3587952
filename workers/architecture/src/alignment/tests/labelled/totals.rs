//! Counts over labelled proposals.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::{Answer, Label};

const LABELS: [&str; 3] = ["supports", "conflicts", "related"];

/// Counts of proposals and of pairs of a proposal and a decision.
#[derive(Default)]
pub(super) struct Totals {
    /// Pairs that must be returned, and those that were.
    expected: f64,
    returned: f64,
    /// Returned pairs whose deciding sentence is known; those of which the answer quotes it at all, and first.
    quotable: f64,
    quoted: f64,
    quoted_first: f64,
    /// Number of decisions returned for each proposal that concerns any.
    sizes: Vec<usize>,
    /// Proposals that concern no decision; those with any answer; those with a conflict.
    unrelated: f64,
    unrelated_answered: f64,
    unrelated_conflicts: f64,
    /// By label: pairs predicted, expected, and both.
    labels: BTreeMap<&'static str, [f64; 3]>,
}

impl Totals {
    /// Counts the answer for one proposal.
    pub(super) fn count(&mut self, line: &Value, stems: &[&str], answer: &Answer) {
        let expect = line["expect"].as_object().unwrap();
        if expect.is_empty() && line.get("either").is_none() {
            self.unrelated += 1.0;
            self.unrelated_answered += f64::from(u8::from(!answer.is_empty()));
            let conflicts = |(_, label, _): &(usize, Label, String)| *label == Label::Conflicts;
            self.unrelated_conflicts += f64::from(u8::from(answer.iter().any(conflicts)));
        } else {
            self.sizes.push(answer.len());
        }
        for (at, stem) in stems.iter().enumerate() {
            let found = answer.iter().find(|(decision, ..)| *decision == at);
            if line["either"].get(stem).is_some() {
                continue;
            }
            let expected = expect.get(*stem).map(|label| label.as_str().unwrap());
            let label = found.map(|(_, label, _)| format!("{label:?}").to_lowercase());
            for one in LABELS {
                let counts = self.labels.entry(one).or_default();
                let (predicted, wanted) = (label.as_deref() == Some(one), expected == Some(one));
                let outcomes = [predicted, wanted, predicted && wanted];
                for (count, outcome) in counts.iter_mut().zip(outcomes) {
                    *count += f64::from(u8::from(outcome));
                }
            }
            self.expected += f64::from(u8::from(expected.is_some()));
            if let (Some(_), Some((.., reason))) = (expected, found) {
                self.returned += 1.0;
                self.quotes(&line["quote"][stem], reason);
            }
        }
    }

    fn quotes(&mut self, quotes: &Value, reason: &str) {
        let Some(quotes) = quotes.as_array() else {
            return;
        };
        self.quotable += 1.0;
        let quotes: Vec<String> = quotes
            .iter()
            .map(|one| letters(one.as_str().unwrap()))
            .collect();
        let says = |text: &str| {
            let text = letters(text);
            quotes.iter().any(|quote| text.contains(quote.as_str()))
        };
        self.quoted += f64::from(u8::from(says(reason)));
        let first = reason.split("\" Also: \"").next().unwrap_or_default();
        self.quoted_first += f64::from(u8::from(says(first)));
    }

    pub(super) fn add(&mut self, other: &Totals) {
        self.expected += other.expected;
        self.returned += other.returned;
        self.quotable += other.quotable;
        self.quoted += other.quoted;
        self.quoted_first += other.quoted_first;
        self.sizes.extend(&other.sizes);
        self.unrelated += other.unrelated;
        self.unrelated_answered += other.unrelated_answered;
        self.unrelated_conflicts += other.unrelated_conflicts;
        for (label, counts) in &other.labels {
            let sums = self.labels.entry(label).or_default();
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }

    /// The share of expected pairs that were returned.
    pub(super) fn returned(&self) -> f64 {
        self.returned / self.expected.max(1.0)
    }

    pub(super) fn median_returned(&self) -> usize {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        sizes.get(sizes.len() / 2).copied().unwrap_or(0)
    }

    /// The share of returned pairs whose deciding sentence is quoted.
    pub(super) fn quoted(&self) -> f64 {
        self.quoted / self.quotable.max(1.0)
    }

    /// The share of returned pairs whose first quotation is the deciding sentence.
    pub(super) fn quoted_first(&self) -> f64 {
        self.quoted_first / self.quotable.max(1.0)
    }

    /// Precision and recall of conflicts.
    pub(super) fn conflicts(&self) -> (f64, f64) {
        let [predicted, expected, both] = self.labels.get("conflicts").copied().unwrap_or_default();
        (both / predicted.max(1.0), both / expected.max(1.0))
    }

    /// The share of unrelated proposals with a conflict.
    pub(super) fn false_alarms(&self) -> f64 {
        self.unrelated_conflicts / self.unrelated.max(1.0)
    }

    /// The share of unrelated proposals for which anything is returned.
    pub(super) fn noise(&self) -> f64 {
        self.unrelated_answered / self.unrelated.max(1.0)
    }

    pub(super) fn macro_f1(&self) -> f64 {
        let f1 =
            |[predicted, expected, both]: &[f64; 3]| 2.0 * both / (predicted + expected).max(1.0);
        self.labels.values().map(f1).sum::<f64>() / 3.0
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (precision, recall) = self.conflicts();
        write!(
            f,
            "returned {:.3} (median {}), quoted {:.3} ({:.3} first), conflicts: precision {precision:.3}, recall {recall:.3}, \
             on unrelated {:.3}; unrelated answered {:.3}; macro-F1 {:.3}",
            self.returned(),
            self.median_returned(),
            self.quoted(),
            self.quoted_first(),
            self.false_alarms(),
            self.noise(),
            self.macro_f1(),
        )
    }
}

/// Letters and digits alone, in lower case: the source has marks and line ends that a quotation lacks.
fn letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
