//! Decides whether a proposal conflicts with a decision that it concerns, or is supported by it.
//!
//! A conflict is only told where it is certain: a few plain rules, each of which needs the same subject and
//! a proposal that asks nothing. Sentences that answer "no" don't count. All else is related, with the
//! sentence to check.

mod rules;

use super::Label;
use super::names::Product;
use super::positions::{Positions, Rejected};
use super::retrieval::{ParsedProposal, Rarity};
use super::words::{Role, Word};
use crate::adr::Status;
use archway_repo::{Cancel, Stopped};

/// The smallest relevance for a conflict with a decision that is not the most relevant one in effect.
const MIN_RELEVANCE: f32 = 0.9;
/// The share of a rejected option's name that the proposal adopts.
const MIN_OPTION: f32 = 0.75;
/// The share of a rejected decision's title that the proposal adopts.
const MIN_TITLE: f32 = 0.45;
/// The share of a proposal's words that a rule has which it restates.
const MIN_RESTATED: f32 = 0.5;

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
            Ground::RepeatsRejected
            | Ground::AdoptsRejected(_)
            | Ground::AdoptsAlternative
            | Ground::DropsChosen
            | Ground::BreaksLimit(_)
            | Ground::BreaksProhibition(_) => Label::Conflicts,
        }
    }
}

/// How a decision was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Relevance, 1 for the best.
    pub(super) relevance: f32,
    /// The number of more relevant decisions that are in effect or rejected.
    pub(super) rank: usize,
    pub(super) status: Status,
}

/// A proposal and a decision.
pub(super) struct Pair<'a> {
    pub(super) proposal: &'a ParsedProposal,
    pub(super) positions: &'a Positions,
    pub(super) rarity: &'a Rarity,
    pub(super) cancel: &'a Cancel,
}

impl Pair<'_> {
    /// The relation of the proposal to a decision in effect, or to one that was rejected. `ranked` are the statements,
    /// most decisive first.
    ///
    /// # Errors
    /// If the call is cancelled.
    pub(super) fn judge(&self, found: Found, ranked: &[(usize, f32)]) -> Result<Ground, Stopped> {
        let is_subject = found.rank == 0 || found.relevance >= MIN_RELEVANCE;
        if self.asks() || !is_subject {
            return Ok(Ground::Nearest);
        }
        let conflict = match found.status {
            Status::Rejected if self.proposal.leaves_open => None,
            Status::Rejected => self.repeats_title().then_some(Ground::RepeatsRejected),
            _ => self.conflict(ranked)?,
        };
        Ok(conflict
            .or_else(|| self.support(found, ranked))
            .unwrap_or(Ground::Nearest))
    }

    fn asks(&self) -> bool {
        self.proposal.sentences.iter().any(|sentence| sentence.asks)
    }

    fn conflict(&self, ranked: &[(usize, f32)]) -> Result<Option<Ground>, Stopped> {
        let product = self.drops_chosen().or_else(|| self.adopts_other());
        match product.or_else(|| self.breaks_limit(ranked)) {
            None => self.breaks_prohibition(),
            certain => Ok(certain),
        }
    }

    /// The words of the sentences that don't answer "no".
    fn words(&self) -> impl Iterator<Item = &Word> {
        let sentences = self.proposal.sentences.iter();
        let asserting = sentences.filter(|sentence| !sentence.refuses);
        asserting.flat_map(|sentence| &sentence.words)
    }

    /// The products that the proposal turns down.
    fn refused(&self) -> impl Iterator<Item = Product> {
        let sentences = self.proposal.sentences.iter();
        let words = sentences.flat_map(|sentence| {
            let words = sentence.words.iter();
            words.filter(|word| sentence.refuses || word.role == Role::Negates)
        });
        words.filter_map(|word| word.product)
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

    /// Whether the proposal turns down again what was turned down, uses what was chosen, or restates a rule.
    fn support(&self, found: Found, ranked: &[(usize, f32)]) -> Option<Ground> {
        let turned_down = |one: &&Rejected| {
            one.product
                .is_some_and(|product| self.refused().any(|refused| refused == product))
        };
        if let Some(one) = self.positions.rejected.iter().find(turned_down) {
            return Some(Ground::TurnsDownRejected(one.statement));
        }
        if self.proposal.leaves_open || found.status == Status::Rejected {
            return None;
        }
        if self.uses_chosen() {
            return self.positions.choice().map(Ground::Endorsed);
        }
        let (at, _) = ranked.first()?;
        let rule = self.ruling(*at)?;
        self.restates(&rule.sentence)
            .then_some(Ground::Endorsed(*at))
    }

    /// Whether the proposal is one sentence that uses a product of the title: "stored in PostgreSQL".
    fn uses_chosen(&self) -> bool {
        let title = self.positions.chosen.iter().take(self.positions.in_title);
        let title: Vec<&Product> = title.collect();
        let mut used = self
            .words()
            .filter(|word| word.is_used && word.role == Role::Adopts)
            .filter_map(|word| word.product);
        self.proposal.sentences.len() == 1 && used.any(|product| title.contains(&&product))
    }
}
