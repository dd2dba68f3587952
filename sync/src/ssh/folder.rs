//! The folder of an agent's socket, which only its owner may enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::SshError;

/// The longest path of a socket, in bytes: `sun_path` has 108, the last of them zero.
const MAX_SOCKET_PATH: usize = 107;
/// Random digits in the folder's name.
const DIGITS: usize = 12;

/// A folder that is removed on drop.
#[derive(Debug)]
pub(super) struct AgentFolder {
    path: PathBuf,
    socket: PathBuf,
}

impl AgentFolder {
    /// Makes a folder below another. One that is there already is never used.
    pub(super) fn make(below: &Path) -> Result<AgentFolder, SshError> {
        let random = Uuid::new_v4().simple().to_string();
        let digits: String = random.chars().take(DIGITS).collect();
        let path = below.join(format!("ssh-{digits}"));
        let socket = path.join("agent.sock");
        let length = socket.as_os_str().as_bytes().len();
        if length > MAX_SOCKET_PATH {
            return Err(SshError::SocketPath(length));
        }
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(SshError::Folder)?;
        Ok(AgentFolder { path, socket })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for AgentFolder {
    fn drop(&mut self) {
        match fs::remove_dir_all(&self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, "the folder of an ssh agent was not removed"),
        }
    }
}
