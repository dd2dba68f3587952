//! The source of an added file: `git log --follow` searches all files of the commit before, not
//! only deleted ones.
//!
//! Identical files win over similar ones, deleted sources over remaining ones, and sources of the
//! same name over others. Blocked files are not considered. Files that are too large to compare are
//! found only by identical content.

use std::collections::HashSet;

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;

use super::similarity::{
    Fingerprint, Fingerprinter, MAX_IDENTICAL, MIN_SCORE, score, shared, sizes_allow,
};
use super::{History, HistoryError, Side, error::git, trees};

/// Number of most similar files to keep. Git's `NUM_CANDIDATE_PER_DST`.
pub(super) const CANDIDATES: usize = 4;
/// The largest file that is compared, in bytes.
pub(super) const MAX_BYTES: u64 = 32 << 20;
/// Maximum number of files in a searched tree: git's rename limit of 1,000, squared.
const MAX_FILES: usize = 1_000_000;

/// The source of an added file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileSource {
    pub(super) path: RepoPath,
    /// The source still exists.
    pub(super) is_copy: bool,
}

/// A file of the commit before.
struct Source {
    path: RepoPath,
    side: Side,
    still_exists: bool,
}

/// A file, with its similarity to the added one.
struct Candidate<'s> {
    source: &'s Source,
    score: u64,
    has_same_name: bool,
}

impl History {
    /// The source of the file `path`, which is `side` in the second tree and missing in the first.
    /// `None` if the file is new.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop.
    pub(super) fn file_source(
        &self,
        path: &RepoPath,
        side: Side,
        trees: (Option<ObjectId>, ObjectId),
        cancel: &Cancel,
    ) -> Result<Option<FileSource>, HistoryError> {
        let (Some(old), new) = trees else {
            return Ok(None);
        };
        let sources = self.sources(old, new, cancel)?;
        let found = match identical(&sources, path, side) {
            Some(found) => Some(found),
            None if side.mode.is_blob() && sources.len() <= MAX_FILES => {
                self.most_similar(&sources, path, side, cancel)?
            }
            None => None,
        };
        Ok(found.map(|source| FileSource {
            path: source.path.clone(),
            is_copy: source.still_exists,
        }))
    }

    fn sources(
        &self,
        old: ObjectId,
        new: ObjectId,
        cancel: &Cancel,
    ) -> Result<Vec<Source>, HistoryError> {
        let changed = trees::differences(&self.git, &self.rules, (Some(old), Some(new)), cancel)?;
        let gone = changed.into_iter().filter(|file| file.new.is_none());
        let gone: HashSet<RepoPath> = gone.map(|file| file.path).collect();
        let all = trees::differences(&self.git, &self.rules, (None, Some(old)), cancel)?;
        let source = |file: trees::Difference| {
            Some(Source {
                still_exists: !gone.contains(&file.path),
                path: file.path,
                side: file.new?,
            })
        };
        Ok(all.into_iter().filter_map(source).collect())
    }

    fn most_similar<'s>(
        &self,
        sources: &'s [Source],
        path: &RepoPath,
        side: Side,
        cancel: &Cancel,
    ) -> Result<Option<&'s Source>, HistoryError> {
        let size = self.size(side.id)?;
        if size > MAX_BYTES {
            return Ok(None);
        }
        let mut fingerprinter = Fingerprinter::new();
        let fingerprint = self.fingerprint(side.id, &mut fingerprinter, cancel)?;
        let mut best: Vec<Candidate<'s>> = Vec::new();
        for source in sources {
            cancel.check()?;
            let score = if self.is_comparable(source, size)? {
                let other = self.fingerprint(source.side.id, &mut fingerprinter, cancel)?;
                score(shared(&other, &fingerprint), other.size, fingerprint.size)
            } else {
                0
            };
            let has_same_name = source.path.name() == path.name();
            insert_if_better(
                &mut best,
                Candidate {
                    source,
                    score,
                    has_same_name,
                },
            );
        }
        // The sort is stable, as git's is.
        best.sort_by_key(|candidate| std::cmp::Reverse(candidate.rank()));
        let mut good = best.iter().filter(|candidate| candidate.score >= MIN_SCORE);
        let gone = good
            .clone()
            .find(|candidate| !candidate.source.still_exists);
        Ok(gone.or_else(|| good.next()).map(|found| found.source))
    }

    /// Whether a file's size allows similarity to one of `size` bytes, and a comparison.
    fn is_comparable(&self, source: &Source, size: u64) -> Result<bool, HistoryError> {
        if !source.side.mode.is_blob() {
            return Ok(false);
        }
        let other = self.size(source.side.id)?;
        Ok(other <= MAX_BYTES && sizes_allow(other, size, MIN_SCORE))
    }

    fn size(&self, id: ObjectId) -> Result<u64, HistoryError> {
        let header = self.git.find_header(id).map_err(git("reading a file"))?;
        Ok(header.size())
    }

    fn fingerprint(
        &self,
        id: ObjectId,
        fingerprinter: &mut Fingerprinter,
        cancel: &Cancel,
    ) -> Result<Fingerprint, HistoryError> {
        let blob = self.git.find_object(id).map_err(git("reading a file"))?;
        Ok(fingerprinter.fingerprint(&blob.data, cancel)?)
    }
}

impl Candidate<'_> {
    fn rank(&self) -> (u64, bool) {
        (self.score, self.has_same_name)
    }
}

/// Keeps the most similar files in slots that break ties as git does: a better file replaces the
/// worst.
fn insert_if_better<'s>(best: &mut Vec<Candidate<'s>>, candidate: Candidate<'s>) {
    if best.len() < CANDIDATES {
        best.push(candidate);
        return;
    }
    let mut worst: Option<&mut Candidate<'s>> = None;
    for slot in best {
        if worst
            .as_ref()
            .is_none_or(|worst| slot.rank() < worst.rank())
        {
            worst = Some(slot);
        }
    }
    if let Some(worst) = worst
        && worst.rank() < candidate.rank()
    {
        *worst = candidate;
    }
}

/// The best source of identical content; among equals the first.
fn identical<'s>(sources: &'s [Source], path: &RepoPath, side: Side) -> Option<&'s Source> {
    let fits = |source: &&Source| {
        source.side.id == side.id
            && (source.side.mode == side.mode
                || (source.side.mode.is_blob() && side.mode.is_blob()))
    };
    let rank = |source: &Source| {
        u8::from(!source.still_exists) + u8::from(source.path.name() == path.name())
    };
    let mut best: Option<&Source> = None;
    for source in sources.iter().filter(fits).take(MAX_IDENTICAL) {
        if best.is_none_or(|best| rank(source) > rank(best)) {
            best = Some(source);
        }
    }
    best
}
