//! Rename detection: pairs deleted and added files like `git diff -M`.
//!
//! Three steps, each among the files that the previous one left:
//! - Files of equal id.
//! - Files whose name (not folder) is unique among deleted and among added files, if three quarters
//!   are the same.
//! - Every deleted with every added file, best scores first, if half is the same.
//!
//! Where several pairings fit, the result depends on the steps and on the order of files: both lists
//! are in git's path order, and a tie goes to the first.
//!
//! Blocked paths are removed before: the counterpart of a blocked file stays added or deleted.

// In the order in which they run.
mod identical;
mod namesakes;
mod matrix;

use archway_repo::{Cancel, RepoPath};
use tokio::time::{Duration, Instant};

use super::blobs::Blobs;
use super::change::{Change, ChangeKind, Changes};
use super::similarity::{self, Fingerprint, Fingerprinter};
use super::trees::Difference;
use super::{HistoryError, Side};

/// Maximum number of deleted files that are compared with as many added ones, where names don't
/// help.
const MAX_CANDIDATES: usize = 1000;
/// Time limit of the comparison.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Size of all contents that are read, in bytes.
const MAX_CONTENT: u64 = 64 << 20;
/// The largest file whose content is read, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// A deleted file and an added one, by index, that form a rename.
type Pair = (usize, usize);

/// The change of each file, in any order; `found` is in git's order.
///
/// # Errors
/// If a file can't be read, or the call has to stop.
pub(super) fn pair(
    blobs: &Blobs<'_>,
    found: Vec<Difference>,
    cancel: &Cancel,
) -> Result<Changes, HistoryError> {
    let (mut files, mut deleted, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for difference in found {
        match (difference.old, difference.new) {
            (Some(old), None) => deleted.push(File::new(difference.path, old)),
            (None, Some(new)) => added.push(File::new(difference.path, new)),
            _ => files.extend(Change::plain(difference)),
        }
    }
    let mut search = Search::new(blobs, cancel, deleted, added);
    let renames_cut = search.run()?.is_cut();
    search.into_changes(&mut files);
    Ok(Changes { files, renames_cut })
}

/// Whether a step completed or hit a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coverage {
    Complete,
    Cut,
}

impl Coverage {
    fn is_cut(self) -> bool {
        self == Coverage::Cut
    }
}

/// A file that only one side has.
#[derive(Debug)]
struct File {
    path: RepoPath,
    side: Side,
    size: Option<u64>,
    fingerprint: Option<Fingerprint>,
}

impl File {
    fn new(path: RepoPath, side: Side) -> File {
        File {
            path,
            side,
            size: None,
            fingerprint: None,
        }
    }
}

/// The search for renames among the files of one diff.
struct Search<'a> {
    blobs: &'a Blobs<'a>,
    cancel: &'a Cancel,
    until: Instant,
    deleted: Vec<File>,
    added: Vec<File>,
    /// Indexes of files that are not paired yet, in order.
    deleted_left: Vec<usize>,
    added_left: Vec<usize>,
    pairs: Vec<Pair>,
    reader: FingerprintReader,
}

/// One of the two lists of files.
#[derive(Clone, Copy)]
enum List {
    Deleted,
    Added,
}

impl<'a> Search<'a> {
    fn new(
        blobs: &'a Blobs<'a>,
        cancel: &'a Cancel,
        deleted: Vec<File>,
        added: Vec<File>,
    ) -> Search<'a> {
        let now = Instant::now();
        // A late call needs most of its remaining time for the answer.
        let share = cancel.deadline.saturating_duration_since(now) / 4;
        Search {
            blobs,
            cancel,
            until: now + share.min(TIME_LIMIT),
            deleted_left: (0..deleted.len()).collect(),
            added_left: (0..added.len()).collect(),
            deleted,
            added,
            pairs: Vec::new(),
            reader: FingerprintReader::default(),
        }
    }

    fn run(&mut self) -> Result<Coverage, HistoryError> {
        self.pair_identical()?;
        let identical = self.pairs.len();
        if self.has_no_candidates() {
            return Ok(Coverage::Complete);
        }
        if self.pair_namesakes()?.is_cut() {
            self.pairs.truncate(identical);
            return Ok(Coverage::Cut);
        }
        if self.has_no_candidates() {
            return Ok(Coverage::Complete);
        }
        let compared = self
            .deleted_left
            .len()
            .saturating_mul(self.added_left.len());
        if compared > MAX_CANDIDATES * MAX_CANDIDATES {
            return Ok(Coverage::Cut);
        }
        let coverage = self.pair_similar()?;
        if coverage.is_cut() {
            self.pairs.truncate(identical);
        }
        Ok(coverage)
    }

    fn has_no_candidates(&self) -> bool {
        self.deleted_left.is_empty() || self.added_left.is_empty()
    }

    /// Adds pairs, and removes their files from the candidates.
    fn add_pairs(&mut self, pairs: &[Pair]) {
        self.pairs.extend_from_slice(pairs);
        let remove_paired = |left: &mut Vec<usize>, mut paired: Vec<usize>| {
            paired.sort_unstable();
            left.retain(|at| paired.binary_search(at).is_err());
        };
        remove_paired(
            &mut self.deleted_left,
            pairs.iter().map(|pair| pair.0).collect(),
        );
        remove_paired(
            &mut self.added_left,
            pairs.iter().map(|pair| pair.1).collect(),
        );
    }

    /// Whether time is left.
    fn has_time(&self) -> Result<bool, HistoryError> {
        self.cancel.check()?;
        Ok(Instant::now() < self.until)
    }

    /// The size of a file's content. `None` if it is never compared: links and submodules are not.
    fn size(&mut self, list: List, at: usize) -> Result<Option<u64>, HistoryError> {
        self.cancel.check()?;
        let blobs = self.blobs;
        let Some(file) = self.file(list, at).filter(|file| file.side.mode.is_blob()) else {
            return Ok(None);
        };
        let size = match file.size {
            Some(size) => size,
            None => *file.size.insert(blobs.size(file.side.id)?),
        };
        Ok((size <= MAX_FILE).then_some(size))
    }

    /// Computes a file's fingerprint, once. Cut if too much was read already.
    fn fingerprint_file(&mut self, list: List, at: usize) -> Result<Coverage, HistoryError> {
        let (blobs, cancel) = (self.blobs, self.cancel);
        let mut reader = std::mem::take(&mut self.reader);
        let coverage = match self
            .file(list, at)
            .filter(|file| file.fingerprint.is_none())
        {
            Some(file) => reader.fingerprint_file(blobs, file, cancel),
            None => Ok(Coverage::Complete),
        };
        self.reader = reader;
        coverage
    }

    fn fingerprint(&self, list: List, at: usize) -> Option<&Fingerprint> {
        let files = match list {
            List::Deleted => &self.deleted,
            List::Added => &self.added,
        };
        files.get(at)?.fingerprint.as_ref()
    }

    fn file(&mut self, list: List, at: usize) -> Option<&mut File> {
        match list {
            List::Deleted => self.deleted.get_mut(at),
            List::Added => self.added.get_mut(at),
        }
    }

    /// Turns pairs into renames, and all other files into additions and deletions.
    fn into_changes(self, files: &mut Vec<Change>) {
        let mut deleted: Vec<Option<File>> = self.deleted.into_iter().map(Some).collect();
        let mut added: Vec<Option<File>> = self.added.into_iter().map(Some).collect();
        for (from, to) in self.pairs {
            let from = deleted.get_mut(from).and_then(Option::take);
            let to = added.get_mut(to).and_then(Option::take);
            files.extend(from.zip(to).map(|(from, to)| renamed(from, to)));
        }
        let alone = |path, old, new| Change::plain(Difference { path, old, new });
        let deleted = deleted.into_iter().flatten();
        files.extend(deleted.filter_map(|file| alone(file.path, Some(file.side), None)));
        let added = added.into_iter().flatten();
        files.extend(added.filter_map(|file| alone(file.path, None, Some(file.side))));
    }
}

/// Reads contents, and counts the bytes.
#[derive(Default)]
struct FingerprintReader {
    fingerprinter: Option<Fingerprinter>,
    buffer: Vec<u8>,
    bytes_read: u64,
}

impl FingerprintReader {
    fn fingerprint_file(
        &mut self,
        blobs: &Blobs<'_>,
        file: &mut File,
        cancel: &Cancel,
    ) -> Result<Coverage, HistoryError> {
        self.bytes_read += file.size.unwrap_or_default();
        if self.bytes_read > MAX_CONTENT {
            return Ok(Coverage::Cut);
        }
        if blobs.read(file.side.id, &mut self.buffer)? {
            let fingerprinter = self.fingerprinter.get_or_insert_with(Fingerprinter::new);
            file.fingerprint = Some(fingerprinter.fingerprint(&self.buffer, cancel)?);
        }
        Ok(Coverage::Complete)
    }
}

fn renamed(from: File, to: File) -> Change {
    Change {
        path: to.path,
        kind: ChangeKind::Renamed(from.path),
        old: Some(from.side),
        new: Some(to.side),
    }
}

/// The score of two files, 0 if their sizes alone put it below `least`.
fn score_of(sizes: (Option<u64>, Option<u64>), least: u64, shared: impl FnOnce() -> u64) -> u64 {
    match sizes {
        (Some(a), Some(b)) if similarity::sizes_allow(a, b, least) => {
            similarity::score(shared(), a, b)
        }
        _ => 0,
    }
}
