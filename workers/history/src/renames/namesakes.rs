//! The second step: most renamed files only moved to another folder. If one deleted and one added
//! file have a name that no other file has, only these two are compared.

use std::collections::HashMap;

use super::super::HistoryError;
use super::super::similarity::{self, MAX_SCORE, MIN_SCORE};
use super::{Coverage, File, List, Pair, Search, score_of};

/// The threshold of pairs by name: halfway between the general threshold and the maximum.
const MIN_NAMESAKE_SCORE: u64 = MIN_SCORE + (MAX_SCORE - MIN_SCORE) / 2;

impl Search<'_> {
    pub(super) fn pair_namesakes(&mut self) -> Result<Coverage, HistoryError> {
        let mut pairs = Vec::new();
        for (from, to) in self.namesakes() {
            if !self.has_time()? {
                return Ok(Coverage::Cut);
            }
            match self.score_of_pair((from, to))? {
                None => return Ok(Coverage::Cut),
                Some(score) if score >= MIN_NAMESAKE_SCORE => pairs.push((from, to)),
                Some(_) => {}
            }
        }
        self.add_pairs(&pairs);
        Ok(Coverage::Complete)
    }

    /// Deleted files, in order, with the only added file of the same name.
    fn namesakes(&self) -> Vec<Pair> {
        let deleted = unique_names(&self.deleted, &self.deleted_left);
        let added = unique_names(&self.added, &self.added_left);
        let mut pairs: Vec<Pair> = deleted
            .into_iter()
            .filter_map(|(name, from)| Some((from?, (*added.get(name)?)?)))
            .collect();
        pairs.sort_unstable();
        pairs
    }

    /// `None` if the limit on read bytes is reached.
    fn score_of_pair(&mut self, (from, to): Pair) -> Result<Option<u64>, HistoryError> {
        let sizes = (self.size(List::Deleted, from)?, self.size(List::Added, to)?);
        if score_of(sizes, MIN_NAMESAKE_SCORE, || u64::from(u32::MAX)) == 0 {
            return Ok(Some(0));
        }
        let is_cut = self.fingerprint_file(List::Deleted, from)?.is_cut()
            || self.fingerprint_file(List::Added, to)?.is_cut();
        if is_cut {
            return Ok(None);
        }
        let fingerprints = self
            .fingerprint(List::Deleted, from)
            .zip(self.fingerprint(List::Added, to));
        let shared = || fingerprints.map_or(0, |(old, new)| similarity::shared(old, new));
        Ok(Some(score_of(sizes, MIN_NAMESAKE_SCORE, shared)))
    }
}

/// Each name with its file, or `None` if several files have it.
fn unique_names<'f>(files: &'f [File], left: &[usize]) -> HashMap<&'f [u8], Option<usize>> {
    let mut names = HashMap::with_capacity(left.len());
    for &at in left {
        if let Some(file) = files.get(at) {
            let only = names.entry(file.path.name()).or_insert(Some(at));
            if *only != Some(at) {
                *only = None;
            }
        }
    }
    names
}
