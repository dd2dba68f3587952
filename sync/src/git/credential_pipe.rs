//! Gives git a user and a password through a named pipe that [`crate::helper`] reads.
//!
//! The pipe is in a folder of mode 0700 that goes with the run. Neither an argument, nor the environment, nor a
//! file has the secret.

use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use secrecy::{ExposeSecret, SecretString};
use tokio::task::JoinHandle;
use tokio::time::Duration;

use crate::credentials::HttpsCredential;
use crate::failure::{SyncFailure, SyncState};

/// How often the writer looks whether somebody reads.
const POLL: Duration = Duration::from_millis(10);

/// A pipe with a credential. It is removed on drop.
pub(super) struct CredentialPipe {
    folder: PathBuf,
    writer: JoinHandle<()>,
}

impl CredentialPipe {
    /// Makes the pipe, and writes to it whenever it is read.
    ///
    /// # Errors
    /// If the temporary folder cannot be written to.
    pub(super) fn make(credential: &HttpsCredential) -> Result<CredentialPipe, SyncFailure> {
        let failed = |error: std::io::Error| {
            let message = format!(
                "the pipe for the credential can't be made: {}",
                error.kind()
            );
            SyncFailure::new(SyncState::Failed, message)
        };
        let folder =
            std::env::temp_dir().join(format!("archway-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir(&folder).map_err(failed)?;
        let password = credential.password.expose_secret();
        let text = format!("username={}\npassword={password}\n", credential.user);
        let path = folder.join("credential");
        let made =
            std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).and_then(|()| {
                let mode = Mode::RUSR | Mode::WUSR;
                Ok(rustix::fs::mknodat(CWD, &path, FileType::Fifo, mode, 0)?)
            });
        let writer = tokio::spawn(write_to_readers(path, text.into()));
        let pipe = CredentialPipe { folder, writer };
        made.map_err(failed)?;
        Ok(pipe)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("credential")
    }
}

impl Drop for CredentialPipe {
    fn drop(&mut self) {
        self.writer.abort();
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(error = %error.kind(), "the pipe of a credential was not removed");
        }
    }
}

/// Writes the text each time that a reader opens the pipe.
async fn write_to_readers(path: PathBuf, text: SecretString) {
    loop {
        tokio::time::sleep(POLL).await;
        // Without a reader the open fails at once.
        if let Ok(mut pipe) = open(&path) {
            // A reader that is gone has what it needs.
            _ = pipe.write_all(text.expose_secret().as_bytes());
        }
    }
}

fn open(path: &Path) -> std::io::Result<std::fs::File> {
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(path)
}
