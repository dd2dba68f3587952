//! Finds the decisions that a proposal concerns.
//!
//! Three measures are scaled by the best decision's and added up: common words (BM25), the meaning of the
//! nearest statements, and the similarity of the nearest passage where an embedding service gave vectors
//! and there are at least [`MIN_FOR_MEDIAN`] decisions.
//! A decision is found if it reaches a share of the best one's sum.

use std::collections::{HashMap, HashSet};

use archway_index::terms;
use archway_repo::{Cancel, Stopped};

use super::embedding::Embedding;
use super::positions::{Kind, Positions};
use super::words::{self, Sentence};

/// At most this many decisions are found, without successors of those that are superseded.
const MAX_FOUND: usize = 4;
/// The smallest share of the best decision's relevance.
const MIN_SHARE: f32 = 0.55;
/// The weight of a word of the background, relative to one of the proposal.
const CONTEXT_WEIGHT: f32 = 0.4;
/// Rarity is counted as if there were at least so many decisions.
const MIN_COLLECTION: u64 = 20;
/// The number of nearest statements whose similarities are averaged.
const NEAREST: usize = 3;
/// The best decision has to reach this in shared words and similarity, or the proposal concerns none.
const MIN_EVIDENCE: f32 = 0.33;
/// Where no decision's similarity reaches this, similarities are chance and are not scaled up.
const MIN_MEANING: f32 = 0.1;
/// Or its nearest passage is so much nearer than the median decision's.
const MIN_NEAR: f32 = 0.15;

/// Of fewer decisions a median says nothing about how similar unrelated texts are, so their nearest passages don't count.
const MIN_FOR_MEDIAN: usize = 4;

/// A proposal, parsed for comparison.
#[derive(Debug)]
pub(super) struct ParsedProposal {
    pub(super) sentences: Vec<Sentence>,
    /// The distinct stems of the description, and those of the context alone.
    pub(super) stems: HashSet<String>,
    context: HashSet<String>,
    pub(super) embedding: Option<Embedding>,
    /// Whether it is about choosing, watching or tuning something.
    pub(super) leaves_open: bool,
}

impl ParsedProposal {
    pub(super) fn of(description: &str, context: Option<&str>) -> ParsedProposal {
        let sentences = words::read(description, true);
        let stems = stems(&sentences);
        let mut context = context
            .map(|text| self::stems(&words::read(text, true)))
            .unwrap_or_default();
        context.retain(|stem| !stems.contains(stem));
        let embedding = Embedding::of(words::embedded(description));
        let lower = format!(" {}", description.to_lowercase().replace('’', "'"));
        ParsedProposal {
            sentences,
            stems,
            context,
            embedding,
            leaves_open: OPEN.iter().any(|phrase| lower.contains(phrase)),
        }
    }
}

/// Phrases with which it chooses, watches or tunes something.
#[rustfmt::skip]
const OPEN: [&str; 22] = [
    " which ", " who ", "how ", " whether ", " dashboard", " alert", " upgrade", " measure", " in addition", " beside", " show",
    " backup", " replica", " monitor", " benchmark", " load test", " index", " partition", " name ", " page ", " storybook", " tune",
];

fn stems(sentences: &[Sentence]) -> HashSet<String> {
    let words = sentences.iter().flat_map(|sentence| &sentence.words);
    words.map(|word| word.stem.clone()).collect()
}

/// How rare each stem is among the decisions.
pub(super) struct Rarity {
    with: HashMap<String, u64>,
    decisions: u64,
}

impl Rarity {
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Positions>) -> Rarity {
        let mut rarity = Rarity {
            with: HashMap::new(),
            decisions: 0,
        };
        for positions in all {
            rarity.decisions += 1;
            for stem in positions.counts.keys() {
                *rarity.with.entry(stem.clone()).or_default() += 1;
            }
        }
        rarity
    }

    /// The rarity of a stem, above 0.
    pub(super) fn idf(&self, stem: &str) -> f32 {
        let with = self.with.get(stem).copied().unwrap_or(0);
        terms::idf(self.decisions.max(MIN_COLLECTION), with)
    }
}

/// The decisions that a proposal concerns: indexes and relevance from 0 to 1, best first. `nearest` holds the cosine of
/// each decision's nearest passage, if a service gave vectors.
///
/// # Errors
/// If the call is cancelled.
pub(super) fn find(
    proposal: &ParsedProposal,
    all: &[&Positions],
    nearest: Option<&[f32]>,
    rarity: &Rarity,
    cancel: &Cancel,
) -> Result<Vec<(usize, f32)>, Stopped> {
    let average = average(all);
    let (mut words, mut meanings) = (Vec::new(), Vec::new());
    for one in all {
        cancel.check()?;
        words.push(shared_words(proposal, one, rarity, average));
        meanings.push(meaning(proposal, one));
    }
    let passages = nearest
        .filter(|nearest| nearest.len() == all.len() && all.len() >= MIN_FOR_MEDIAN)
        .map(above_median);
    let lists = [
        Some(scaled(&words, f32::MIN_POSITIVE)),
        Some(scaled(&meanings, MIN_MEANING)),
        passages.as_ref().map(|near| scaled(near, MIN_NEAR)),
    ];
    let lists: Vec<Vec<f32>> = lists.into_iter().flatten().collect();
    let relevance = |at: usize| lists.iter().filter_map(|list| list.get(at)).sum::<f32>();
    let mut ranked: Vec<(usize, f32)> = (0..all.len()).map(|at| (at, relevance(at))).collect();
    ranked.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    let near = |at: usize| passages.as_ref().and_then(|near| near.get(at).copied());
    let best = ranked.first().copied().filter(|(at, _)| {
        let is_near = near(*at).is_some_and(|near| near >= MIN_NEAR);
        let meaning = meanings.get(*at).copied().unwrap_or(0.0);
        is_near
            || all
                .get(*at)
                .is_some_and(|one| is_evident(proposal, one, rarity, meaning))
    });
    let Some((_, best)) = best else {
        return Ok(Vec::new());
    };
    ranked.retain(|(_, relevance)| *relevance >= MIN_SHARE * best && *relevance > 0.0);
    ranked.truncate(MAX_FOUND);
    let ranked = ranked.into_iter();
    Ok(ranked
        .map(|(at, relevance)| (at, relevance / best))
        .collect())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "an average of lengths needs no more than 24 bits"
)]
fn average(all: &[&Positions]) -> f32 {
    all.iter().map(|one| u64::from(one.length)).sum::<u64>() as f32 / all.len().max(1) as f32
}

/// BM25 of the proposal's words.
fn shared_words(
    proposal: &ParsedProposal,
    positions: &Positions,
    rarity: &Rarity,
    average: f32,
) -> f32 {
    let weight = |stem: &String| {
        let count = positions.counts.get(stem).copied().unwrap_or(0);
        rarity.idf(stem) * terms::weight(count, positions.length, average)
    };
    let own: f32 = proposal.stems.iter().map(weight).sum();
    own + CONTEXT_WEIGHT * proposal.context.iter().map(weight).sum::<f32>()
}

/// Whether common words and meaning together show that the proposal concerns a decision.
fn is_evident(
    proposal: &ParsedProposal,
    positions: &Positions,
    rarity: &Rarity,
    meaning: f32,
) -> bool {
    let (mut shared, mut all, mut common) = (0.0, 1e-3, Vec::new());
    for stem in &proposal.stems {
        let idf = rarity.idf(stem);
        all += idf;
        if positions.counts.contains_key(stem) {
            shared += idf;
            common.push(stem);
        }
    }
    // One word may be common by chance: "paint the fence green", "the tests were green". It counts where it decides.
    let is_chance = match common.as_slice() {
        [only] => proposal.stems.len() > 2 && !decides(positions, only),
        _ => false,
    };
    let words = if is_chance { 0.0 } else { shared / all };
    words + meaning >= MIN_EVIDENCE
}

/// Whether a word stands in the title, or in what was chosen or rejected.
fn decides(positions: &Positions, stem: &str) -> bool {
    let statements = positions.statements.iter();
    let deciding = statements.filter(|one| matches!(one.kind, Kind::Rule | Kind::Rejected));
    let sentences = deciding.map(|one| &one.sentence).chain(&positions.title);
    let mut words = sentences.flat_map(|sentence| &sentence.words);
    words.any(|word| word.stem == stem)
}

/// The average similarity of the nearest statements.
fn meaning(proposal: &ParsedProposal, positions: &Positions) -> f32 {
    let similarity = |embedding| Embedding::similarity(proposal.embedding.as_ref(), embedding);
    let stated = positions
        .statements
        .iter()
        .map(|one| weight(one.kind) * similarity(one.sentence.embedding.as_ref()));
    let title = positions
        .title
        .iter()
        .map(|title| 1.2 * similarity(title.embedding.as_ref()));
    let mut similarities: Vec<f32> = stated.chain(title).collect();
    similarities.sort_unstable_by(|left, right| right.total_cmp(left));
    similarities.truncate(NEAREST);
    #[expect(clippy::cast_precision_loss, reason = "at most three")]
    let count = similarities.len().max(1) as f32;
    similarities.iter().sum::<f32>() / count
}

/// How much a statement's similarity counts.
fn weight(kind: Kind) -> f32 {
    match kind {
        Kind::Rule => 1.0,
        Kind::Rejected => 0.95,
        Kind::Consequence | Kind::Argument => 0.85,
        Kind::Context => 0.75,
    }
}

/// Similarities above their median, since models differ in how similar unrelated texts are.
fn above_median(cosines: &[f32]) -> Vec<f32> {
    let mut sorted = cosines.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    cosines
        .iter()
        .map(|cosine| (cosine - median).max(0.0))
        .collect()
}

/// Scores as shares of the best, or of `least` if all are smaller.
fn scaled(scores: &[f32], least: f32) -> Vec<f32> {
    let best = scores.iter().copied().fold(least, f32::max);
    scores.iter().map(|score| (score / best).max(0.0)).collect()
}
