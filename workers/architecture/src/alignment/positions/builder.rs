//! Builds the positions of a decision from its record's parts.

mod considered;

use super::{Positions, RejectedOption, Statement, StatementKind, stances, statement_kind};
use crate::adr::{Adr, ConsideredOption, Passage, Status, Verdict};
use crate::alignment::clauses::{Clause, Mode, Role, Term, clauses};
use crate::alignment::embedding::Embedding;
use crate::markdown::Markdown;

/// At most this many statements of a decision are compared with a proposal.
const MAX_STATEMENTS: usize = 160;
/// At most this many terms of a name are read.
const MAX_NAME_TERMS: usize = 400;
/// At most this many bytes of a title or sentence are embedded.
const MAX_EMBEDDED: usize = 4096;

pub(super) fn build(markdown: &Markdown, adr: &Adr) -> Positions {
    let mut builder = PositionsBuilder {
        markdown,
        positions: Positions::default(),
    };
    builder.title(adr);
    builder.options(adr);
    let is_bare = adr.decision.is_empty();
    let context_kind = if is_bare {
        StatementKind::Rule
    } else {
        StatementKind::Context
    };
    builder.add(&adr.context, context_kind);
    builder.add(&adr.drivers, StatementKind::Context);
    builder.add(&adr.decision, StatementKind::Rule);
    let consequences = adr.consequences.iter().map(|one| &one.passage);
    builder.add(consequences, StatementKind::Consequence);
    builder.add(&adr.other, StatementKind::Consequence);
    let rules = adr.decision.iter().map(|passage| passage.text(markdown));
    let whole: Vec<&str> = std::iter::once(adr.title.as_str()).chain(rules).collect();
    builder.positions.embedding = Embedding::of(embedded_prefix(&whole.join("\n")));
    builder.finish()
}

struct PositionsBuilder<'a> {
    markdown: &'a Markdown,
    positions: Positions,
}

impl PositionsBuilder<'_> {
    fn title(&mut self, adr: &Adr) {
        let is_rejected = adr.status == Status::Rejected;
        let clauses = self.clauses(embedded_prefix(&adr.title));
        let mut terms = terms_of(clauses.clone());
        if is_rejected {
            for term in &mut terms {
                term.role = Role::Drops;
            }
            // "Rejected." alone says nothing.
            let is_meaningful = |sentence: &Passage| {
                let words = sentence.text(self.markdown).split_whitespace();
                words.count() > 2
            };
            let sentences = adr.decision.iter();
            let mut sentences = sentences.flat_map(|passage| passage.sentences(self.markdown));
            let sentence = sentences.find(is_meaningful);
            self.positions.rejected.push(RejectedOption {
                name: terms.clone(),
                sentence,
            });
        }
        self.title_rules(adr, clauses, is_rejected);
        self.positions.title = terms;
    }

    /// A title such as "Redis is a cache and nothing else" is also a rule.
    fn title_rules(&mut self, adr: &Adr, clauses: Vec<Clause>, is_rejected: bool) {
        let mut sections = self.markdown.sections.iter();
        if is_rejected || !sections.any(|section| section.heading.contains(&adr.title)) {
            return;
        }
        let embedding = Embedding::of(embedded_prefix(&adr.title));
        let rules = clauses.into_iter().filter(|clause| clause.terms.len() > 1);
        for clause in rules.take(MAX_STATEMENTS) {
            self.positions.statements.push(Statement {
                kind: StatementKind::Rule,
                sentence: None,
                embedding: embedding.clone(),
                clause,
            });
        }
    }

    fn options(&mut self, adr: &Adr) {
        for (option, (name, verdict)) in adr.options.iter().zip(self.outcomes(adr)) {
            let arguments = option.cons.iter().chain(&option.pros);
            match verdict {
                Verdict::Chosen => {
                    self.clauses(&option.name);
                    self.positions.chosen.extend(subject_terms(&name));
                    self.positions.chosen_name.extend(name);
                    self.add(&option.about, StatementKind::Rule);
                    self.add(&option.pros, StatementKind::Consequence);
                }
                Verdict::Rejected => {
                    self.clauses(&option.name);
                    let name = self.identifying_terms(name, &option.about);
                    let mut passages = option.about.iter().chain(arguments.clone());
                    let sentence = passages
                        .find_map(|passage| passage.sentences(self.markdown).into_iter().next());
                    self.positions
                        .rejected
                        .push(RejectedOption { name, sentence });
                    self.add(&option.about, StatementKind::Rejected);
                    self.add(arguments, StatementKind::Argument);
                }
                Verdict::Open => {
                    self.add(option.about.iter().chain(arguments), StatementKind::Context);
                }
            }
        }
    }

    /// The terms and the outcome of each option. If the record states no outcome, the title
    /// decides.
    fn outcomes(&self, adr: &Adr) -> Vec<(Vec<Term>, Verdict)> {
        let title_subject = subject_terms(&self.positions.title);
        let name = |option: &ConsideredOption| {
            let clauses = clauses(&option.name);
            let mut terms = clauses.iter().flat_map(|clause| &clause.terms);
            let is_in_title = terms.any(|term| {
                title_subject
                    .iter()
                    .any(|subject| subject.concept == term.concept)
            });
            (terms_of(clauses), is_in_title)
        };
        let names: Vec<(Vec<Term>, bool)> = adr.options.iter().map(name).collect();
        let is_one_in_title = names.iter().any(|(_, is_in_title)| *is_in_title);
        let is_open = adr
            .options
            .iter()
            .all(|option| option.verdict == Verdict::Open);
        let verdict = |(option, (name, is_in_title)): (&ConsideredOption, (Vec<Term>, bool))| {
            let verdict = match is_in_title {
                true if is_open => Verdict::Chosen,
                false if is_open && is_one_in_title => Verdict::Rejected,
                _ => option.verdict,
            };
            (name, verdict)
        };
        adr.options.iter().zip(names).map(verdict).collect()
    }

    /// The terms that identify an option: those of its name, or of its description if the name is a
    /// plain word ("Buy it").
    fn identifying_terms(&self, name: Vec<Term>, about: &[Passage]) -> Vec<Term> {
        let identifies = |term: &Term| !term.alternatives.is_empty() || term.is_technical;
        if name.len() > 1 || name.iter().any(identifies) {
            return name;
        }
        let about = about
            .first()
            .map(|passage| clauses(embedded_prefix(passage.text(self.markdown))));
        terms_of(about.unwrap_or_default())
    }

    /// The clauses of a text. Adds its words to the lexicon.
    fn clauses(&mut self, text: &str) -> Vec<Clause> {
        let clauses = clauses(text);
        self.positions.lexicon.add(text, &clauses);
        clauses
    }

    fn add<'p>(&mut self, passages: impl IntoIterator<Item = &'p Passage>, kind: StatementKind) {
        for passage in passages {
            if self.positions.statements.len() >= MAX_STATEMENTS {
                break;
            }
            let text = passage.text(self.markdown);
            for clause in self.clauses(text) {
                if self.positions.statements.len() >= MAX_STATEMENTS {
                    break;
                }
                let words = embedded_prefix(text.get(clause.sentence.clone()).unwrap_or_default());
                // One or two words are a name or a label, not a statement.
                if clause.terms.is_empty() || words.split_whitespace().nth(2).is_none() {
                    continue;
                }
                let mut clause = clause;
                if kind == StatementKind::Rejected {
                    clause
                        .terms
                        .iter_mut()
                        .for_each(|term| term.role = Role::Drops);
                }
                let sentence = passage.within(clause.sentence.clone());
                self.positions.statements.push(Statement {
                    kind: statement_kind(kind, words),
                    sentence: Some(sentence),
                    embedding: Embedding::of(words),
                    clause,
                });
            }
        }
    }

    fn finish(mut self) -> Positions {
        let positions = &mut self.positions;
        let title_subject = subject_terms(&positions.title);
        positions.chosen.extend(title_subject);
        let is_chosen = |concept| {
            positions
                .chosen
                .iter()
                .any(|chosen| chosen.concept == concept)
        };
        // Options that were merely considered count as rejected, unless they were chosen.
        for statement in &mut positions.statements {
            if statement.kind == StatementKind::Rule && statement.clause.mode == Mode::Reports {
                statement.kind = StatementKind::Rejected;
                let considered = statement
                    .clause
                    .terms
                    .iter_mut()
                    .filter(|term| !is_chosen(term.concept));
                considered.for_each(|term| term.role = Role::Drops);
            }
        }
        self.reject_considered();
        let positions = &mut self.positions;
        positions.stances = stances::of(positions);
        let stated = positions
            .statements
            .iter()
            .flat_map(|statement| &statement.clause.terms);
        let rejected_names = positions.rejected.iter().flat_map(|option| &option.name);
        let all = stated.chain(rejected_names).chain(&positions.title);
        positions.named = all
            .clone()
            .filter(|term| !term.is_implied)
            .map(|term| term.concept)
            .collect();
        positions.concepts = all.map(|term| term.concept).collect();
        self.positions
    }
}

/// The prefix of a text that is embedded.
fn embedded_prefix(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_EMBEDDED))
        .unwrap_or(text)
}

/// The terms of a name's clauses.
fn terms_of(clauses: Vec<Clause>) -> Vec<Term> {
    let terms = clauses.into_iter().flat_map(|clause| clause.terms);
    terms.take(MAX_NAME_TERMS).collect()
}

/// The terms that a name is about: the first, and others listed with it. Later means or places
/// don't count.
fn subject_terms(name: &[Term]) -> Vec<Term> {
    let adopted = name
        .iter()
        .filter(|term| !term.alternatives.is_empty() && term.role == Role::Adopts);
    let subject = adopted
        .enumerate()
        .filter(|(at, term)| *at == 0 || term.is_listed);
    subject.map(|(_, term)| *term).collect()
}
