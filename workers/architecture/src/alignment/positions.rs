//! The positions of a decision: what it chose, what it rejected, what it rules, and what it leaves
//! out.

mod builder;
mod stances;

use super::clauses::{Clause, Role, Term};
use super::embedding::Embedding;
use super::lexicon::Lexicon;
use super::words::{ByConcept, Concept, Concepts};
use crate::adr::{Adr, Passage};
use crate::markdown::Markdown;

/// A decision, analysed for comparison.
#[derive(Debug, Default)]
pub struct Positions {
    /// The statements, in order.
    pub(super) statements: Vec<Statement>,
    /// The terms of the title.
    pub(super) title: Vec<Term>,
    /// All concepts that the decision names, and the concepts that those imply.
    pub(super) concepts: Concepts,
    /// All concepts that the decision names itself.
    pub(super) named: Concepts,
    /// The stance on each concept of the rules: positive if adopted, negative if dropped.
    pub(super) stances: ByConcept<i16>,
    /// The embedding of title and rules.
    pub(super) embedding: Option<Embedding>,
    /// The words of title, options and statements.
    pub(super) lexicon: Lexicon,
    /// The rejected options.
    pub(super) rejected: Vec<RejectedOption>,
    /// The terms in the chosen options' names.
    pub(super) chosen_name: Vec<Term>,
    /// The terms with alternatives that are the decision's subject: the title or a chosen option
    /// adopts them.
    pub(super) chosen: Vec<Term>,
}

/// A clause of a decision.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) kind: StatementKind,
    /// The sentence of the clause; `None` for the title.
    pub(super) sentence: Option<Passage>,
    pub(super) clause: Clause,
    pub(super) embedding: Option<Embedding>,
}

/// The kind of a statement, which sets its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatementKind {
    /// States the decision.
    Rule,
    /// Follows from the decision.
    Consequence,
    /// Describes a rejected option.
    Rejected,
    /// Argues for or against a rejected option.
    Argument,
    /// Describes the context.
    Context,
    /// Names something that is not decided.
    OutOfScope,
}

/// A rejected option.
#[derive(Debug)]
pub(super) struct RejectedOption {
    /// The terms in the option's name.
    pub(super) name: Vec<Term>,
    /// A sentence about the option.
    pub(super) sentence: Option<Passage>,
}

impl Positions {
    /// Analyses a decision.
    pub(crate) fn of(markdown: &Markdown, adr: &Adr) -> Positions {
        builder::build(markdown, adr)
    }

    /// Whether a rule or the decision's subject adopts a concept.
    pub(super) fn is_adopted(&self, concept: Concept) -> bool {
        let rules = self
            .statements
            .iter()
            .filter(|statement| statement.kind == StatementKind::Rule);
        let mut terms = rules.flat_map(|statement| &statement.clause.terms);
        terms.any(|term| term.concept == concept && term.role == Role::Adopts)
            || self.chosen.iter().any(|term| term.concept == concept)
    }
}

/// The kind of a sentence in a part with statements of this `kind`.
fn statement_kind(kind: StatementKind, sentence: &str) -> StatementKind {
    const OUT_OF_SCOPE_PHRASES: [&str; 12] = [
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
    const RULE_PHRASES: [&str; 6] = [
        " MUST ",
        " SHALL ",
        " SHOULD ",
        " MAY ",
        " REQUIRED ",
        " must never ",
    ];
    let lower = sentence.to_lowercase();
    if OUT_OF_SCOPE_PHRASES
        .iter()
        .any(|words| lower.contains(words))
    {
        StatementKind::OutOfScope
    } else if kind == StatementKind::Context
        && RULE_PHRASES.iter().any(|word| sentence.contains(word))
    {
        StatementKind::Rule
    } else {
        kind
    }
}
