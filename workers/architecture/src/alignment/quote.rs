//! Chooses the sentence of a decision that a proposal's relation to it rests on.

use std::collections::HashMap;

use super::embedding::Embedding;
use super::positions::{Kind, Positions, Statement};
use super::retrieval::ParsedProposal;
use super::words::Sentence;

/// Weights of common words and of similarity, each relative to the decision's best statement; of naming a
/// product of the proposal, or an alternative to one; of measuring what it measures; of negation; and of being
/// the first rule. Found by regression over the tuning sets, each left out in turn, and rounded.
const WORDS: f32 = 2.2;
const MEANING: f32 = 2.1;
const SAME_PRODUCT: f32 = 1.2;
const ALTERNATIVE: f32 = 1.0;
const MEASURE: f32 = 0.6;
const NEGATION: f32 = 0.2;
const FIRST_RULE: f32 = 1.3;

/// The statements by how likely they decide: indexes and scores, best first.
pub(super) fn ranked(proposal: &ParsedProposal, positions: &Positions) -> Vec<(usize, f32)> {
    let statements = &positions.statements;
    let rarity = rarity(statements);
    let words: Vec<f32> = statements
        .iter()
        .map(|one| shared(proposal, &one.sentence, &rarity))
        .collect();
    let meaning: Vec<f32> = statements
        .iter()
        .map(|one| similarity(proposal, &one.sentence))
        .collect();
    let best = |scores: &[f32]| scores.iter().copied().fold(1e-3, f32::max);
    let (most_words, most_meaning) = (best(&words), best(&meaning));
    let first = statements.iter().position(|one| one.kind == Kind::Rule);
    let scores = statements.iter().zip(words).zip(meaning).enumerate();
    let mut ranked: Vec<(usize, f32)> = scores
        .map(|(at, ((one, words), meaning))| {
            let mut score = part(one.kind) + marks(proposal, &one.sentence);
            score += WORDS * words / most_words + MEANING * meaning / most_meaning;
            score += if first == Some(at) { FIRST_RULE } else { 0.0 };
            (at, score)
        })
        .collect();
    ranked.sort_by(|left, right| right.1.total_cmp(&left.1));
    ranked
}

/// What the part that a statement stands in is worth.
fn part(kind: Kind) -> f32 {
    match kind {
        Kind::Rule => 1.0,
        Kind::Consequence => 0.0,
        Kind::Argument | Kind::Rejected => -0.2,
        Kind::Context => -0.8,
    }
}

/// How rare each stem is among the statements of a decision.
fn rarity(statements: &[Statement]) -> HashMap<&str, f32> {
    let mut counts: HashMap<&str, f32> = HashMap::new();
    for statement in statements {
        let mut stems: Vec<&str> = statement
            .sentence
            .words
            .iter()
            .map(|word| word.stem.as_str())
            .collect();
        stems.sort_unstable();
        stems.dedup();
        for stem in stems {
            *counts.entry(stem).or_default() += 1.0;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 160 statements")]
    let all = statements.len() as f32;
    for count in counts.values_mut() {
        *count = (all / *count).ln_1p();
    }
    counts
}

fn shared(proposal: &ParsedProposal, sentence: &Sentence, rarity: &HashMap<&str, f32>) -> f32 {
    let mut stems: Vec<&str> = sentence
        .words
        .iter()
        .map(|word| word.stem.as_str())
        .collect();
    stems.sort_unstable();
    stems.dedup();
    let common = stems
        .into_iter()
        .filter(|stem| proposal.stems.contains(*stem));
    common.filter_map(|stem| rarity.get(stem)).sum()
}

/// The similarity of the nearest sentence of the proposal.
pub(super) fn similarity(proposal: &ParsedProposal, sentence: &Sentence) -> f32 {
    let to = |other: Option<&Embedding>| Embedding::similarity(sentence.embedding.as_ref(), other);
    let sentences = proposal
        .sentences
        .iter()
        .map(|one| to(one.embedding.as_ref()));
    sentences.fold(to(proposal.embedding.as_ref()), f32::max)
}

fn marks(proposal: &ParsedProposal, sentence: &Sentence) -> f32 {
    let all = || {
        proposal
            .sentences
            .iter()
            .flat_map(|one| &one.words)
            .filter_map(|word| word.product)
    };
    let named = || sentence.words.iter().filter_map(|word| word.product);
    let product = match () {
        () if named().any(|one| all().any(|other| one == other)) => SAME_PRODUCT,
        () if named().any(|one| all().any(|other| one.is_alternative(other))) => ALTERNATIVE,
        () => 0.0,
    };
    let is_measured = proposal
        .sentences
        .iter()
        .any(|one| !one.breaks(sentence).is_empty());
    let measure = if is_measured { MEASURE } else { 0.0 };
    product + measure + if sentence.is_negated { NEGATION } else { 0.0 }
}
