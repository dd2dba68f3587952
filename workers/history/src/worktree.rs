//! The differences between a commit and the work tree.
//!
//! The index lists the tracked files, and each file's `stat` when it was last known to be
//! unmodified: a file with the same `stat` is not read. Otherwise the index does not take part:
//! staged content shows only as far as the work tree has it. Untracked files do not exist, nor do
//! files that the index has and the work tree lacks.
//!
//! A file is read as git would add it, so that line ends that only a checkout changed make no
//! difference. Filters that a repository configures as commands are never run. A submodule counts
//! as being at the commit in the index, since its own repository may lie outside the mount.

// In the order in which a file goes through them.
mod tracked;
mod committed;
mod cleaning;

use archway_repo::{Cancel, Kind, Repo, RepoError, RepoPath, TrackedEntry, TrackedKind};
use gix::ObjectId;
use gix::objs::tree::EntryKind;

use self::cleaning::Cleaner;
use self::committed::TreeFiles;
use self::tracked::Index;
use super::blobs::Blobs;
use super::trees::Difference;
use super::{Comparison, History, HistoryError, Side, error::git};

const READING: &str = "reading a file of the work tree";

/// The largest file that is kept in memory, in bytes. A larger one is only hashed.
const MAX_FILE: u64 = 8 << 20;

impl History {
    /// The differences between a tree and the work tree, renames included, with access to the
    /// contents. `None` is the empty tree.
    ///
    /// # Errors
    /// If a tree, the index or a file can't be read, or the call has to stop.
    pub fn compare_with_work_tree(
        &self,
        repo: &Repo,
        old: Option<ObjectId>,
        cancel: &Cancel,
    ) -> Result<Comparison<'_>, HistoryError> {
        let index = Index::of(&self.git)?;
        let tracked = index.files(&self.git, &self.rules, cancel)?;
        let paths: Vec<RepoPath> = tracked.iter().map(|file| file.path.clone()).collect();
        let entries = repo.tracked_entries(&paths, cancel)?;
        let mut committed = TreeFiles::of(self, old, &index, cancel)?;
        let mut reader = Reader {
            repo,
            cancel,
            cleaner: Cleaner::new(&self.git, &index),
            blobs: Blobs::new(&self.git),
        };
        let mut found = Vec::new();
        for (file, entry) in tracked.iter().zip(entries) {
            found.extend(committed.files_before(&file.path));
            let old = committed.side(file);
            if index.is_unmodified(file, entry) && old == Some(file.side) {
                continue;
            }
            if self.rules.check(&file.path, Kind::File).is_ok() {
                let new = match index.is_unmodified(file, entry) {
                    true => Some(file.side),
                    false => reader.read(&file.path, entry, old)?,
                };
                let new = new.map(|side| index.with_mode(side, file.side));
                let path = file.path.clone();
                found.push(Difference { path, old, new });
            }
        }
        found.extend(committed.rest());
        found.retain(|difference| difference.old != difference.new);
        Comparison::of(reader.blobs, found, cancel)
    }

    /// Whether index or work tree differ from `committed` at `path`. Always false without a work
    /// tree.
    ///
    /// # Errors
    /// As [`History::compare_with_work_tree`].
    pub(super) fn differs_from(
        &self,
        repo: &Repo,
        path: &RepoPath,
        committed: Side,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        if self.git.workdir().is_none() {
            return Ok(false);
        }
        let index = Index::of(&self.git)?;
        let tracked = index.file(self, path)?;
        let Some(file) = tracked.filter(|file| file.side == committed) else {
            return Ok(true);
        };
        let entries = repo.tracked_entries(std::slice::from_ref(path), cancel)?;
        let entry = entries.into_iter().next().flatten();
        if index.is_unmodified(&file, entry) {
            return Ok(false);
        }
        let mut reader = Reader {
            repo,
            cancel,
            cleaner: Cleaner::new(&self.git, &index),
            blobs: Blobs::new(&self.git),
        };
        let found = reader.read(path, entry, Some(committed))?;
        Ok(found.map(|side| index.with_mode(side, committed)) != Some(committed))
    }
}

/// Reads files of the work tree, and keeps the contents that the comparison needs.
struct Reader<'c, 'h> {
    repo: &'c Repo,
    cancel: &'c Cancel,
    cleaner: Cleaner<'h>,
    blobs: Blobs<'h>,
}

impl Reader<'_, '_> {
    /// The file at a path, as git would commit it. `None` if there is none. Its content is kept
    /// unless it equals `old`.
    fn read(
        &mut self,
        path: &RepoPath,
        entry: Option<TrackedEntry>,
        old: Option<Side>,
    ) -> Result<Option<Side>, HistoryError> {
        self.cancel.check()?;
        let Some(entry) = entry else {
            return Ok(None);
        };
        let read = match entry.kind {
            TrackedKind::Folder => return Ok(None),
            TrackedKind::Link => self.repo.read_link(path).map(Content::Whole),
            TrackedKind::File { .. } => self.content(path, entry),
        };
        let content = match read {
            // The file was deleted since its `stat`.
            Err(RepoError::NotFound { .. }) => return Ok(None),
            read => read?,
        };
        let mode = match entry.kind {
            TrackedKind::File {
                is_executable: true,
            } => EntryKind::BlobExecutable,
            TrackedKind::Link => EntryKind::Link,
            _ => EntryKind::Blob,
        };
        let known = old.map(|side| side.id);
        let id = match content {
            Content::Whole(bytes) => {
                let bytes = match mode {
                    EntryKind::Link => bytes,
                    _ => self.cleaner.clean(path, bytes),
                };
                let hash = self.cleaner.hash_kind();
                let id = gix::objs::compute_hash(hash, gix::objs::Kind::Blob, &bytes);
                let id = id.map_err(git(READING))?;
                if known != Some(id) {
                    self.blobs.add(id, size_of(&bytes), Some(bytes));
                }
                id
            }
            Content::Large(id, size) => {
                if known != Some(id) {
                    self.blobs.add(id, size, None);
                }
                id
            }
        };
        let mode = mode.into();
        Ok(Some(Side { id, mode }))
    }

    fn content(&self, path: &RepoPath, entry: TrackedEntry) -> Result<Content, RepoError> {
        let size = u64::try_from(entry.stat.st_size).unwrap_or(0);
        let mut hasher = gix::hash::hasher(self.cleaner.hash_kind());
        hasher.update(&gix::objs::encode::loose_header(
            gix::objs::Kind::Blob,
            size,
        ));
        let mut bytes = Vec::new();
        self.repo.read_tracked(path, |piece| {
            self.cancel.check()?;
            if size > MAX_FILE {
                hasher.update(piece);
            } else if size_of(&bytes) > MAX_FILE {
                return Err(RepoError::Io {
                    what: READING,
                    source: std::io::Error::other("the file grew while it was read"),
                });
            } else {
                bytes.extend_from_slice(piece);
            }
            Ok(())
        })?;
        if size <= MAX_FILE {
            return Ok(Content::Whole(bytes));
        }
        let id = hasher.try_finalize().map_err(|source| RepoError::Git {
            what: READING,
            source: source.into(),
        })?;
        Ok(Content::Large(id, size))
    }
}

/// The content of a file.
enum Content {
    Whole(Vec<u8>),
    /// Only the id that it would have, and its size in bytes.
    Large(ObjectId, u64),
}

fn size_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
