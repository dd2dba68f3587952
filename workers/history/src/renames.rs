//! Which deleted and added files are one file that was renamed, as `git diff -M` finds them.
//!
//! In three steps, each among what the one before left: files of the same id; files whose name
//! (not folder) only one deleted and one added file has, if three quarters are the same; then
//! every deleted with every added file, best scores first, if half is the same. The steps decide
//! what is found where several answers fit, and so does their order: deleted and added files come
//! in git's order of paths, and a tie goes to the first.
//!
//! A blocked path never comes here: its counterpart stays added or deleted.

// In the order in which they run.
mod identical;
mod namesakes;
mod matrix;

use archway_repo::{Cancel, RepoPath};
use tokio::time::{Duration, Instant};

use super::blobs::Blobs;
use super::change::{Change, ChangeKind, Changes};
use super::similarity::{self, Press, Print};
use super::trees::Difference;
use super::{HistoryError, Side};

/// How many deleted files are compared with as many added ones, where names don't help.
const MAX_CANDIDATES: usize = 1000;

/// How long files are compared at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many bytes of content are looked at, at most.
const MAX_CONTENT: u64 = 64 << 20;

/// The largest file whose content is looked at, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// A deleted file and an added one, by index, that are one.
type Pair = (usize, usize);

/// What became of each file, in any order; `found` is in git's order.
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
    search.finish(&mut files);
    Ok(Changes { files, renames_cut })
}

/// Whether a step saw all that it had to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Whole,
    Cut,
}

impl Step {
    fn is_cut(self) -> bool {
        self == Step::Cut
    }
}

/// A file that only one side has.
#[derive(Debug)]
struct File {
    path: RepoPath,
    side: Side,
    size: Option<u64>,
    print: Option<Print>,
}

impl File {
    fn new(path: RepoPath, side: Side) -> File {
        File {
            path,
            side,
            size: None,
            print: None,
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
    /// Indices of those that are not paired yet, in order.
    deleted_left: Vec<usize>,
    added_left: Vec<usize>,
    pairs: Vec<Pair>,
    reader: Reader,
}

/// Which of the two lists a file stands in.
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
        // What is found must still be told: a late call keeps most of its time for that.
        let share = cancel.deadline.saturating_duration_since(now) / 4;
        Search {
            blobs,
            cancel,
            until: now + share.min(PATIENCE),
            deleted_left: (0..deleted.len()).collect(),
            added_left: (0..added.len()).collect(),
            deleted,
            added,
            pairs: Vec::new(),
            reader: Reader::default(),
        }
    }

    fn run(&mut self) -> Result<Step, HistoryError> {
        self.pair_identical()?;
        let identical = self.pairs.len();
        if self.is_done() {
            return Ok(Step::Whole);
        }
        if self.pair_namesakes()?.is_cut() {
            self.pairs.truncate(identical);
            return Ok(Step::Cut);
        }
        if self.is_done() {
            return Ok(Step::Whole);
        }
        let compared = self
            .deleted_left
            .len()
            .saturating_mul(self.added_left.len());
        if compared > MAX_CANDIDATES * MAX_CANDIDATES {
            return Ok(Step::Cut);
        }
        let step = self.pair_similar()?;
        if step.is_cut() {
            self.pairs.truncate(identical);
        }
        Ok(step)
    }

    fn is_done(&self) -> bool {
        self.deleted_left.is_empty() || self.added_left.is_empty()
    }

    /// Adds pairs, which leave the files to choose from.
    fn keep(&mut self, pairs: &[Pair]) {
        self.pairs.extend_from_slice(pairs);
        let without = |left: &mut Vec<usize>, mut paired: Vec<usize>| {
            paired.sort_unstable();
            left.retain(|at| paired.binary_search(at).is_err());
        };
        without(
            &mut self.deleted_left,
            pairs.iter().map(|pair| pair.0).collect(),
        );
        without(
            &mut self.added_left,
            pairs.iter().map(|pair| pair.1).collect(),
        );
    }

    /// Whether there is time for more.
    fn has_time(&self) -> Result<bool, HistoryError> {
        self.cancel.check()?;
        Ok(Instant::now() < self.until)
    }

    /// The size of a file's content; `None` if it is never compared: links and submodules are not.
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

    /// Looks at a file's content, once; cut if too much was looked at already.
    fn look(&mut self, list: List, at: usize) -> Result<Step, HistoryError> {
        let (blobs, cancel) = (self.blobs, self.cancel);
        let mut reader = std::mem::take(&mut self.reader);
        let step = match self.file(list, at).filter(|file| file.print.is_none()) {
            Some(file) => reader.look(blobs, file, cancel),
            None => Ok(Step::Whole),
        };
        self.reader = reader;
        step
    }

    fn print(&self, list: List, at: usize) -> Option<&Print> {
        let files = match list {
            List::Deleted => &self.deleted,
            List::Added => &self.added,
        };
        files.get(at)?.print.as_ref()
    }

    fn file(&mut self, list: List, at: usize) -> Option<&mut File> {
        match list {
            List::Deleted => self.deleted.get_mut(at),
            List::Added => self.added.get_mut(at),
        }
    }

    /// Tells of every file what became of it.
    fn finish(self, files: &mut Vec<Change>) {
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

/// Reads contents, and counts what was read.
#[derive(Default)]
struct Reader {
    press: Option<Press>,
    buffer: Vec<u8>,
    bytes_read: u64,
}

impl Reader {
    fn look(
        &mut self,
        blobs: &Blobs<'_>,
        file: &mut File,
        cancel: &Cancel,
    ) -> Result<Step, HistoryError> {
        self.bytes_read += file.size.unwrap_or_default();
        if self.bytes_read > MAX_CONTENT {
            return Ok(Step::Cut);
        }
        if blobs.read(file.side.id, &mut self.buffer)? {
            let press = self.press.get_or_insert_with(Press::new);
            file.print = Some(press.print(&self.buffer, cancel)?);
        }
        Ok(Step::Whole)
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

/// How similar two files are, 0 if it is less than `least` by their sizes alone.
fn score_of(sizes: (Option<u64>, Option<u64>), least: u64, shared: impl FnOnce() -> u64) -> u64 {
    match sizes {
        (Some(a), Some(b)) if similarity::sizes_allow(a, b, least) => {
            similarity::score(shared(), a, b)
        }
        _ => 0,
    }
}
