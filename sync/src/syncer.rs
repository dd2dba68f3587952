//! A process of `archway sync`: its runs, and its admin port.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use sqlx::postgres::PgConnectOptions;
use tokio_util::sync::CancellationToken;

use crate::config::SyncConfig;
use crate::git::{Git, GitProgramError};
use crate::metrics::SyncMetrics;
use crate::orphans::wait_for_orphans;
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
    /// The end of programs cannot be heard of.
    #[error("hearing of the end of programs")]
    Children(#[source] io::Error),
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
        Git::check(&self.runner.mirrors.git).await?;
        self.runner.mirrors.clean().map_err(SyncerError::Repos)?;
        tokio::select! {
            () = self.runner.run(stop) => Ok(()),
            served = self.admin.serve(admin) => served.map_err(SyncerError::Admin),
            never = wait_for_orphans() => match never.map_err(SyncerError::Children)? {},
        }
    }
}
