//! The user that PostgreSQL runs as: this process's user, or `nobody` if that is root.
//!
//! PostgreSQL refuses to run as root. `nobody` then owns the cluster and its socket folder, and
//! nothing else. The data folder stays root's; its group may pass through it but not list it (0710),
//! so a compromised server can neither read nor replace the secrets beside its cluster. Other
//! processes of `nobody` can reach the socket, though: on a machine that has such processes, run
//! Archway as a dedicated user.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// User and group id of `nobody`: 65534, on macOS -2.
const NOBODY: u32 = if cfg!(target_os = "macos") {
    u32::MAX - 1
} else {
    65_534
};

/// The account of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    /// The user of this process.
    Own,
    /// The user `nobody`, because this process is root's.
    Nobody,
}

/// Why the account cannot reach the data.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// A parent folder is not searchable by the account.
    #[error(
        "PostgreSQL can't run as root and runs as user {NOBODY} (nobody), which {} (mode {mode:04o}) \
         doesn't let through; choose a data folder elsewhere with --data", folder.display()
    )]
    NotSearchable {
        /// The folder.
        folder: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The operating system refused.
    #[error("giving PostgreSQL's user access to {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

impl Account {
    /// The account for servers that this process starts.
    pub(crate) fn for_servers() -> Self {
        if rustix::process::geteuid().is_root() {
            Account::Nobody
        } else {
            Account::Own
        }
    }

    /// The account's user id. For `nobody` it is the group id as well.
    pub(crate) fn uid(self) -> u32 {
        match self {
            Account::Own => rustix::process::geteuid().as_raw(),
            Account::Nobody => NOBODY,
        }
    }

    /// Makes `command` run under this account. (`uid` also drops supplementary groups.)
    pub(crate) fn apply(self, command: &mut Command) {
        match self {
            Account::Own => {}
            Account::Nobody => {
                command.gid(NOBODY).uid(NOBODY);
            }
        }
    }

    /// Makes the account the owner of a folder.
    pub(crate) fn give(self, path: &Path) -> Result<(), AccountError> {
        match self {
            Account::Own => Ok(()),
            Account::Nobody => chown(path, Some(NOBODY), Some(NOBODY)).map_err(failed(path)),
        }
    }

    /// Lets the account pass through the data folder, and checks that it can reach it. `data` is
    /// absolute and contains no links.
    pub(crate) fn grant_passage(self, data: &Path) -> Result<(), AccountError> {
        match self {
            Account::Own => Ok(()),
            Account::Nobody => {
                chown(data, None, Some(NOBODY)).map_err(failed(data))?;
                fs::set_permissions(data, Permissions::from_mode(0o710)).map_err(failed(data))?;
                data.ancestors().try_for_each(check_searchable)
            }
        }
    }
}

fn check_searchable(folder: &Path) -> Result<(), AccountError> {
    let about = fs::metadata(folder).map_err(failed(folder))?;
    let bit = if about.uid() == NOBODY {
        0o100
    } else if about.gid() == NOBODY {
        0o010
    } else {
        0o001
    };
    if about.mode() & bit == 0 {
        let mode = about.mode() & 0o7777;
        return Err(AccountError::NotSearchable {
            folder: folder.to_owned(),
            mode,
        });
    }
    Ok(())
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> AccountError {
    let path = path.to_owned();
    move |source| AccountError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_is_not_searchable_is_named() {
        let home = tempfile::tempdir().unwrap();
        let closed = home.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
        let refusal = check_searchable(&closed).unwrap_err().to_string();
        assert!(refusal.contains("closed (mode 0700)"), "{refusal}");
        assert!(refusal.contains("--data"), "{refusal}");
        fs::set_permissions(&closed, Permissions::from_mode(0o711)).unwrap();
        check_searchable(&closed).unwrap();
    }
}
