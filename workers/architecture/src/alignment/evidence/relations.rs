//! What the clauses of a proposal do with the things that a decision speaks of.

use super::options::named;
use super::shared::Shared;
use super::{Read, Weights, has};
use crate::alignment::clauses::{Clause, Mode, Role, Term};
use crate::alignment::measures::{Measure, Unit, breaks};
use crate::alignment::positions::{Kind, Positions, Statement};

/// What a single word is worth of what it weighs.
const ALONE: f32 = 0.85;

/// The most for something, and the statement or option it stands in.
pub(in crate::alignment) type Most = (f32, Option<usize>);

/// What clauses do with what a decision holds, each at the most.
#[derive(Debug, Default)]
pub(in crate::alignment) struct Relations {
    /// How much is said again of what the decision says of its subject.
    pub(in crate::alignment) said_same: Most,
    /// How much is said with the contrary.
    pub(in crate::alignment) said_against: Most,
    /// How much of the title is said in one clause.
    pub(in crate::alignment) restates: f32,
    /// How much of an option's name is taken, or dropped, that was turned down.
    pub(in crate::alignment) takes_refused: Most,
    pub(in crate::alignment) drops_refused: Most,
    /// Whether a rival is taken for what the decision is for.
    pub(in crate::alignment) takes_rival: bool,
    /// Whether what was chosen is taken, or dropped.
    pub(in crate::alignment) chosen_taken: bool,
    pub(in crate::alignment) chosen_dropped: bool,
    /// Whether it is taken as that with which something is done.
    pub(in crate::alignment) chosen_used: bool,
    /// Whether it is to be ended.
    pub(in crate::alignment) chosen_ended: bool,
    /// A bound that a number breaks.
    pub(in crate::alignment) breaks: Most,
    /// What may be used for some things only, and is used for others.
    pub(in crate::alignment) beyond: Option<usize>,
}

/// A statement of the decision, behind its place.
type Held<'a> = (usize, &'a Statement);

impl Relations {
    pub(super) fn of(read: &Read, positions: &Positions, weights: &Weights) -> Relations {
        let mut relations = Relations::default();
        // A question takes no side, and what was merely looked at is not proposed.
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

    /// Holds a clause against a statement.
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
            // A word or two that anybody uses don't say that the number is of the same thing.
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
            // One word alone is seldom all that a sentence says.
            let part = if shared.alike > 1 { 1.0 } else { ALONE };
            raise(&mut self.said_same, shared.said_same * part, at);
        }
    }

    /// Holds numbers against a statement's. What a rule names itself breaks none of them.
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

    /// Looks for options by name that were turned down.
    fn options(&mut self, clause: &Clause, positions: &Positions, weights: &Weights) {
        for (at, option) in positions.refused.iter().enumerate() {
            let taken = named(option, (clause, Role::Takes), positions, weights);
            let dropped = named(option, (clause, Role::Drops), positions, weights);
            raise(&mut self.takes_refused, taken, at);
            raise(&mut self.drops_refused, dropped, at);
        }
    }

    /// Looks for what was chosen, and for its rivals.
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

    /// Whether a thing is used that may be used for something else only.
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

    /// How much of the title a clause says.
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

/// Whether a proposal speaks of what the decision's choice is for, as far as its title says.
fn is_of_subject(positions: &Positions, read: &Read) -> bool {
    let mut subject = positions
        .title
        .iter()
        .filter(|term| term.rivals.is_empty() && !term.is_besides)
        .peekable();
    subject.peek().is_none() || subject.any(|term| read.concepts.contains(&term.concept))
}

/// What a whole proposal shares with a statement that bounds a size: a size is of few things, and
/// seldom named in one clause with them.
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

/// Whether a rule of the decision has the number itself.
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
