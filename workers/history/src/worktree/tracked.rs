//! The tracked files, and which of them are known to be unmodified without reading them.

use archway_repo::{Cancel, RepoPath, Rules, TrackedEntry, TrackedKind};
use gix::index::entry::stat::{Options, Time};
use gix::index::entry::{Flags, Stage, Stat};
use gix::objs::tree::EntryKind;

use super::super::path_limiter::PathLimiter;
use super::super::trees::{self, Difference};
use super::super::{History, HistoryError, Side, error::git};

const READING: &str = "reading the index";

/// The index of a repository, and how far it can be trusted.
pub(super) struct Index {
    pub(super) file: gix::worktree::Index,
    options: Options,
    /// Whether the file system records the executable bit.
    has_modes: bool,
    /// Whether it supports links. Otherwise a plain file holds a link's target.
    has_links: bool,
    /// How to treat files that git does not check out.
    skipped: Trust,
}

/// A file that git tracks.
#[derive(Debug)]
pub(super) struct TrackedFile {
    pub(super) path: RepoPath,
    /// The file as the index has it.
    pub(super) side: Side,
    /// Intent-to-add: the index has no content for it.
    pub(super) is_intent_to_add: bool,
    trust: Trust,
}

/// The condition under which a file equals its index entry, so that its content need not be read.
#[derive(Clone, Copy, Debug)]
enum Trust {
    /// None: the user set `assume-unchanged` or `skip-worktree`.
    Always,
    /// The file is absent, because it is outside of a sparse checkout. If it exists all the same,
    /// it is read, as git does.
    IfAbsent,
    /// Its `stat` is equal.
    IfUnchanged(Stat),
    /// The file must always be read.
    Never,
}

impl Index {
    pub(super) fn of(repository: &gix::Repository) -> Result<Index, HistoryError> {
        let config = repository.config_snapshot();
        let is_set = |name| config.boolean(name).unwrap_or(false);
        let is_sparse = is_set("core.sparseCheckout");
        let skipped = match is_sparse && !is_set("sparse.expectFilesOutsideOfPatterns") {
            true => Trust::IfAbsent,
            false => Trust::Always,
        };
        Ok(Index {
            file: repository.index_or_empty().map_err(git(READING))?,
            options: repository.stat_options().map_err(git(READING))?,
            has_modes: config.boolean("core.fileMode").unwrap_or(true),
            has_links: config.boolean("core.symlinks").unwrap_or(true),
            skipped,
        })
    }

    /// All tracked files, in byte order of their paths, blocked ones included.
    pub(super) fn files(
        &self,
        repository: &gix::Repository,
        rules: &Rules,
        cancel: &Cancel,
    ) -> Result<Vec<TrackedFile>, HistoryError> {
        let mut files: Vec<TrackedFile> = Vec::with_capacity(self.file.entries().len());
        for entry in self.file.entries() {
            let name: &[u8] = entry.path(&self.file);
            let name = name.strip_suffix(b"/").unwrap_or(name);
            if !trees::is_normal(name) {
                continue;
            }
            let path = RepoPath::trusted(name);
            if entry.mode.is_sparse() {
                let trees = (None, Some(entry.id));
                let found = trees::differences_beneath(repository, rules, path, trees, cancel)?;
                files.extend(found.into_iter().filter_map(|file| self.sparse_file(file)));
                continue;
            }
            let Some(tracked) = self.tracked(path, entry) else {
                continue;
            };
            match files.last_mut().filter(|last| last.path == tracked.path) {
                // A conflict has up to three entries, none of which equals the file.
                Some(last) => last.trust = Trust::Never,
                None => files.push(tracked),
            }
        }
        Ok(files)
    }

    /// The tracked file at `path`. `None` if it is untracked or in conflict.
    pub(super) fn file(
        &self,
        history: &History,
        path: &RepoPath,
    ) -> Result<Option<TrackedFile>, HistoryError> {
        let name = path.as_bytes();
        let entry = self
            .file
            .entry_by_path_and_stage(name.into(), Stage::Unconflicted);
        if let Some(entry) = entry {
            return Ok(self.tracked(path.clone(), entry));
        }
        // A sparse folder may be a single entry, whose name ends with a slash.
        for (at, _) in name.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let (folder, within) = name.split_at(at + 1);
            let entry = self.file.entry_by_path(folder.into());
            if let Some(entry) = entry.filter(|entry| entry.mode.is_sparse()) {
                let mut limiter = PathLimiter::of(RepoPath::trusted(within));
                let (_, new) = limiter.sides(history, None, Some(entry.id))?;
                let (path, old) = (path.clone(), None);
                return Ok(self.sparse_file(Difference { path, old, new }));
            }
        }
        Ok(None)
    }

    /// The tracked file of an index entry. `None` for other entries.
    fn tracked(&self, path: RepoPath, entry: &gix::index::Entry) -> Option<TrackedFile> {
        let mode = entry.mode.to_tree_entry_mode()?.kind().into();
        let id = entry.id;
        Some(TrackedFile {
            path,
            side: Side { id, mode },
            is_intent_to_add: entry.flags.contains(Flags::INTENT_TO_ADD),
            trust: self.trust(entry),
        })
    }

    /// A file of a sparse folder that is a single entry.
    fn sparse_file(&self, file: Difference) -> Option<TrackedFile> {
        Some(TrackedFile {
            path: file.path,
            side: file.new?,
            is_intent_to_add: false,
            trust: self.skipped,
        })
    }

    fn trust(&self, entry: &gix::index::Entry) -> Trust {
        let is_conflict = entry.stage_raw() != 0;
        if entry.flags.contains(Flags::ASSUME_VALID) {
            Trust::Always
        } else if entry.flags.contains(Flags::SKIP_WORKTREE) {
            self.skipped
        } else if is_conflict || entry.flags.contains(Flags::INTENT_TO_ADD) {
            Trust::Never
        } else if entry
            .stat
            .is_racy(self.file.timestamp(), self.precision(&entry.stat))
        {
            // Racily clean: written when the index was, and possibly once more since.
            Trust::Never
        } else {
            Trust::IfUnchanged(entry.stat)
        }
    }

    /// Whether `stat` alone proves that a file is as in the index.
    pub(super) fn is_unmodified(&self, file: &TrackedFile, entry: Option<TrackedEntry>) -> bool {
        let Some(entry) = entry else {
            return matches!(file.trust, Trust::Always | Trust::IfAbsent);
        };
        let has_kind = match (file.side.mode.kind(), entry.kind) {
            (EntryKind::Commit, TrackedKind::Folder) => return true,
            (EntryKind::Link, TrackedKind::Link) => true,
            (EntryKind::Link, TrackedKind::File { .. }) => !self.has_links,
            (EntryKind::Blob | EntryKind::BlobExecutable, TrackedKind::File { is_executable }) => {
                is_executable == file.side.mode.is_executable() || !self.has_modes
            }
            _ => false,
        };
        match &file.trust {
            Trust::Always => true,
            Trust::IfUnchanged(stat) => {
                has_kind && stat.matches(&index_stat(&entry), self.precision(stat))
            }
            Trust::IfAbsent | Trust::Never => false,
        }
    }

    /// The work tree's side, with the index's mode where the file system records none.
    pub(super) fn with_mode(&self, side: Side, known: Side) -> Side {
        let is_unknown = match known.mode.kind() {
            EntryKind::Blob | EntryKind::BlobExecutable => !self.has_modes,
            EntryKind::Link => !self.has_links,
            _ => false,
        };
        let mode = match is_unknown && side.mode.is_blob() {
            true => known.mode,
            false => side.mode,
        };
        Side { mode, ..side }
    }

    /// The precision of time comparisons: that of the writer of the index.
    fn precision(&self, recorded: &Stat) -> Options {
        Options {
            use_nsec: recorded.mtime.nsecs != 0,
            ..self.options
        }
    }
}

/// A file's `stat`, truncated to the 32 bits that the index has for each number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the index keeps the lower 32 bits of each number"
)]
fn index_stat(entry: &TrackedEntry) -> Stat {
    let stat = &entry.stat;
    let time = |seconds: i64, nanoseconds: u64| Time {
        secs: seconds as u32,
        nsecs: nanoseconds as u32,
    };
    Stat {
        mtime: time(stat.st_mtime, stat.st_mtime_nsec),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec),
        dev: stat.st_dev as u32,
        ino: stat.st_ino as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: stat.st_size as u32,
    }
}
