//! The cluster: its folder, its creation, and its server's settings.
//!
//! A cluster is created beside its final path and then renamed, so that a killed `initdb` leaves nothing
//! that looks like a cluster. Settings are passed on the command line at each start: the files of
//! `initdb` stay unchanged, so that other tools can open the cluster.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::OWNER;
use super::binaries::Binaries;
use crate::account::{Account, AccountError};
use crate::data_dir::DataDir;

/// The number in the socket's name. There is no TCP port.
pub(super) const PORT: u16 = 5432;

/// Sized for a laptop. Durability (fsync, full page writes) stays enabled.
const SETTINGS: [&str; 11] = [
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "max_connections=60",
    "shared_buffers=64MB",
    "jit=off",           // compiling costs more than these short queries
    "wal_level=minimal", // there is no replication
    "max_wal_senders=0",
    "min_wal_size=32MB",
    "max_wal_size=256MB",
    "log_destination=stderr",
    "logging_collector=off",
];

/// Where a cluster is or will be.
#[derive(Debug)]
pub(super) struct Cluster {
    folder: PathBuf,
    account: Account,
}

/// Why a cluster cannot be created or used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The folder exists and contains no cluster.
    #[error("{} holds no PostgreSQL cluster (its PG_VERSION can't be read)", folder.display())]
    NoCluster {
        /// The folder.
        folder: PathBuf,
        /// The operating system's error, if any.
        #[source]
        source: Option<io::Error>,
    },
    /// `initdb` failed.
    #[error("initdb failed ({status}):\n{output}")]
    Initdb {
        /// Its exit status.
        status: std::process::ExitStatus,
        /// Its output.
        output: String,
    },
    /// The account cannot become the folder's owner.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The operating system refused.
    #[error("{what} {}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

impl Cluster {
    /// The cluster of `data`, which may not exist yet.
    pub(super) fn in_data_dir(data: &DataDir, account: Account) -> Self {
        Cluster {
            folder: data.path().join("postgres"),
            account,
        }
    }

    /// The cluster's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The major version of the cluster; `None` if it does not exist yet.
    pub(super) fn major(&self) -> Result<Option<u32>, ClusterError> {
        if !self.folder.exists() {
            return Ok(None);
        }
        let no_cluster = |source| ClusterError::NoCluster {
            folder: self.folder.clone(),
            source,
        };
        let text = fs::read_to_string(self.folder.join("PG_VERSION"))
            .map_err(|error| no_cluster(Some(error)))?;
        text.trim()
            .parse()
            .map(Some)
            .map_err(|_not_a_number| no_cluster(None))
    }

    /// The major version of the cluster, which must exist.
    pub(super) fn existing_major(&self) -> Result<u32, ClusterError> {
        let missing = || ClusterError::NoCluster {
            folder: self.folder.clone(),
            source: Some(io::ErrorKind::NotFound.into()),
        };
        self.major()?.ok_or_else(missing)
    }

    /// Creates the cluster if it does not exist. Runs `initdb` on the blocking pool.
    pub(super) async fn ensure(self, binaries: &Binaries) -> Result<Self, ClusterError> {
        if self.folder.exists() {
            return Ok(self);
        }
        let initdb = binaries.program("initdb");
        let made = tokio::task::spawn_blocking(move || self.create(&initdb).map(|()| self)).await;
        made.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    /// The command that runs the cluster's server, with its socket in `sockets`.
    pub(super) fn server_command(&self, binaries: &Binaries, sockets: &Path) -> Command {
        let mut command = postgres_command(&binaries.program("postgres"));
        command.arg("-D").arg(&self.folder);
        let place = format!("unix_socket_directories=\"{}\"", sockets.display());
        let port = format!("port={PORT}");
        for setting in SETTINGS.into_iter().chain([place.as_str(), port.as_str()]) {
            command.args(["-c", setting]);
        }
        command
    }

    fn create(&self, initdb: &Path) -> Result<(), ClusterError> {
        let draft = self.folder.with_extension("new");
        // C.UTF-8 classifies the letters of all languages; C is the fallback.
        match self.initdb(initdb, &draft, "C.UTF-8") {
            Err(ClusterError::Initdb { output, .. }) if output.contains("invalid locale name") => {
                self.initdb(initdb, &draft, "C")?;
            }
            made => made?,
        }
        let failed = io_error("making the cluster", &self.folder);
        fs::rename(&draft, &self.folder).map_err(failed)
    }

    fn initdb(&self, initdb: &Path, draft: &Path, locale: &str) -> Result<(), ClusterError> {
        match fs::remove_dir_all(draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("clearing", draft)(error));
            }
            Ok(()) | Err(_) => {}
        }
        DirBuilder::new()
            .mode(0o700)
            .create(draft)
            .map_err(io_error("making", draft))?;
        self.account.give(draft)?;
        let mut command = postgres_command(initdb);
        self.account.apply(&mut command);
        command
            .arg("-D")
            .arg(draft)
            .args(["-U", OWNER, "--auth=trust", "--encoding=UTF8"]);
        command.arg(format!("--locale={locale}"));
        let output = command.output().map_err(io_error("running", initdb))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr)
            .trim_end()
            .to_owned();
        Err(ClusterError::Initdb {
            status: output.status,
            output: text,
        })
    }
}

/// A PostgreSQL program, in a working directory that it may read, and without the environment that the
/// user set for another server.
fn postgres_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").env("LC_ALL", "C");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ClusterError + 'a {
    move |source| ClusterError::Io {
        what,
        path: path.to_owned(),
        source,
    }
}
