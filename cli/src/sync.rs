//! `archway sync`: mirrors repositories, as a process of its own.
//!
//! The main thread confines itself to the mirrors *before* the runtime exists, as that of a worker does. So files
//! are read and ports are bound first.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use archway_store::{DatabaseFileError, read_files};
use archway_sync::confine::{SyncConfineError, confine};
use archway_sync::{SyncConfig, SyncPorts, Syncer, SyncerError};
use clap::builder::BoolishValueParser;
use secrecy::SecretString;
use sqlx::postgres::PgConnectOptions;
use tokio_util::sync::CancellationToken;

use crate::admin::sync::SyncCommand;
use crate::bind::{BindError, bind, reachable};
use crate::drain::DrainArgs;
use crate::host_name::host_name;
use crate::migrate;
use crate::otlp::{Collector, Exporting, OtlpArgs, OtlpError};
use crate::password_file::{self, PasswordFileError};
use crate::signals::Signals;

/// Arguments of `archway sync`. Without a subcommand it is a process that mirrors.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SyncArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SyncCommand>,
    #[command(flatten)]
    pub(crate) role: SyncRoleArgs,
}

/// Arguments of the process.
#[derive(Debug, clap::Args)]
pub struct SyncRoleArgs {
    /// Folder of the mirrors, which workers read: a project is `<tenant>/<project>` below it. No other
    /// process may write there.
    #[arg(long, env = "ARCHWAY_REPOS", value_name = "DIR")]
    repos: Option<PathBuf>,
    /// Postgres, as the role `archway_sync`: `postgres://archway_sync:…@host/archway`.
    #[arg(
        long,
        value_name = "URL",
        env = "ARCHWAY_DATABASE_URL",
        hide_env_values = true
    )]
    database_url: Option<SecretString>,
    /// File with the password of the database role, if the URL holds none.
    #[arg(long, env = "ARCHWAY_DATABASE_PASSWORD_FILE", value_name = "FILE")]
    database_password_file: Option<PathBuf>,
    /// Where probes and Prometheus get /healthz, /readyz and /metrics, without a credential.
    #[arg(
        long,
        env = "ARCHWAY_SYNC_ADMIN_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "0.0.0.0:9092"
    )]
    admin_listen: SocketAddr,
    /// Where hosts send webhooks: POST /hooks/TENANT/CONNECTION, each signed with the connection's secret. `off`
    /// takes none.
    #[arg(
        long,
        env = "ARCHWAY_HOOKS_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "0.0.0.0:8081",
        value_parser = hooks_listen
    )]
    hooks_listen: HooksListen,
    /// Refuse to run if the kernel cannot confine it to the mirrors (no Landlock).
    #[arg(long, env = "ARCHWAY_REQUIRE_CONFINEMENT", value_parser = BoolishValueParser::new())]
    require_confinement: bool,
    /// Its machine's name: the place of mirrors that are this machine's own. It must stay the same while the
    /// mirrors are there [default: the host's name].
    #[arg(long, env = "ARCHWAY_SYNC_NAME", value_name = "NAME", value_parser = place)]
    name: Option<String>,
    #[command(flatten)]
    sync: SyncConfig,
    #[command(flatten)]
    drain: DrainArgs,
    #[command(flatten)]
    pub(crate) otlp: OtlpArgs,
}

/// Where webhooks are taken.
#[derive(Clone, Copy, Debug)]
enum HooksListen {
    At(SocketAddr),
    Off,
}

/// Why it did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum SyncCommandError {
    /// An option is missing.
    #[error("{0} is missing: see `archway sync --help`")]
    Missing(&'static str),
    /// A pool's tenants alone would leave the others' mirrors to nobody on a shared volume.
    #[error(
        "--pool (ARCHWAY_POOL) is for mirrors of a worker's own: add --local (ARCHWAY_SYNC_LOCAL), or leave it out"
    )]
    SharedPool,
    /// The folder of mirrors cannot be used.
    #[error("--repos (ARCHWAY_REPOS) {} can't be read: name the folder of the mirrors", path.display())]
    Repos {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The database URL is malformed.
    #[error("--database-url (ARCHWAY_DATABASE_URL) can't be used")]
    Url(#[source] sqlx::Error),
    /// A file that the URL names cannot be used.
    #[error(transparent)]
    File(#[from] DatabaseFileError),
    /// The password of the database role cannot be used.
    #[error("--database-password-file (ARCHWAY_DATABASE_PASSWORD_FILE) can't be used")]
    Password(#[from] PasswordFileError),
    /// A port cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The kernel refused to confine it.
    #[error(transparent)]
    Confine(#[from] SyncConfineError),
    /// The kernel cannot confine it, and `--require-confinement` is set.
    #[error(
        "this kernel cannot confine the process (no Landlock): use Linux 5.13 or later, or leave \
         --require-confinement out"
    )]
    NotConfined,
    /// No runtime could be started.
    #[error("starting the asynchronous runtime")]
    Runtime(#[source] io::Error),
    /// The export of traces is misconfigured.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
    /// Signals cannot be received.
    #[error("waiting for signals")]
    Signals(#[source] io::Error),
    /// It failed.
    #[error(transparent)]
    Sync(#[from] SyncerError),
}

/// Runs until a signal. Permanently confines the calling thread, so it must be the main one, outside of any
/// runtime.
pub fn run(mut args: SyncRoleArgs) -> Result<(), SyncCommandError> {
    let repos = args
        .repos
        .clone()
        .ok_or(SyncCommandError::Missing("--repos (ARCHWAY_REPOS)"))?;
    let absolute = std::path::absolute(&repos).and_then(|path| {
        std::fs::read_dir(&path)?;
        Ok(path)
    });
    let absolute = absolute.map_err(|source| SyncCommandError::Repos {
        path: repos,
        source,
    })?;
    if args.sync.pool.is_some() && !args.sync.local {
        return Err(SyncCommandError::SharedPool);
    }
    let options = options(&args)?;
    let collector = args.otlp.read("archway-sync")?;
    let (admin, address) = bind(args.admin_listen, "--admin-listen")?;
    args.sync.admin = reachable(address).map(|address| (host_name("sync"), address));
    let hooks = match args.hooks_listen {
        HooksListen::At(address) => Some(bind(address, "--hooks-listen")?),
        HooksListen::Off => None,
    };
    let hooks_address = hooks
        .as_ref()
        .map(|(_, address)| tracing::field::display(*address));
    tracing::info!(admin = %address, hooks = hooks_address, "sync listens");
    match confine(&absolute)? {
        true => tracing::info!("confined to the mirrors"),
        false if args.require_confinement => return Err(SyncCommandError::NotConfined),
        false => {
            tracing::warn!("not confined: this kernel has no Landlock")
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(SyncCommandError::Runtime)?;
    let ports = SyncPorts {
        admin,
        hooks: hooks.map(|(listener, _)| listener),
    };
    runtime.block_on(serve(args, absolute, options, (ports, collector)))
}

fn hooks_listen(text: &str) -> Result<HooksListen, &'static str> {
    match text {
        "off" => Ok(HooksListen::Off),
        address => match address.parse() {
            Ok(address) => Ok(HooksListen::At(address)),
            Err(_) => Err("write an address and a port, such as 0.0.0.0:8081, or `off`"),
        },
    }
}

/// As long as the database takes it.
fn place(name: &str) -> Result<String, &'static str> {
    match (1..=253).contains(&name.len()) && !name.chars().any(char::is_control) {
        true => Ok(name.to_owned()),
        false => Err("use 1 to 253 characters, and no control characters"),
    }
}

fn options(args: &SyncRoleArgs) -> Result<PgConnectOptions, SyncCommandError> {
    let url = args.database_url.as_ref();
    let url = url.ok_or(SyncCommandError::Missing(
        "--database-url (ARCHWAY_DATABASE_URL)",
    ))?;
    let url = password_file::complete(url, args.database_password_file.as_deref())?;
    Ok(read_files(
        migrate::options(&url).map_err(SyncCommandError::Url)?,
    )?)
}

async fn serve(
    args: SyncRoleArgs,
    repos: PathBuf,
    options: PgConnectOptions,
    (ports, collector): (SyncPorts, Option<Collector>),
) -> Result<(), SyncCommandError> {
    let signals = Signals::listen().map_err(SyncCommandError::Signals)?;
    let exporting = Exporting::begin(collector)?;
    let name = args.name.unwrap_or_else(|| host_name("sync"));
    let syncer = Syncer::new(args.sync, repos, options, &name);
    let (announce, stop) = (syncer.announce_end(), CancellationToken::new());
    let serving = syncer.serve(ports, stop.clone());
    let ended = Box::pin(args.drain.run(signals, serving, announce, stop)).await;
    exporting.finish().await;
    Ok(ended.unwrap_or(Ok(()))?)
}
