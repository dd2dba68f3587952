//! What a decision holds: what it chose, what it turned down, what it rules, and what it leaves out.

mod reader;
mod stances;

use super::clauses::{Clause, Role, Term};
use super::lexicon::Lexicon;
use super::meaning::Meaning;
use super::words::{ByConcept, Concept, Concepts};
use crate::adr::{Adr, Passage};
use crate::markdown::Markdown;

/// A decision, read for comparing.
#[derive(Debug, Default)]
pub struct Positions {
    /// What it says, in order.
    pub(super) statements: Vec<Statement>,
    /// What its title names.
    pub(super) title: Vec<Term>,
    /// All that it names, and the kinds of that.
    pub(super) concepts: Concepts,
    /// All that it names itself.
    pub(super) named: Concepts,
    /// What it takes, above 0, and drops, below, of all that its rules name.
    pub(super) stances: ByConcept<i16>,
    /// What its title and rules mean together.
    pub(super) meaning: Option<Meaning>,
    /// The words of all that.
    pub(super) lexicon: Lexicon,
    /// The options that it turned down.
    pub(super) refused: Vec<Refused>,
    /// What the names of the chosen options name.
    pub(super) chosen_name: Vec<Term>,
    /// The things with rivals that are its subject: named as taken by title or chosen option.
    pub(super) chosen: Vec<Term>,
}

/// A clause of a decision.
#[derive(Debug)]
pub(super) struct Statement {
    /// What weight its words have.
    pub(super) kind: Kind,
    /// The sentence it is in; `None` for the title.
    pub(super) sentence: Option<Passage>,
    /// What it says.
    pub(super) clause: Clause,
    /// What it means.
    pub(super) meaning: Option<Meaning>,
}

/// What weight a statement has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is the decision.
    Rule,
    /// It follows from the decision.
    Follows,
    /// It is about an option that was turned down.
    Refused,
    /// It is for or against an option that was turned down.
    Weighed,
    /// It is around the decision.
    Context,
    /// It says what is not decided.
    Outside,
}

/// An option that was turned down.
#[derive(Debug)]
pub(super) struct Refused {
    /// What its name names.
    pub(super) name: Vec<Term>,
    /// A sentence about it.
    pub(super) sentence: Option<Passage>,
}

impl Positions {
    /// Reads a decision.
    pub(crate) fn of(markdown: &Markdown, adr: &Adr) -> Positions {
        reader::read(markdown, adr)
    }

    /// Whether a rule takes a thing.
    pub(super) fn is_taken(&self, concept: Concept) -> bool {
        let rules = self
            .statements
            .iter()
            .filter(|statement| statement.kind == Kind::Rule);
        let mut terms = rules.flat_map(|statement| &statement.clause.terms);
        terms.any(|term| term.concept == concept && term.role == Role::Takes)
            || self.chosen.iter().any(|term| term.concept == concept)
    }
}

/// What weight a sentence has that stands where `kind` stands.
fn weighed(kind: Kind, sentence: &str) -> Kind {
    const LEAVES: [&str; 12] = [
        "not decided here",
        "says nothing about",
        "not covered by",
        "are not covered",
        "is not covered",
        "did not talk about",
        "are not meant",
        "is not meant",
        "out of scope",
        "not in scope",
        "in this sense",
        "does not apply to",
    ];
    const RULES: [&str; 6] = [
        " MUST ",
        " SHALL ",
        " SHOULD ",
        " MAY ",
        " REQUIRED ",
        " must never ",
    ];
    let lower = sentence.to_lowercase();
    if LEAVES.iter().any(|words| lower.contains(words)) {
        Kind::Outside
    } else if kind == Kind::Context && RULES.iter().any(|word| sentence.contains(word)) {
        Kind::Rule
    } else {
        kind
    }
}
