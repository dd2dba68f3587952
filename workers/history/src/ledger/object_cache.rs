//! A cache of folders and fingerprints of neighbouring commits, which share most of them.

use std::sync::Arc;

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;
use gix::hashtable::HashMap;
use gix::objs::FindExt as _;

use super::super::error::git;
use super::super::similarity::Fingerprinter;
use super::super::trees::{self, MAX_PATH, side};
use super::super::{HistoryError, Side};

const READING: &str = "reading a file";

/// Size of the cache, in bytes. A single commit may use twice as much.
const CACHE_BYTES: usize = 64 << 20;
/// Cost of a folder's entry, and of a file, beyond its content.
const OVERHEAD: usize = 128;
/// Maximum number of folders of a commit.
const MAX_FOLDERS: usize = 20_000;
/// Number of folders that are read between two deadline checks.
const CHECK_INTERVAL: usize = 64;

/// Cached folders and blobs.
pub(super) struct ObjectCache<'g> {
    git: &'g gix::Repository,
    folders: HashMap<ObjectId, Arc<[FolderEntry]>>,
    numbers: HashMap<ObjectId, u32>,
    blobs: Vec<Blob>,
    /// Approximate size of everything.
    bytes: usize,
    fingerprinter: Fingerprinter,
    buffer: Vec<u8>,
}

/// An entry of a folder.
pub(super) struct FolderEntry {
    pub(super) name: Box<[u8]>,
    pub(super) side: Side,
    /// The number of its blob, valid until the cache is cleared. A folder has none.
    pub(super) blob: u32,
}

/// A file's content, as far as it was requested.
struct Blob {
    id: ObjectId,
    size: Option<u64>,
    pieces: Option<Arc<[(u32, u32)]>>,
}

/// All files of a commit.
#[derive(Default)]
pub(super) struct Listing {
    /// Each comes after its parent.
    folders: Vec<Folder>,
    /// The folder of each file, and the index in it.
    files: Vec<(usize, usize)>,
}

/// A folder of a commit. Paths are computed on demand: most are never needed.
struct Folder {
    items: Arc<[FolderEntry]>,
    /// The parent folder, and the index in it. `None` for the root.
    parent: Option<(usize, usize)>,
    /// Length of its path.
    length: usize,
}

impl Listing {
    /// All files with their indexes.
    pub(super) fn items(&self) -> impl Iterator<Item = (usize, &FolderEntry)> {
        let items = self.files.iter().enumerate();
        items.filter_map(|(index, location)| Some((index, self.item(*location)?)))
    }

    /// The path of the file at this index.
    pub(super) fn path(&self, index: usize) -> Option<RepoPath> {
        let mut names = Vec::new();
        let mut location = self.files.get(index).copied();
        while let Some(at) = location {
            names.push(&*self.item(at)?.name);
            location = self.folders.get(at.0)?.parent;
        }
        names.reverse();
        Some(RepoPath::trusted(&names.join(&b'/')))
    }

    fn item(&self, (folder, at): (usize, usize)) -> Option<&FolderEntry> {
        self.folders.get(folder)?.items.get(at)
    }

    /// Adds a folder's files, and pushes its subfolders on `pending`.
    fn add(&mut self, folder: Folder, pending: &mut Vec<(ObjectId, (usize, usize), usize)>) {
        let location = self.folders.len();
        for (at, item) in folder.items.iter().enumerate() {
            let parent = folder.parent.map_or(0, |_| folder.length + 1);
            let length = parent + item.name.len();
            if length > MAX_PATH {
                continue;
            }
            if item.side.mode.is_tree() {
                pending.push((item.side.id, (location, at), length));
            } else {
                self.files.push((location, at));
            }
        }
        self.folders.push(folder);
    }
}

impl<'g> ObjectCache<'g> {
    pub(super) fn new(git: &'g gix::Repository) -> ObjectCache<'g> {
        ObjectCache {
            git,
            folders: HashMap::default(),
            numbers: HashMap::default(),
            blobs: Vec::new(),
            bytes: 0,
            fingerprinter: Fingerprinter::new(),
            buffer: Vec::new(),
        }
    }

    /// Clears the cache if it exceeds its size.
    pub(super) fn clear_if_large(&mut self) {
        if self.bytes > CACHE_BYTES {
            *self = ObjectCache::new(self.git);
        }
    }

    /// Whether one commit exceeds the limit.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > 2 * CACHE_BYTES
    }

    /// All files of a tree. `None` if there are more than `max_files`.
    ///
    /// # Errors
    /// If a tree can't be read, or the build has to stop.
    pub(super) fn files(
        &mut self,
        tree: ObjectId,
        max_files: usize,
        cancel: &Cancel,
    ) -> Result<Option<Listing>, HistoryError> {
        let mut listing = Listing::default();
        let mut pending = Vec::new();
        let mut next = Some((tree, None, 0));
        while let Some((tree, parent, length)) = next {
            if listing.folders.len().is_multiple_of(CHECK_INTERVAL) {
                cancel.check()?;
            }
            let items = self.folder(tree)?;
            let folder = Folder {
                items,
                parent,
                length,
            };
            listing.add(folder, &mut pending);
            let is_large = listing.files.len() > max_files || listing.folders.len() > MAX_FOLDERS;
            if is_large || pending.len() > MAX_FOLDERS || self.is_full() {
                return Ok(None);
            }
            let below = pending.pop();
            next = below.map(|(tree, parent, length)| (tree, Some(parent), length));
        }
        Ok(Some(listing))
    }

    /// The file at `path` in a tree, with the number of its blob.
    ///
    /// # Errors
    /// If a tree can't be read.
    pub(super) fn file(
        &mut self,
        tree: ObjectId,
        path: &RepoPath,
    ) -> Result<Option<(Side, u32)>, HistoryError> {
        let mut tree = Some(tree);
        let mut found = None;
        for name in path.components() {
            let Some(id) = tree else { return Ok(None) };
            let items = self.folder(id)?;
            // A file and a folder of one name are two entries; only the kind of the last component
            // is known.
            let named = || items.iter().filter(|item| *item.name == *name);
            let folder = named().find(|item| item.side.mode.is_tree());
            tree = folder.map(|item| item.side.id);
            let file = named().find(|item| !item.side.mode.is_tree());
            found = file.map(|item| (item.side, item.blob));
        }
        Ok(found)
    }

    /// The size of a blob, in bytes.
    ///
    /// # Errors
    /// If it can't be read.
    pub(super) fn size(&mut self, blob: u32) -> Result<u64, HistoryError> {
        let Some(blob) = self.blobs.get_mut(blob as usize) else {
            return Ok(0);
        };
        if let Some(size) = blob.size {
            return Ok(size);
        }
        let size = self.git.find_header(blob.id).map_err(git(READING))?.size();
        blob.size = Some(size);
        Ok(size)
    }

    /// The fingerprint of a blob.
    ///
    /// # Errors
    /// If it can't be read, or the build has to stop.
    pub(super) fn pieces(
        &mut self,
        blob: u32,
        cancel: &Cancel,
    ) -> Result<Arc<[(u32, u32)]>, HistoryError> {
        let Some(blob) = self.blobs.get_mut(blob as usize) else {
            return Ok(Arc::default());
        };
        if let Some(pieces) = &blob.pieces {
            return Ok(Arc::clone(pieces));
        }
        cancel.check()?;
        let content = self.git.objects.find_blob(&blob.id, &mut self.buffer);
        let content = content.map_err(git(READING))?;
        let fingerprint = self.fingerprinter.fingerprint(content.data, cancel)?;
        let pieces: Arc<[(u32, u32)]> = Arc::from(fingerprint.pieces);
        self.bytes += size_of_val(&*pieces);
        blob.pieces = Some(Arc::clone(&pieces));
        Ok(pieces)
    }

    fn folder(&mut self, id: ObjectId) -> Result<Arc<[FolderEntry]>, HistoryError> {
        if let Some(items) = self.folders.get(&id) {
            return Ok(Arc::clone(items));
        }
        let mut items = Vec::new();
        // Git has the empty tree without storing it.
        if !id.is_empty_tree() {
            let mut buffer = std::mem::take(&mut self.buffer);
            let entries = self.git.objects.find_tree_iter(&id, &mut buffer);
            for entry in entries.map_err(git(READING))? {
                let entry = entry.map_err(git(READING))?;
                if !trees::is_name(entry.filename) {
                    continue;
                }
                let side = side(entry);
                items.push(FolderEntry {
                    name: Box::from(&**entry.filename),
                    side,
                    blob: self.number(side),
                });
                self.bytes += OVERHEAD;
            }
            self.buffer = buffer;
        }
        let items: Arc<[FolderEntry]> = Arc::from(items);
        self.folders.insert(id, Arc::clone(&items));
        Ok(items)
    }

    fn number(&mut self, side: Side) -> u32 {
        if side.mode.is_tree() {
            return u32::MAX;
        }
        let next = u32::try_from(self.blobs.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(side.id).or_insert(next);
        if number == next {
            self.bytes += OVERHEAD;
            self.blobs.push(Blob {
                id: side.id,
                size: None,
                pieces: None,
            });
        }
        number
    }
}

#[cfg(test)]
impl ObjectCache<'_> {
    /// Pretends that the cache exceeds its limit.
    pub(super) fn pretend_full(&mut self) {
        self.bytes = 2 * CACHE_BYTES + 1;
    }
}
