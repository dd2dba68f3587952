//! Lists a commit: its entries and the blobs of its files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use archway_trigrams::BlobId;
use gix::ObjectId;
use gix::object::tree::EntryKind as Mode;

use super::{Commit, READING, is_file};
use crate::cancel::Cancel;
use crate::error::RepoError;
use crate::folder::{MAX_ENTRIES, MAX_NAMES};
use crate::git::{Git, git_error};
use crate::listing::{Entry, EntryKind, Listing};
use crate::path::RepoPath;
use crate::rules::{Kind, Rules};
use crate::search_index::{IndexedFiles, blob_id};

/// The files of a commit under some rules.
#[derive(Debug)]
pub(crate) struct CommitListing {
    pub(super) rules: Arc<Rules>,
    pub(crate) listing: Arc<Listing>,
    /// The blobs of its files.
    pub(crate) indexed: IndexedFiles,
    /// Their sizes by position, as far as they were asked for; [`UNKNOWN`] for others. To find a size,
    /// git decompresses the beginning of an object.
    sizes: Box<[AtomicU64]>,
    is_saved: AtomicBool,
}

const UNKNOWN: u64 = u64::MAX;

impl CommitListing {
    /// These entries under some rules, with the blobs of files.
    pub(super) fn of(
        rules: &Arc<Rules>,
        files: impl Iterator<Item = (Entry, Option<BlobId>)>,
    ) -> Arc<CommitListing> {
        let (entries, blobs): (Vec<_>, Vec<_>) = files.unzip();
        let sizes = entries.iter().map(|_| AtomicU64::new(UNKNOWN));
        Arc::new(CommitListing {
            sizes: sizes.collect(),
            rules: Arc::clone(rules),
            listing: Arc::new(Listing { entries }),
            indexed: IndexedFiles::new(blobs),
            is_saved: AtomicBool::new(false),
        })
    }

    /// Records that the index has saved it, as far as it can.
    pub(super) fn record_save(&self) {
        self.is_saved.store(true, Ordering::Relaxed);
    }

    /// Whether a worker that starts again can have it from the index.
    pub(crate) fn is_saved(&self) -> bool {
        self.is_saved.load(Ordering::Relaxed)
    }

    /// The size of a listed file. `None` for another path, and for a link.
    pub(super) fn size(&self, git: &Git, path: &RepoPath) -> Option<u64> {
        let (position, blob) = self.file(path)?;
        let size = self.sizes.get(position)?;
        let known = size.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return Some(known);
        }
        let header = git.objects().find_header(blob).ok()?;
        size.store(header.size(), Ordering::Relaxed);
        Some(header.size())
    }

    /// The position and the blob of a listed file. `None` for another path, and for a link.
    pub(super) fn file(&self, path: &RepoPath) -> Option<(usize, ObjectId)> {
        let entries = &self.listing.entries;
        let position = entries.binary_search_by(|entry| entry.path.cmp(path));
        let position = position.ok()?;
        let blob = (*self.indexed.blobs().get(position)?)?;
        Some((position, ObjectId::from(blob)))
    }
}

impl Commit {
    /// All entries that are not blocked, in path order, with the blobs of files.
    pub(super) fn entries(
        &self,
        rules: &Rules,
        cancel: &Cancel,
    ) -> Result<Vec<(Entry, Option<BlobId>)>, RepoError> {
        let repository = self.git.objects();
        let too_many = || RepoError::TooManyEntries { limit: MAX_ENTRIES };
        let (mut entries, mut bytes_left) = (Vec::new(), MAX_NAMES);
        let mut folders = vec![(RepoPath::root(), self.tree)];
        while let Some((folder, id)) = folders.pop() {
            cancel.check()?;
            let tree = repository.find_tree(id).map_err(git_error(READING))?;
            for entry in tree.iter() {
                let entry = entry.map_err(git_error(READING))?;
                let path = folder.join(entry.filename());
                let left = bytes_left.checked_sub(path.as_bytes().len());
                bytes_left = left.ok_or_else(too_many)?;
                match entry.mode().kind() {
                    Mode::Tree if rules.check(&path, Kind::Directory).is_ok() => {
                        folders.push((path, entry.object_id()));
                    }
                    Mode::Blob | Mode::BlobExecutable if rules.check(&path, Kind::File).is_ok() => {
                        let kind = EntryKind::File;
                        entries.push((Entry { path, kind }, blob_id(entry.oid())));
                    }
                    Mode::Link => {
                        let kind = self.link_kind(&repository, rules, &path);
                        entries.extend(kind.map(|kind| (Entry { path, kind }, None)));
                    }
                    _ => {}
                }
            }
            if entries.len() > MAX_ENTRIES {
                return Err(too_many());
            }
        }
        entries.sort_unstable_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// How a link is listed. `None` if its target is missing, outside or hidden.
    fn link_kind(
        &self,
        repository: &gix::Repository,
        rules: &Rules,
        path: &RepoPath,
    ) -> Option<EntryKind> {
        let target = self.resolve(repository, path).ok()?;
        let (entry, kind) = match self.node(repository, &target).ok()??.mode {
            Mode::Tree => (EntryKind::LinkToDirectory, Kind::Directory),
            mode if is_file(mode) => (EntryKind::LinkToFile, Kind::File),
            _ => return None,
        };
        let passes = rules.check(path, kind).is_ok() && rules.check(&target, kind).is_ok();
        passes.then_some(entry)
    }
}
