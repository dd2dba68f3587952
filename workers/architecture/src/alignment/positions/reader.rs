//! Builds the positions of a decision from its record's parts.

use super::{Kind, Positions, Refused, Statement, stances, weighed};
use crate::adr::{Adr, ConsideredOption, Passage, Status, Verdict};
use crate::alignment::clauses::{Clause, Mode, Role, Term, clauses};
use crate::alignment::meaning::Meaning;
use crate::markdown::Markdown;

/// At most this many statements of a decision are compared with a proposal.
const MAX_STATEMENTS: usize = 160;
/// At most this many terms of a name are read.
const MAX_NAMED: usize = 400;
/// At most this many bytes of a title or sentence are embedded.
const MAX_READ: usize = 4096;

pub(super) fn read(markdown: &Markdown, adr: &Adr) -> Positions {
    let mut reader = Reader {
        markdown,
        positions: Positions::default(),
    };
    reader.title(adr);
    reader.options(adr);
    let is_bare = adr.decision.is_empty();
    let around = if is_bare { Kind::Rule } else { Kind::Context };
    reader.add(&adr.context, around);
    reader.add(&adr.drivers, Kind::Context);
    reader.add(&adr.decision, Kind::Rule);
    let follows = adr.consequences.iter().map(|one| &one.passage);
    reader.add(follows, Kind::Follows);
    reader.add(&adr.other, Kind::Follows);
    let rules = adr.decision.iter().map(|passage| passage.text(markdown));
    let whole: Vec<&str> = std::iter::once(adr.title.as_str()).chain(rules).collect();
    reader.positions.meaning = Meaning::of(start(&whole.join("\n")));
    reader.finish()
}

struct Reader<'a> {
    markdown: &'a Markdown,
    positions: Positions,
}

impl Reader<'_> {
    fn title(&mut self, adr: &Adr) {
        let is_refused = adr.status == Status::Rejected;
        let said = self.clauses(start(&adr.title));
        let mut terms = named(said.clone());
        if is_refused {
            for term in &mut terms {
                term.role = Role::Drops;
            }
            // "Rejected." alone says nothing.
            let says = |sentence: &Passage| {
                let words = sentence.text(self.markdown).split_whitespace();
                words.count() > 2
            };
            let sentences = adr.decision.iter();
            let mut sentences = sentences.flat_map(|passage| passage.sentences(self.markdown));
            let sentence = sentences.find(says);
            self.positions.refused.push(Refused {
                name: terms.clone(),
                sentence,
            });
        }
        self.title_rules(adr, said, is_refused);
        self.positions.title = terms;
    }

    /// A title such as "Redis is a cache and nothing else" is also a rule.
    fn title_rules(&mut self, adr: &Adr, said: Vec<Clause>, is_refused: bool) {
        let mut sections = self.markdown.sections.iter();
        if is_refused || !sections.any(|section| section.heading.contains(&adr.title)) {
            return;
        }
        let meaning = Meaning::of(start(&adr.title));
        let rules = said.into_iter().filter(|clause| clause.terms.len() > 1);
        for clause in rules.take(MAX_STATEMENTS) {
            self.positions.statements.push(Statement {
                kind: Kind::Rule,
                sentence: None,
                meaning: meaning.clone(),
                clause,
            });
        }
    }

    fn options(&mut self, adr: &Adr) {
        for (option, (name, verdict)) in adr.options.iter().zip(self.verdicts(adr)) {
            let around = option.cons.iter().chain(&option.pros);
            match verdict {
                Verdict::Chosen => {
                    self.clauses(&option.name);
                    self.positions.chosen.extend(heads(&name));
                    self.positions.chosen_name.extend(name);
                    self.add(&option.about, Kind::Rule);
                    self.add(&option.pros, Kind::Follows);
                }
                Verdict::Rejected => {
                    self.clauses(&option.name);
                    let name = self.telling(name, &option.about);
                    let mut said = option.about.iter().chain(around.clone());
                    let sentence = said
                        .find_map(|passage| passage.sentences(self.markdown).into_iter().next());
                    self.positions.refused.push(Refused { name, sentence });
                    self.add(&option.about, Kind::Refused);
                    self.add(around, Kind::Weighed);
                }
                Verdict::Open => {
                    self.add(option.about.iter().chain(around), Kind::Context);
                }
            }
        }
    }

    /// The terms and the outcome of each option. If the record states no outcome, the title
    /// decides.
    fn verdicts(&self, adr: &Adr) -> Vec<(Vec<Term>, Verdict)> {
        let titled = heads(&self.positions.title);
        let name = |option: &ConsideredOption| {
            let said = clauses(&option.name);
            let mut terms = said.iter().flat_map(|clause| &clause.terms);
            let is_titled =
                terms.any(|term| titled.iter().any(|head| head.concept == term.concept));
            (named(said), is_titled)
        };
        let names: Vec<(Vec<Term>, bool)> = adr.options.iter().map(name).collect();
        let is_one_titled = names.iter().any(|(_, is_titled)| *is_titled);
        let is_open = adr
            .options
            .iter()
            .all(|option| option.verdict == Verdict::Open);
        let verdict = |(option, (name, is_titled)): (&ConsideredOption, (Vec<Term>, bool))| {
            let verdict = match is_titled {
                true if is_open => Verdict::Chosen,
                false if is_open && is_one_titled => Verdict::Rejected,
                _ => option.verdict,
            };
            (name, verdict)
        };
        adr.options.iter().zip(names).map(verdict).collect()
    }

    /// The terms that identify an option: those of its name, or of its description if the name is a
    /// plain word ("Buy it").
    fn telling(&self, name: Vec<Term>, about: &[Passage]) -> Vec<Term> {
        let tells = |term: &Term| !term.rivals.is_empty() || term.is_technical;
        if name.len() > 1 || name.iter().any(tells) {
            return name;
        }
        let about = about
            .first()
            .map(|passage| clauses(start(passage.text(self.markdown))));
        named(about.unwrap_or_default())
    }

    /// The clauses of a text. Adds its words to the lexicon.
    fn clauses(&mut self, text: &str) -> Vec<Clause> {
        let said = clauses(text);
        self.positions.lexicon.add(text, &said);
        said
    }

    fn add<'p>(&mut self, passages: impl IntoIterator<Item = &'p Passage>, kind: Kind) {
        for passage in passages {
            if self.positions.statements.len() >= MAX_STATEMENTS {
                break;
            }
            let text = passage.text(self.markdown);
            for clause in self.clauses(text) {
                if self.positions.statements.len() >= MAX_STATEMENTS {
                    break;
                }
                let words = start(text.get(clause.sentence.clone()).unwrap_or_default());
                // One or two words are a name or a label, not a statement.
                if clause.terms.is_empty() || words.split_whitespace().nth(2).is_none() {
                    continue;
                }
                let mut clause = clause;
                if kind == Kind::Refused {
                    clause
                        .terms
                        .iter_mut()
                        .for_each(|term| term.role = Role::Drops);
                }
                let sentence = passage.within(clause.sentence.clone());
                self.positions.statements.push(Statement {
                    kind: weighed(kind, words),
                    sentence: Some(sentence),
                    meaning: Meaning::of(words),
                    clause,
                });
            }
        }
    }

    fn finish(mut self) -> Positions {
        let positions = &mut self.positions;
        let titled = heads(&positions.title);
        positions.chosen.extend(titled);
        let is_chosen = |concept| {
            positions
                .chosen
                .iter()
                .any(|chosen| chosen.concept == concept)
        };
        // Options that were merely considered count as rejected, unless they were chosen.
        for y_statement in &mut positions.statements {
            if y_statement.kind == Kind::Rule && y_statement.clause.mode == Mode::Tells {
                y_statement.kind = Kind::Refused;
                let looked_at = y_statement
                    .clause
                    .terms
                    .iter_mut()
                    .filter(|term| !is_chosen(term.concept));
                looked_at.for_each(|term| term.role = Role::Drops);
            }
        }
        self.compare();
        let positions = &mut self.positions;
        positions.stances = stances::of(positions);
        let said = positions
            .statements
            .iter()
            .flat_map(|y_statement| &y_statement.clause.terms);
        let named = positions.refused.iter().flat_map(|option| &option.name);
        let all = said.chain(named).chain(&positions.title);
        positions.named = all
            .clone()
            .filter(|term| !term.is_besides)
            .map(|term| term.concept)
            .collect();
        positions.concepts = all.map(|term| term.concept).collect();
        self.positions
    }
}

impl Reader<'_> {
    /// Adds alternatives that were considered together with the chosen option as rejected.
    fn compare(&mut self) {
        let positions = &self.positions;
        let chosen = &positions.chosen;
        let mut refused: Vec<Refused> = Vec::new();
        let told = positions
            .statements
            .iter()
            .filter(|y_statement| y_statement.clause.mode == Mode::Tells);
        for y_statement in told {
            let is_other = |term: &&Term| {
                let is_rival = chosen.iter().any(|chosen| chosen.rivals.meet(term.rivals));
                is_rival && chosen.iter().all(|chosen| chosen.concept != term.concept)
            };
            for term in y_statement.clause.terms.iter().filter(is_other) {
                let begins = |other: &&Statement| {
                    other
                        .clause
                        .terms
                        .first()
                        .is_some_and(|first| first.concept == term.concept)
                };
                let about = positions
                    .statements
                    .iter()
                    .find(begins)
                    .unwrap_or(y_statement);
                refused.push(Refused {
                    name: vec![*term],
                    sentence: about.sentence.clone(),
                });
            }
        }
        refused.truncate(MAX_STATEMENTS);
        self.positions.refused.extend(refused);
    }
}

/// The prefix of a text that is embedded.
fn start(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_READ))
        .unwrap_or(text)
}

/// The terms of a name's clauses.
fn named(said: Vec<Clause>) -> Vec<Term> {
    let terms = said.into_iter().flat_map(|clause| clause.terms);
    terms.take(MAX_NAMED).collect()
}

/// The terms that a name is about: the first, and others listed with it. Later means or places
/// don't count.
fn heads(name: &[Term]) -> Vec<Term> {
    let taken = name
        .iter()
        .filter(|term| !term.rivals.is_empty() && term.role == Role::Takes);
    let heads = taken
        .enumerate()
        .filter(|(at, term)| *at == 0 || term.is_listed);
    heads.map(|(_, term)| *term).collect()
}
