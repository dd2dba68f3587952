//! What the sentences of a document demand of code.

use super::{Severity, Violation, clause, clause::Clause, message::cut, words::Name};
use crate::architecture::markdown::{Block, BlockKind, Markdown};

/// How many demands of a document are checked.
const MAX_DEMANDS: usize = 200;

/// How much of a sentence is told, in bytes.
const MAX_SENTENCE: usize = 300;

/// Something that code is to have, or not to have.
#[derive(Debug)]
pub(super) struct Demand {
    /// MUST, SHOULD NOT, …
    pub(super) word: &'static str,
    pub(super) severity: Severity,
    pub(super) forbids: bool,
    /// None while the list behind it is still to name them.
    pub(super) names: Vec<Name>,
    /// Whether one of the names is enough.
    pub(super) any: bool,
    /// The sentence that says so.
    pub(super) sentence: String,
}

impl Demand {
    /// What breaks it: a name on a line, or names that are nowhere.
    pub(super) fn violated(&self, names: &[&Name], line: Option<usize>) -> Violation {
        let names: Vec<String> = names
            .iter()
            .map(|name| format!("`{}`", name.as_str()))
            .collect();
        let names = names.join(" or ");
        let how = match line {
            Some(_) => "stands here",
            None => "is missing",
        };
        Violation {
            rule: format!("{} {names}", self.word),
            description: format!("{names} {how}: {}", self.sentence),
            severity: self.severity,
            line,
            heuristic: true,
        }
    }
}

/// What a document demands.
pub(super) fn demands(document: &Markdown) -> Vec<Demand> {
    let mut found = Vec::new();
    for section in &document.sections {
        let mut open = None;
        for block in &section.blocks {
            if block.kind != BlockKind::Item {
                open = None;
            }
            let before = found.len();
            let announced = read(block, &mut found);
            match (&open, announced) {
                (_, Some(announced)) => open = Some(announced),
                (Some(open), None) if found.len() == before => found.extend(listed(open, block)),
                _ => {}
            }
        }
    }
    found.truncate(MAX_DEMANDS);
    found
}

/// Adds what a block demands; the demand that it ends with, if its names are still to come.
fn read(block: &Block, found: &mut Vec<Demand>) -> Option<Demand> {
    let mut open = None;
    for (range, _line) in block.sentences() {
        let sentence = block.text.get(range).unwrap_or_default();
        open = None;
        for clause in clause::clauses(sentence) {
            let demand = demand(&clause, sentence);
            if clause.names.is_empty() {
                open = Some(demand);
            } else if !demand.names.is_empty() {
                found.push(demand);
            }
        }
    }
    open
}

fn demand(clause: &Clause<'_>, sentence: &str) -> Demand {
    Demand {
        word: clause.word,
        severity: clause.severity,
        forbids: clause.forbids,
        names: names(&clause.names),
        any: clause.any,
        sentence: told(sentence),
    }
}

fn names(written: &[&str]) -> Vec<Name> {
    written.iter().filter_map(|name| Name::of(name)).collect()
}

/// What an entry of a list adds to the demand before the list.
fn listed(open: &Demand, entry: &Block) -> Option<Demand> {
    let names = names(&clause::listed(&entry.text));
    (!names.is_empty()).then(|| Demand {
        names,
        any: false,
        sentence: open.sentence.clone(),
        ..*open
    })
}

/// A sentence on one line, as it is told.
fn told(sentence: &str) -> String {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    cut(&words.join(" "), MAX_SENTENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::testing::cancel;

    fn of(text: &str) -> Vec<(String, String)> {
        let document = Markdown::read(text, &cancel()).unwrap();
        let said = demands(&document).into_iter().map(|demand| {
            let names: Vec<&str> = demand.names.iter().map(Name::as_str).collect();
            (
                format!("{} {}", demand.word, names.join(",")),
                demand.sentence,
            )
        });
        said.collect()
    }

    #[test]
    fn sentences_of_paragraphs_lists_and_tables_are_read_and_code_is_not() {
        let text = "# P\n\nFirst. Code MUST NOT\nuse `eval`. Then it SHOULD call `log()`.\n\n\
                    - It MUST use `a`.\n\n| rule |\n|---|\n| MUST NOT use `b` |\n\n\
                    ```js\n// MUST use `c`\n```\n\nSee https://example.com and `MUST use d`.\n";
        let said: Vec<String> = of(text).into_iter().map(|(said, _)| said).collect();
        assert_eq!(
            said,
            ["MUST NOT eval", "SHOULD log", "MUST a", "MUST NOT b"]
        );
        assert_eq!(of(text)[0].1, "Code MUST NOT use `eval`.");
    }

    #[test]
    fn a_list_that_a_demand_announces_has_its_names() {
        let text = "Code MUST NOT use:\n\n- `eval`, ever\n- `exec` (use `spawn`)\n- other things\n\
                    - but it MUST use `d`\n\nAlso `e`.\n\n- `f`\n";
        let said: Vec<String> = of(text).into_iter().map(|(said, _)| said).collect();
        assert_eq!(said, ["MUST NOT eval", "MUST NOT exec", "MUST d"]);
    }

    #[test]
    fn a_document_of_a_thousand_demands_has_two_hundred() {
        let text = "MUST use `a`.\n\n".repeat(1_000);
        assert_eq!(of(&text).len(), MAX_DEMANDS);
    }
}
