//! What the clauses of a proposal do with the terms of a decision.

use super::options::named;
use super::shared::Shared;
use super::{Read, Weights, has};
use crate::alignment::clauses::{Clause, Mode, Role, Term};
use crate::alignment::measures::{Measure, Unit, breaks};
use crate::alignment::positions::{Kind, Positions, Statement};

/// The factor for a match of a single word.
const ALONE: f32 = 0.85;

/// The highest score, and the index of the statement or option that has it.
pub(in crate::alignment) type Most = (f32, Option<usize>);

/// What the proposal's clauses do with the decision's terms: the maximum over all clauses.
#[derive(Debug, Default)]
pub(in crate::alignment) struct Relations {
    /// Weight that a clause states as the decision does.
    pub(in crate::alignment) said_same: Most,
    /// Weight that a clause states contrary to the decision.
    pub(in crate::alignment) said_against: Most,
    /// The share of the title that one clause repeats.
    pub(in crate::alignment) restates: f32,
    /// The share of a rejected option's name that is adopted, and dropped.
    pub(in crate::alignment) takes_refused: Most,
    pub(in crate::alignment) drops_refused: Most,
    /// Whether an alternative is adopted for the decision's subject.
    pub(in crate::alignment) takes_rival: bool,
    /// Whether the chosen option is adopted, and dropped.
    pub(in crate::alignment) chosen_taken: bool,
    pub(in crate::alignment) chosen_dropped: bool,
    /// Whether the chosen option is adopted as a means.
    pub(in crate::alignment) chosen_used: bool,
    /// Whether the chosen option is to be ended.
    pub(in crate::alignment) chosen_ended: bool,
    /// Shared weight with a statement whose bound a number violates.
    pub(in crate::alignment) breaks: Most,
    /// A statement that restricts a term to some uses, when the proposal has another use for it.
    pub(in crate::alignment) beyond: Option<usize>,
}

/// A statement of the decision, after its index.
type Held<'a> = (usize, &'a Statement);

impl Relations {
    pub(super) fn of(read: &Read, positions: &Positions, weights: &Weights) -> Relations {
        let mut relations = Relations::default();
        // Questions take no position, and options that were merely considered are not proposed.
        let says = read
            .clauses
            .iter()
            .filter(|(clause, _)| clause.mode == Mode::Says);
        for (clause, _) in says {
            for held in positions.statements.iter().enumerate() {
                relations.hold(clause, held, (positions, read), weights);
            }
            relations.options(clause, positions, weights);
            relations.things(clause, positions, read);
            relations.scope(clause, positions, read);
            relations.title(clause, positions, weights);
        }
        relations
    }

    /// Compares a clause with a statement.
    fn hold(
        &mut self,
        clause: &Clause,
        (at, statement): Held<'_>,
        (positions, read): (&Positions, &Read),
        weights: &Weights,
    ) {
        if matches!(
            statement.kind,
            Kind::Context | Kind::Weighed | Kind::Outside
        ) {
            return;
        }
        let shared = Shared::of(&clause.terms, &statement.clause.terms, positions, weights);
        if statement.kind != Kind::Refused {
            // One or two common words don't show that the numbers measure the same thing.
            let is_same = shared.is_technical || shared.count > 2;
            let part = if is_same { shared.all } else { 0.0 };
            let part = part.max(of_size(clause, statement, read, weights));
            self.bounds(clause, (at, statement), positions, part);
        }
        if shared.all == 0.0 {
            return;
        }
        if shared.said_against > shared.said_same {
            raise(&mut self.said_against, shared.said_against, at);
        } else if statement.kind != Kind::Refused {
            // A single word is seldom all that a sentence says.
            let part = if shared.alike > 1 { 1.0 } else { ALONE };
            raise(&mut self.said_same, shared.said_same * part, at);
        }
    }

    /// Compares numbers with a statement's bounds. A number that a rule names violates none of
    /// them.
    fn bounds(
        &mut self,
        clause: &Clause,
        (at, statement): Held<'_>,
        positions: &Positions,
        shared: f32,
    ) {
        for number in &clause.measures {
            let held = statement
                .clause
                .measures
                .iter()
                .filter_map(|bound| breaks(number, bound));
            let held: Vec<bool> = held.collect();
            if held.contains(&true) && !held.contains(&false) && !is_named(positions, number) {
                raise(&mut self.breaks, shared, at);
            }
        }
    }

    /// Finds rejected options by name.
    fn options(&mut self, clause: &Clause, positions: &Positions, weights: &Weights) {
        for (at, option) in positions.refused.iter().enumerate() {
            let taken = named(option, (clause, Role::Takes), positions, weights);
            let dropped = named(option, (clause, Role::Drops), positions, weights);
            raise(&mut self.takes_refused, taken, at);
            raise(&mut self.drops_refused, dropped, at);
        }
    }

    /// Finds the chosen option and its alternatives.
    fn things(&mut self, clause: &Clause, positions: &Positions, read: &Read) {
        for term in clause.terms.iter().filter(|term| !term.rivals.is_empty()) {
            let is_rival = positions
                .chosen
                .iter()
                .any(|other| other.rivals.meet(term.rivals));
            if has(&positions.chosen, term.concept) {
                self.chosen_ended |= term.is_ended;
                match term.role {
                    Role::Takes => {
                        self.chosen_taken = true;
                        self.chosen_used |= term.is_means;
                    }
                    Role::Drops => self.chosen_dropped = true,
                    Role::Beside => {}
                }
            } else if term.role == Role::Takes && is_rival && !positions.is_taken(term.concept) {
                self.takes_rival |= is_of_subject(positions, read);
            }
        }
    }

    /// Finds uses of a term that a rule restricts to something else.
    fn scope(&mut self, clause: &Clause, positions: &Positions, read: &Read) {
        let rules = positions.statements.iter().enumerate();
        for (at, statement) in
            rules.filter(|(_, one)| one.kind == Kind::Rule && one.clause.is_exclusive)
        {
            let terms = &statement.clause.terms;
            let is_used = |term: &&Term| !term.rivals.is_empty() && term.role == Role::Takes;
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
                term.rivals.is_empty() && !term.is_besides && term.concept != used.concept
            });
            let mut scope = scope.peekable();
            if scope.peek().is_some() && !scope.any(|term| read.concepts.contains(&term.concept)) {
                self.beyond = self.beyond.or(Some(at));
            }
        }
    }

    /// Measures how much of the title a clause repeats.
    fn title(&mut self, clause: &Clause, positions: &Positions, weights: &Weights) {
        let own: Vec<Term> = positions
            .title
            .iter()
            .filter(|term| !term.is_besides)
            .copied()
            .collect();
        let is_said = |term: &&Term| {
            clause
                .terms
                .iter()
                .any(|said| said.concept == term.concept && said.role == term.role)
        };
        let said: Vec<Term> = own.iter().filter(is_said).copied().collect();
        if said.len() > 1 {
            self.restates = self
                .restates
                .max(weights.of_terms(&said) / weights.of_terms(&own));
        }
    }
}

/// Whether a proposal mentions the purpose of the decision's choice, as far as the title states
/// one.
fn is_of_subject(positions: &Positions, read: &Read) -> bool {
    let mut subject = positions
        .title
        .iter()
        .filter(|term| term.rivals.is_empty() && !term.is_besides)
        .peekable();
    subject.peek().is_none() || subject.any(|term| read.concepts.contains(&term.concept))
}

/// Half the weight that the whole proposal shares with a statement, if the clause has a size. Sizes
/// seldom stand in one clause with what they measure.
fn of_size(clause: &Clause, statement: &Statement, read: &Read, weights: &Weights) -> f32 {
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
        .filter(|term| read.concepts.contains(&term.concept));
    terms
        .map(|term| weights.of_concept(term.concept))
        .sum::<f32>()
        / 2.0
}

/// Whether a rule of the decision names this number.
fn is_named(positions: &Positions, number: &Measure) -> bool {
    let is_same = |bound: &Measure| {
        bound.unit == number.unit && (number.amount - bound.amount).abs() <= bound.amount * 0.01
    };
    let rules = positions.statements.iter();
    let rules = rules.filter(|statement| matches!(statement.kind, Kind::Rule | Kind::Follows));
    rules
        .flat_map(|statement| &statement.clause.measures)
        .any(is_same)
}

fn raise(most: &mut Most, value: f32, at: usize) {
    if value > most.0 {
        *most = (value, Some(at));
    }
}
