//! The private folder where graphs and ledgers outlive the worker: building them for a large
//! repository takes minutes, reading them takes seconds.
//!
//! It lies outside all mounts, and only the worker's user can read it. Its files are trusted no
//! more than a repository's own: they are checked when they are read. Replicas on one host may
//! share the folder: a file is written under a unique name, then renamed.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use archway_repo::{Cancel, Key, Stopped};
use uuid::Uuid;

use super::super::graph::{GraphError, MAX_BYTES, read_file};

/// Subfolder of the one that the operator names, which may be a volume with rights of its own.
const NAME: &str = "history";
/// Size of all files, in bytes.
const MAX_TOTAL: u64 = 2 << 30;
/// Unfinished files are removed after this time.
const MAX_DRAFT_AGE: Duration = Duration::from_secs(3600);
const DRAFT: &str = "new";

/// A folder that only this worker can read and write.
#[derive(Clone, Debug)]
pub struct CacheFolder {
    path: PathBuf,
}

/// The files that are saved for a project.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Graph,
    Ledger,
}

/// Why a folder can't be the cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheFolderError {
    /// The folder overlaps with repositories.
    #[error(
        "--cache (ARCHWAY_CACHE_DIR) {} overlaps the repositories at {}: name another \
         folder", path.display(), mount.display()
    )]
    InMount {
        /// The folder.
        path: PathBuf,
        /// The mount that it overlaps.
        mount: PathBuf,
    },
    /// Another user owns the folder.
    #[error(
        "--cache (ARCHWAY_CACHE_DIR) {} belongs to another user: name a folder in which the worker \
         may make its own", .0.display()
    )]
    ForeignOwner(PathBuf),
    /// The operating system refused.
    #[error("--cache (ARCHWAY_CACHE_DIR) {} can't be used", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

impl CacheFolder {
    /// Opens the cache in `named`, outside of `mounts`; creates it if missing (mode 0700). Call it
    /// before the process is confined, and grant access to [`CacheFolder::path`]; it can be opened
    /// again afterwards.
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
            return Err(CacheFolderError::ForeignOwner(path));
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

    /// Loads a saved part of a project. `None` if it is missing or `parse` rejects it.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn load<T>(
        &self,
        project: &Key,
        part: Part,
        parse: impl FnOnce(Vec<u8>) -> Result<T, GraphError>,
        cancel: &Cancel,
    ) -> Result<Option<T>, Stopped> {
        let path = self.file_path(project, part);
        let file = OpenOptions::new().read(true).open(&path);
        let content = file.map_err(GraphError::Io);
        let content = content.and_then(|file| read_file(file, MAX_BYTES, cancel));
        match content.and_then(parse) {
            Ok(parsed) => return Ok(Some(parsed)),
            Err(GraphError::Stopped(stopped)) => return Err(stopped),
            Err(GraphError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(GraphError::Io(error)) => {
                tracing::warn!(%error, ?part, "a cached graph or ledger could not be read");
            }
            Err(error @ (GraphError::Malformed(_) | GraphError::TooLarge)) => {
                tracing::warn!(%error, ?part, "a cached graph or ledger is damaged and will be rebuilt");
                fs::remove_file(&path).ok();
            }
        }
        Ok(None)
    }

    /// Saves a part of a project, replacing the previous one. Evicts the oldest files of others.
    pub(super) fn save(&self, project: &Key, part: Part, file: &[u8]) -> io::Result<()> {
        let file_path = self.file_path(project, part);
        self.evict(&file_path, file.len() as u64)?;
        // Unique names: in containers every worker is process 1.
        let draft = self.path.join(Uuid::new_v4().to_string());
        let draft = draft.with_extension(DRAFT);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = options
            .open(&draft)
            .and_then(|mut open| open.write_all(file))
            .and_then(|()| fs::rename(&draft, file_path));
        if written.is_err() {
            fs::remove_file(&draft).ok();
        }
        written
    }

    /// Evicts the oldest files until `size` bytes fit in place of the file at `path`.
    fn evict(&self, file_path: &Path, size: u64) -> io::Result<()> {
        let mut saved = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A replica may rename or remove the file meanwhile.
            let Ok(about) = entry.metadata() else {
                continue;
            };
            let (path, written) = (entry.path(), about.modified()?);
            let is = |name: &str| path.extension().is_some_and(|is| is == name);
            let is_saved = is(Part::Graph.name()) || is(Part::Ledger.name());
            if is_saved && path != file_path {
                saved.push((written, about.len(), path));
            } else if is(DRAFT) && is_stale(written) {
                fs::remove_file(path).ok();
            }
        }
        saved.sort_unstable();
        let mut total = size + saved.iter().map(|(_, size, _)| size).sum::<u64>();
        for (_, size, path) in saved {
            if total <= MAX_TOTAL {
                break;
            }
            fs::remove_file(path).ok();
            total -= size;
        }
        Ok(())
    }

    fn file_path(&self, project: &Key, part: Part) -> PathBuf {
        let file = self.path.join(project.fingerprint());
        file.with_extension(part.name())
    }
}

impl Part {
    /// The file extension, and a label of metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Graph => "graph",
            Part::Ledger => "ledger",
        }
    }
}

fn is_stale(written: SystemTime) -> bool {
    written.elapsed().is_ok_and(|age| age > MAX_DRAFT_AGE)
}

/// Resolves the links of a path, as far as it exists.
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
    use archway_repo::testing::{Sandbox, cancel};

    use super::super::super::graph::Graph;
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn saved_graphs_are_private_and_damaged_ones_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let folder = CacheFolder::open(&temp.path().join("new/cache"), &[]).unwrap();
        assert_eq!(mode(folder.path()), 0o700);
        let app = Sandbox::new();
        app.file("a", "1").committed();
        app.git(&["commit-graph", "write", "--reachable"]);
        let graph = fs::read(app.root().join(".git/objects/info/commit-graph")).unwrap();
        let repo = app.repo();
        let key = repo.key();
        let part = Part::Graph;
        let parse = |content| Graph::checked(content, &cancel());
        let load = || folder.load(key, part, parse, &cancel()).unwrap();
        assert!(load().is_none());
        folder.save(key, part, &graph).unwrap();
        assert_eq!(load().unwrap().len(), 1);
        assert_eq!(mode(&folder.file_path(key, part)), 0o600);
        let mut damaged = graph;
        damaged[1100] ^= 1;
        folder.save(key, part, &damaged).unwrap();
        assert!(load().is_none() && !folder.file_path(key, part).exists());
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            0,
            "drafts are removed"
        );
    }

    #[test]
    fn folders_inside_repositories_are_rejected_before_creation() {
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
    fn permissions_of_an_existing_folder_are_restricted() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(NAME);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        CacheFolder::open(temp.path(), &[]).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn saving_leaves_drafts_of_other_workers_alone() {
        let temp = tempfile::tempdir().unwrap();
        let folder = CacheFolder::open(temp.path(), &[]).unwrap();
        // Another worker with the same process id, in a container of its own.
        let others = |number| format!("{}-{number}.{DRAFT}", std::process::id());
        let others: Vec<_> = (0..1000).map(|it| folder.path.join(others(it))).collect();
        for other in &others {
            fs::write(other, "half").unwrap();
        }
        let app = Sandbox::new();
        let saved = folder.save(app.repo().key(), Part::Graph, b"whole");
        assert!(saved.is_ok(), "{saved:?}");
        assert!(others.iter().all(|other| other.exists()));
    }

    #[test]
    fn the_oldest_files_are_evicted_except_the_replaced_one() {
        let temp = tempfile::tempdir().unwrap();
        let folder = CacheFolder::open(temp.path(), &[]).unwrap();
        let saved = |name: &str, part: Part, age: u64| {
            let path = folder.path.join(name).with_extension(part.name());
            let file = fs::File::create(&path).unwrap();
            file.set_len(MAX_TOTAL / 2).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
            path
        };
        let oldest = saved("oldest", Part::Graph, 9);
        let own = saved("own", Part::Ledger, 5);
        folder.evict(&own, MAX_TOTAL / 2).unwrap();
        assert!(oldest.exists() && own.exists());
        folder.evict(&own, MAX_TOTAL / 2 + 1).unwrap();
        assert!(!oldest.exists() && own.exists());
    }
}
