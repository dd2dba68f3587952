//! Git's own commit-graph of a repository: one file, or a chain of them.
//!
//! Links are not followed: they could lead out of the mount. An unusable graph is logged once for
//! each state of its files, and then counts as absent.

use std::time::SystemTime;

use archway_repo::{Cancel, Jail, ObservedState, RepoPath, Stopped};
use gix::hash::Kind;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Graph, GraphError, MAX_BYTES, read_file};

/// Beneath the objects folder, in git's lookup order.
const SINGLE: &[u8] = b"info/commit-graph";
const CHAIN: &[u8] = b"info/commit-graphs/commit-graph-chain";
/// Maximum size of a chain's list of files, in bytes: enough for the 256 files that a chain can
/// have.
const MAX_LIST: u64 = 16 << 10;

/// The observed state of git's graph files.
#[derive(Debug)]
pub(crate) struct GraphFiles {
    single: ObservedState,
    chain: ObservedState,
}

impl GraphFiles {
    /// Reads the repository's own graph. Empty if there is none, or it is unusable.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(crate) fn read(
        git: &gix::Repository,
        cancel: &Cancel,
    ) -> Result<(GraphFiles, Graph), Stopped> {
        let folder = folder(git).ok();
        let looked_at = SystemTime::now();
        let observe = |path| {
            let folder = folder.as_ref().ok_or(Errno::NOENT);
            ObservedState::at(looked_at, folder.and_then(|folder| folder.stat(&at(path))))
        };
        let files = GraphFiles {
            single: observe(SINGLE),
            chain: observe(CHAIN),
        };
        let graph = match folder.map_or(Ok(None), |folder| read(&folder, cancel)) {
            Ok(graph) => graph,
            Err(GraphError::Stopped(stopped)) => return Err(stopped),
            Err(error) => {
                tracing::warn!(%error, "a repository's own commit-graph is ignored");
                None
            }
        };
        Ok((files, graph.unwrap_or_default()))
    }

    /// Whether git's files are unchanged since they were read.
    pub(crate) fn are_unchanged(&self, git: &gix::Repository) -> bool {
        let Ok(folder) = folder(git) else {
            return false;
        };
        self.single.still_holds(folder.stat(&at(SINGLE)))
            && self.chain.still_holds(folder.stat(&at(CHAIN)))
    }
}

/// The objects folder, which the repository check has confirmed to be inside the mount.
fn folder(git: &gix::Repository) -> Result<Jail, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = git.objects.store_ref().path();
    Jail::new(rustix::fs::open(path, flags, Mode::empty())?)
}

fn read(folder: &Jail, cancel: &Cancel) -> Result<Option<Graph>, GraphError> {
    let mut left = MAX_BYTES;
    if let Some(file) = content(folder, &at(SINGLE), &mut left, cancel)? {
        return Graph::of(vec![file], cancel).map(Some);
    }
    let Some(list) = content(folder, &at(CHAIN), &mut MAX_LIST.clone(), cancel)? else {
        return Ok(None);
    };
    let mut files = Vec::new();
    for name in list
        .split(|byte| *byte == b'\n')
        .filter(|name| !name.is_empty())
    {
        if name.len() != Kind::Sha1.len_in_hex() || !name.iter().all(u8::is_ascii_hexdigit) {
            return Err(GraphError::Malformed("invalid chain file"));
        }
        let name = [b"info/commit-graphs/graph-", name, b".graph"].concat();
        let file = content(folder, &at(&name), &mut left, cancel)?;
        files.push(file.ok_or(GraphError::Malformed("a chain names a missing file"))?);
    }
    Graph::of(files, cancel).map(Some)
}

/// Reads a file, and subtracts its size from `left`.
fn content(
    folder: &Jail,
    path: &RepoPath,
    left: &mut u64,
    cancel: &Cancel,
) -> Result<Option<Vec<u8>>, GraphError> {
    let fd = match folder.open(path, OFlags::RDONLY | OFlags::NONBLOCK) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        opened => opened.map_err(std::io::Error::from)?,
    };
    let content = read_file(std::fs::File::from(fd), *left, cancel)?;
    *left = left.saturating_sub(content.len() as u64);
    Ok(Some(content))
}

fn at(path: &[u8]) -> RepoPath {
    RepoPath::root().join(path)
}
