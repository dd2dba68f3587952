//! A decision's parts made positions.

use super::{Kind, Positions, Refused, Statement, stances, weighed};
use crate::adr::{Adr, Choice, Passage, Status, Verdict};
use crate::alignment::clauses::{Clause, Mode, Role, Term, clauses};
use crate::alignment::meaning::Meaning;
use crate::markdown::Markdown;

/// How many statements of one decision are held against a proposal.
const MAX_STATEMENTS: usize = 160;
/// How many things of all names together are its subject, at most.
const MAX_NAMED: usize = 400;
/// How much of a title, and of a sentence, is read for what it means, in bytes.
const MAX_READ: usize = 4096;

/// Reads a decision.
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

    /// A title such as "Redis is a cache and nothing else" is a rule as well.
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

    /// What the name of each option names, and what became of it. Where the record says it of
    /// none, the title does.
    fn verdicts(&self, adr: &Adr) -> Vec<(Vec<Term>, Verdict)> {
        let titled = heads(&self.positions.title);
        let name = |option: &Choice| {
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
        let verdict = |(option, (name, is_titled)): (&Choice, (Vec<Term>, bool))| {
            let verdict = match is_titled {
                true if is_open => Verdict::Chosen,
                false if is_open && is_one_titled => Verdict::Rejected,
                _ => option.verdict,
            };
            (name, verdict)
        };
        adr.options.iter().zip(names).map(verdict).collect()
    }

    /// What an option is named by: its name, or what is said of it where that is a plain word
    /// ("Buy it").
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

    /// The clauses of a text, whose words are kept.
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
                // A word or two are a name or a label, and say nothing.
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
        // What a decision merely looked at, it turned down, unless it is what it chose.
        for statement in &mut positions.statements {
            if statement.kind == Kind::Rule && statement.clause.mode == Mode::Tells {
                statement.kind = Kind::Refused;
                let looked_at = statement
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
            .flat_map(|statement| &statement.clause.terms);
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
    /// What was compared with what was chosen, and not chosen, was turned down.
    fn compare(&mut self) {
        let positions = &self.positions;
        let chosen = &positions.chosen;
        let mut refused: Vec<Refused> = Vec::new();
        let told = positions
            .statements
            .iter()
            .filter(|statement| statement.clause.mode == Mode::Tells);
        for statement in told {
            let is_other = |term: &&Term| {
                let is_rival = chosen.iter().any(|chosen| chosen.rivals.meet(term.rivals));
                is_rival && chosen.iter().all(|chosen| chosen.concept != term.concept)
            };
            for term in statement.clause.terms.iter().filter(is_other) {
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
                    .unwrap_or(statement);
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

/// As much of a text as is read for what it means.
fn start(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_READ))
        .unwrap_or(text)
}

/// What the clauses of a name name.
fn named(said: Vec<Clause>) -> Vec<Term> {
    let terms = said.into_iter().flat_map(|clause| clause.terms);
    terms.take(MAX_NAMED).collect()
}

/// The things that a name is about: the first, and those beside it. What it is in, or with, is not.
fn heads(name: &[Term]) -> Vec<Term> {
    let taken = name
        .iter()
        .filter(|term| !term.rivals.is_empty() && term.role == Role::Takes);
    let heads = taken
        .enumerate()
        .filter(|(at, term)| *at == 0 || term.is_listed);
    heads.map(|(_, term)| *term).collect()
}
