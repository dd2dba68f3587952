//! The changed files of each commit, precomputed for everything that branches and tags reach.
//!
//! Most of a log's cost is comparing each commit's trees with its parent's. The result never
//! changes, so it is built in the background, like the commit-graph, and logs of old commits look
//! it up. A ledger may lack any commit: then its trees are compared, with the same result. Its
//! files ignore path rules; callers must apply them. The same holds for the sources of added files,
//! which cost even more: for a caller who may see a recorded source, no other file would be a
//! better one.

// In the order in which a ledger comes to be.
mod build;
mod sources;
mod object_cache;
mod draft;
mod entry;

use std::cmp::Ordering;
use std::ops::Range;

use gix::{ObjectId, oid};

pub(super) use build::build;

use archway_repo::{Cancel, RepoPath};

use super::changed_file::ChangedFile;
use super::file_source::FileSource;
use super::graph::{GraphError, has_valid_checksum, number};
use super::trees::is_normal;
use entry::{Entries, Entry, Source};

/// The largest ledger that is read or built, in bytes.
pub(super) const MAX_BYTES: u64 = 256 << 20;
/// The magic number. Its last byte changes with the format, and with the rules of rename detection.
const SIGNATURE: [u8; 8] = *b"archled\x02";
/// Bytes before the tables: the signature, and the numbers of commits, words and paths.
const HEADER: usize = SIGNATURE.len() + 3 * WORD;
/// Bytes of an id, and of the checksum.
const ID: usize = 20;
/// Bytes of a number.
const WORD: usize = 4;

/// The changed files of many commits. The default ledger is empty.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    file: Vec<u8>,
    /// Ids of commits, in order.
    ids: Range<usize>,
    /// The end of each commit's words.
    ends: Range<usize>,
    /// The words that encode files.
    words: Range<usize>,
    /// The end of each path in `text`. Paths are in byte order.
    path_ends: Range<usize>,
    text: Range<usize>,
}

impl Ledger {
    /// Parses a saved ledger, including its checksum.
    ///
    /// # Errors
    /// [`GraphError::Malformed`], or if the call has to stop.
    pub(super) fn checked(file: Vec<u8>, cancel: &Cancel) -> Result<Ledger, GraphError> {
        if !file.starts_with(&SIGNATURE) {
            return Err(GraphError::Malformed("not a ledger of this version"));
        }
        if !has_valid_checksum(&file, cancel)? {
            return Err(GraphError::Malformed("wrong checksum"));
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
            return Err(GraphError::Malformed("truncated"));
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

    /// Its size, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.file.len()
    }

    /// The number of commits.
    pub(super) fn len(&self) -> usize {
        self.ids.len() / ID
    }

    /// Whether it has the commit `id`, even if that commit's files are unknown.
    pub(super) fn has(&self, id: &oid) -> bool {
        self.find(id).is_some()
    }

    /// The differences between a commit and its first parent, or the empty tree for a root, by
    /// path. `None` if unknown.
    pub(super) fn files(&self, id: &oid) -> Option<Vec<ChangedFile>> {
        let file = |entry: Entry<RepoPath>| ChangedFile {
            path: entry.path,
            old_path: entry.old_path,
            status: entry.status,
        };
        Some(self.entries(id)?.into_iter().map(file).collect())
    }

    /// The source of a file that the commit added, provided that all files of its parent are
    /// visible. `None` if unknown.
    pub(super) fn file_source(&self, id: &oid, path: &RepoPath) -> Option<Option<FileSource>> {
        let number = self.number_of(path)?;
        let mut entries = Entries(self.words(self.find(id)?)?).map_while(|entry| entry);
        let source = |path, is_copy| Some(Some(FileSource { path, is_copy }));
        match entries.find(|entry| entry.path == number)?.source {
            Source::NotSearched | Source::Unknown => None,
            Source::New => Some(None),
            Source::Renamed(path) => source(self.path(path)?, false),
            Source::Copied(path) => source(self.path(path)?, true),
        }
    }

    /// Whether a commit changed the file, or a file in the folder, against its first parent. `None`
    /// if unknown.
    pub(super) fn touches(&self, id: &oid, path: &RepoPath) -> Option<bool> {
        let is_at =
            |changed: u32| {
                let rest = self.text(changed)?.strip_prefix(path.as_bytes());
                Some(rest.is_some_and(|rest| {
                    rest.is_empty() || path.is_root() || rest.starts_with(b"/")
                }))
            };
        let mut touches = false;
        for entry in Entries(self.words(self.find(id)?)?) {
            let entry = entry?;
            touches |= is_at(entry.path)?;
            if let Some(old_path) = entry.old_path {
                touches |= is_at(old_path)?;
            }
        }
        Some(touches)
    }

    /// The number of paths.
    pub(super) fn paths(&self) -> usize {
        self.path_ends.len() / WORD
    }

    /// A path's number, if it has one.
    pub(super) fn number_of(&self, path: &RepoPath) -> Option<u32> {
        let (mut from, mut to) = (0, u32::try_from(self.paths()).ok()?);
        while from < to {
            let middle = from + (to - from) / 2;
            match self.text(middle)?.cmp(path.as_bytes()) {
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// Appends the numbers of all paths that the commit at `index` of [`Ledger::ids`] changed.
    /// `None` if unknown.
    pub(super) fn append_changed_paths(&self, index: usize, paths: &mut Vec<u32>) -> Option<()> {
        for entry in Entries(self.words(index)?) {
            let entry = entry?;
            paths.push(entry.path);
            paths.extend(entry.old_path);
        }
        Some(())
    }

    /// All commits.
    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> {
        let (ids, _) = self.at(&self.ids).as_chunks::<ID>();
        ids.iter().map(|id| ObjectId::from(*id))
    }

    fn entries(&self, id: &oid) -> Option<Vec<Entry<RepoPath>>> {
        let entries = Entries(self.words(self.find(id)?)?);
        entries
            .map(|entry| entry?.map(|path| self.path(path)))
            .collect()
    }

    fn words(&self, index: usize) -> Option<impl ExactSizeIterator<Item = u32>> {
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

    fn at(&self, range: &Range<usize>) -> &[u8] {
        self.file.get(range.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
