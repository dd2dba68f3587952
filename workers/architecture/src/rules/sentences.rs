//! The requirements that a document's sentences state.

use super::{Severity, Violation, clause, clause::Clause, message::cut, words::Name};
use crate::markdown::{Block, BlockKind, Markdown};

/// At most this many requirements of a document are checked.
const MAX_DEMANDS: usize = 200;

/// The longest quotation of a sentence, in bytes.
const MAX_SENTENCE: usize = 300;

/// A name that code must have, or must not have.
#[derive(Debug)]
pub(super) struct Demand {
    /// The keyword: MUST, SHOULD NOT, …
    pub(super) word: &'static str,
    pub(super) severity: Severity,
    pub(super) forbids: bool,
    /// Empty until the list after the sentence has named them.
    pub(super) names: Vec<Name>,
    /// Whether one of the names is sufficient.
    pub(super) any: bool,
    /// The sentence that states the requirement.
    pub(super) sentence: String,
}

impl Demand {
    /// The violation by a name on a line, or by names that are missing.
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

/// The requirements of a document.
#[derive(Debug, Default)]
pub(super) struct Demands {
    pub(super) checked: Vec<Demand>,
    /// Sentences that words can't check completely.
    pub(super) unchecked: Vec<String>,
}

pub(super) fn demands(document: &Markdown) -> Demands {
    let mut found = Demands::default();
    for section in &document.sections {
        let mut open = None;
        for block in &section.blocks {
            if block.kind != BlockKind::Item {
                found.close(open.take());
            }
            let announced = found.read(block, &mut open);
            if announced.is_some() {
                found.close(open.take());
                open = announced;
            }
        }
        found.close(open);
    }
    let over = found
        .checked
        .split_off(found.checked.len().min(MAX_DEMANDS));
    found
        .unchecked
        .extend(over.into_iter().map(|it| it.sentence));
    found.unchecked.dedup();
    found
}

/// A requirement whose names follow in a list.
struct Open {
    demand: Demand,
    /// Whether the list has begun.
    has_entries: bool,
}

impl Demands {
    /// Adds the requirements of a block, or the names of a list item to the requirement before the
    /// list. Returns the requirement at the end of the block if its names follow.
    fn read(&mut self, block: &Block, open: &mut Option<Open>) -> Option<Open> {
        let mut announced = None;
        let mut says_nothing = true;
        for (range, _line) in block.sentences() {
            let sentence = block.text.get(range).unwrap_or_default();
            let said = clause::clauses(sentence);
            says_nothing &= said.clauses.is_empty() && !said.has_more;
            self.close(announced.take());
            let mut has_more = said.has_more;
            for clause in said.clauses {
                let (demand, is_whole) = demand(&clause, sentence);
                has_more |= !is_whole;
                if clause.names.is_empty() {
                    announced = Some(Open {
                        demand,
                        has_entries: false,
                    });
                } else if !demand.names.is_empty() {
                    self.checked.push(demand);
                }
            }
            if has_more {
                self.unchecked.push(told(sentence));
            }
        }
        if let (true, Some(open)) = (says_nothing, open) {
            open.has_entries = true;
            self.list(&open.demand, block);
        }
        announced
    }

    /// Adds the names of a list item to the requirement before the list.
    fn list(&mut self, open: &Demand, entry: &Block) {
        let written = clause::listed(&entry.text, open.forbids).unwrap_or_default();
        let (names, is_whole) = names(&written, open.forbids);
        if !names.is_empty() {
            self.checked.push(Demand {
                names,
                any: false,
                sentence: open.sentence.clone(),
                ..*open
            });
        }
        if !is_whole || written.is_empty() {
            let sentence = format!("{} {}", open.sentence, entry.text);
            self.unchecked.push(told(&sentence));
        }
    }

    /// Records a requirement without the announced list as unchecked.
    fn close(&mut self, open: Option<Open>) {
        let alone = open.filter(|open| !open.has_entries);
        self.unchecked
            .extend(alone.map(|open| open.demand.sentence));
    }
}

/// The requirement of a clause, and whether it can be checked completely.
fn demand(clause: &Clause<'_>, sentence: &str) -> (Demand, bool) {
    let (mut names, is_whole) = names(&clause.names, clause.forbids);
    if clause.any && !is_whole {
        // The name that words can't find may be the one that is present.
        names.clear();
    }
    let demand = Demand {
        word: clause.word,
        severity: clause.severity,
        forbids: clause.forbids,
        names,
        any: clause.any,
        sentence: told(sentence),
    };
    (demand, is_whole)
}

/// Parses names, and returns whether all were complete names.
fn names(written: &[&str], forbids: bool) -> (Vec<Name>, bool) {
    // If a name is missing, so is each use of it. But a prohibition may concern only some uses of a
    // name.
    let is_meant = |written: &&&str| !forbids || Name::is_all_of(written);
    let names = written.iter().filter(is_meant);
    let names: Vec<Name> = names.filter_map(|written| Name::of(written)).collect();
    let is_whole = names.len() == written.len();
    (names, is_whole)
}

/// A sentence on one line, shortened for reports.
fn told(sentence: &str) -> String {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    cut(&words.join(" "), MAX_SENTENCE)
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;

    fn of(text: &str) -> Vec<(String, String)> {
        let document = Markdown::read(text, &cancel()).unwrap();
        let said = demands(&document).checked.into_iter().map(|demand| {
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

    fn unchecked(text: &str) -> Vec<String> {
        let document = Markdown::read(text, &cancel()).unwrap();
        demands(&document).unchecked
    }

    #[test]
    fn what_words_can_not_check_is_told() {
        let text = "MUST be kind. MUST NOT use `a` or `--b`. MAY use `c`. MUST use `d`.\n\n\
                    MUST NOT use:\n\n- `e`\n- bare `f`\n- things\n\nMUST use:\n\nNothing.\n";
        assert_eq!(
            unchecked(text),
            [
                "MUST be kind.",
                "MUST NOT use `a` or `--b`.",
                "MUST NOT use: bare `f`",
                "MUST NOT use: things",
                "MUST use:",
            ]
        );
        let said: Vec<String> = of(text).into_iter().map(|(said, _)| said).collect();
        assert_eq!(said, ["MUST NOT a", "MUST d", "MUST NOT e"]);
        assert_eq!(of("MUST use `a` or `--b`."), []);
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
        assert_eq!(unchecked(&text), ["MUST use `a`."]);
    }
}
