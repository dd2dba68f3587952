//! The paths that a commit changed, for its filter: all differences between two trees, without
//! rename detection, and every folder above one.
//!
//! Equal subtrees are skipped unread. The walk ends at more paths than a filter may have, or after
//! a number of trees: a few objects can describe a tree that no walk could finish.

use std::collections::HashSet;
use std::sync::Arc;

use archway_repo::{Cancel, GenerationalCache};
use gix::ObjectId;
use gix::bstr::{BString, ByteVec as _};
use gix::objs::tree::EntryRef;
use gix::objs::{Find as _, TreeRefIter};

use super::super::error::{HistoryError, git};
use super::super::trees::zip_entries;
use super::bloom::MAX_PATHS;

const READING: &str = "reading a tree";
/// Maximum number of trees that are read for one commit.
const MAX_TREES: usize = 20_000;
/// Size of the cache of trees, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// Reads trees through a cache: neighbouring commits share most of them.
pub(super) struct TreeReader<'a> {
    git: &'a gix::Repository,
    cache: GenerationalCache<ObjectId, ()>,
    buffer: Vec<u8>,
}

/// A comparison of two trees.
struct PathCollector<'a, 'git> {
    trees: &'a mut TreeReader<'git>,
    paths: HashSet<BString>,
    /// Pairs of folders that differ, with their paths.
    next: Vec<(BString, Folders)>,
}

/// A folder before and after.
#[derive(Clone, Copy)]
struct Folders {
    old: Option<ObjectId>,
    new: Option<ObjectId>,
}

impl<'a> TreeReader<'a> {
    pub(super) fn new(git: &'a gix::Repository) -> Self {
        TreeReader {
            git,
            cache: GenerationalCache::new(CACHE_BYTES),
            buffer: Vec::new(),
        }
    }

    /// The differences between two root trees. `None` if there are too many.
    ///
    /// # Errors
    /// If a tree can't be read, or time is up.
    pub(super) fn changed_paths(
        &mut self,
        old: Option<ObjectId>,
        new: ObjectId,
        cancel: &Cancel,
    ) -> Result<Option<HashSet<BString>>, HistoryError> {
        let new = Some(new);
        let mut collector = PathCollector {
            trees: self,
            paths: HashSet::new(),
            next: vec![(BString::default(), Folders { old, new })],
        };
        let mut read = 0;
        while let Some((path, folders)) = collector.next.pop() {
            if folders.old == folders.new {
                continue;
            }
            cancel.check()?;
            read += 1;
            collector.compare(&path, folders, cancel)?;
            if collector.paths.len() > MAX_PATHS || read > MAX_TREES {
                return Ok(None);
            }
        }
        Ok(Some(collector.paths))
    }

    fn read(&mut self, id: Option<ObjectId>) -> Result<Arc<[u8]>, HistoryError> {
        let Some(id) = id.filter(|id| !id.is_empty_tree()) else {
            return Ok(Arc::default());
        };
        if let Some(((), bytes)) = self.cache.get(id) {
            return Ok(bytes);
        }
        let found = self.git.objects.try_find(&id, &mut self.buffer);
        let found = found.map_err(git(READING))?;
        let tree = found.filter(|object| object.kind == gix::objs::Kind::Tree);
        let bytes = tree.map(|tree| Arc::from(tree.data));
        let bytes: Arc<[u8]> = bytes.ok_or_else(|| git(READING)("the tree is missing"))?;
        self.cache.put(id, (), Arc::clone(&bytes));
        Ok(bytes)
    }
}

impl PathCollector<'_, '_> {
    fn compare(
        &mut self,
        path: &BString,
        folders: Folders,
        cancel: &Cancel,
    ) -> Result<(), HistoryError> {
        let (old, new) = (self.trees.read(folders.old)?, self.trees.read(folders.new)?);
        let pair = |was, is| {
            self.pair(path, was, is);
            Ok(())
        };
        zip_entries(entries(&old), entries(&new), cancel, pair)
    }

    /// Compares one name. Both entries are of one kind if both exist.
    fn pair(&mut self, path: &BString, was: Option<EntryRef<'_>>, is: Option<EntryRef<'_>>) {
        let (Some(either), same) = (is.or(was), was == is) else {
            return;
        };
        if same {
            return;
        }
        let mut entry_path = path.clone();
        if !entry_path.is_empty() {
            entry_path.push_byte(b'/');
        }
        entry_path.push_str(either.filename);
        if either.mode.is_tree() {
            let (old, new) = (was.map(|was| was.oid), is.map(|is| is.oid));
            let (old, new) = (old.map(ToOwned::to_owned), new.map(ToOwned::to_owned));
            self.next.push((entry_path, Folders { old, new }));
        } else {
            self.record(entry_path);
        }
    }

    /// Records a changed file, and the folders above it.
    fn record(&mut self, path: BString) {
        let ends: Vec<usize> = gix::bstr::ByteSlice::find_iter(path.as_slice(), b"/").collect();
        for end in ends.into_iter().rev() {
            let folder = path.get(..end).unwrap_or_default();
            if !self.paths.insert(folder.into()) {
                break;
            }
        }
        self.paths.insert(path);
    }
}

fn entries(tree: &[u8]) -> TreeRefIter<'_> {
    TreeRefIter::from_bytes(tree, gix::hash::Kind::Sha1)
}
