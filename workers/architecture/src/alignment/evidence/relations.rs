//! How the clauses of a proposal treat the terms of a decision.

use super::overlap::Overlap;
use super::rejected_options::name_share;
use super::{ParsedProposal, Weights, has};
use crate::alignment::clauses::{Clause, Mode, Role, Term};
use crate::alignment::measures::{Measure, Unit, violates};
use crate::alignment::positions::{Positions, Statement, StatementKind};

/// The factor for a match of a single word.
const SINGLE_WORD: f32 = 0.85;

/// The highest score, and the index of the statement or option that has it.
pub(in crate::alignment) type TopScore = (f32, Option<usize>);

/// How the proposal's clauses treat the decision's terms: the maximum over all clauses.
#[derive(Debug, Default)]
pub(in crate::alignment) struct Relations {
    /// Weight that a clause states as the decision does.
    pub(in crate::alignment) agreement: TopScore,
    /// Weight that a clause states contrary to the decision.
    pub(in crate::alignment) contradiction: TopScore,
    /// The share of the title that one clause repeats.
    pub(in crate::alignment) repeated_title: f32,
    /// The share of a rejected option's name that is adopted, and dropped.
    pub(in crate::alignment) adopts_rejected: TopScore,
    pub(in crate::alignment) drops_rejected: TopScore,
    /// Whether an alternative is adopted for the decision's subject.
    pub(in crate::alignment) adopts_alternative: bool,
    /// Whether the chosen option is adopted, and dropped.
    pub(in crate::alignment) chosen_adopted: bool,
    pub(in crate::alignment) chosen_dropped: bool,
    /// Whether the chosen option is adopted as a means.
    pub(in crate::alignment) chosen_used: bool,
    /// Whether the chosen option is to be ended.
    pub(in crate::alignment) chosen_ended: bool,
    /// Shared weight with a statement whose bound a number violates.
    pub(in crate::alignment) violation: TopScore,
    /// A statement that restricts a term to some uses, when the proposal has another use for it.
    pub(in crate::alignment) out_of_scope: Option<usize>,
}

/// A statement of the decision, after its index.
type NumberedStatement<'a> = (usize, &'a Statement);

impl Relations {
    pub(super) fn of(
        parsed: &ParsedProposal,
        positions: &Positions,
        weights: &Weights,
    ) -> Relations {
        let mut relations = Relations::default();
        // Questions take no position, and options that were merely considered are not proposed.
        let asserting = parsed
            .clauses
            .iter()
            .filter(|(clause, _)| clause.mode == Mode::Asserts);
        for (clause, _) in asserting {
            for statement in positions.statements.iter().enumerate() {
                relations.compare_statement(clause, statement, (positions, parsed), weights);
            }
            relations.find_rejected(clause, positions, weights);
            relations.find_chosen(clause, positions, parsed);
            relations.find_out_of_scope(clause, positions, parsed);
            relations.measure_title(clause, positions, weights);
        }
        relations
    }

    /// Compares a clause with a statement.
    fn compare_statement(
        &mut self,
        clause: &Clause,
        (at, statement): NumberedStatement<'_>,
        (positions, parsed): (&Positions, &ParsedProposal),
        weights: &Weights,
    ) {
        if matches!(
            statement.kind,
            StatementKind::Context | StatementKind::Argument | StatementKind::OutOfScope
        ) {
            return;
        }
        let shared = Overlap::of(&clause.terms, &statement.clause.terms, positions, weights);
        if statement.kind != StatementKind::Rejected {
            // One or two common words don't show that the numbers measure the same thing.
            let is_same = shared.is_technical || shared.count > 2;
            let part = if is_same { shared.all } else { 0.0 };
            let part = part.max(size_overlap(clause, statement, parsed, weights));
            self.compare_bounds(clause, (at, statement), positions, part);
        }
        if shared.all == 0.0 {
            return;
        }
        if shared.contradiction > shared.agreement {
            raise_to(&mut self.contradiction, shared.contradiction, at);
        } else if statement.kind != StatementKind::Rejected {
            // A single word is seldom all that a sentence says.
            let part = if shared.same_role_count > 1 {
                1.0
            } else {
                SINGLE_WORD
            };
            raise_to(&mut self.agreement, shared.agreement * part, at);
        }
    }

    /// Compares numbers with a statement's bounds. A number that a rule names violates none of
    /// them.
    fn compare_bounds(
        &mut self,
        clause: &Clause,
        (at, statement): NumberedStatement<'_>,
        positions: &Positions,
        shared: f32,
    ) {
        for number in &clause.measures {
            let violations = statement
                .clause
                .measures
                .iter()
                .filter_map(|bound| violates(number, bound));
            let violations: Vec<bool> = violations.collect();
            if violations.contains(&true)
                && !violations.contains(&false)
                && !is_named_by_rule(positions, number)
            {
                raise_to(&mut self.violation, shared, at);
            }
        }
    }

    /// Finds rejected options by name.
    fn find_rejected(&mut self, clause: &Clause, positions: &Positions, weights: &Weights) {
        for (at, option) in positions.rejected.iter().enumerate() {
            let adopted = name_share(option, (clause, Role::Adopts), positions, weights);
            let dropped = name_share(option, (clause, Role::Drops), positions, weights);
            raise_to(&mut self.adopts_rejected, adopted, at);
            raise_to(&mut self.drops_rejected, dropped, at);
        }
    }

    /// Finds the chosen option and its alternatives.
    fn find_chosen(&mut self, clause: &Clause, positions: &Positions, parsed: &ParsedProposal) {
        for term in clause
            .terms
            .iter()
            .filter(|term| !term.alternatives.is_empty())
        {
            let is_alternative = positions
                .chosen
                .iter()
                .any(|other| other.alternatives.overlaps(term.alternatives));
            if has(&positions.chosen, term.concept) {
                self.chosen_ended |= term.is_ended;
                match term.role {
                    Role::Adopts => {
                        self.chosen_adopted = true;
                        self.chosen_used |= term.is_means;
                    }
                    Role::Drops => self.chosen_dropped = true,
                    Role::Alongside => {}
                }
            } else if term.role == Role::Adopts
                && is_alternative
                && !positions.is_adopted(term.concept)
            {
                self.adopts_alternative |= is_of_subject(positions, parsed);
            }
        }
    }

    /// Finds uses of a term that a rule restricts to something else.
    fn find_out_of_scope(
        &mut self,
        clause: &Clause,
        positions: &Positions,
        parsed: &ParsedProposal,
    ) {
        let rules = positions.statements.iter().enumerate();
        for (at, statement) in
            rules.filter(|(_, one)| one.kind == StatementKind::Rule && one.clause.is_exclusive)
        {
            let terms = &statement.clause.terms;
            let is_used = |term: &&Term| !term.alternatives.is_empty() && term.role == Role::Adopts;
            let mut used = clause.terms.iter().filter(is_used);
            let Some(used) = used.find(|used| {
                terms
                    .iter()
                    .filter(is_used)
                    .any(|term| term.concept == used.concept)
            }) else {
                continue;
            };
            let scope = terms.iter().filter(|term| {
                term.alternatives.is_empty() && !term.is_implied && term.concept != used.concept
            });
            let mut scope = scope.peekable();
            if scope.peek().is_some() && !scope.any(|term| parsed.concepts.contains(&term.concept))
            {
                self.out_of_scope = self.out_of_scope.or(Some(at));
            }
        }
    }

    /// Measures how much of the title a clause repeats.
    fn measure_title(&mut self, clause: &Clause, positions: &Positions, weights: &Weights) {
        let own: Vec<Term> = positions
            .title
            .iter()
            .filter(|term| !term.is_implied)
            .copied()
            .collect();
        let is_repeated = |term: &&Term| {
            clause
                .terms
                .iter()
                .any(|repeated| repeated.concept == term.concept && repeated.role == term.role)
        };
        let repeated: Vec<Term> = own.iter().filter(is_repeated).copied().collect();
        if repeated.len() > 1 {
            self.repeated_title = self
                .repeated_title
                .max(weights.of_terms(&repeated) / weights.of_terms(&own));
        }
    }
}

/// Whether a proposal mentions the purpose of the decision's choice, as far as the title states
/// one.
fn is_of_subject(positions: &Positions, parsed: &ParsedProposal) -> bool {
    let mut subject = positions
        .title
        .iter()
        .filter(|term| term.alternatives.is_empty() && !term.is_implied)
        .peekable();
    subject.peek().is_none() || subject.any(|term| parsed.concepts.contains(&term.concept))
}

/// Half the weight that the whole proposal shares with a statement, if the clause has a size. Sizes
/// seldom stand in one clause with what they measure.
fn size_overlap(
    clause: &Clause,
    statement: &Statement,
    parsed: &ParsedProposal,
    weights: &Weights,
) -> f32 {
    if !clause
        .measures
        .iter()
        .any(|number| number.unit == Unit::Size)
    {
        return 0.0;
    }
    let terms = statement
        .clause
        .terms
        .iter()
        .filter(|term| parsed.concepts.contains(&term.concept));
    terms
        .map(|term| weights.of_concept(term.concept))
        .sum::<f32>()
        / 2.0
}

/// Whether a rule of the decision names this number.
fn is_named_by_rule(positions: &Positions, number: &Measure) -> bool {
    let is_same = |bound: &Measure| {
        bound.unit == number.unit && (number.amount - bound.amount).abs() <= bound.amount * 0.01
    };
    let rules = positions.statements.iter();
    let rules = rules.filter(|statement| {
        matches!(
            statement.kind,
            StatementKind::Rule | StatementKind::Consequence
        )
    });
    rules
        .flat_map(|statement| &statement.clause.measures)
        .any(is_same)
}

fn raise_to(top: &mut TopScore, value: f32, at: usize) {
    if value > top.0 {
        *top = (value, Some(at));
    }
}
