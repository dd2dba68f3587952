//! The encoding of a changed file in a ledger.
//!
//! The first word has the path's number and the status. A second word has the old path of a rename.
//! A last word has the source that `--follow` would find, if it was searched.

use super::super::changed_file::Status;

/// Bits of the first word that hold the status; the others hold the path's number.
const STATUS_BITS: u32 = 4;
/// The status bit that says that a source word follows.
const HAS_SOURCE: u32 = 1 << (STATUS_BITS - 1);
/// Bits of the source word that hold its kind; the others hold a path's number.
const SOURCE_BITS: u32 = 2;
/// Maximum number of paths.
pub(super) const MAX_PATHS: usize = 1 << (32 - STATUS_BITS);
/// The only word of a commit whose files are unknown.
pub(super) const UNKNOWN: u32 = 0;

/// A commit's change of a file. `P` is a path's number inside a ledger, its name outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<P> {
    pub(super) path: P,
    /// The old path of a rename, by `-M`.
    pub(super) old_path: Option<P>,
    pub(super) status: Status,
    pub(super) source: Source<P>,
}

/// The source that `--follow` finds for an added or renamed file, if all files of the commit before
/// are visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source<P> {
    /// Not searched yet.
    NotSearched,
    /// Searched without a result that holds under all path rules. Not searched again.
    Unknown,
    /// The file is new.
    New,
    /// Renamed from this path, which is gone.
    Renamed(P),
    /// Copied from this path, which still exists.
    Copied(P),
}

impl<P> Entry<P> {
    /// Replaces the paths. `None` if `name` returns `None` for one.
    pub(super) fn map<Q>(self, mut name: impl FnMut(P) -> Option<Q>) -> Option<Entry<Q>> {
        Some(Entry {
            path: name(self.path)?,
            old_path: match self.old_path {
                Some(path) => Some(name(path)?),
                None => None,
            },
            status: self.status,
            source: match self.source {
                Source::NotSearched => Source::NotSearched,
                Source::Unknown => Source::Unknown,
                Source::New => Source::New,
                Source::Renamed(path) => Source::Renamed(name(path)?),
                Source::Copied(path) => Source::Copied(name(path)?),
            },
        })
    }

    /// Whether the source is needed and not searched yet.
    pub(super) fn needs_source(&self) -> bool {
        let has_new_path = matches!(self.status, Status::Added | Status::Renamed);
        has_new_path && matches!(self.source, Source::NotSearched)
    }
}

impl Entry<u32> {
    /// Appends its words. `None` if the status has no code.
    pub(super) fn write(&self, words: &mut Vec<u32>) -> Option<()> {
        let source = match self.source {
            Source::NotSearched => None,
            Source::Unknown => Some(0),
            Source::New => Some(1),
            Source::Renamed(path) => Some(path << SOURCE_BITS | 2),
            Source::Copied(path) => Some(path << SOURCE_BITS | 3),
        };
        let flag = source.map_or(0, |_| HAS_SOURCE);
        words.push(self.path << STATUS_BITS | flag | code(self.status)?);
        words.extend(self.old_path);
        words.extend(source);
        Some(())
    }
}

/// Decodes the files of a commit, in order. Yields `None` for invalid words.
pub(super) struct Entries<W>(pub(super) W);

impl<W: Iterator<Item = u32>> Iterator for Entries<W> {
    type Item = Option<Entry<u32>>;

    fn next(&mut self) -> Option<Self::Item> {
        let word = self.0.next()?;
        Some(self.entry(word))
    }
}

impl<W: Iterator<Item = u32>> Entries<W> {
    fn entry(&mut self, word: u32) -> Option<Entry<u32>> {
        let status = status(word)?;
        let old_path = match status {
            Status::Renamed => Some(self.0.next()?),
            _ => None,
        };
        let source = match word & HAS_SOURCE {
            0 => Source::NotSearched,
            _ => source(self.0.next()?),
        };
        Some(Entry {
            path: word >> STATUS_BITS,
            old_path,
            status,
            source,
        })
    }
}

fn source(word: u32) -> Source<u32> {
    let path = word >> SOURCE_BITS;
    match word & ((1 << SOURCE_BITS) - 1) {
        0 => Source::Unknown,
        1 => Source::New,
        2 => Source::Renamed(path),
        _ => Source::Copied(path),
    }
}

/// The status in a word.
fn status(word: u32) -> Option<Status> {
    let all = [
        Status::Added,
        Status::Modified,
        Status::Deleted,
        Status::Renamed,
        Status::TypeChanged,
    ];
    let code = word & (HAS_SOURCE - 1);
    all.into_iter()
        .find(|status| self::code(*status) == Some(code))
}

/// The code of a status. `None` for a copy, because only `--follow` finds copies.
fn code(status: Status) -> Option<u32> {
    match status {
        Status::Added => Some(1),
        Status::Modified => Some(2),
        Status::Deleted => Some(3),
        Status::Renamed => Some(4),
        Status::TypeChanged => Some(5),
        Status::Copied => None,
    }
}
