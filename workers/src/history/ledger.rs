//! Which files each commit changed, written down once for all that branches and tags reach.
//!
//! Most of what a log costs is to compare each commit's trees with its parent's. What comes out
//! never changes, so it is found out beforehand, beside the commit-graph, and a log of old commits
//! looks it up. A ledger may lack any commit: then its trees are compared, and the answer is the
//! same. Files stand in it whatever a project's path rules say; who reads it has to judge them.

// In the order in which a ledger comes to be.
mod build;
mod draft;

use std::ops::Range;

use gix::{ObjectId, oid};

pub(super) use build::build;

use super::follow::{LogFile, Status};
use super::graph::{GraphError, is_whole, number};
use super::trees::is_normal;
use crate::repo::{Cancel, RepoPath};

/// The largest ledger that is read or made, in bytes.
pub(super) const MAX_BYTES: u64 = 256 << 20;
/// What a file of this kind begins with. Its last byte changes with the form, and with what is
/// taken for a rename.
const SIGNATURE: [u8; 8] = *b"archled\x01";
/// Bytes before the tables: the signature, and how many commits, words and paths there are.
const HEADER: usize = SIGNATURE.len() + 3 * WORD;
/// Bytes of an id, and of the checksum.
const ID: usize = 20;
/// Bytes of a number.
const WORD: usize = 4;
/// How many bits of a word say what became of a file; the others are its path's number.
const STATUS_BITS: u32 = 3;
/// The only word of a commit whose files can't be told from here.
const UNKNOWN: u32 = 0;

/// The files of many commits. The default one has no commits.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    file: Vec<u8>,
    /// Ids of commits, in order.
    ids: Range<usize>,
    /// After which word each commit's files end.
    ends: Range<usize>,
    /// A word for each file; two for one that was renamed, the second its path before.
    words: Range<usize>,
    /// After which byte of the text each path ends.
    path_ends: Range<usize>,
    text: Range<usize>,
}

impl Ledger {
    /// The ledger of a file that was kept, if it is whole.
    ///
    /// # Errors
    /// [`GraphError::Malformed`], or if the call has to stop.
    pub(super) fn checked(file: Vec<u8>, cancel: &Cancel) -> Result<Ledger, GraphError> {
        if !file.starts_with(&SIGNATURE) {
            return Err(GraphError::Malformed("not a ledger of this form"));
        }
        if !is_whole(&file, cancel)? {
            return Err(GraphError::Malformed("the checksum"));
        }
        let header = file.get(SIGNATURE.len()..HEADER).unwrap_or_default();
        let [commits, words, paths] = [0, 1, 2].map(|at| number(header, at) as usize);
        let ids = HEADER..HEADER + commits * ID;
        let ends = ids.end..ids.end + commits * WORD;
        let words = ends.end..ends.end + words * WORD;
        let path_ends = words.end..words.end + paths * WORD;
        let Some(end) = file
            .len()
            .checked_sub(ID)
            .filter(|end| *end >= path_ends.end)
        else {
            return Err(GraphError::Malformed("it ends too early"));
        };
        let text = path_ends.end..end;
        Ok(Ledger {
            file,
            ids,
            ends,
            words,
            path_ends,
            text,
        })
    }

    /// What it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.file.len()
    }

    /// How many commits it has.
    pub(super) fn len(&self) -> usize {
        self.ids.len() / ID
    }

    /// Whether it has the commit `id`, if only to say that its files are not known.
    pub(super) fn has(&self, id: &oid) -> bool {
        self.find(id).is_some()
    }

    /// What differs between a commit and its first parent, or nothing if it is a root, by path;
    /// `None` if that is not known.
    pub(super) fn files(&self, id: &oid) -> Option<Vec<LogFile>> {
        let mut words = self.words(id)?;
        let mut files = Vec::with_capacity(words.len());
        while let Some(word) = words.next() {
            let status = status(word)?;
            let old_path = match status {
                Status::Renamed => Some(self.path(words.next()?)?),
                _ => None,
            };
            files.push(LogFile {
                path: self.path(word >> STATUS_BITS)?,
                old_path,
                status,
            });
        }
        Some(files)
    }

    /// Whether a commit changed the file, or one within the folder, against its first parent;
    /// `None` if that is not known.
    pub(super) fn touches(&self, id: &oid, path: &RepoPath) -> Option<bool> {
        let is_at =
            |changed: u32| {
                let rest = self.text(changed)?.strip_prefix(path.as_bytes());
                Some(rest.is_some_and(|rest| {
                    rest.is_empty() || path.is_root() || rest.starts_with(b"/")
                }))
            };
        let (mut words, mut touches) = (self.words(id)?, false);
        while let Some(word) = words.next() {
            touches |= is_at(word >> STATUS_BITS)?;
            if status(word)? == Status::Renamed {
                touches |= is_at(words.next()?)?;
            }
        }
        Some(touches)
    }

    fn words(&self, id: &oid) -> Option<impl ExactSizeIterator<Item = u32>> {
        let index = self.find(id)?;
        let ends = self.at(&self.ends);
        let from = index
            .checked_sub(1)
            .map_or(0, |before| number(ends, before));
        let range = from as usize * WORD..number(ends, index) as usize * WORD;
        let words = self.at(&self.words).get(range)?;
        Some((0..words.len() / WORD).map(|at| number(words, at)))
    }

    fn path(&self, path: u32) -> Option<RepoPath> {
        let text = self.text(path)?;
        is_normal(text).then(|| RepoPath::root().join(text))
    }

    fn text(&self, path: u32) -> Option<&[u8]> {
        let (ends, path) = (self.at(&self.path_ends), path as usize);
        let from = path.checked_sub(1).map_or(0, |before| number(ends, before));
        let range = from as usize..number(ends, path) as usize;
        self.at(&self.text).get(range)
    }

    fn find(&self, id: &oid) -> Option<usize> {
        let (ids, _) = self.at(&self.ids).as_chunks::<ID>();
        ids.binary_search_by(|found| found.as_slice().cmp(id.as_bytes()))
            .ok()
    }

    /// All commits.
    fn ids(&self) -> impl Iterator<Item = ObjectId> {
        let (ids, _) = self.at(&self.ids).as_chunks::<ID>();
        ids.iter().map(|id| ObjectId::from(*id))
    }

    fn at(&self, range: &Range<usize>) -> &[u8] {
        self.file.get(range.clone()).unwrap_or_default()
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
    let code = word & ((1 << STATUS_BITS) - 1);
    all.into_iter()
        .find(|status| self::code(*status) == Some(code))
}

/// How a word says it; a copy, which only a followed file can be, is never written.
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

#[cfg(test)]
mod tests;
