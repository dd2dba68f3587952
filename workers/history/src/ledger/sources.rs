//! Finds the sources of added files as `--follow` does: the rule of
//! [`History::file_source`](super::super::History) with all paths visible.
//!
//! A recorded source must hold under any path rules that show it, so it is recorded only if no
//! other file influences the choice:
//! - Identical files: the best one, the first by path among equals, stays the best and first of any
//!   subset that contains it, as long as the set is within the search limit.
//! - A deleted file that is similar is found no matter which other files are hidden, if at most
//!   three others are as similar, and all of those remain: it always gets one of the four slots.
//! - A similar file that remains is found if no similar file was deleted, and no other is as
//!   similar.
//! - If no file is similar among all files, none is among a subset.
//!
//! Any other case is left to each request.

use std::collections::HashSet;

use archway_repo::{Cancel, RepoError, RepoPath, Stopped};
use gix::ObjectId;

use super::super::changed_file::Status;
use super::super::file_source::{CANDIDATES, MAX_BYTES};
use super::super::similarity::{FingerprintTable, MAX_IDENTICAL, MIN_SCORE, score, sizes_allow};
use super::super::{HistoryError, Side};
use super::entry::{Entry, Source};
use super::object_cache::{FolderEntry, Listing, ObjectCache};

/// Larger parents are left to each request.
const MAX_FILES: usize = 50_000;
/// Commits that would need more comparisons are left to each request: this many take about a
/// second.
const MAX_PAIRS: usize = 4_000_000;

/// Finds the sources of files, commit by commit.
pub(super) struct SourceFinder<'g> {
    cache: ObjectCache<'g>,
    table: FingerprintTable,
}

/// A file that a commit added.
struct Target<'e> {
    path: &'e RepoPath,
    side: Side,
    blob: u32,
}

/// The files of the commit before.
struct ParentFiles {
    listing: Listing,
    /// Indexes of the deleted ones.
    gone: HashSet<usize>,
}

/// A file that is similar enough.
#[derive(Clone, Copy)]
struct SimilarFile {
    file: usize,
    rank: (u64, bool),
    is_gone: bool,
}

impl<'g> SourceFinder<'g> {
    pub(super) fn new(git: &'g gix::Repository) -> SourceFinder<'g> {
        SourceFinder {
            cache: ObjectCache::new(git),
            table: FingerprintTable::new(),
        }
    }

    /// Fills in the sources of `entries`, which are the files of a commit, against its only parent.
    ///
    /// # Errors
    /// If the build has to stop.
    pub(super) fn fill(
        &mut self,
        entries: &mut [Entry<RepoPath>],
        trees: (Option<ObjectId>, ObjectId),
        cancel: &Cancel,
    ) -> Result<(), Stopped> {
        self.cache.clear_if_large();
        let found = match trees {
            (None, _) => None,
            (Some(old), new) => match self.sources(entries, (old, new), cancel) {
                Ok(found) => Some(found),
                Err(HistoryError::Repo(RepoError::Stopped(stopped))) => return Err(stopped),
                Err(_lacking) => Some(None),
            },
        };
        let mut found = found.map(|found| found.unwrap_or_default().into_iter());
        for entry in entries.iter_mut().filter(|entry| entry.needs_source()) {
            entry.source = match &mut found {
                None => Source::New,
                Some(found) => found.next().unwrap_or(Source::Unknown),
            };
        }
        Ok(())
    }

    /// The sources of the entries that need one, in order. `None` if it exceeds a limit.
    fn sources(
        &mut self,
        entries: &[Entry<RepoPath>],
        (old, new): (ObjectId, ObjectId),
        cancel: &Cancel,
    ) -> Result<Option<Vec<Source<RepoPath>>>, HistoryError> {
        let missing: Vec<&Entry<RepoPath>> = entries
            .iter()
            .filter(|entry| entry.needs_source())
            .collect();
        let max_files = MAX_FILES.min(MAX_PAIRS / missing.len().max(1));
        let Some(listing) = self.cache.files(old, max_files, cancel)? else {
            return Ok(None);
        };
        let before = ParentFiles {
            gone: self.gone(&listing, entries),
            listing,
        };
        let mut sources = Vec::with_capacity(missing.len());
        for entry in missing {
            cancel.check()?;
            let source = match self.cache.file(new, &entry.path)? {
                Some((side, blob)) => {
                    let path = &entry.path;
                    self.source(&before, &Target { path, side, blob }, cancel)?
                }
                None => Source::Unknown,
            };
            sources.push(source);
        }
        Ok(Some(sources))
    }

    /// Indexes of the files in the listing that the commit deleted.
    fn gone(&self, listing: &Listing, entries: &[Entry<RepoPath>]) -> HashSet<usize> {
        let gone = |entry: &Entry<RepoPath>| match entry.status {
            Status::Deleted => Some(entry.path.clone()),
            Status::Renamed => entry.old_path.clone(),
            _ => None,
        };
        let paths: HashSet<RepoPath> = entries.iter().filter_map(gone).collect();
        let names: HashSet<&[u8]> = paths.iter().map(RepoPath::name).collect();
        let is_gone = |file: usize| listing.path(file).is_some_and(|path| paths.contains(&path));
        let items = listing.items();
        items
            .filter(|(_, item)| names.contains(&*item.name))
            .map(|(file, _)| file)
            .filter(|file| is_gone(*file))
            .collect()
    }

    fn source(
        &mut self,
        before: &ParentFiles,
        target: &Target<'_>,
        cancel: &Cancel,
    ) -> Result<Source<RepoPath>, HistoryError> {
        if let Some(found) = before.identical(target) {
            return Ok(found);
        }
        if !target.side.mode.is_blob() {
            return Ok(Source::New);
        }
        let size = self.cache.size(target.blob)?;
        if size > MAX_BYTES {
            return Ok(Source::New);
        }
        let pieces = self.cache.pieces(target.blob, cancel)?;
        self.table.load(&pieces);
        let similar = self.similar(before, target, size, cancel);
        self.table.clear(&pieces);
        let found = similar?.map(|similar| before.certain_source(&similar));
        Ok(found.unwrap_or(Source::Unknown))
    }

    /// All files that are similar to the loaded one. `None` if that takes too much memory.
    fn similar(
        &mut self,
        before: &ParentFiles,
        target: &Target<'_>,
        size: u64,
        cancel: &Cancel,
    ) -> Result<Option<Vec<SimilarFile>>, HistoryError> {
        let mut similar = Vec::new();
        for (file, item) in before.listing.items() {
            if !item.side.mode.is_blob() {
                continue;
            }
            let other = self.cache.size(item.blob)?;
            if other > MAX_BYTES || !sizes_allow(other, size, MIN_SCORE) {
                continue;
            }
            let pieces = self.cache.pieces(item.blob, cancel)?;
            let score = score(self.table.shared(&pieces), other, size);
            if score >= MIN_SCORE {
                similar.push(SimilarFile {
                    file,
                    rank: (score, *item.name == *target.path.name()),
                    is_gone: before.gone.contains(&file),
                });
            }
            if self.cache.is_full() {
                return Ok(None);
            }
        }
        Ok(Some(similar))
    }
}

impl ParentFiles {
    /// The best file of identical content, the first by path among equals. `None` without one.
    fn identical(&self, target: &Target<'_>) -> Option<Source<RepoPath>> {
        let fits = |item: &FolderEntry| {
            let (one, other) = (item.side.mode, target.side.mode);
            item.blob == target.blob && (one == other || (one.is_blob() && other.is_blob()))
        };
        let rank = |file: usize, item: &FolderEntry| {
            let has_name = *item.name == *target.path.name();
            u8::from(self.gone.contains(&file)) + u8::from(has_name)
        };
        let identical_files = self.listing.items().filter(|(_, item)| fits(item));
        let mut identical_files: Vec<(u8, usize)> = identical_files
            .map(|(file, item)| (rank(file, item), file))
            .collect();
        let best = identical_files.iter().map(|(rank, _)| *rank).max()?;
        if identical_files.len() > MAX_IDENTICAL {
            return Some(Source::Unknown);
        }
        identical_files.retain(|(rank, _)| *rank == best);
        let paths = identical_files
            .into_iter()
            .filter_map(|(_, file)| Some((self.listing.path(file)?, file)));
        let first = paths.min_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        first.map(|(path, file)| self.from(path, file))
    }

    /// The best of the similar files, if no other file influences the choice.
    fn certain_source(&self, similar: &[SimilarFile]) -> Source<RepoPath> {
        let gone = similar.iter().filter(|similar| similar.is_gone);
        let best = gone.max_by_key(|similar| similar.rank);
        let Some(found) = best.or_else(|| similar.iter().max_by_key(|similar| similar.rank)) else {
            return Source::New;
        };
        let others = similar.iter().filter(|other| other.file != found.file);
        let before: Vec<&SimilarFile> = others.filter(|other| other.rank >= found.rank).collect();
        let is_decided = match found.is_gone {
            true => before.len() < CANDIDATES && before.iter().all(|other| !other.is_gone),
            false => before.is_empty(),
        };
        match self.listing.path(found.file).filter(|_| is_decided) {
            Some(path) => self.from(path, found.file),
            None => Source::Unknown,
        }
    }

    fn from(&self, path: RepoPath, file: usize) -> Source<RepoPath> {
        match self.gone.contains(&file) {
            true => Source::Renamed(path),
            false => Source::Copied(path),
        }
    }
}

#[cfg(test)]
mod tests;
