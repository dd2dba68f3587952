//! Merges the lists of candidates, and boosts what was read recently.
//!
//! Each text of a query gives a list by vectors and one by words. Code, and tests with documents, are
//! separate lists of both: otherwise these, which repeat the words of a query, leave no place to code.
//! The scores of each list are scaled to 0 to 1 (min-max) and added by weights. On code, this measured
//! better than reciprocal ranks (see `benches/meaning`). Factors multiply the sum; the best other chunks of
//! the same text add to it; boosts multiply the result. If the best exceeds 1, all are divided by it.

mod factor;
mod spread;

use std::collections::HashMap;

use archway_store::Blob;
use uuid::Uuid;

use super::reading::{Place, QueryKind, Reading};
use super::role::Role;
use super::vector_store::{Candidates, ChunkLocation, Hit};
pub use factor::{WEIGHTS, Weights};
pub use spread::spread;

/// Candidates of each list that count.
const LIST: usize = 100;
/// Other chunks of the same text that add to a chunk's score.
const OTHERS: usize = 3;
/// Least cosine that counts, unless every chunk does ([`Fusion::all`]).
const MIN_COSINE: f32 = 0.2;
/// Boost of documents that the caller read within a day.
const RECENCY_BOOST: f32 = 1.5;
/// Boost of documents in a module of which the caller read one.
const MODULE_BOOST: f32 = 1.3;
/// Highest additional boost of documents read often within a week,
const FREQUENCY_BOOST: f32 = 0.2;
/// reached with this many reads.
const FREQUENT_READS: f32 = 20.0;

/// A chunk that matches a query, before boosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its project.
    pub project: Uuid,
    /// Its blob.
    pub blob: Blob,
    /// Its index among the blob's chunks, from 0.
    pub position: u32,
    /// Where it is, and its name.
    pub location: ChunkLocation,
    /// Cosine of its vector and the query's; `None` if only words matched.
    pub semantic: Option<f32>,
    /// Score by words, scaled to 0 to 1 within the list: also 0 for the least of those with a word of the query.
    pub lexical: f32,
    /// Whether it has a word of the query.
    pub has_word: bool,
    /// Combined score, from 0; about 1 at most.
    pub fused: f32,
}

/// Recent reads of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reads {
    /// The caller read it within 24 hours.
    pub is_recent: bool,
    /// The caller recently read another document of its module.
    pub is_near: bool,
    /// Number of reads within 7 days, one per reader and day.
    pub times: u32,
}

/// The factors of a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boosts {
    /// For a document that the caller read within a day.
    pub recency: f32,
    /// For a document in a module of which the caller read one.
    pub module: f32,
    /// For a document that is read often.
    pub frequency: f32,
}

impl Boosts {
    /// The factors for these reads.
    pub fn of(reads: Reads) -> Boosts {
        #[expect(clippy::cast_precision_loss, reason = "capped at 20")]
        let often = (reads.times as f32 / FREQUENT_READS).min(1.0);
        Boosts {
            recency: if reads.is_recent { RECENCY_BOOST } else { 1.0 },
            module: if reads.is_near { MODULE_BOOST } else { 1.0 },
            frequency: 1.0 + FREQUENCY_BOOST * often,
        }
    }

    pub(crate) fn product(self) -> f32 {
        self.recency * self.module * self.frequency
    }
}

/// How the lists of a query are merged.
pub struct Fusion<'a> {
    /// The query.
    pub reading: &'a Reading,
    /// Its weights.
    pub weights: &'a Weights,
    /// Whether there are lists by vectors.
    pub is_hybrid: bool,
    /// Whether every chunk that passed the filter counts, however dissimilar; else it must share a
    /// word with the query or be near it.
    pub all: bool,
}

impl Fusion<'_> {
    /// Merges the lists of the query's texts, best first. `place` tells what the documents of a hit say
    /// about it.
    pub fn merge(
        &self,
        asked: Vec<(f32, Candidates)>,
        place: impl Fn(&Hit) -> Place,
    ) -> Vec<Candidate> {
        let mut found: HashMap<ChunkId, (Candidate, Place)> = HashMap::new();
        let total: f32 = asked.iter().map(|(weight, _)| weight).sum();
        let vectors = match self.reading.kind {
            QueryKind::Identifier => self.weights.vectors[0],
            QueryKind::Question => self.weights.vectors[1],
            QueryKind::Error => self.weights.vectors[2],
            QueryKind::Sentence => self.weights.vectors[3],
        };
        let vectors = if self.is_hybrid { vectors } else { 0.0 };
        for (weight, candidates) in asked {
            let unit = weight / total / (1.0 + vectors);
            let mut dense = candidates.dense;
            dense.retain(|hit| self.all || hit.score >= MIN_COSINE);
            for (hits, share, is_dense) in [
                (dense, vectors * unit, true),
                (candidates.sparse, unit, false),
            ] {
                let placed = hits.into_iter().map(|hit| {
                    let mut place = place(&hit);
                    if factor::is_in_tests(&hit.location) {
                        place.role = Role::Test;
                    }
                    (place, hit)
                });
                let (code, rest): (Vec<_>, Vec<_>) =
                    placed.partition(|(place, _)| place.role == Role::Code);
                for list in [code, rest] {
                    add(&mut found, list, share, is_dense);
                }
            }
        }
        let factored = found.into_values().map(|(mut candidate, place)| {
            candidate.fused *= factor::of(self.weights, self.reading, &candidate.location, place);
            candidate
        });
        let mut found: Vec<Candidate> = factored.collect();
        add_others(&mut found, self.weights.others);
        found.sort_unstable_by(|a, b| {
            let better = b.fused.total_cmp(&a.fused);
            better.then_with(|| a.identity().cmp(&b.identity()))
        });
        found
    }
}

/// Adds the shares of the hits of one list.
fn add(
    found: &mut HashMap<ChunkId, (Candidate, Place)>,
    mut list: Vec<(Place, Hit)>,
    share: f32,
    is_dense: bool,
) {
    list.truncate(LIST);
    let range = ScoreRange::of(list.iter().map(|(_, hit)| hit.score));
    for (place, hit) in list {
        let scaled = range.scale(hit.score);
        let known = found.entry(key(&hit));
        let (candidate, _) = known.or_insert_with(|| (Candidate::of(&hit), place));
        candidate.fused += share * scaled;
        if is_dense {
            let most = candidate.semantic.unwrap_or(f32::NEG_INFINITY);
            candidate.semantic = Some(most.max(hit.score));
        } else {
            candidate.lexical = candidate.lexical.max(scaled);
            candidate.has_word = true;
        }
    }
}

/// Adds to each score the share `weight` of those of the text's three best other chunks: a text with several
/// matches is more likely the right one.
fn add_others(found: &mut [Candidate], weight: f32) {
    let mut texts: HashMap<(Uuid, Blob), Vec<f32>> = HashMap::new();
    for candidate in &*found {
        let scores = texts.entry((candidate.project, candidate.blob));
        scores.or_default().push(candidate.fused);
    }
    for scores in texts.values_mut() {
        scores.sort_unstable_by(|a, b| b.total_cmp(a));
        scores.truncate(OTHERS + 1);
    }
    for candidate in found {
        let best = texts.get(&(candidate.project, candidate.blob));
        let best = best.map_or(&[][..], Vec::as_slice);
        // If the chunk is not among the best, the fourth is left out in its place.
        let least = best.last().copied().unwrap_or_default();
        let others = best.iter().sum::<f32>() - candidate.fused.max(least);
        candidate.fused += weight * others;
    }
}

/// Sorts by score times boosts, and returns the scores scaled to 0 to 1.
pub fn rank<T>(found: Vec<(Candidate, Boosts, T)>) -> Vec<(f32, Candidate, Boosts, T)> {
    let product = |(candidate, boosts, what): (Candidate, Boosts, T)| {
        (candidate.fused * boosts.product(), candidate, boosts, what)
    };
    let mut ranked: Vec<_> = found.into_iter().map(product).collect();
    let best = ranked.iter().map(|ranked| ranked.0).fold(1.0, f32::max);
    // The sort is stable: ties keep the order of `merge`.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (score, ..) in &mut ranked {
        *score /= best;
    }
    ranked
}

impl Candidate {
    fn of(hit: &Hit) -> Candidate {
        Candidate {
            project: hit.project,
            blob: hit.blob,
            position: hit.position,
            location: hit.location.clone(),
            semantic: None,
            lexical: 0.0,
            has_word: false,
            fused: 0.0,
        }
    }

    /// Breaks ties.
    fn identity(&self) -> ChunkId {
        (self.project, self.blob, self.position)
    }
}

/// Project, blob and position of a chunk.
type ChunkId = (Uuid, Blob, u32);

fn key(hit: &Hit) -> ChunkId {
    (hit.project, hit.blob, hit.position)
}

/// The range of a list's scores.
struct ScoreRange {
    least: f32,
    most: f32,
}

impl ScoreRange {
    fn of(scores: impl Iterator<Item = f32> + Clone) -> ScoreRange {
        ScoreRange {
            least: scores.clone().fold(f32::INFINITY, f32::min),
            most: scores.fold(f32::NEG_INFINITY, f32::max),
        }
    }

    /// The score scaled to 0 to 1; 1 if all are equal.
    fn scale(&self, score: f32) -> f32 {
        match self.most - self.least {
            span if span > 0.0 => (score - self.least) / span,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunk::Kind;
    use super::*;

    /// Not the fitted ones, which may change.
    const TWO_TO_ONE: Weights = Weights {
        vectors: [1.0, 1.0, 1.0, 2.0],
        secondary: 0.7,
        function: 1.0,
        length: 0.0,
        others: 0.0,
        ..WEIGHTS
    };

    fn hit(position: u32, score: f32) -> Hit {
        Hit {
            project: Uuid::nil(),
            blob: [0; 20],
            position,
            location: ChunkLocation {
                kind: Kind::Function,
                symbol: None,
                parent: None,
                bytes: (0, 1),
                lines: (1, 9),
                declaration: None,
            },
            score,
        }
    }

    /// Merges the lists of one sentence; texts at positions above 100 are tests.
    fn merge(candidates: Candidates, is_hybrid: bool, all: bool) -> Vec<Candidate> {
        let fusion = Fusion {
            reading: &Reading::of("a plain sentence"),
            weights: &TWO_TO_ONE,
            is_hybrid,
            all,
        };
        fusion.merge(vec![(1.0, candidates)], |hit| Place {
            role: if hit.position > 100 {
                Role::Test
            } else {
                Role::Code
            },
            is_named: false,
        })
    }

    fn fused(dense: &[(u32, f32)], sparse: &[(u32, f32)], all: bool) -> Vec<(u32, f32)> {
        let hits = |list: &[(u32, f32)]| list.iter().map(|(at, score)| hit(*at, *score)).collect();
        let candidates = Candidates {
            dense: hits(dense),
            sparse: hits(sparse),
            ..Candidates::default()
        };
        let found = merge(candidates, true, all).into_iter();
        found.map(|found| (found.position, found.fused)).collect()
    }

    #[test]
    fn vectors_count_twice_as_much_as_words() {
        let found = fused(
            &[(1, 0.9), (2, 0.5), (3, 0.4)],
            &[(2, 8.0), (1, 2.0)],
            false,
        );
        let expected = [(1, 2.0 / 3.0), (2, (2.0 * 0.2 + 1.0) / 3.0), (3, 0.0)];
        for ((position, score), (at, expected)) in found.into_iter().zip(expected) {
            assert_eq!(position, at);
            assert!((score - expected).abs() < 1e-6, "{at}: {score}, {expected}");
        }
    }

    #[test]
    fn tests_are_a_list_of_their_own_below_code() {
        // In one list with the test, the code would have 0.
        let found = fused(&[(101, 0.9), (1, 0.5), (2, 0.4)], &[], false);
        let expected: [(u32, f32); 3] = [(101, 0.7 * 2.0 / 3.0), (1, 2.0 / 3.0), (2, 0.0)];
        let mut by_position = expected;
        by_position.sort_by(|a, b| b.1.total_cmp(&a.1));
        assert_eq!(found.len(), 3);
        for ((position, score), (at, expected)) in found.into_iter().zip(by_position) {
            assert_eq!(position, at);
            assert!((score - expected).abs() < 1e-6, "{at}: {score}, {expected}");
        }
    }

    #[test]
    fn a_texts_three_best_other_chunks_add_to_its_score() {
        let hits = [(0, 0.9), (1, 0.8), (2, 0.7), (3, 0.6), (4, 0.3)];
        let hits = hits.iter().map(|(at, score)| hit(*at, *score));
        let mut found: Vec<Candidate> = hits
            .map(|hit| Candidate {
                fused: hit.score,
                ..Candidate::of(&hit)
            })
            .collect();
        let mut other = hit(5, 0.5);
        other.blob = [1; 20];
        found.push(Candidate {
            fused: other.score,
            ..Candidate::of(&other)
        });
        add_others(&mut found, 0.1);
        let expected = [
            0.9 + 0.21,
            0.8 + 0.22,
            0.7 + 0.23,
            0.6 + 0.24,
            0.3 + 0.24,
            0.5,
        ];
        for (candidate, expected) in found.iter().zip(expected) {
            let score = candidate.fused;
            assert!((score - expected).abs() < 1e-6, "{score}, {expected}");
        }
    }

    #[test]
    fn a_dissimilar_chunk_without_shared_words_needs_a_filter() {
        assert_eq!(fused(&[(1, 0.9), (2, 0.19)], &[], false).len(), 1);
        assert_eq!(fused(&[(1, 0.9), (2, 0.19)], &[], true).len(), 2);
    }

    #[test]
    fn without_vectors_words_make_up_the_whole_score() {
        let candidates = Candidates {
            dense: Vec::new(),
            sparse: vec![hit(1, 5.0), hit(2, 1.0)],
            ..Candidates::default()
        };
        let found = merge(candidates, false, false);
        assert!((found[0].fused - 1.0).abs() < 1e-6);
        assert_eq!(found[0].semantic, None);
    }

    #[test]
    fn recent_reads_come_first_and_no_score_exceeds_1() {
        let reads = |times| Reads {
            is_recent: true,
            is_near: true,
            times,
        };
        assert!((Boosts::of(reads(40)).product() - 1.5 * 1.3 * 1.2).abs() < 1e-6);
        assert!((Boosts::of(reads(10)).frequency - 1.1).abs() < 1e-6);
        let found = merge(
            Candidates {
                dense: vec![hit(1, 0.9), hit(2, 0.89), hit(3, 0.2)],
                sparse: Vec::new(),
                ..Candidates::default()
            },
            true,
            false,
        );
        let weighed = found.into_iter().map(|found| {
            let reads = if found.position == 2 {
                reads(0)
            } else {
                Reads::default()
            };
            (found, Boosts::of(reads), ())
        });
        let ranked = rank(weighed.collect());
        let order: Vec<u32> = ranked.iter().map(|ranked| ranked.1.position).collect();
        assert_eq!(order, [2, 1, 3]);
        assert!(ranked.iter().all(|ranked| (0.0..=1.0).contains(&ranked.0)));
    }
}
