//! What a decision says: its statements, what it chose, and what it turned down.

use std::collections::HashMap;

use super::names::Product;
use super::words::{self, Role, Sentence};
use crate::adr::{Adr, Passage, Status, Verdict};
use crate::markdown::Markdown;

/// At most this many statements of a decision are compared with a proposal.
const MAX_STATEMENTS: usize = 160;
/// At most this many bytes of a passage are read.
const MAX_PASSAGE: usize = 1 << 16;

/// A decision, analysed for comparison.
#[derive(Debug, Default)]
pub struct Positions {
    /// The title, as if it were a statement.
    pub(super) title: Vec<Sentence>,
    /// The statements, in order.
    pub(super) statements: Vec<Statement>,
    /// How often each stem occurs. The title's count more.
    pub(super) counts: HashMap<String, u16>,
    /// The number of words.
    pub(super) length: u32,
    /// The products that it chose, those of its title first, and how many of them the title names.
    pub(super) chosen: Vec<Product>,
    pub(super) in_title: usize,
    /// The options that it turned down.
    pub(super) rejected: Vec<Rejected>,
}

/// A sentence of a decision.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) kind: Kind,
    /// Where it stands.
    pub(super) passage: Passage,
    pub(super) sentence: Sentence,
}

/// The part of a decision that a sentence stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// States what is decided.
    Rule,
    /// Follows from it.
    Consequence,
    /// Is about an option that was turned down.
    Rejected,
    /// Argues for or against an option.
    Argument,
    /// Describes the problem.
    Context,
}

/// An option that was turned down.
#[derive(Debug)]
pub(super) struct Rejected {
    /// The stems of its name.
    pub(super) name: Vec<String>,
    pub(super) product: Option<Product>,
    /// Index of the statement that says so.
    pub(super) statement: Option<usize>,
}

impl Positions {
    /// Analyses a decision.
    pub(crate) fn of(markdown: &Markdown, adr: &Adr) -> Positions {
        let mut positions = Positions {
            title: words::read(words::embedded(&adr.title), false),
            ..Positions::default()
        };
        let is_bare = adr.decision.is_empty();
        let context = if is_bare { Kind::Rule } else { Kind::Context };
        positions.add(markdown, &adr.context, context);
        positions.add(markdown, &adr.drivers, Kind::Context);
        positions.add(markdown, &adr.decision, Kind::Rule);
        let options = positions.add_options(markdown, adr);
        let consequences = adr.consequences.iter().map(|one| &one.passage);
        positions.add(markdown, consequences, Kind::Consequence);
        positions.add(markdown, &adr.other, Kind::Rule);
        positions.choose(adr, &options);
        positions.reject(adr, options);
        positions.count();
        positions
    }

    /// The statement that states what was chosen: the first rule that names it, or the first rule.
    pub(super) fn choice(&self) -> Option<usize> {
        let rules = || {
            self.statements
                .iter()
                .enumerate()
                .filter(|(_, one)| one.kind == Kind::Rule)
        };
        let names = |(_, rule): &(usize, &Statement)| {
            let mut products = rule.sentence.words.iter().filter_map(|word| word.product);
            products.any(|product| self.chosen.contains(&product))
        };
        let choice = rules().find(names).or_else(|| rules().next());
        choice
            .map(|(at, _)| at)
            .or((!self.statements.is_empty()).then_some(0))
    }

    fn add<'p>(
        &mut self,
        markdown: &Markdown,
        passages: impl IntoIterator<Item = &'p Passage>,
        kind: Kind,
    ) {
        for passage in passages {
            let text = passage.text(markdown);
            let text = text
                .get(..text.floor_char_boundary(MAX_PASSAGE))
                .unwrap_or(text);
            for sentence in words::read(text, false) {
                if self.statements.len() >= MAX_STATEMENTS {
                    return;
                }
                let passage = passage.within(sentence.range.clone());
                // One or two words are a name or a label, not a statement.
                if passage.text(markdown).split_whitespace().nth(2).is_some() {
                    self.statements.push(Statement {
                        kind,
                        passage,
                        sentence,
                    });
                }
            }
        }
    }

    /// Adds the statements about options. Returns the name of each option, its outcome, and its first statement.
    fn add_options(
        &mut self,
        markdown: &Markdown,
        adr: &Adr,
    ) -> Vec<(Vec<Sentence>, Verdict, Option<usize>)> {
        let mut options = Vec::new();
        for option in &adr.options {
            let start = self.statements.len();
            let about = match option.verdict {
                Verdict::Chosen => Kind::Rule,
                Verdict::Rejected => Kind::Rejected,
                Verdict::Open => Kind::Argument,
            };
            self.add(markdown, &option.about, about);
            let cons = self.statements.len();
            self.add(markdown, &option.cons, Kind::Argument);
            self.add(markdown, &option.pros, Kind::Argument);
            let end = self.statements.len();
            let statement = if cons < end { cons } else { start };
            let name = words::read(words::embedded(&option.name), false);
            options.push((name, option.verdict, (statement < end).then_some(statement)));
        }
        options
    }

    /// Finds the products that were chosen.
    fn choose(&mut self, adr: &Adr, options: &[(Vec<Sentence>, Verdict, Option<usize>)]) {
        let is_rejected = adr.status == Status::Rejected;
        let title = self.title.iter().filter(|_| !is_rejected).flat_map(adopted);
        self.chosen = title.collect();
        self.in_title = self.chosen.len();
        let chosen = options
            .iter()
            .filter(|(_, verdict, _)| *verdict == Verdict::Chosen);
        self.chosen
            .extend(chosen.flat_map(|(name, ..)| name.iter().flat_map(adopted)));
        let rules = self
            .statements
            .iter()
            .filter(|one| one.kind == Kind::Rule && !one.sentence.turned_down);
        let ruled = rules.flat_map(|rule| adopted(&rule.sentence));
        for product in ruled.filter(|_| !is_rejected) {
            if !self.chosen.contains(&product) {
                self.chosen.push(product);
            }
        }
    }

    /// Finds the options that were turned down.
    fn reject(&mut self, adr: &Adr, options: Vec<(Vec<Sentence>, Verdict, Option<usize>)>) {
        let in_title: Vec<Product> = self.chosen.iter().copied().take(self.in_title).collect();
        for (name, verdict, statement) in options {
            if verdict != Verdict::Rejected {
                continue;
            }
            let product = name
                .iter()
                .flat_map(adopted)
                .find(|product| !in_title.contains(product));
            let name = name
                .iter()
                .flat_map(|name| name.words.iter().map(|word| word.stem.clone()));
            self.rejected.push(Rejected {
                name: name.collect(),
                product,
                statement,
            });
        }
        for (at, statement) in self.statements.iter().enumerate() {
            for product in rejected_products(statement, &self.chosen) {
                let is_known = self.rejected.iter().any(|one| one.product == Some(product));
                if !is_known && !in_title.contains(&product) {
                    self.rejected.push(Rejected {
                        name: Vec::new(),
                        product: Some(product),
                        statement: Some(at),
                    });
                }
            }
        }
        if adr.status == Status::Rejected {
            let name = self
                .title
                .iter()
                .flat_map(|title| title.words.iter().map(|word| word.stem.clone()));
            self.rejected.push(Rejected {
                name: name.collect(),
                product: None,
                statement: None,
            });
        }
        let rejected: Vec<Product> = self.rejected.iter().filter_map(|one| one.product).collect();
        let mut at = 0;
        self.chosen.retain(|product| {
            at += 1;
            at <= in_title.len() || !rejected.contains(product)
        });
    }

    fn count(&mut self) {
        /// How often a word of the title counts.
        const TITLE: u16 = 3;
        let stated = self
            .statements
            .iter()
            .map(|statement| (&statement.sentence, 1));
        let all = self.title.iter().map(|title| (title, TITLE)).chain(stated);
        for (word, weight) in
            all.flat_map(|(one, weight)| one.words.iter().map(move |word| (word, weight)))
        {
            let count = self.counts.entry(word.stem.clone()).or_default();
            *count = count.saturating_add(weight);
            self.length += 1;
        }
    }
}

/// The products that a sentence adopts.
fn adopted(sentence: &Sentence) -> impl Iterator<Item = Product> {
    let adopts = sentence
        .words
        .iter()
        .filter(|word| word.role == Role::Adopts);
    adopts.filter_map(|word| word.product)
}

/// The products that a statement turns down, beside those chosen.
fn rejected_products(statement: &Statement, chosen: &[Product]) -> Vec<Product> {
    let words = &statement.sentence.words;
    let is_other = |product: &Product| {
        chosen.iter().any(|chosen| chosen.is_alternative(*product)) || !chosen.contains(product)
    };
    let all = words.iter().filter_map(|word| word.product);
    match statement.kind {
        Kind::Rule if statement.sentence.turned_down => all.filter(is_other).collect(),
        Kind::Rule => {
            let drops = words
                .iter()
                .filter(|word| matches!(word.role, Role::Drops | Role::Negates));
            drops.filter_map(|word| word.product).collect()
        }
        Kind::Rejected => all.take(1).filter(is_other).collect(),
        // "Kotlin: pleasant, but …"
        Kind::Context | Kind::Argument => {
            let first = words.first().and_then(|word| word.product);
            let replaces = |product: &Product| {
                chosen.iter().any(|chosen| chosen.is_alternative(*product))
                    && !chosen.contains(product)
            };
            first.filter(replaces).into_iter().collect()
        }
        Kind::Consequence => Vec::new(),
    }
}
