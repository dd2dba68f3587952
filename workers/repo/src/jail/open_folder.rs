//! The folder opened last, for paths that come in order: one system call for the metadata of a file.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, OFlags, Stat};
use rustix::io::Errno;

use super::Jail;
use crate::path::RepoPath;

/// The folder opened last.
#[derive(Default)]
pub(crate) struct OpenFolder {
    open: Option<(RepoPath, Result<OwnedFd, Errno>)>,
}

impl OpenFolder {
    /// The metadata of the entry at `path` itself. Returns `ELOOP` if there is a link above it.
    pub(crate) fn stat(&mut self, jail: &Jail, path: &RepoPath) -> Result<Stat, Errno> {
        let known = self
            .open
            .take()
            .filter(|(folder, _)| path.is_child_of(folder));
        let (_, opened) = self.open.insert(known.unwrap_or_else(|| {
            let parent = path.parent().unwrap_or_else(RepoPath::root);
            let opened = jail.open(&parent, OFlags::PATH | OFlags::DIRECTORY);
            (parent, opened)
        }));
        match opened {
            Ok(folder) => rustix::fs::statat(&*folder, path.name(), AtFlags::SYMLINK_NOFOLLOW),
            Err(errno) => Err(*errno),
        }
    }
}
