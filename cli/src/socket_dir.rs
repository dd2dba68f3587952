//! Short private folders for unix sockets.
//!
//! A socket's path has at most 107 bytes (103 on macOS), and the data folder can be at any depth, so
//! sockets are elsewhere: in `$XDG_RUNTIME_DIR/archway-<fingerprint>`, else in
//! `/tmp/archway-<fingerprint>`. In `/tmp` any user may have created that folder before. So it is
//! opened without following links, its owner is checked, and it is changed through the descriptor only.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::account::Account;
use crate::data_dir::DataDir;

/// The longest path that fits into `sockaddr_un` on all platforms.
const MAX_SOCKET_PATH: usize = 103;
/// The longest socket name in such a folder, with its slash.
const LONGEST_SOCKET: usize = "/.s.PGSQL.5432.lock".len();

/// A folder (mode 0700) that only one account can read. Removed on drop if it is empty.
#[derive(Debug)]
pub struct SocketDir {
    path: PathBuf,
}

/// Why there is no socket folder.
#[derive(Debug, thiserror::Error)]
pub enum SocketDirError {
    /// Another user created a folder of that name.
    #[error("{} belongs to user id {owner}; remove it, or set XDG_RUNTIME_DIR", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// That user's id.
        owner: u32,
    },
    /// The operating system refused.
    #[error("making the socket folder {}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

impl SocketDir {
    /// The folder of `data` for `purpose`, owned by `account`. Since `data` is claimed, no other
    /// process uses it.
    pub(crate) fn claim(
        data: &DataDir,
        purpose: &str,
        account: Account,
    ) -> Result<Self, SocketDirError> {
        let name = name(&data.fingerprint(), purpose);
        let path = folder_path(runtime_dir(account), &name);
        make_private(&path, account)?;
        Ok(SocketDir { path })
    }

    /// The folder in which another process of `account` has `socket` for `purpose`, if any. That
    /// process may have had a different runtime folder, or none.
    pub(crate) fn find(
        fingerprint: &str,
        purpose: &str,
        account: Account,
        socket: &str,
    ) -> Option<PathBuf> {
        let name = name(fingerprint, purpose);
        let candidates = [
            folder_path(runtime_dir(account), &name),
            folder_path(None, &name),
        ];
        let own = rustix::process::geteuid().as_raw();
        candidates.into_iter().find(|path| {
            let folder = path
                .symlink_metadata()
                .ok()
                .filter(|folder| folder.is_dir());
            // In /tmp any user may have created a folder of this name.
            folder.is_some_and(|folder| [own, account.uid()].contains(&folder.uid()))
                && path.join(socket).exists()
        })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder with its sockets, whose servers have ended.
    pub(crate) fn remove(self) {
        // The next start finds and reuses what remains.
        std::fs::remove_dir_all(&self.path).ok();
    }
}

impl Drop for SocketDir {
    fn drop(&mut self) {
        // A folder that still contains a socket is in use, or reused by the next start.
        std::fs::remove_dir(&self.path).ok();
    }
}

fn name(fingerprint: &str, purpose: &str) -> String {
    format!("archway-{fingerprint}-{purpose}")
}

/// Root's runtime folder is not accessible to other accounts.
fn runtime_dir(account: Account) -> Option<PathBuf> {
    match account {
        Account::Own => std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
        Account::Nobody => None,
    }
}

fn folder_path(runtime_dir: Option<PathBuf>, name: &str) -> PathBuf {
    let fits = |path: &PathBuf| path.as_os_str().len() + LONGEST_SOCKET <= MAX_SOCKET_PATH;
    runtime_dir
        .filter(|dir| dir.is_absolute() && dir.is_dir())
        .map(|dir| dir.join(name))
        .filter(fits)
        .unwrap_or_else(|| Path::new("/tmp").join(name))
}

fn make_private(path: &Path, account: Account) -> Result<(), SocketDirError> {
    let failed = |source| SocketDirError::Io {
        path: path.to_owned(),
        source,
    };
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let folder = File::from(folder);
    let owner = folder.metadata().map_err(failed)?.uid();
    let own = rustix::process::geteuid().as_raw();
    if owner != own && owner != account.uid() {
        return Err(SocketDirError::Foreign {
            path: path.to_owned(),
            owner,
        });
    }
    folder
        .set_permissions(Permissions::from_mode(0o700))
        .map_err(failed)?;
    match account {
        Account::Own => Ok(()),
        Account::Nobody => {
            fchown(&folder, Some(account.uid()), Some(account.uid())).map_err(failed)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_long_runtime_folder_is_not_used() {
        let long = tempfile::tempdir().unwrap();
        let deep = long.path().join("d".repeat(80));
        std::fs::create_dir(&deep).unwrap();
        assert_eq!(
            folder_path(Some(deep), "archway-1"),
            PathBuf::from("/tmp/archway-1")
        );
        assert_eq!(
            folder_path(None, "archway-1"),
            PathBuf::from("/tmp/archway-1")
        );
        let short = Path::new("/tmp").to_owned();
        assert_eq!(
            folder_path(Some(short), "archway-1"),
            PathBuf::from("/tmp/archway-1")
        );
    }

    #[test]
    fn a_planted_link_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("target");
        std::fs::create_dir(&target).unwrap();
        std::fs::set_permissions(&target, Permissions::from_mode(0o755)).unwrap();
        let link = home.path().join("link");
        symlink(&target, &link).unwrap();
        assert!(make_private(&link, Account::Own).is_err());
        let mode = std::fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn a_leftover_folder_is_reused_and_made_private() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("left");
        std::fs::create_dir(&path).unwrap();
        make_private(&path, Account::Own).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
