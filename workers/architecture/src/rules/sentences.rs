//! The requirements that a document's sentences state.

use super::{Severity, Violation, clause, clause::Clause, message::cut, words::Name};
use crate::markdown::{Block, BlockKind, Markdown};

/// At most this many requirements of a document are checked.
const MAX_DEMANDS: usize = 200;

/// The longest quotation of a sentence, in bytes.
const MAX_SENTENCE: usize = 300;

/// A name that code must have, or must not have.
#[derive(Debug)]
pub(super) struct Requirement {
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

impl Requirement {
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
pub(super) struct DocumentRequirements {
    pub(super) checked: Vec<Requirement>,
    /// Sentences that words can't check completely.
    pub(super) unchecked: Vec<String>,
}

pub(super) fn requirements(document: &Markdown) -> DocumentRequirements {
    let mut found = DocumentRequirements::default();
    for section in &document.sections {
        let mut open = None;
        for block in &section.blocks {
            if block.kind != BlockKind::Item {
                found.close_open(open.take());
            }
            let announced = found.add_block(block, &mut open);
            if announced.is_some() {
                found.close_open(open.take());
                open = announced;
            }
        }
        found.close_open(open);
    }
    let excess = found
        .checked
        .split_off(found.checked.len().min(MAX_DEMANDS));
    found
        .unchecked
        .extend(excess.into_iter().map(|it| it.sentence));
    found.unchecked.dedup();
    found
}

/// A requirement whose names follow in a list.
struct OpenRequirement {
    requirement: Requirement,
    /// Whether the list has begun.
    has_entries: bool,
}

impl DocumentRequirements {
    /// Adds the requirements of a block, or the names of a list item to the requirement before the
    /// list. Returns the requirement at the end of the block if its names follow.
    fn add_block(
        &mut self,
        block: &Block,
        open: &mut Option<OpenRequirement>,
    ) -> Option<OpenRequirement> {
        let mut announced = None;
        let mut has_no_requirement = true;
        for (range, _line) in block.sentences() {
            let sentence = block.text.get(range).unwrap_or_default();
            let parsed = clause::clauses(sentence);
            has_no_requirement &= parsed.clauses.is_empty() && !parsed.has_more;
            self.close_open(announced.take());
            let mut has_more = parsed.has_more;
            for clause in parsed.clauses {
                let (requirement, is_complete) = requirement(&clause, sentence);
                has_more |= !is_complete;
                if clause.names.is_empty() {
                    announced = Some(OpenRequirement {
                        requirement,
                        has_entries: false,
                    });
                } else if !requirement.names.is_empty() {
                    self.checked.push(requirement);
                }
            }
            if has_more {
                self.unchecked.push(shortened(sentence));
            }
        }
        if let (true, Some(open)) = (has_no_requirement, open) {
            open.has_entries = true;
            self.add_item(&open.requirement, block);
        }
        announced
    }

    /// Adds the names of a list item to the requirement before the list.
    fn add_item(&mut self, open: &Requirement, entry: &Block) {
        let texts = clause::listed(&entry.text, open.forbids).unwrap_or_default();
        let (names, is_complete) = names(&texts, open.forbids);
        if !names.is_empty() {
            self.checked.push(Requirement {
                names,
                any: false,
                sentence: open.sentence.clone(),
                ..*open
            });
        }
        if !is_complete || texts.is_empty() {
            let sentence = format!("{} {}", open.sentence, entry.text);
            self.unchecked.push(shortened(&sentence));
        }
    }

    /// Records a requirement without the announced list as unchecked.
    fn close_open(&mut self, open: Option<OpenRequirement>) {
        let without_list = open.filter(|open| !open.has_entries);
        self.unchecked
            .extend(without_list.map(|open| open.requirement.sentence));
    }
}

/// The requirement of a clause, and whether it can be checked completely.
fn requirement(clause: &Clause<'_>, sentence: &str) -> (Requirement, bool) {
    let (mut names, is_complete) = names(&clause.names, clause.forbids);
    if clause.any && !is_complete {
        // The name that words can't find may be the one that is present.
        names.clear();
    }
    let requirement = Requirement {
        word: clause.word,
        severity: clause.severity,
        forbids: clause.forbids,
        names,
        any: clause.any,
        sentence: shortened(sentence),
    };
    (requirement, is_complete)
}

/// Parses names, and returns whether all were complete names.
fn names(texts: &[&str], forbids: bool) -> (Vec<Name>, bool) {
    // If a name is missing, so is each use of it. But a prohibition may concern only some uses of a
    // name.
    let is_checkable = |texts: &&&str| !forbids || Name::is_general(texts);
    let names = texts.iter().filter(is_checkable);
    let names: Vec<Name> = names.filter_map(|texts| Name::of(texts)).collect();
    let is_complete = names.len() == texts.len();
    (names, is_complete)
}

/// A sentence on one line, shortened for reports.
fn shortened(sentence: &str) -> String {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    cut(&words.join(" "), MAX_SENTENCE)
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;

    fn of(text: &str) -> Vec<(String, String)> {
        let document = Markdown::read(text, &cancel()).unwrap();
        let parsed = requirements(&document)
            .checked
            .into_iter()
            .map(|requirement| {
                let names: Vec<&str> = requirement.names.iter().map(Name::as_str).collect();
                (
                    format!("{} {}", requirement.word, names.join(",")),
                    requirement.sentence,
                )
            });
        parsed.collect()
    }

    #[test]
    fn sentences_outside_of_code_are_parsed() {
        let text = "# P\n\nFirst. Code MUST NOT\nuse `eval`. Then it SHOULD call `log()`.\n\n\
                    - It MUST use `a`.\n\n| rule |\n|---|\n| MUST NOT use `b` |\n\n\
                    ```js\n// MUST use `c`\n```\n\nSee https://example.com and `MUST use d`.\n";
        let parsed: Vec<String> = of(text).into_iter().map(|(parsed, _)| parsed).collect();
        assert_eq!(
            parsed,
            ["MUST NOT eval", "SHOULD log", "MUST a", "MUST NOT b"]
        );
        assert_eq!(of(text)[0].1, "Code MUST NOT use `eval`.");
    }

    fn unchecked(text: &str) -> Vec<String> {
        let document = Markdown::read(text, &cancel()).unwrap();
        requirements(&document).unchecked
    }

    #[test]
    fn uncheckable_sentences_are_reported() {
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
        let parsed: Vec<String> = of(text).into_iter().map(|(parsed, _)| parsed).collect();
        assert_eq!(parsed, ["MUST NOT a", "MUST d", "MUST NOT e"]);
        assert_eq!(of("MUST use `a` or `--b`."), []);
    }

    #[test]
    fn an_announced_list_has_the_names() {
        let text = "Code MUST NOT use:\n\n- `eval`, ever\n- `exec` (use `spawn`)\n- other things\n\
                    - but it MUST use `d`\n\nAlso `e`.\n\n- `f`\n";
        let parsed: Vec<String> = of(text).into_iter().map(|(parsed, _)| parsed).collect();
        assert_eq!(parsed, ["MUST NOT eval", "MUST NOT exec", "MUST d"]);
    }

    #[test]
    fn at_most_200_requirements_are_checked() {
        let text = "MUST use `a`.\n\n".repeat(1_000);
        assert_eq!(of(&text).len(), MAX_DEMANDS);
        assert_eq!(unchecked(&text), ["MUST use `a`."]);
    }
}
