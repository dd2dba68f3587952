//! A process of `archway sync`: its runs, and its admin port.

use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

use sqlx::postgres::PgConnectOptions;
use tokio_util::sync::CancellationToken;

use crate::config::SyncConfig;
use crate::git::{Git, GitProgramError};
use crate::metrics::SyncMetrics;
use crate::runner::Runner;
use crate::server::Admin;
use crate::store::SyncStore;

/// A process of `archway sync`.
pub struct Syncer {
    runner: Arc<Runner>,
    admin: Admin,
}

/// Why mirrors cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SyncerError {
    /// git's program cannot be used.
    #[error(transparent)]
    Git(#[from] GitProgramError),
    /// The folder of mirrors cannot be written to.
    #[error("--repos (ARCHWAY_REPOS) can't be written to: name a folder of this user's own")]
    Repos(#[source] io::Error),
    /// The admin port failed.
    #[error("serving the admin port")]
    Admin(#[source] io::Error),
}

impl Syncer {
    /// `repos` is the folder of mirrors, to which no other process may write. `machine` names this machine, for mirrors of its own.
    pub fn new(
        config: SyncConfig,
        repos: PathBuf,
        options: PgConnectOptions,
        machine: &str,
    ) -> Syncer {
        let place = if config.local { machine } else { "" };
        let store = SyncStore::new(options, config.database_connections, place.to_owned());
        let metrics = Arc::new(SyncMetrics::new());
        let admin = Admin {
            metrics: Arc::clone(&metrics),
            store: store.clone(),
            ending: CancellationToken::new(),
        };
        Syncer {
            runner: Arc::new(Runner::new(config, repos, store, metrics)),
            admin,
        }
    }

    /// Makes `/readyz` report that the process is about to end.
    pub fn announce_end(&self) -> impl Fn() + use<> {
        let ending = self.admin.ending.clone();
        move || ending.cancel()
    }

    /// Mirrors until `stop`, and answers probes.
    ///
    /// # Errors
    /// [`SyncerError`].
    pub async fn serve(
        self,
        admin: std::net::TcpListener,
        stop: CancellationToken,
    ) -> Result<(), SyncerError> {
        let serving = self.admin.clone().serve(admin);
        tokio::select! {
            done = self.mirror(stop) => done,
            served = serving => served.map_err(SyncerError::Admin),
        }
    }

    /// Mirrors until `stop`, without an admin port: the process has one of its own.
    ///
    /// # Errors
    /// [`SyncerError`].
    pub async fn mirror(&self, stop: CancellationToken) -> Result<(), SyncerError> {
        Git::check(&self.runner.mirrors.git).await?;
        self.runner.mirrors.clean().map_err(SyncerError::Repos)?;
        Arc::clone(&self.runner).run(stop).await;
        Ok(())
    }

    /// Writes its metrics, as its admin port does.
    pub fn exposition(&self) -> impl Fn() -> Result<String, fmt::Error> + Send + Sync + use<> {
        let metrics = Arc::clone(&self.admin.metrics);
        move || metrics.text()
    }
}
