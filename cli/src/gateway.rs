//! `archway gateway`: a gateway as a process of its own.
//!
//! Only the files named by options and its two ports must be available at start. Postgres, workers and
//! the limits store may become available later: `/readyz` reports what is missing. All replicas share
//! one root secret and one pass key.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use archway_gateway::secrets::{RootSecret, SecretError};
use archway_gateway::store::{StoreConfig, StoreError, Stores};
use archway_gateway::{AdminAddress, Gateway, GatewayConfig, GatewayConfigError, SamplingConfig};
use archway_proto::pass::files::{self, PassFileError};
use archway_store::{DatabaseFileError, read_files};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::bind::{BindError, bind, reachable};
use crate::database_role;
use crate::drain::DrainArgs;
use crate::file_limit;
use crate::host_name::{host_name, name_at};
use crate::migrate;
use crate::otlp::{Exporting, OtlpArgs, OtlpError};
use crate::password_file::{self, PasswordFileError};
use crate::signals::Signals;

/// Arguments of `archway gateway`.
#[derive(Debug, clap::Args)]
pub struct GatewayArgs {
    /// Where agents connect, on `/mcp`; port 0 means any free port.
    #[arg(
        long,
        env = "ARCHWAY_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "0.0.0.0:8080"
    )]
    listen: SocketAddr,
    /// Where probes and Prometheus get /healthz, /readyz and /metrics, without a credential.
    #[arg(
        long,
        env = "ARCHWAY_ADMIN_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "0.0.0.0:9090"
    )]
    admin_listen: SocketAddr,
    /// File with the root secret, newest line first: `archway secret generate` makes a line. All
    /// gateways and the commands that issue keys share it.
    #[arg(long, env = "ARCHWAY_SECRET_FILE", value_name = "FILE")]
    secret_file: PathBuf,
    /// File with the private key that signs passes: `archway pass-key generate` makes it, and the
    /// public one for workers.
    #[arg(long, env = "ARCHWAY_PASS_KEY_FILE", value_name = "FILE")]
    pass_key_file: PathBuf,
    #[command(flatten)]
    gateway: GatewayConfig,
    #[command(flatten)]
    store: StoreConfig,
    /// File with the password of the database role, if the URL holds none.
    #[arg(long, env = "ARCHWAY_DATABASE_PASSWORD_FILE", value_name = "FILE")]
    database_password_file: Option<PathBuf>,
    #[command(flatten)]
    drain: DrainArgs,
    #[command(flatten)]
    pub(crate) otlp: OtlpArgs,
}

/// Why a gateway did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum GatewayCommandError {
    /// The root secret cannot be used.
    #[error("--secret-file (ARCHWAY_SECRET_FILE) can't be used")]
    Secret(#[from] SecretError),
    /// The pass key cannot be used.
    #[error("--pass-key-file (ARCHWAY_PASS_KEY_FILE) can't be used")]
    PassKey(#[from] PassFileError),
    /// The addresses of workers or of the limits store are malformed.
    #[error(transparent)]
    Config(#[from] GatewayConfigError),
    /// The database URL is malformed, or its role the wrong one.
    #[error("--database-url (ARCHWAY_DATABASE_URL) can't be used")]
    Store(#[from] StoreError),
    /// A file that the database URL names cannot be used.
    #[error("--database-url (ARCHWAY_DATABASE_URL) can't be used")]
    DatabaseFile(#[from] DatabaseFileError),
    /// The password of the database role cannot be used.
    #[error("--database-password-file (ARCHWAY_DATABASE_PASSWORD_FILE) can't be used")]
    Password(#[from] PasswordFileError),
    /// A port cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The export of traces is misconfigured.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
    /// Signals cannot be received.
    #[error("waiting for signals")]
    Signals(#[source] io::Error),
    /// The listeners failed.
    #[error("serving MCP")]
    Serve(#[source] io::Error),
}

/// Runs until a signal, and then to the end of the drain.
pub async fn run(mut args: GatewayArgs) -> Result<(), GatewayCommandError> {
    let signals = Signals::listen().map_err(GatewayCommandError::Signals)?;
    let secret = RootSecret::load(&args.secret_file)?;
    let minter = files::load_minter(&args.pass_key_file)?;
    let password = args.database_password_file.as_deref();
    args.store.database_url = password_file::complete(&args.store.database_url, password)?;
    let stores = Stores::new(&args.store)?;
    // Checked only: each connection reads the files again.
    read_files(migrate::options(&args.store.database_url).map_err(StoreError::Url)?)?;
    let collector = args.otlp.read("archway-gateway")?;
    if collector.is_none() {
        args.gateway.sampling = SamplingConfig::NONE;
    }
    let (listener, address) = bind(args.listen, "--listen")?;
    let (admin, admin_address) = bind(args.admin_listen, "--admin-listen")?;
    let name = || name_at(address, "gateway");
    let name = args.gateway.name.get_or_insert_with(name).clone();
    let mut gateway = Gateway::new(&args.gateway, stores.clone(), Arc::new(secret), minter)?
        .with_drain_limit(args.drain.limit())
        .with_most_connections(file_limit::connections(file_limit::raise()));
    if let Some(address) = reachable(admin_address) {
        let host = host_name("gateway");
        gateway = gateway.with_admin_address(AdminAddress { host, address });
    }
    let exporting = Exporting::begin(collector)?;
    let stop = CancellationToken::new();
    // If Postgres does not answer, `/readyz` reports it.
    let unbound = |error: &StoreError| matches!(error, StoreError::Unbound { .. });
    let wrong_role = database_role::unbound_role(|| stores.check_role(), unbound);
    let serving = async {
        let listener = TcpListener::from_std(listener).map_err(GatewayCommandError::Serve)?;
        let admin = TcpListener::from_std(admin).map_err(GatewayCommandError::Serve)?;
        tracing::info!(%address, admin = %admin_address, name, "gateway listens");
        tokio::select! {
            served = gateway.serve(listener, admin, stop.clone()) => {
                served.map_err(GatewayCommandError::Serve)
            }
            wrong = wrong_role => Err(wrong.into()),
        }
    };
    let announce = || gateway.announce_end();
    let ended = args.drain.run(signals, serving, announce, stop.clone());
    let ended = Box::pin(ended).await.unwrap_or(Ok(()));
    exporting.finish().await;
    ended
}
