//! Merges both lists of candidates, and boosts what was read recently.
//!
//! The scores of each list are scaled to 0 to 1 (min-max) and added, words once and vectors twice.
//! On code, this measured better than reciprocal ranks (see `benches/meaning`). Boosts multiply the
//! sum; if the best exceeds 1, all are divided by it.

use std::collections::HashMap;

use archway_store::Blob;
use uuid::Uuid;

use super::vector_store::{Candidates, ChunkLocation, Hit};

/// Weight of the vectors' list; the words' list has 1.
const VECTOR_WEIGHT: f32 = 2.0;
/// Least cosine of a match by vector alone.
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
    /// Score by words, scaled to 0 to 1 within the list.
    pub lexical: f32,
    /// Combined score, 0 to 1.
    pub(crate) fused: f32,
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

/// Merges both lists, best first. With `all`, every chunk that passed the filter counts, however
/// dissimilar; else it must share a word with the query or be near it.
pub(crate) fn fuse(candidates: Candidates, is_hybrid: bool, all: bool) -> Vec<Candidate> {
    let dense = candidates.dense.into_iter();
    let dense: Vec<Hit> = dense.filter(|hit| all || hit.score >= MIN_COSINE).collect();
    let (near, fitting) = (ScoreRange::of(&dense), ScoreRange::of(&candidates.sparse));
    let mut found: HashMap<(Uuid, Blob, u32), Candidate> = HashMap::new();
    for hit in dense {
        let fused = VECTOR_WEIGHT * near.scale(hit.score) / (1.0 + VECTOR_WEIGHT);
        let candidate = Candidate::of(&hit, Some(hit.score), 0.0, fused);
        found.insert(key(&hit), candidate);
    }
    for hit in candidates.sparse {
        let lexical = fitting.scale(hit.score);
        let share = if is_hybrid {
            lexical / (1.0 + VECTOR_WEIGHT)
        } else {
            lexical
        };
        let known = found.entry(key(&hit));
        let candidate = known.or_insert_with(|| Candidate::of(&hit, None, 0.0, 0.0));
        candidate.lexical = lexical;
        candidate.fused += share;
    }
    let mut found: Vec<Candidate> = found.into_values().collect();
    found.sort_unstable_by(|a, b| {
        let better = b.fused.total_cmp(&a.fused);
        better.then_with(|| a.identity().cmp(&b.identity()))
    });
    found
}

/// Sorts by score times boosts, and returns the scores scaled to 0 to 1.
pub fn rank<T>(found: Vec<(Candidate, Boosts, T)>) -> Vec<(f32, Candidate, Boosts, T)> {
    let product = |(candidate, boosts, what): (Candidate, Boosts, T)| {
        (candidate.fused * boosts.product(), candidate, boosts, what)
    };
    let mut ranked: Vec<_> = found.into_iter().map(product).collect();
    let best = ranked.iter().map(|ranked| ranked.0).fold(1.0, f32::max);
    // The sort is stable: ties keep the order of `fuse`.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (score, ..) in &mut ranked {
        *score /= best;
    }
    ranked
}

impl Candidate {
    fn of(hit: &Hit, semantic: Option<f32>, lexical: f32, fused: f32) -> Candidate {
        Candidate {
            project: hit.project,
            blob: hit.blob,
            position: hit.position,
            location: hit.location.clone(),
            semantic,
            lexical,
            fused,
        }
    }

    /// Breaks ties.
    fn identity(&self) -> (Uuid, Blob, u32) {
        (self.project, self.blob, self.position)
    }
}

fn key(hit: &Hit) -> (Uuid, Blob, u32) {
    (hit.project, hit.blob, hit.position)
}

/// The range of a list's scores.
struct ScoreRange {
    least: f32,
    most: f32,
}

impl ScoreRange {
    fn of(hits: &[Hit]) -> ScoreRange {
        let scores = || hits.iter().map(|hit| hit.score);
        ScoreRange {
            least: scores().fold(f32::INFINITY, f32::min),
            most: scores().fold(f32::NEG_INFINITY, f32::max),
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
    use super::*;
    use crate::chunk::Kind;

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
                lines: (1, 1),
            },
            score,
        }
    }

    fn fused(dense: &[(u32, f32)], sparse: &[(u32, f32)], all: bool) -> Vec<(u32, f32)> {
        let hits = |list: &[(u32, f32)]| list.iter().map(|(at, score)| hit(*at, *score)).collect();
        let candidates = Candidates {
            dense: hits(dense),
            sparse: hits(sparse),
            ..Candidates::default()
        };
        let found = fuse(candidates, true, all).into_iter();
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
        let found = fuse(candidates, false, false);
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
        let found = fuse(
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
