//! Decides whether a proposal conflicts with a decision that it concerns, or is supported by it.
//!
//! A conflict is only told where it is certain: a few plain rules, each of which needs the same subject and
//! a proposal that neither asks nor refuses. All else is related, with the sentence to check.

mod rules;

use super::Label;
use super::names::Product;
use super::positions::{Positions, Rejected};
use super::quote;
use super::retrieval::{ParsedProposal, Rarity};
use super::words::{Role, Word};
use crate::adr::Status;

/// The smallest relevance for a conflict with a decision that is not the most relevant one in effect.
const MIN_RELEVANCE: f32 = 0.9;
/// The share of a rejected option's name that the proposal adopts.
const MIN_OPTION: f32 = 0.75;
/// The share of a rejected decision's title that the proposal adopts.
const MIN_TITLE: f32 = 0.45;
/// The similarity with a rule, and the share of its words, that together mean that it is carried out.
const MIN_SUPPORT: f32 = 0.6;

/// Why a label was chosen. The number is that of the statement that it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ground {
    RepeatsRejected,
    AdoptsRejected(Option<usize>),
    AdoptsAlternative,
    DropsChosen,
    BreaksLimit(usize),
    BreaksProhibition(usize),
    TurnsDownRejected(Option<usize>),
    Endorsed(usize),
    Nearest,
}

impl Ground {
    pub(super) fn label(self) -> Label {
        match self {
            Ground::TurnsDownRejected(_) | Ground::Endorsed(_) => Label::Supports,
            Ground::Nearest => Label::Related,
            _ => Label::Conflicts,
        }
    }
}

/// How a decision was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Relevance, 1 for the best.
    pub(super) relevance: f32,
    /// The number of more relevant decisions that are in effect.
    pub(super) rank: usize,
    pub(super) status: Status,
}

/// A proposal and a decision.
pub(super) struct Pair<'a> {
    pub(super) proposal: &'a ParsedProposal,
    pub(super) positions: &'a Positions,
    pub(super) rarity: &'a Rarity,
}

impl Pair<'_> {
    /// The relation of the proposal to a decision in effect, or to one that was rejected. `ranked` are the statements,
    /// most decisive first.
    pub(super) fn judge(&self, found: Found, ranked: &[(usize, f32)]) -> Ground {
        let is_subject = found.rank == 0 || found.relevance >= MIN_RELEVANCE;
        if self.asks() || !is_subject {
            return Ground::Nearest;
        }
        let conflict = match found.status {
            _ if self.proposal.refuses => None,
            Status::Rejected if self.proposal.leaves_open => None,
            Status::Rejected => self.repeats_title().then_some(Ground::RepeatsRejected),
            _ => self.conflict(ranked),
        };
        conflict
            .or_else(|| self.support(found, ranked))
            .unwrap_or(Ground::Nearest)
    }

    fn asks(&self) -> bool {
        self.proposal.sentences.iter().any(|sentence| sentence.asks)
    }

    fn conflict(&self, ranked: &[(usize, f32)]) -> Option<Ground> {
        let product = self.drops_chosen().or_else(|| self.adopts_other());
        product
            .or_else(|| self.breaks_limit(ranked))
            .or_else(|| self.breaks_prohibition())
    }

    /// The words of the proposal.
    fn words(&self) -> impl Iterator<Item = &Word> {
        self.proposal
            .sentences
            .iter()
            .flat_map(|sentence| &sentence.words)
    }

    fn products(&self, role: Role) -> impl Iterator<Item = Product> {
        self.words()
            .filter(move |word| word.role == role)
            .filter_map(|word| word.product)
    }

    fn drops_chosen(&self) -> Option<Ground> {
        let chosen = &self.positions.chosen;
        let title = chosen.get(..self.positions.in_title).unwrap_or_default();
        let adopts_other = self
            .products(Role::Adopts)
            .any(|product| self.replaces(product));
        let drops = |products: &[Product]| {
            self.products(Role::Drops)
                .any(|product| products.contains(&product))
        };
        let keeps = self
            .products(Role::Adopts)
            .any(|product| title.contains(&product));
        let ends = match keeps {
            true => drops(title) && adopts_other,
            false => drops(title) || (drops(chosen) && adopts_other),
        };
        ends.then_some(Ground::DropsChosen)
    }

    fn adopts_other(&self) -> Option<Ground> {
        let has = |role: Role, product: Product| self.products(role).any(|one| one == product);
        let adopts = |product: Product| {
            has(Role::Adopts, product) && !has(Role::Negates, product) && !has(Role::Drops, product)
        };
        let chosen = &self.positions.chosen;
        if self.keeps() || chosen.iter().any(|one| has(Role::Alongside, *one)) {
            return None;
        }
        let mut rejected = self.positions.rejected.iter();
        if let Some(one) =
            rejected.find(|one| one.product.is_some_and(adopts) || self.adopts_name(one))
        {
            return Some(Ground::AdoptsRejected(one.statement));
        }
        let uses = chosen.iter().any(|one| has(Role::Adopts, *one));
        let mut adopted = self
            .products(Role::Adopts)
            .filter(|product| adopts(*product));
        (!uses && adopted.any(|product| self.replaces(product)))
            .then_some(Ground::AdoptsAlternative)
    }

    /// Whether a product takes the place of one that was chosen.
    fn replaces(&self, product: Product) -> bool {
        let chosen = &self.positions.chosen;
        chosen.iter().any(|one| one.is_alternative(product)) && !chosen.contains(&product)
    }

    /// Whether the proposal says that a chosen product stays.
    fn keeps(&self) -> bool {
        const STAYS: [&str; 4] = ["stay", "keep", "remain", "beside"];
        self.proposal.sentences.iter().any(|sentence| {
            let stays = sentence
                .words
                .iter()
                .any(|word| STAYS.contains(&word.stem.as_str()));
            let chosen = |word: &Word| {
                word.role == Role::Adopts
                    && word
                        .product
                        .is_some_and(|product| self.positions.chosen.contains(&product))
            };
            stays && sentence.words.iter().any(chosen)
        })
    }

    /// Whether the proposal adopts an option by the words of its name.
    fn adopts_name(&self, option: &Rejected) -> bool {
        let title: Vec<&str> = self
            .positions
            .title
            .iter()
            .flat_map(|title| &title.words)
            .map(|word| word.stem.as_str())
            .collect();
        let own: Vec<&String> = option
            .name
            .iter()
            .filter(|stem| !title.contains(&stem.as_str()))
            .collect();
        let is_adopted = |stem: &str| {
            self.words()
                .any(|word| word.stem == stem && word.role == Role::Adopts)
        };
        let is_named = (2..=7).contains(&own.len()) && option.product.is_none();
        is_named && self.share(own.iter().map(|stem| stem.as_str()), is_adopted) >= MIN_OPTION
    }

    /// The share, by rarity, of stems for which a condition holds.
    fn share<'s>(
        &self,
        stems: impl IntoIterator<Item = &'s str>,
        holds: impl Fn(&str) -> bool,
    ) -> f32 {
        let (mut sum, mut all) = (0.0, 1e-3);
        for stem in stems {
            let idf = self.rarity.idf(stem);
            all += idf;
            sum += if holds(stem) { idf } else { 0.0 };
        }
        sum / all
    }

    /// Whether the proposal adopts what the title of a rejected decision names.
    fn repeats_title(&self) -> bool {
        let title = self
            .positions
            .title
            .iter()
            .flat_map(|title| &title.words)
            .map(|word| word.stem.as_str());
        let is_adopted = |stem: &str| {
            self.words()
                .any(|word| word.stem == stem && matches!(word.role, Role::Adopts))
        };
        self.share(title, is_adopted) >= MIN_TITLE
    }

    /// Whether the proposal carries out a rule, or turns down again what was turned down.
    fn support(&self, found: Found, ranked: &[(usize, f32)]) -> Option<Ground> {
        if matches!(found.status, Status::Rejected) && !self.proposal.refuses {
            return None;
        }
        let turned_down = |one: &&Rejected| {
            one.product
                .is_some_and(|product| self.words().any(|word| word.product == Some(product)))
        };
        if self.proposal.refuses
            && let Some(one) = self.positions.rejected.iter().find(turned_down)
        {
            return Some(Ground::TurnsDownRejected(one.statement));
        }
        if self.proposal.leaves_open {
            return None;
        }
        let title = self
            .positions
            .chosen
            .get(..self.positions.in_title)
            .unwrap_or_default();
        let uses = self
            .products(Role::Adopts)
            .any(|product| title.contains(&product));
        if uses && self.proposal.sentences.len() == 1 {
            return self.positions.choice().map(Ground::Endorsed);
        }
        let (at, _) = ranked.first()?;
        let statement = self.ruling(*at)?;
        let common = self
            .proposal
            .sentences
            .iter()
            .map(|one| self.common(one, &statement.sentence, 2));
        let common = common.fold(0.0, f32::max);
        let is_close =
            common + quote::similarity(self.proposal, &statement.sentence) >= MIN_SUPPORT;
        is_close.then_some(Ground::Endorsed(*at))
    }
}
