//! The files of a work tree: opened through the jail, listed from memory where nothing changed.
//!
//! Owns the cached tree of one project. Before it is used, every folder and rule file in it is
//! looked at again, in parallel; folders that changed are read again, and no others. So a call
//! sees all that was written before it began.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rayon::prelude::*;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::cancel::Cancel;
use super::error::RepoError;
use super::file::RepoFile;
use super::folder::{Child, Folder, MAX_ENTRIES, Reader};
use super::ignores::Ignores;
use super::jail::{Jail, file_type};
use super::listing::{Entry, EntryKind, Listing, Stat};
use super::path::RepoPath;
use super::rules::{Blocked, Kind, Rules};
use super::scan::MAX_FILE;
use super::search::Content;
use super::stamp::modified;

/// How files are opened: a FIFO must not block, and is refused once it is open.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// How often a call that waits for another's reading looks whether it was cancelled.
const PATIENCE: Duration = Duration::from_millis(50);

/// Folders that are checked by one thread in one go.
const FOLDERS_PER_TASK: usize = 32;

/// A work tree, and what is remembered of it.
#[derive(Debug)]
pub(super) struct WorkTree {
    pub(super) jail: Jail,
    tree: Mutex<Option<Arc<Tree>>>,
    /// Held while folders are read, so that calls that come together read once.
    reading: Mutex<()>,
}

/// All folders of a work tree, as they were read under some rules.
#[derive(Debug)]
struct Tree {
    rules: Arc<Rules>,
    folders: HashMap<RepoPath, Arc<Folder>>,
    listing: Arc<Listing>,
}

impl WorkTree {
    pub(super) fn new(jail: Jail) -> WorkTree {
        WorkTree {
            jail,
            tree: Mutex::new(None),
            reading: Mutex::new(()),
        }
    }

    /// What can be listed now. Runs on the threads of the pool it is called in.
    pub(super) fn listing(
        &self,
        rules: &Arc<Rules>,
        cancel: &Cancel,
    ) -> Result<Arc<Listing>, RepoError> {
        if let Some(tree) = self.fresh_tree(rules) {
            return Ok(Arc::clone(&tree.listing));
        }
        let _reading = self.turn(cancel)?;
        if let Some(tree) = self.fresh_tree(rules) {
            return Ok(Arc::clone(&tree.listing));
        }
        let old = self.remembered(rules);
        let tree = Arc::new(self.read(rules, old.as_deref(), cancel)?);
        *self.tree.lock() = Some(Arc::clone(&tree));
        Ok(Arc::clone(&tree.listing))
    }

    /// Opens a regular file, through links that stay inside.
    pub(super) fn open(&self, path: &RepoPath, rules: &Rules) -> Result<RepoFile, RepoError> {
        judge(rules, path, path, Kind::File)?;
        let refused = |errno| RepoError::opening(path, errno);
        match self.jail.open(path, READ) {
            Err(Errno::LOOP) => {
                let real = self.jail.resolve(path)?;
                judge(rules, &real, path, Kind::File)?;
                let fd = self.jail.open(&real, READ).map_err(refused)?;
                RepoFile::regular(fd, real, path)
            }
            opened => RepoFile::regular(opened.map_err(refused)?, path.clone(), path),
        }
    }

    /// Where a directory is, links followed.
    pub(super) fn directory(&self, path: &RepoPath, rules: &Rules) -> Result<RepoPath, RepoError> {
        judge(rules, path, path, Kind::Directory)?;
        let open = |path| self.jail.open(path, OFlags::PATH | OFlags::DIRECTORY);
        let real = match open(path) {
            Err(Errno::LOOP) => self.jail.resolve(path).map_err(RepoError::of_directory)?,
            opened => {
                opened.map_err(|errno| RepoError::opening(path, errno).of_directory())?;
                return Ok(path.clone());
            }
        };
        judge(rules, &real, path, Kind::Directory)?;
        open(&real).map_err(|errno| RepoError::opening(path, errno).of_directory())?;
        Ok(real)
    }

    /// What is told of an entry; of what it leads to, if it is a link.
    pub(super) fn stat(&self, entry: &Entry) -> Option<Stat> {
        let stat = match entry.kind {
            EntryKind::File => self.jail.stat(&entry.path),
            EntryKind::LinkToFile | EntryKind::LinkToDirectory => {
                self.jail.stat(&self.jail.resolve(&entry.path).ok()?)
            }
        };
        let stat = stat.ok()?;
        Some(Stat {
            size: u64::try_from(stat.st_size).ok()?,
            modified: modified(&stat),
        })
    }

    fn remembered(&self, rules: &Arc<Rules>) -> Option<Arc<Tree>> {
        let tree = self.tree.lock().clone()?;
        (Arc::ptr_eq(&tree.rules, rules) || tree.rules == *rules).then_some(tree)
    }

    fn fresh_tree(&self, rules: &Arc<Rules>) -> Option<Arc<Tree>> {
        let tree = self.remembered(rules)?;
        let folders: Vec<&Arc<Folder>> = tree.folders.values().collect();
        let checks = folders.par_iter().with_min_len(FOLDERS_PER_TASK);
        checks
            .all(|folder| folder.is_fresh(&self.jail, rules))
            .then_some(Arc::clone(&tree))
    }

    fn turn(&self, cancel: &Cancel) -> Result<MutexGuard<'_, ()>, RepoError> {
        loop {
            cancel.check()?;
            if let Some(turn) = self.reading.try_lock_for(PATIENCE) {
                return Ok(turn);
            }
        }
    }

    /// Reads what changed since `old`, level by level: a tree may be deeper than a stack.
    fn read(
        &self,
        rules: &Arc<Rules>,
        old: Option<&Tree>,
        cancel: &Cancel,
    ) -> Result<Tree, RepoError> {
        let reader = Reader {
            jail: &self.jail,
            rules,
            cancel,
        };
        let root = RepoPath::root();
        let base = old
            .and_then(|tree| tree.folders.get(&root))
            .map(|root| root.above());
        let mut level = vec![(root, base.cloned().unwrap_or_default())];
        let mut folders = HashMap::new();
        let mut entries = 0;
        while !level.is_empty() {
            let read: Vec<Option<Arc<Folder>>> = level
                .par_iter()
                .map(|(path, above)| visit(reader, path, above, old))
                .collect::<Result<_, _>>()?;
            level.clear();
            for folder in read.into_iter().flatten() {
                entries += folder.children.len();
                level.extend(folder.children.iter().filter_map(|child| match child {
                    Child::Folder(path) => Some((path.clone(), Arc::clone(&folder.ignores))),
                    Child::Entry(_) => None,
                }));
                folders.insert(folder.path.clone(), folder);
            }
            if entries > MAX_ENTRIES {
                return Err(RepoError::TooManyEntries { limit: MAX_ENTRIES });
            }
        }
        let listing = Arc::new(Listing {
            entries: in_order(&folders),
        });
        Ok(Tree {
            rules: Arc::clone(rules),
            folders,
            listing,
        })
    }
}

impl Content for WorkTree {
    fn load(&self, path: &RepoPath, into: &mut Vec<u8>) -> bool {
        self.read_whole(path, into).unwrap_or(false)
    }
}

impl WorkTree {
    /// Reads a listed file as large as it is now. False if it is too large, or no regular file.
    fn read_whole(&self, path: &RepoPath, into: &mut Vec<u8>) -> Result<bool, Errno> {
        into.clear();
        let fd = self.jail.open(path, READ)?;
        let stat = rustix::fs::fstat(&fd)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > MAX_FILE || file_type(&stat) != FileType::RegularFile {
            return Ok(false);
        }
        let size = usize::try_from(size).unwrap_or(0);
        into.reserve_exact(size);
        // One read is the rule; more are needed where a file system gives less at a time.
        while into.len() < size {
            match rustix::io::read(&fd, rustix::buffer::spare_capacity(into)) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        into.truncate(size);
        Ok(true)
    }
}

/// Judges a path that `asked` led to; the refusal names what was asked.
fn judge(rules: &Rules, path: &RepoPath, asked: &RepoPath, kind: Kind) -> Result<(), RepoError> {
    rules
        .judge(path, kind)
        .map_err(|Blocked| RepoError::Blocked {
            path: asked.clone(),
        })
}

/// A folder as it was read before, if that still holds, or read again.
fn visit(
    reader: Reader<'_>,
    path: &RepoPath,
    above: &Arc<Ignores>,
    old: Option<&Tree>,
) -> Result<Option<Arc<Folder>>, RepoError> {
    let old = old.and_then(|tree| tree.folders.get(path));
    match old {
        Some(old) if old.is_beneath(above) && old.is_fresh(reader.jail, reader.rules) => {
            Ok(Some(Arc::clone(old)))
        }
        old => Ok(reader
            .read(path, above, old.map(Arc::as_ref))?
            .map(Arc::new)),
    }
}

/// All entries by path: each folder's in order, a folder's own where its name stands.
fn in_order(folders: &HashMap<RepoPath, Arc<Folder>>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let Some(root) = folders.get(&RepoPath::root()) else {
        return entries;
    };
    let mut open = vec![root.children.iter()];
    while let Some(children) = open.last_mut() {
        match children.next() {
            Some(Child::Entry(entry)) => entries.push(entry.clone()),
            Some(Child::Folder(path)) => {
                open.extend(folders.get(path).map(|folder| folder.children.iter()));
            }
            None => _ = open.pop(),
        }
    }
    entries
}
