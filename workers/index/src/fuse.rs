//! Two lists of candidates made one, and what the caller did lately weighed in.
//!
//! Scores of a list are spread from 0 to 1 (min-max) and added, words once and vectors twice:
//! measured better than reciprocal ranks on code (see `benches/meaning`). The factors of what was
//! read lately multiply the sum; if that brings the best above 1, all are divided by it.

use std::collections::HashMap;

use archway_store::Blob;
use uuid::Uuid;

use super::vector_store::{Candidates, Hit, Place};

/// What the vectors' list counts, where the words' counts 1.
const DENSE: f32 = 2.0;
/// From which cosine on a text is taken to be about the same.
const LEAST_COSINE: f32 = 0.2;
/// What was read within a day counts so much more.
const RECENT: f32 = 1.5;
/// And what is in a module of which something was.
const SAME_MODULE: f32 = 1.3;
/// What is read much within a week counts at most so much more again,
const FREQUENT: f32 = 0.2;
/// which it does from so many reads on.
const OFTEN: f32 = 20.0;

/// A chunk that answers the query, before anyone asks who read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The project.
    pub project: Uuid,
    /// The text that it is of.
    pub blob: Blob,
    /// Which of the text's chunks, from 0.
    pub position: u32,
    /// Where in the text it is, and what it is called.
    pub place: Place,
    /// The cosine of the query's vector and its own; `None` where words alone found it.
    pub semantic: Option<f32>,
    /// From 0 to 1: how well its words fit, among those that were found.
    pub lexical: f32,
    /// From 0 to 1: both together.
    pub(crate) fused: f32,
}

/// What the caller, and others, did with a document lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reads {
    /// The caller read it within 24 hours.
    pub is_recent: bool,
    /// It is in a module of what the caller read lately.
    pub is_near: bool,
    /// How often it was read within 7 days, each reader counted once a day.
    pub times: u32,
}

/// What a score is multiplied with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boosts {
    /// For a document that the caller read within a day.
    pub recency: f32,
    /// For a document near one that the caller read.
    pub module: f32,
    /// For a document that is read often.
    pub frequency: f32,
}

impl Boosts {
    /// The factors of these reads.
    pub fn of(reads: Reads) -> Boosts {
        #[expect(
            clippy::cast_precision_loss,
            reason = "twenty of them are as good as all"
        )]
        let often = (reads.times as f32 / OFTEN).min(1.0);
        Boosts {
            recency: if reads.is_recent { RECENT } else { 1.0 },
            module: if reads.is_near { SAME_MODULE } else { 1.0 },
            frequency: 1.0 + FREQUENT * often,
        }
    }

    pub(crate) fn product(self) -> f32 {
        self.recency * self.module * self.frequency
    }
}

/// Both lists as one, best first. With `all`, what the filter let pass counts however far it is;
/// else a chunk must share a word with the query, or be near it.
pub(crate) fn fuse(candidates: Candidates, is_hybrid: bool, all: bool) -> Vec<Candidate> {
    let dense = candidates.dense.into_iter();
    let dense: Vec<Hit> = dense
        .filter(|hit| all || hit.score >= LEAST_COSINE)
        .collect();
    let (near, fitting) = (Spread::of(&dense), Spread::of(&candidates.sparse));
    let mut found: HashMap<(Uuid, Blob, u32), Candidate> = HashMap::new();
    for hit in dense {
        let fused = DENSE * near.at(hit.score) / (1.0 + DENSE);
        let candidate = Candidate::of(&hit, Some(hit.score), 0.0, fused);
        found.insert(key(&hit), candidate);
    }
    for hit in candidates.sparse {
        let lexical = fitting.at(hit.score);
        let share = if is_hybrid {
            lexical / (1.0 + DENSE)
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
        better.then_with(|| a.stand().cmp(&b.stand()))
    });
    found
}

/// Puts them in the order of score times boosts, and gives each its score, from 0 to 1.
pub fn rank<T>(found: Vec<(Candidate, Boosts, T)>) -> Vec<(f32, Candidate, Boosts, T)> {
    let product = |(candidate, boosts, what): (Candidate, Boosts, T)| {
        (candidate.fused * boosts.product(), candidate, boosts, what)
    };
    let mut ranked: Vec<_> = found.into_iter().map(product).collect();
    let best = ranked.iter().map(|ranked| ranked.0).fold(1.0, f32::max);
    // Stable: equals stay in the order of the index.
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
            place: hit.place.clone(),
            semantic,
            lexical,
            fused,
        }
    }

    /// Where it stands among those that are as good.
    fn stand(&self) -> (Uuid, Blob, u32) {
        (self.project, self.blob, self.position)
    }
}

fn key(hit: &Hit) -> (Uuid, Blob, u32) {
    (hit.project, hit.blob, hit.position)
}

/// Where a score lies between the least and the most of its list.
struct Spread {
    least: f32,
    most: f32,
}

impl Spread {
    fn of(hits: &[Hit]) -> Spread {
        let scores = || hits.iter().map(|hit| hit.score);
        Spread {
            least: scores().fold(f32::INFINITY, f32::min),
            most: scores().fold(f32::NEG_INFINITY, f32::max),
        }
    }

    /// From 0 to 1; where all are equal, 1.
    fn at(&self, score: f32) -> f32 {
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
            place: Place {
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
        };
        let found = fuse(candidates, true, all).into_iter();
        found.map(|found| (found.position, found.fused)).collect()
    }

    #[test]
    fn vectors_count_twice_what_words_do() {
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
    fn what_is_far_and_shares_no_word_counts_only_where_a_filter_let_it_pass() {
        assert_eq!(fused(&[(1, 0.9), (2, 0.19)], &[], false).len(), 1);
        assert_eq!(fused(&[(1, 0.9), (2, 0.19)], &[], true).len(), 2);
    }

    #[test]
    fn words_alone_make_the_whole_score_where_there_are_no_vectors() {
        let candidates = Candidates {
            dense: Vec::new(),
            sparse: vec![hit(1, 5.0), hit(2, 1.0)],
        };
        let found = fuse(candidates, false, false);
        assert!((found[0].fused - 1.0).abs() < 1e-6);
        assert_eq!(found[0].semantic, None);
    }

    #[test]
    fn what_was_read_lately_comes_before_what_fits_as_well_and_no_score_passes_1() {
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
