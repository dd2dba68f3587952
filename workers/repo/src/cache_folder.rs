//! The private folders where what is expensive to compute outlives the worker.
//!
//! They lie outside all mounts, and only the worker's user can read them. Their files are trusted no
//! more than a repository's own: they are checked when they are read. Replicas on one host may share
//! them: a file is written under a unique name, then renamed.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Subfolders of the one that the operator names, which may be a volume with rights of its own.
const HISTORY: &str = "history";
const SEARCH: &str = "search";

/// Folders that only this worker can read and write.
#[derive(Clone, Debug)]
pub struct CacheFolder {
    history: PathBuf,
    search: PathBuf,
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
    /// Others may write to the folder.
    #[error(
        "--cache (ARCHWAY_CACHE_DIR) {} may be written by other users: remove it, or take their \
         rights away (chmod 0700)", .0.display()
    )]
    Writable(PathBuf),
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
    /// before the process is confined, and grant access to [`CacheFolder::paths`]; it can be opened
    /// again afterwards.
    ///
    /// # Errors
    /// [`CacheFolderError`]
    pub fn open(named: &Path, mounts: &[PathBuf]) -> Result<CacheFolder, CacheFolderError> {
        Ok(CacheFolder {
            history: private_folder(named, HISTORY, mounts)?,
            search: private_folder(named, SEARCH, mounts)?,
        })
    }

    /// The folder of graphs and ledgers: absolute, without links.
    pub fn history(&self) -> &Path {
        &self.history
    }

    /// The folder of the search index: absolute, without links.
    pub fn search(&self) -> &Path {
        &self.search
    }

    /// All folders.
    pub fn paths(&self) -> [&Path; 2] {
        [&self.history, &self.search]
    }
}

fn private_folder(
    named: &Path,
    name: &str,
    mounts: &[PathBuf],
) -> Result<PathBuf, CacheFolderError> {
    let failed = |source| CacheFolderError::Io {
        path: named.to_owned(),
        source,
    };
    let path = resolve(&named.join(name)).map_err(failed)?;
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
    if about.mode() & 0o022 != 0 {
        return Err(CacheFolderError::Writable(path));
    }
    if about.mode() & 0o077 != 0 {
        fs::set_permissions(&path, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(path)
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
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn folders_are_created_private() {
        let temp = tempfile::tempdir().unwrap();
        let folder = CacheFolder::open(&temp.path().join("new/cache"), &[]).unwrap();
        assert_eq!(folder.paths().map(mode), [0o700; 2]);
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
        for name in ["history/repos", "search/repos"] {
            let around = CacheFolder::open(temp.path(), &[temp.path().join(name)]);
            assert!(matches!(around, Err(CacheFolderError::InMount { .. })));
        }
        assert!(CacheFolder::open(&temp.path().join("repos-cache"), &[repos]).is_ok());
    }

    #[test]
    fn permissions_of_an_existing_folder_are_restricted() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(SEARCH);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        CacheFolder::open(temp.path(), &[]).unwrap();
        assert_eq!(mode(&path), 0o700);
        fs::set_permissions(&path, Permissions::from_mode(0o770)).unwrap();
        let refused = CacheFolder::open(temp.path(), &[]);
        assert!(matches!(refused, Err(CacheFolderError::Writable(_))));
    }

    #[test]
    fn a_folder_of_another_user_is_refused_and_left_as_it_is() {
        for name in [HISTORY, SEARCH] {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join(name);
            if rustix::process::geteuid().is_root() {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
                std::os::unix::fs::chown(&path, Some(54_321), None).unwrap();
            } else {
                // A folder of root's.
                std::os::unix::fs::symlink("/usr", &path).unwrap();
            }
            let before = mode(&path);
            let refused = CacheFolder::open(temp.path(), &[]);
            assert!(
                matches!(refused, Err(CacheFolderError::ForeignOwner(_))),
                "{name}: {refused:?}"
            );
            assert_eq!(mode(&path), before, "{name}");
        }
    }
}
