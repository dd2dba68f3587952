//! The private folder where graphs outlive the worker: graphs take minutes to make for a large
//! repository, and seconds to read.
//!
//! It is outside all mounts, and nobody but the worker's user may look into it. What lies in it is
//! believed no more than a repository's own: it is checked when it is read. Replicas on one host may
//! share it: a file is written under a name of its own and renamed.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::super::graph::{Graph, GraphError, MAX_BYTES, whole};
use crate::repo::{Cancel, Key, Stopped};

/// Beneath the folder that an operator names, which may be a volume with rights of its own.
const NAME: &str = "history";
/// What all files may take, in bytes.
const MAX_TOTAL: u64 = 2 << 30;
/// When a file that was never finished is removed.
const UNFINISHED: Duration = Duration::from_secs(3600);
const GRAPH: &str = "graph";
const DRAFT: &str = "new";

/// Tells drafts of one process apart.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// A folder that this worker may write, and nobody else.
#[derive(Clone, Debug)]
pub struct CacheFolder {
    path: PathBuf,
}

/// Why a folder can't be the cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheFolderError {
    /// It would be among repositories.
    #[error(
        "--cache (ARCHWAY_CACHE_DIR) {} lies in the repositories at {}, or they in it: name a \
         folder elsewhere", path.display(), mount.display()
    )]
    InMount {
        /// The folder.
        path: PathBuf,
        /// The mount that it touches.
        mount: PathBuf,
    },
    /// Somebody else made it.
    #[error(
        "--cache (ARCHWAY_CACHE_DIR) {} belongs to another user: name a folder in which the worker \
         may make its own", .0.display()
    )]
    NotOurs(PathBuf),
    /// The operating system said no.
    #[error("--cache (ARCHWAY_CACHE_DIR) {} can't be used", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
}

impl CacheFolder {
    /// Makes a folder in `named` where it is missing (mode 0700), outside of `mounts`. Call it
    /// before the process is confined, and grant it [`CacheFolder::path`]; afterwards it can be
    /// opened again.
    ///
    /// # Errors
    /// [`CacheFolderError`]
    pub fn open(named: &Path, mounts: &[PathBuf]) -> Result<CacheFolder, CacheFolderError> {
        let failed = |source| CacheFolderError::Io {
            path: named.to_owned(),
            source,
        };
        let path = resolve(&named.join(NAME)).map_err(failed)?;
        for mount in mounts {
            let resolved = resolve(mount).map_err(failed)?;
            if path.starts_with(&resolved) || resolved.starts_with(&path) {
                let (path, mount) = (named.to_owned(), mount.clone());
                return Err(CacheFolderError::InMount { path, mount });
            }
        }
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&path).map_err(failed)?;
        let about = fs::symlink_metadata(&path).map_err(failed)?;
        if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() {
            return Err(CacheFolderError::NotOurs(path));
        }
        if about.mode() & 0o077 != 0 {
            fs::set_permissions(&path, Permissions::from_mode(0o700)).map_err(failed)?;
        }
        Ok(CacheFolder { path })
    }

    /// The folder: absolute, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The graph that was saved for a project, if it is whole.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn load(&self, project: &Key, cancel: &Cancel) -> Result<Option<Graph>, Stopped> {
        let path = self.place(project);
        let graph = OpenOptions::new().read(true).open(&path);
        let graph = graph.map_err(GraphError::Io).and_then(|file| {
            let content = whole(file, MAX_BYTES, cancel)?;
            Graph::checked(content, cancel)
        });
        match graph {
            Ok(graph) => return Ok(Some(graph)),
            Err(GraphError::Stopped(stopped)) => return Err(stopped),
            Err(GraphError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(GraphError::Io(error)) => {
                tracing::warn!(%error, "a kept commit-graph can't be read");
            }
            Err(error @ (GraphError::Malformed(_) | GraphError::TooLarge)) => {
                tracing::warn!(%error, "a kept commit-graph is damaged, and made anew");
                fs::remove_file(&path).ok();
            }
        }
        Ok(None)
    }

    /// Saves a project's graph, in place of the one before. The oldest others make room.
    pub(super) fn save(&self, project: &Key, file: &[u8]) -> io::Result<()> {
        self.make_room(file.len() as u64)?;
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = format!("{}-{number}.{DRAFT}", std::process::id());
        let draft = self.path.join(draft);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = options
            .open(&draft)
            .and_then(|mut open| open.write_all(file))
            .and_then(|()| fs::rename(&draft, self.place(project)));
        if written.is_err() {
            fs::remove_file(&draft).ok();
        }
        written
    }

    fn make_room(&self, size: u64) -> io::Result<()> {
        let mut graphs = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // It may be renamed or removed by a replica meanwhile.
            let Ok(about) = entry.metadata() else {
                continue;
            };
            let (path, written) = (entry.path(), about.modified()?);
            if path.extension().is_some_and(|is| is == GRAPH) {
                graphs.push((written, about.len(), path));
            } else if path.extension().is_some_and(|is| is == DRAFT) && is_older(written) {
                fs::remove_file(path).ok();
            }
        }
        graphs.sort_unstable();
        let mut total = size + graphs.iter().map(|(_, size, _)| size).sum::<u64>();
        for (_, size, path) in graphs {
            if total <= MAX_TOTAL {
                break;
            }
            fs::remove_file(path).ok();
            total -= size;
        }
        Ok(())
    }

    fn place(&self, project: &Key) -> PathBuf {
        self.path.join(project.fingerprint()).with_extension(GRAPH)
    }
}

fn is_older(written: SystemTime) -> bool {
    written.elapsed().is_ok_and(|age| age > UNFINISHED)
}

/// Where a path is without links, as far as it exists.
#[expect(
    clippy::disallowed_methods,
    reason = "the operator's own folders, not a tenant's path"
)]
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    for existing in path.ancestors() {
        if let Ok(resolved) = existing.canonicalize() {
            let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
            return Ok(resolved.join(rest));
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::testing::{Sandbox, cancel};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_saved_graph_is_private_and_a_damaged_one_is_removed() {
        let temp = tempfile::tempdir().unwrap();
        let folder = CacheFolder::open(&temp.path().join("new/cache"), &[]).unwrap();
        assert_eq!(mode(folder.path()), 0o700);
        let app = Sandbox::new();
        app.file("a", "1").committed();
        app.git(&["commit-graph", "write", "--reachable"]);
        let graph = fs::read(app.root().join(".git/objects/info/commit-graph")).unwrap();
        let repo = app.repo();
        let key = repo.key();
        let load = || folder.load(key, &cancel()).unwrap();
        assert!(load().is_none());
        folder.save(key, &graph).unwrap();
        assert_eq!(load().unwrap().len(), 1);
        assert_eq!(mode(&folder.place(key)), 0o600);
        let mut damaged = graph;
        damaged[1100] ^= 1;
        folder.save(key, &damaged).unwrap();
        assert!(load().is_none() && !folder.place(key).exists());
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            0,
            "no draft is left"
        );
    }

    #[test]
    fn a_folder_among_repositories_is_refused_before_it_is_made() {
        let temp = tempfile::tempdir().unwrap();
        let repos = temp.path().join("repos");
        fs::create_dir(&repos).unwrap();
        std::os::unix::fs::symlink(&repos, temp.path().join("link")).unwrap();
        for named in ["repos", "repos/acme/new", "link/cache"] {
            let refused = CacheFolder::open(&temp.path().join(named), std::slice::from_ref(&repos));
            assert!(
                matches!(refused, Err(CacheFolderError::InMount { .. })),
                "{named}"
            );
        }
        assert_eq!(fs::read_dir(&repos).unwrap().count(), 0);
        let around = CacheFolder::open(temp.path(), &[temp.path().join("history/repos")]);
        assert!(matches!(around, Err(CacheFolderError::InMount { .. })));
        assert!(CacheFolder::open(&temp.path().join("repos-cache"), &[repos]).is_ok());
    }

    #[test]
    fn a_folder_that_others_may_read_is_closed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(NAME);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        CacheFolder::open(temp.path(), &[]).unwrap();
        assert_eq!(mode(&path), 0o700);
    }
}
