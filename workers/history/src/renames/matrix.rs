//! The last step: every deleted file against every added one.
//!
//! Each added file keeps its four best candidates. Of all candidates the best pair is chosen, then
//! the next best of files that are still free. The bytes that an added file shares with all deleted
//! ones are counted in one pass over an index from pieces to deleted files: most files share
//! nothing but a brace.

use super::super::HistoryError;
use super::super::similarity::{self, Fingerprint, MIN_SCORE};
use super::{Coverage, List, Pair, Search, score_of};

/// Number of candidates that an added file keeps.
const CANDIDATES_PER_FILE: usize = 4;

/// A possible rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    score: u64,
    has_same_name: bool,
    pair: Pair,
}

impl Candidate {
    /// The order of preference: the score, then the name.
    fn rank(&self) -> (u64, bool) {
        (self.score, self.has_same_name)
    }
}

/// A piece of a deleted file.
#[derive(Clone, Copy, Debug)]
struct Posting {
    piece: u32,
    /// The file's index among the unpaired files.
    index: u32,
    bytes: u32,
}

impl Search<'_> {
    pub(super) fn pair_similar(&mut self) -> Result<Coverage, HistoryError> {
        let sizes = (self.sizes(List::Deleted)?, self.sizes(List::Added)?);
        if self
            .fingerprint_all(List::Deleted, &sizes.0, &sizes.1)?
            .is_cut()
            || self
                .fingerprint_all(List::Added, &sizes.1, &sizes.0)?
                .is_cut()
        {
            return Ok(Coverage::Cut);
        }
        let postings = self.postings();
        let mut shared = vec![0; self.deleted_left.len()];
        let mut candidates = Vec::new();
        for (&to, &size) in self.added_left.iter().zip(&sizes.1) {
            if !self.has_time()? {
                return Ok(Coverage::Cut);
            }
            shared.fill(0);
            if let Some(fingerprint) = self.fingerprint(List::Added, to) {
                count_shared(fingerprint, &postings, &mut shared);
            }
            candidates.extend(self.best_candidates(to, size, &sizes.0, &shared));
        }
        // A stable sort: ties stay in the order of the added files.
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.rank()));
        let pairs = choose(&candidates);
        self.add_pairs(&pairs);
        Ok(Coverage::Complete)
    }

    fn sizes(&mut self, list: List) -> Result<Vec<Option<u64>>, HistoryError> {
        let left = self.left(list).clone();
        left.iter().map(|&at| self.size(list, at)).collect()
    }

    fn left(&self, list: List) -> &Vec<usize> {
        match list {
            List::Deleted => &self.deleted_left,
            List::Added => &self.added_left,
        }
    }

    /// Computes fingerprints of files, unless their size rules out every file of the other list.
    fn fingerprint_all(
        &mut self,
        list: List,
        sizes: &[Option<u64>],
        others: &[Option<u64>],
    ) -> Result<Coverage, HistoryError> {
        let mut others: Vec<u64> = others.iter().copied().flatten().collect();
        others.sort_unstable();
        let left = self.left(list).clone();
        for (at, size) in left.into_iter().zip(sizes) {
            let is_ruled_out = size.is_none_or(|size| {
                let first = others.partition_point(|&other| other < size.div_ceil(2));
                let near = others.get(first).copied();
                !near.is_some_and(|other| similarity::sizes_allow(size, other, MIN_SCORE))
            });
            if is_ruled_out {
                continue;
            }
            if !self.has_time()? || self.fingerprint_file(list, at)?.is_cut() {
                return Ok(Coverage::Cut);
            }
        }
        Ok(Coverage::Complete)
    }

    fn postings(&self) -> Vec<Posting> {
        let mut postings = Vec::new();
        for (index, &at) in (0..).zip(&self.deleted_left) {
            let pieces = self
                .fingerprint(List::Deleted, at)
                .map(|fingerprint| fingerprint.pieces.iter());
            postings.extend(pieces.into_iter().flatten().map(|&(piece, bytes)| Posting {
                piece,
                index,
                bytes,
            }));
        }
        postings.sort_unstable_by_key(|posting| posting.piece);
        postings
    }

    /// The four deleted files that are most similar to an added one.
    fn best_candidates(
        &self,
        to: usize,
        size: Option<u64>,
        sizes: &[Option<u64>],
        shared: &[u64],
    ) -> impl Iterator<Item = Candidate> + use<> {
        let mut best: [Option<Candidate>; CANDIDATES_PER_FILE] = [None; CANDIDATES_PER_FILE];
        let name = self.added.get(to).map(|file| file.path.name());
        let files = self.deleted_left.iter().zip(sizes).zip(shared);
        for ((&from, &from_size), &shared) in files {
            let candidate = Candidate {
                score: score_of((from_size, size), MIN_SCORE, || shared),
                has_same_name: name == self.deleted.get(from).map(|file| file.path.name()),
                pair: (from, to),
            };
            // The first of the worst is replaced, even by a file below the threshold: the slots
            // that result decide ties, as in git.
            let worst = best
                .iter_mut()
                .min_by_key(|best| best.map(|best| best.rank()));
            if let Some(worst) = worst.filter(|w| w.is_none_or(|w| w.rank() < candidate.rank())) {
                *worst = Some(candidate);
            }
        }
        let is_rename = |candidate: &Candidate| candidate.score >= MIN_SCORE;
        best.into_iter().flatten().filter(is_rename)
    }
}

/// Adds up the bytes that each deleted file shares with the fingerprinted one.
fn count_shared(fingerprint: &Fingerprint, postings: &[Posting], shared: &mut [u64]) {
    let mut rest = postings;
    for &(piece, bytes) in &fingerprint.pieces {
        let start = rest.partition_point(|posting| posting.piece < piece);
        rest = rest.get(start..).unwrap_or_default();
        for posting in rest.iter().take_while(|posting| posting.piece == piece) {
            let index = usize::try_from(posting.index).unwrap_or(usize::MAX);
            if let Some(shared) = shared.get_mut(index) {
                *shared += u64::from(bytes.min(posting.bytes));
            }
        }
    }
}

/// The best pairs in which no file occurs twice.
fn choose(candidates: &[Candidate]) -> Vec<Pair> {
    let mut taken = (
        std::collections::HashSet::new(),
        std::collections::HashSet::new(),
    );
    let mut pairs = Vec::new();
    for Candidate { pair, .. } in candidates {
        if !taken.0.contains(&pair.0) && !taken.1.contains(&pair.1) {
            taken.0.insert(pair.0);
            taken.1.insert(pair.1);
            pairs.push(*pair);
        }
    }
    pairs
}
