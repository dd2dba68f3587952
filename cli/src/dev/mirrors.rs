//! Mirrors repositories by URL, on a thread of its own.
//!
//! Landlock confines that thread, and git's programs with it: they write to the mirrors and to temporary files
//! alone. It always runs, since a URL may be added at any time. While there is none it asks the database once a
//! second what is due, which costs 0.15 % of a core and two connections.
//!
//! Without git everything else works. A look for it every ten seconds starts no process while it is absent.

use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, io};

use archway_proto::chain::Chain;
use archway_sync::confine::confine;
use archway_sync::credentials::{CredentialError, check_name};
use archway_sync::git::GitProgramError;
use archway_sync::{SyncConfig, Syncer, SyncerError};
use parking_lot::Mutex;
use sqlx::postgres::PgConnectOptions;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::database::Database;
use super::stack::Exposition;
use crate::data_dir::{CREDENTIALS, DataDir};

/// The folder of mirrors, in the data folder.
const FOLDER: &str = "mirrors";
/// How full a volume may be until nothing new is cloned, in percent: fuller than a server's.
const VOLUME_PERCENT: u8 = 95;
/// Database connections: one hears of new sources.
const CONNECTIONS: u32 = 2;
/// How often git is looked for while it is absent.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// What the command line says about mirrors.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct MirrorArgs {
    /// The credential of the repositories that --repo names by URL: a file of this name in the folder of
    /// --credentials. It has `token` or `user:token` for https, or a private key for ssh, with the host's
    /// keys in `NAME.known_hosts` beside it.
    #[arg(long, value_name = "NAME", value_parser = credential_name)]
    pub(super) credential: Option<String>,
    /// Folder of credentials. Your own keys, agents and git configuration are never used
    /// [default: `credentials` in the data folder].
    #[arg(long, value_name = "DIR")]
    credentials: Option<PathBuf>,
    /// The folder with `git`, for repositories by URL, if it is not in /usr/local/bin, /usr/bin or /bin.
    #[arg(long, value_name = "DIR")]
    git_bin: Option<PathBuf>,
}

/// Why git cannot be used; `None` while it can be.
pub(super) type GitAbsence = Arc<Mutex<Option<String>>>;

/// The thread that mirrors.
pub(super) struct Mirrors {
    pub(super) git_absence: GitAbsence,
    // Dropped first: however this value ends, so does the thread.
    stop: DropGuard,
    thread: JoinHandle<()>,
}

/// Why nothing can be mirrored.
#[derive(Debug, thiserror::Error)]
pub enum MirrorsError {
    /// A folder cannot be made.
    #[error("making the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// A path cannot be made absolute.
    #[error("finding the folder that {option} names")]
    Path {
        /// The option.
        option: &'static str,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// A repository by URL needs git.
    #[error("a repository by URL needs git (--git-bin names another folder of it)")]
    Git(#[from] GitProgramError),
    /// There is no thread.
    #[error("starting the thread that mirrors")]
    Thread(#[source] io::Error),
    /// It ended.
    #[error("the thread that mirrors ended while starting")]
    Ended,
}

fn credential_name(name: &str) -> Result<String, CredentialError> {
    check_name(name).map(|()| name.to_owned())
}

/// The folder of mirrors.
pub(super) fn folder(data: &DataDir) -> PathBuf {
    data.path().join(FOLDER)
}

impl MirrorArgs {
    /// Makes the folders, and checks that git is there if a URL `is_named`.
    pub(super) async fn prepare(
        &self,
        data: &DataDir,
        is_named: bool,
    ) -> Result<SyncConfig, MirrorsError> {
        let absolute = |option, path: &PathBuf| {
            std::path::absolute(path).map_err(|source| MirrorsError::Path { option, source })
        };
        let (credentials, git_bin) = (self.credentials.as_ref(), self.git_bin.as_ref());
        let credentials = credentials.map(|path| absolute("--credentials", path));
        let own = data.path().join(CREDENTIALS);
        let repos = folder(data);
        for path in [&own, &repos] {
            // The data folder is its owner's alone.
            fs::create_dir_all(path).map_err(|source| MirrorsError::Folder {
                path: path.clone(),
                source,
            })?;
        }
        let config = SyncConfig {
            credentials: Some(credentials.transpose()?.unwrap_or(own)),
            git_bin: git_bin
                .map(|path| absolute("--git-bin", path))
                .transpose()?,
            volume_percent: VOLUME_PERCENT,
            database_connections: CONNECTIONS,
            loopback_http: true,
            ..SyncConfig::default()
        };
        if is_named {
            config.git(&repos).check().await?;
        }
        Ok(config)
    }
}

impl Mirrors {
    /// Starts the thread. Returns it with what writes its metrics.
    pub(super) async fn start(
        config: SyncConfig,
        data: &DataDir,
        database: &Database,
    ) -> Result<(Mirrors, Exposition), MirrorsError> {
        let config = SyncConfig {
            // On a server that others use, too, the mirrors of other machines are not in this folder.
            local: database.label().is_some(),
            ..config
        };
        let machine = format!("dev-{}", data.fingerprint());
        let (options, repos) = (database.runtime_options("archway_sync"), folder(data));
        let stop = CancellationToken::new();
        let (ready, started) = mpsc::sync_channel(1);
        let git_absence = GitAbsence::default();
        let (stopped, absence) = (stop.clone(), Arc::clone(&git_absence));
        let work = move || {
            let syncer = (config, repos, options, machine.as_str());
            run(syncer, &ready, (&stopped, &absence));
        };
        let thread = std::thread::Builder::new().name("archway-sync".to_owned());
        let thread = thread.spawn(work).map_err(MirrorsError::Thread)?;
        let exposition = tokio::task::spawn_blocking(move || started.recv()).await;
        match exposition {
            Ok(Ok(exposition)) => {
                let mirrors = Mirrors {
                    git_absence,
                    stop: stop.drop_guard(),
                    thread,
                };
                Ok((mirrors, exposition))
            }
            Ok(Err(_)) | Err(_) => Err(MirrorsError::Ended),
        }
    }

    /// Stops it. Runs of git end, and their mirrors stay due.
    pub(super) async fn stop(self) {
        drop(self.stop);
        let ended = tokio::task::spawn_blocking(move || self.thread.join()).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::error!("the thread that mirrors ended by a bug");
        }
    }
}

/// The thread's work.
fn run(
    (config, repos, options, machine): (SyncConfig, PathBuf, PgConnectOptions, &str),
    ready: &mpsc::SyncSender<Exposition>,
    (stop, absence): (&CancellationToken, &GitAbsence),
) {
    let runtime = confine(&repos).map_err(|error| Chain(&error).to_string());
    let runtime = runtime.and_then(|_confined| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.map_err(|error| error.to_string())
    });
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(error, "nothing is mirrored"),
    };
    runtime.block_on(async {
        let git = config.git(&repos).check().await;
        *absence.lock() = git.err().map(|error| Chain(&error).to_string());
        let syncer = Syncer::new(config, repos, options, machine);
        // If the starter is gone, the value has no reader.
        ready.send(Box::new(syncer.exposition())).ok();
        mirror(&syncer, stop, absence).await;
    });
}

/// Mirrors until `stop`, from when git is there.
async fn mirror(syncer: &Syncer, stop: &CancellationToken, absence: &GitAbsence) {
    loop {
        match syncer.mirror(stop.clone()).await {
            Ok(()) => return,
            Err(SyncerError::Git(error)) => {
                *absence.lock() = Some(Chain(&error).to_string());
            }
            Err(error) => {
                return tracing::error!(error = %Chain(&error), "nothing is mirrored");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK_INTERVAL) => {}
        }
    }
}
