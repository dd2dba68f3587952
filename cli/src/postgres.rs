//! Embedded PostgreSQL: a real server, run from this machine's own binaries, for `dev` and the tests.
//!
//! Its cluster is in `<data>/postgres`, its log in `<data>/postgres.log`. It listens only on a unix
//! socket in a private folder, and trusts every client that can reach the socket. It ends with this
//! process, however that ends ([`supervisor`]); the next start recovers after a crash.

// In the order of a start.
mod binaries;
mod cluster;
mod stale_cluster;
mod supervisor;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use archway_proto::chain::Chain;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{ConnectOptions, Connection};
use tokio::time::{Instant, timeout_at};

use crate::account::{Account, AccountError};
use crate::data_dir::DataDir;
use crate::socket_dir::{SocketDir, SocketDirError};

pub use binaries::BinariesError;
pub use cluster::ClusterError;
pub use stale_cluster::StaleClusterError;
use supervisor::Server;
pub use supervisor::SupervisorError;

use binaries::Binaries;
use cluster::Cluster;

/// The cluster's superuser, who owns the database of the same name.
const OWNER: &str = "archway";
/// The purpose of its socket folder.
const SOCKETS: &str = "pg";
/// How long a start may take. Recovery after a crash can take most of it.
const START: Duration = Duration::from_secs(60);
/// How long a server may take to stop before it is killed.
const STOP: Duration = Duration::from_secs(15);
/// Between two attempts to connect to a starting server.
const POLL: Duration = Duration::from_millis(10);

/// Which PostgreSQL to run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PostgresConfig {
    /// Folder with PostgreSQL's server programs (`initdb`, `postgres`) [default: searched in PATH
    /// and in the usual places].
    #[arg(
        long = "postgres-bin",
        env = "ARCHWAY_POSTGRES_BIN",
        value_name = "DIR"
    )]
    pub bin: Option<PathBuf>,
}

/// A running server. Dropping it requests a stop without waiting; [`stop`] waits.
///
/// [`stop`]: EmbeddedPostgres::stop
#[derive(Debug)]
pub struct EmbeddedPostgres {
    data: DataDir,
    server: Server,
    sockets: SocketDir,
    cluster: Cluster,
    /// The folder of its programs, if the user named one.
    bin: Option<PathBuf>,
    log: PathBuf,
}

/// Why the embedded server does not run.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// No suitable server programs.
    #[error(transparent)]
    Binaries(#[from] BinariesError),
    /// Its account cannot reach the data.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The cluster cannot be created or read.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// An earlier server does not stop.
    #[error(transparent)]
    StaleCluster(#[from] StaleClusterError),
    /// No socket folder.
    #[error(transparent)]
    SocketDir(#[from] SocketDirError),
    /// The data folder's path is no longer this process's folder.
    #[error("its data folder is gone, or another `archway dev` has it ({})", .0.display())]
    Unclaimed(PathBuf),
    /// The server process failed.
    #[error(transparent)]
    Supervisor(#[from] SupervisorError),
    /// It runs, but accepts no connection.
    #[error("PostgreSQL did not get ready within {} s", START.as_secs())]
    NotReady(#[source] sqlx::Error),
    /// Its database could not be created.
    #[error("making the database {OWNER:?}")]
    Database(#[source] sqlx::Error),
}

impl PostgresError {
    /// The failure on one line. For a server that ended: how, and the last lines of its log.
    pub fn in_a_line(&self) -> String {
        match self {
            PostgresError::Supervisor(error) => error.in_a_line(),
            other => Chain(other).to_string(),
        }
    }
}

impl EmbeddedPostgres {
    /// Starts the server of `data`, and returns once it accepts connections: after about 0.2 s, or
    /// 3 s if its cluster must be created.
    pub async fn start(data: &DataDir, config: &PostgresConfig) -> Result<Self, PostgresError> {
        let account = Account::for_servers();
        account.grant_passage(data.path())?;
        let cluster = Cluster::in_data_dir(data, account);
        let binaries = Binaries::find(config.bin.as_deref(), cluster.major()?)?;
        let stale_pid = stale_cluster::stop(cluster.folder()).await?;
        let cluster = cluster.ensure(&binaries).await?;
        let sockets = SocketDir::claim(data, SOCKETS, account)?;
        let log = data.path().join("postgres.log");
        let server = launch(&cluster, &binaries, sockets.path(), stale_pid, &log)?;
        let mut postgres = EmbeddedPostgres {
            data: data.clone(),
            server,
            sockets,
            cluster,
            bin: config.bin.clone(),
            log,
        };
        let connection = postgres.first_connection(START).await?;
        ensure_database(connection)
            .await
            .map_err(PostgresError::Database)?;
        Ok(postgres)
    }

    /// How the owner connects to the server that another process runs for this data folder; `None`
    /// if there is none.
    pub fn of_another_process(data: &Path) -> Option<PgConnectOptions> {
        let fingerprint = DataDir::fingerprint_of(data)?;
        let account = Account::for_servers();
        let sockets = SocketDir::find(&fingerprint, SOCKETS, account, &socket_name())?;
        Some(options(&sockets, OWNER))
    }

    /// Connection options of the owner of the database `archway`, a superuser without a password.
    /// [`PgConnectOptions::username`] makes them another role's.
    pub fn owner(&self) -> PgConnectOptions {
        options(self.sockets.path(), OWNER)
    }

    /// [`EmbeddedPostgres::owner`] as a URL.
    pub fn owner_url(&self) -> String {
        self.owner().to_url_lossy().into()
    }

    /// Returns if the server ends by itself, with the reason. Cancel-safe.
    pub async fn ended(&mut self) -> PostgresError {
        let end = self.server.ended().await;
        self.remove_socket();
        end.into()
    }

    /// Starts the server again after it ended, at the same socket, and returns once it accepts
    /// connections. The cluster must exist: a missing one is never replaced by an empty one. A
    /// server that still recovers after a minute is waited for, as killing it would only make it
    /// start over. If the data folder is no longer claimed, nothing in it or at the socket is
    /// touched, and the result is [`PostgresError::Unclaimed`]. Cancel-safe.
    pub async fn start_again(&mut self) -> Result<(), PostgresError> {
        let started = self.relaunch().await;
        if started.is_err() {
            self.remove_socket();
        }
        started
    }

    async fn relaunch(&mut self) -> Result<(), PostgresError> {
        self.check_claim()?;
        let major = self.cluster.existing_major()?;
        let binaries = Binaries::find(self.bin.as_deref(), Some(major))?;
        self.check_claim()?;
        let stale_pid = stale_cluster::stop(self.cluster.folder()).await?;
        let sockets = self.sockets.path();
        self.server = launch(&self.cluster, &binaries, sockets, stale_pid, &self.log)?;
        loop {
            match self.first_connection(START).await {
                Err(PostgresError::NotReady(error)) => tracing::warn!(
                    error = %Chain(&error),
                    "PostgreSQL is not ready yet, most likely because it recovers; waiting"
                ),
                Err(error) => return Err(error),
                Ok(connection) => {
                    // It has shown that the server answers; closing it may fail.
                    connection.close().await.ok();
                    return Ok(());
                }
            }
        }
    }

    /// Stops the server gracefully: connections are closed, and everything is on disk.
    pub async fn stop(mut self) -> Result<(), PostgresError> {
        self.server.stop(STOP).await?;
        if self.data.is_still_claimed() {
            self.sockets.remove();
        }
        Ok(())
    }

    fn check_claim(&self) -> Result<(), PostgresError> {
        match self.data.is_still_claimed() {
            true => Ok(()),
            false => Err(PostgresError::Unclaimed(self.data.path().to_owned())),
        }
    }

    /// Removes the socket that a killed server left. While it exists, each connection attempt is refused
    /// and retried until its timeout; without it, attempts fail at once. If another process has
    /// claimed the data folder by now, the socket is its server's.
    fn remove_socket(&self) {
        if !self.data.is_still_claimed() {
            return;
        }
        let socket = self.sockets.path().join(socket_name());
        // A server that stops gracefully removes it itself.
        std::fs::remove_file(socket).ok();
    }

    async fn first_connection(&mut self, within: Duration) -> Result<PgConnection, PostgresError> {
        let options = options(self.sockets.path(), "postgres");
        let deadline = Instant::now() + within;
        loop {
            let connecting = PgConnection::connect_with(&options);
            let refusal = match timeout_at(deadline, connecting).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => error,
                Err(_elapsed) => sqlx::Error::Io(io::ErrorKind::TimedOut.into()),
            };
            if Instant::now() >= deadline {
                return Err(PostgresError::NotReady(refusal));
            }
            tokio::select! {
                end = self.server.ended() => return Err(end.into()),
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }
}

fn socket_name() -> String {
    format!(".s.PGSQL.{}", cluster::PORT)
}

/// Starts the cluster's server. `stale_pid` is the number in a pid file that now belongs to another
/// program: the server must not take that program for a server of its cluster.
fn launch(
    cluster: &Cluster,
    binaries: &Binaries,
    sockets: &Path,
    stale_pid: Option<i32>,
    log: &Path,
) -> Result<Server, SupervisorError> {
    let mut command = cluster.server_command(binaries, sockets);
    if let Some(pid) = stale_pid {
        command.env("PG_GRANDPARENT_PID", pid.to_string());
    }
    Server::launch(command, Account::for_servers(), log.to_owned())
}

fn options(sockets: &Path, database: &str) -> PgConnectOptions {
    // Sets everything that `PGHOST`, `PGPORT`, … in the user's environment could change.
    PgConnectOptions::new_without_pgpass()
        .socket(sockets)
        .port(cluster::PORT)
        .username(OWNER)
        .database(database)
        .ssl_mode(PgSslMode::Disable)
}

async fn ensure_database(mut connection: PgConnection) -> Result<(), sqlx::Error> {
    let there: bool =
        sqlx::query_scalar("select exists (select from pg_database where datname = 'archway')")
            .fetch_one(&mut connection)
            .await?;
    if !there {
        sqlx::query("create database archway")
            .execute(&mut connection)
            .await?;
    }
    connection.close().await
}

#[cfg(test)]
mod tests;
