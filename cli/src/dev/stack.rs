//! The worker and the gateway in this process. They talk gRPC over a unix socket, as they would between
//! hosts. The gateway runs on the caller's runtime.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use archway_gateway::secrets::RootSecret;
use archway_gateway::store::Stores;
use archway_gateway::{
    AdminAddress, AuthConfig, BreakerConfig, ConsoleConfig, Gateway, GatewayConfig, GuardConfig,
    LimitsConfig, SamplingConfig, UpstreamConfig,
};
use archway_index::embed::EmbedderConfig;
use archway_proto::chain::Chain;
use archway_proto::pass::{PassError, PassMinter};
use archway_workers::chat::ChatConfig;
use archway_workers::server::WorkerError;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::changes::FolderChanges;
use super::database::Database;
use super::listen::Listeners;
use super::projects::Project;
use super::worker::{DevWorker, WorkerPlan};
use crate::account::Account;
use crate::data_dir::DataDir;
use crate::host_name::host_name;
use crate::socket_dir::{SocketDir, SocketDirError};

/// The pool of the one worker.
pub(super) const POOL: &str = "shared";
/// Database connections of the gateway and of the worker, each.
pub(super) const CONNECTIONS: u32 = 8;
/// How long gateway and worker may take to connect.
const READY: Duration = Duration::from_secs(20);
/// How long calls in flight may delay the shutdown.
const DRAIN: Duration = Duration::from_secs(10);

/// The parts of the stack.
pub(super) struct Plan<'a> {
    pub(super) data: &'a DataDir,
    pub(super) database: &'a Database,
    pub(super) secret: RootSecret,
    pub(super) listeners: Listeners,
    pub(super) guard: GuardConfig,
    pub(super) console: ConsoleConfig,
    pub(super) embedder: &'a EmbedderConfig,
    pub(super) chat: &'a ChatConfig,
    pub(super) sampling: SamplingConfig,
    /// The folders that are served.
    pub(super) folders: &'a [Project],
    /// Writes the metrics of mirroring.
    pub(super) metrics: Exposition,
}

/// Writes metrics in `OpenMetrics` format.
pub(super) type Exposition = Box<dyn Fn() -> Result<String, fmt::Error> + Send + Sync>;

/// A running gateway and its worker.
pub(super) struct Stack {
    shutdown: CancellationToken,
    gateway: JoinHandle<io::Result<()>>,
    worker: DevWorker,
    sockets: SocketDir,
}

/// Why the stack does not run.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// No key to sign passes with.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// No folder for the worker's socket.
    #[error(transparent)]
    SocketDir(#[from] SocketDirError),
    /// A socket could not be created.
    #[error("{0}")]
    Socket(&'static str, #[source] io::Error),
    /// The worker failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The gateway could not be created.
    #[error("creating the gateway")]
    Gateway(#[from] archway_gateway::GatewayConfigError),
    /// The gateway's database URL is invalid.
    #[error(transparent)]
    Store(#[from] archway_gateway::store::StoreError),
    /// The gateway failed.
    #[error("serving MCP")]
    Serve(#[source] io::Error),
    /// A task panicked.
    #[error("a part of Archway ended by a bug")]
    Died(#[from] JoinError),
    /// A part ended by itself.
    #[error("the {0} ended by itself")]
    Ended(&'static str),
    /// The gateway did not reach the worker in time.
    #[error("the gateway did not reach its worker within {} s", READY.as_secs())]
    NotReady,
}

impl Stack {
    /// Starts both, and returns once calls are answered.
    pub(super) async fn start(plan: Plan<'_>) -> Result<Self, StackError> {
        let minter = PassMinter::generate()?;
        let sockets = SocketDir::claim(plan.data, "worker", Account::Own)?;
        let socket = sockets.path().join("grpc");
        let worker = WorkerPlan::new(&plan, socket.clone(), minter.public_key());
        let worker = DevWorker::start(worker, plan.folders).await?;
        let shutdown = CancellationToken::new();
        let gateway = Gateway::new(
            &gateway_config(&plan, &socket),
            gateway_stores(plan.database)?,
            Arc::new(plan.secret),
            minter,
        )?;
        let (of_worker, of_mirrors) = (worker.exposition(), plan.metrics);
        let gateway = gateway
            .with_extra_metrics(move || Ok(joined(&of_worker()?, &of_mirrors()?)))
            .with_admin_address(AdminAddress {
                host: host_name("gateway"),
                address: plan.listeners.addresses.admin,
            });
        let serving = tokio::spawn(serve(gateway.clone(), plan.listeners, shutdown.clone()));
        let mut stack = Stack {
            shutdown,
            gateway: serving,
            worker,
            sockets,
        };
        tokio::select! {
            found = gateway.ready(READY) => if found { Ok(stack) } else { Err(StackError::NotReady) },
            error = stack.failed() => Err(error),
        }
    }

    /// Serves folders that are added, until gateway or worker end by themselves. A folder that cannot be served
    /// leaves everything as it was.
    pub(super) async fn run(&mut self, changes: &mut FolderChanges) -> StackError {
        loop {
            let linked = self.worker.folders().to_vec();
            let folders = tokio::select! {
                folders = changes.next(&linked) => folders,
                error = self.failed() => return error,
            };
            match self.worker.replace(&folders).await {
                Ok(()) => changes.are_served(),
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "a folder that was added cannot be served");
                }
            }
        }
    }

    /// Returns if gateway or worker end by themselves.
    pub(super) async fn failed(&mut self) -> StackError {
        let gateway = tokio::select! {
            gateway = &mut self.gateway => gateway,
            () = self.worker.ended() => return StackError::Ended("worker"),
        };
        match gateway {
            Ok(Ok(())) => StackError::Ended("gateway"),
            Ok(Err(error)) => StackError::Serve(error),
            Err(died) => StackError::Died(died),
        }
    }

    /// Stops both, the gateway first. Calls in flight finish, within a bound.
    pub(super) async fn stop(self) -> Result<(), StackError> {
        self.shutdown.cancel();
        let drained = drain(self.gateway).await;
        let stopped = self.worker.stop().await;
        self.sockets.remove();
        stopped?;
        drained
    }
}

/// Waits for the gateway, unless it has ended already.
async fn drain(gateway: JoinHandle<io::Result<()>>) -> Result<(), StackError> {
    if gateway.is_finished() {
        return Ok(());
    }
    let rest = gateway.abort_handle();
    match tokio::time::timeout(DRAIN, gateway).await {
        Ok(ended) => ended?.map_err(StackError::Serve),
        Err(_elapsed) => {
            tracing::warn!("calls in flight are cut off");
            rest.abort();
            Ok(())
        }
    }
}

/// Two expositions as one: only the last one has an end marker.
fn joined(one: &str, other: &str) -> String {
    [one.trim_end_matches("# EOF\n"), other].concat()
}

fn gateway_config(plan: &Plan<'_>, socket: &std::path::Path) -> GatewayConfig {
    GatewayConfig {
        name: Some(host_name("gateway")),
        guard: plan.guard.clone(),
        auth: AuthConfig {
            key_grace: plan.database.key_grace(),
            ..AuthConfig::default()
        },
        breaker: BreakerConfig::default(),
        limits: LimitsConfig::default(),
        upstream: UpstreamConfig {
            workers: vec![format!("unix:{}", socket.display())],
            pool: POOL.to_owned(),
            worker_ca: None,
            call_deadline: 10,
        },
        sampling: plan.sampling.clone(),
        tenant_metrics: 0,
        console: plan.console.clone(),
    }
}

fn gateway_stores(database: &Database) -> Result<Stores, StackError> {
    let database_url: SecretString = database.runtime_url("archway_gateway");
    let config = archway_gateway::store::StoreConfig {
        database_url,
        database_connections: CONNECTIONS,
    };
    Ok(Stores::new(&config)?)
}

async fn serve(
    gateway: Gateway,
    listeners: Listeners,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let mcp = TcpListener::from_std(listeners.mcp)?;
    let admin = TcpListener::from_std(listeners.admin)?;
    gateway.serve(mcp, admin, shutdown).await
}
