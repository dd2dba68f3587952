//! A file's words in a ledger: what became of it, its path, and where it came from.
//!
//! The first word has its path's number and its status, the second its path before if it was
//! renamed, the last where following it leads if that was looked for.

use super::super::log_file::Status;

/// How many bits of a file's first word say what became of it; the others are its path's number.
const STATUS_BITS: u32 = 4;
/// The bit of them that says that a last word follows.
const SOUGHT: u32 = 1 << (STATUS_BITS - 1);
/// How many bits of the last word say what it means; the others are a path's number.
const SOURCE_BITS: u32 = 2;
/// So many paths have a number.
pub(super) const MAX_PATHS: usize = 1 << (32 - STATUS_BITS);
/// The only word of a commit whose files can't be told from here.
pub(super) const UNKNOWN: u32 = 0;

/// What a commit did to a file. Paths are numbers in a ledger, and names for who reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry<P> {
    pub path: P,
    /// Where it came from, by `-M`.
    pub(super) old_path: Option<P>,
    pub(super) status: Status,
    pub(super) source: Source<P>,
}

/// Where `--follow` takes a file to come from that a commit added or renamed, if all files of the
/// commit before can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source<P> {
    /// It was not looked for.
    Unsought,
    /// It was looked for, and it is no use to do so again.
    Unknown,
    /// From nowhere.
    New,
    /// From here, where it is no more.
    Renamed(P),
    /// From here, where it still is.
    Copied(P),
}

impl<P> Entry<P> {
    /// The same with other names for its paths; `None` if one has none.
    pub(super) fn map<Q>(self, mut name: impl FnMut(P) -> Option<Q>) -> Option<Entry<Q>> {
        Some(Entry {
            path: name(self.path)?,
            old_path: match self.old_path {
                Some(path) => Some(name(path)?),
                None => None,
            },
            status: self.status,
            source: match self.source {
                Source::Unsought => Source::Unsought,
                Source::Unknown => Source::Unknown,
                Source::New => Source::New,
                Source::Renamed(path) => Source::Renamed(name(path)?),
                Source::Copied(path) => Source::Copied(name(path)?),
            },
        })
    }

    /// Whether nobody looked yet for where it came from, and somebody may ask.
    pub(super) fn is_unsought(&self) -> bool {
        let is_there_anew = matches!(self.status, Status::Added | Status::Renamed);
        is_there_anew && matches!(self.source, Source::Unsought)
    }
}

impl Entry<u32> {
    /// Appends its words; `None` if it has none.
    pub(super) fn write(&self, words: &mut Vec<u32>) -> Option<()> {
        let source = match self.source {
            Source::Unsought => None,
            Source::Unknown => Some(0),
            Source::New => Some(1),
            Source::Renamed(path) => Some(path << SOURCE_BITS | 2),
            Source::Copied(path) => Some(path << SOURCE_BITS | 3),
        };
        let sought = source.map_or(0, |_| SOUGHT);
        words.push(self.path << STATUS_BITS | sought | code(self.status)?);
        words.extend(self.old_path);
        words.extend(source);
        Some(())
    }
}

/// The files that a commit's words tell, in their order; `None` where they tell nothing.
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
        let source = match word & SOUGHT {
            0 => Source::Unsought,
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

/// What a word says became of its file.
fn status(word: u32) -> Option<Status> {
    let all = [
        Status::Added,
        Status::Modified,
        Status::Deleted,
        Status::Renamed,
        Status::TypeChanged,
    ];
    let code = word & (SOUGHT - 1);
    all.into_iter()
        .find(|status| self::code(*status) == Some(code))
}

/// How a word says it; a copy, which only a followed file can be, is never a status.
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
