//! A process of `archway sync`: its runs, and its admin port.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

use sqlx::postgres::PgConnectOptions;
use tokio_util::sync::CancellationToken;

use crate::app_tokens::AppTokens;
use crate::cleanup::Cleanup;
use crate::config::SyncConfig;
use crate::credentials::Credentials;
use crate::git::{Git, GitProgramError};
use crate::hooks;
use crate::host_tokens::HostTokens;
use crate::lister::Lister;
use crate::metrics::SyncMetrics;
use crate::orphans::wait_for_orphans;
use crate::overview::{CaughtUp, Overview};
use crate::permissions::Permissions;
use crate::remote::AllowedProtocols;
use crate::runner::Runner;
use crate::server::{self, Admin};
use crate::store::{SyncProcess, SyncStore};
use crate::volume::Volume;
use crate::webhooks::StoredConnections;

/// Connections to the port of webhooks at once: hosts send deliveries in bursts.
const MAX_HOOK_CONNECTIONS: usize = 1024;

/// A process of `archway sync`.
pub struct Syncer {
    runner: Arc<Runner>,
    overview: Overview,
    lister: Arc<Lister>,
    permissions: Arc<Permissions>,
    cleanup: Cleanup,
    webhooks: StoredConnections,
    admin: Admin,
}

/// The ports of a process.
pub struct SyncPorts {
    /// For probes and Prometheus.
    pub admin: TcpListener,
    /// For webhooks; `None` to take none.
    pub hooks: Option<TcpListener>,
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
    /// The port of webhooks failed.
    #[error("serving the port of webhooks")]
    Hooks(#[source] io::Error),
}

impl Syncer {
    /// `repos` is the folder of mirrors, to which no other process may write. `machine` names this machine, for
    /// mirrors of its own.
    pub fn new(
        config: SyncConfig,
        repos: PathBuf,
        options: PgConnectOptions,
        machine: &str,
    ) -> Syncer {
        let place = if config.local { machine } else { "" };
        let store = SyncStore::new(options, config.database_connections, place.to_owned())
            .of_pool(config.pool.clone())
            .of_process(SyncProcess::new(machine, config.admin.as_ref()));
        let metrics = Arc::new(SyncMetrics::new());
        let volume = Arc::new(Volume::new(&repos, config.volume_bytes));
        let caught_up = CaughtUp::default();
        let admin = Admin {
            metrics: Arc::clone(&metrics),
            store: store.clone(),
            caught_up: caught_up.clone(),
            ending: CancellationToken::new(),
        };
        let (credentials, allowed) = (config.credentials(), config.protocols());
        let apps = Arc::new(AppTokens::new(credentials.clone(), allowed.clone()));
        let (lister, permissions) = asking(&store, (&credentials, &apps), &allowed);
        let webhooks = StoredConnections {
            store: store.clone(),
            credentials,
        };
        let keep = config.keep();
        let runner = Runner::new(config, store.clone(), apps, metrics, volume);
        let overview = Overview {
            store: store.clone(),
            mirrors: runner.mirrors.clone(),
            metrics: Arc::clone(&runner.metrics),
            volume: Arc::clone(&runner.volume),
            caught_up,
        };
        Syncer {
            overview,
            cleanup: Cleanup {
                store,
                mirrors: runner.mirrors.clone(),
                keep,
            },
            lister,
            permissions,
            runner: Arc::new(runner),
            webhooks,
            admin,
        }
    }

    /// Makes `/readyz` report that the process is about to end.
    pub fn announce_end(&self) -> impl Fn() + use<> {
        let ending = self.admin.ending.clone();
        move || ending.cancel()
    }

    /// Mirrors until `stop`, and answers probes and webhooks.
    ///
    /// # Errors
    /// [`SyncerError`].
    pub async fn serve(self, ports: SyncPorts, stop: CancellationToken) -> Result<(), SyncerError> {
        let hooks = hooks::router(self.webhooks.clone());
        let hooks = async {
            match ports.hooks {
                Some(listener) => server::serve(listener, hooks, MAX_HOOK_CONNECTIONS).await,
                None => std::future::pending().await,
            }
        };
        let admin = self.admin.clone().serve(ports.admin);
        tokio::select! {
            done = self.mirror(stop) => done,
            served = admin => served.map_err(SyncerError::Admin),
            served = hooks => served.map_err(SyncerError::Hooks),
            never = wait_for_orphans() => match never.map_err(SyncerError::Children)? {},
        }
    }

    /// Mirrors until `stop`, without a port: the process has some of its own.
    ///
    /// # Errors
    /// [`SyncerError`].
    pub async fn mirror(&self, stop: CancellationToken) -> Result<(), SyncerError> {
        Git::check(&self.runner.mirrors.git).await?;
        self.runner.mirrors.clean().map_err(SyncerError::Repos)?;
        let work = async {
            tokio::join!(
                Arc::clone(&self.runner).run(stop.clone()),
                Arc::clone(&self.lister).run(stop.clone()),
                Arc::clone(&self.permissions).run(stop.clone()),
                self.cleanup.run(stop.clone())
            )
        };
        tokio::select! {
            ((), (), (), ()) = work => Ok(()),
            () = self.overview.run() => Ok(()),
        }
    }

    /// Writes its metrics, as its admin port does.
    pub fn exposition(&self) -> impl Fn() -> Result<String, fmt::Error> + Send + Sync + use<> {
        let metrics = Arc::clone(&self.admin.metrics);
        move || metrics.text()
    }
}

/// What asks hosts: which repositories there are, and who may read them.
fn asking(
    store: &SyncStore,
    (credentials, apps): (&Credentials, &Arc<AppTokens>),
    allowed: &AllowedProtocols,
) -> (Arc<Lister>, Arc<Permissions>) {
    let tokens = HostTokens {
        credentials: credentials.clone(),
        apps: Arc::clone(apps),
    };
    let lister = Lister {
        store: store.clone(),
        tokens: tokens.clone(),
        allowed: allowed.clone(),
    };
    let permissions = Permissions {
        store: store.clone(),
        tokens,
        allowed: allowed.clone(),
    };
    (Arc::new(lister), Arc::new(permissions))
}
