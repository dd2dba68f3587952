//! `archway dev`: everything on one machine, for repositories in folders and by URL.
//!
//! Starts in the order of dependencies (data folder, ports, Postgres, schema, tenant and key, mirrors, worker,
//! gateway) and stops in reverse. Cheap steps that can fail come first: a port in use is reported
//! before Postgres starts.

// In the order of a start.
mod projects;
mod repos;
mod listen;
mod database;
mod credentials;
mod served;
mod seed;
mod mirrors;
mod worker;
mod stack;
mod announce;
// Run all the time.
mod restart;
mod changes;

use std::path::PathBuf;

use archway_gateway::{ConsoleConfig, GuardConfig, SamplingConfig};
use archway_index::embed::{EmbedderConfig, EmbedderConfigError};
use archway_index::openai::EndpointError;
use archway_sync::SyncConfig;
use archway_workers::chat::ChatConfig;
use secrecy::SecretString;

use crate::data_dir::{DataDir, DataDirError};
use crate::otlp::{Exporting, OtlpArgs, OtlpError};
use crate::output::OutputError;
use crate::postgres::PostgresConfig;
use crate::signals::Signals;
use announce::Announcement;
use changes::FolderChanges;
use database::Database;
pub use database::DatabaseError;
pub use listen::ListenError;
use listen::Listeners;
pub use mirrors::MirrorsError;
use mirrors::{MirrorArgs, Mirrors};
pub use projects::ProjectsError;
pub(crate) use projects::{folders, remember_folder};
use repos::NamedRepo;
pub use seed::SeedError;
use served::{Served, Wanted};
pub use stack::StackError;
use stack::{Plan, Stack};

/// The tenant of everything that `dev` serves.
pub(crate) const TENANT: &str = "dev";
/// The origins of the MCP Inspector's page.
const INSPECTOR: [&str; 2] = ["http://localhost:6274", "http://127.0.0.1:6274"];

/// Arguments of `archway dev`.
#[derive(Debug, clap::Args)]
pub struct DevArgs {
    /// A repository: a folder, with or without git, or the URL of a git repository by https or ssh. It may be
    /// given several times. The first one ever stays the default of calls that name no project. Those of
    /// earlier starts are served, too, until `archway project remove dev SLUG`.
    #[arg(long, value_name = "PATH|URL", default_value = ".")]
    repo: Vec<PathBuf>,
    #[command(flatten)]
    mirrors: MirrorArgs,
    /// Where the database and the key are stored [default: the user's data folder].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The port of the MCP endpoint; 0 means any free port.
    #[arg(long, value_name = "N", default_value = "7676")]
    port: u16,
    /// The port of /healthz, /readyz and /metrics, on this machine only; 0 means any free port.
    #[arg(long, value_name = "N", default_value = "0")]
    admin_port: u16,
    /// Accept connections from other machines as well. They are not encrypted.
    #[arg(long)]
    open_bind: bool,
    /// Use this database instead of the embedded one, as its owner:
    /// `postgres://user:password@host/database`.
    #[arg(long, value_name = "URL")]
    database_url: Option<SecretString>,
    #[command(flatten)]
    console: ConsoleConfig,
    #[command(flatten)]
    guard: GuardConfig,
    #[command(flatten)]
    embedder: EmbedderConfig,
    #[command(flatten)]
    chat: ChatConfig,
    #[command(flatten)]
    postgres: PostgresConfig,
    #[command(flatten)]
    sampling: SamplingConfig,
    #[command(flatten)]
    pub(crate) otlp: OtlpArgs,
    /// Print one line of JSON when ready,
    /// `{url, api_key, tenant, project, repo_project, projects, admin_url}`, and nothing else:
    /// `project` is the default of calls that name none, `repo_project` is what the first --repo names.
    #[arg(long)]
    json: bool,
}

/// Why `dev` did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// Its data folder cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The repository cannot be served.
    #[error(transparent)]
    Projects(#[from] ProjectsError),
    /// There is no URL to use a credential for.
    #[error("--credential is for repositories that --repo names by URL, and it names none")]
    NoUrl,
    /// Nothing can be mirrored.
    #[error(transparent)]
    Mirrors(#[from] MirrorsError),
    /// A port cannot be bound.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The embedder is misconfigured.
    #[error(transparent)]
    Embedder(#[from] EmbedderConfigError),
    /// The chat model is misconfigured.
    #[error(transparent)]
    Chat(#[from] EndpointError),
    /// There is no database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// Its tenant, projects and key cannot be set up.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// Gateway or worker failed.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The export of traces is misconfigured.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
    /// Signals cannot be received.
    #[error("waiting for signals")]
    Signals(#[source] std::io::Error),
    /// Standard output cannot be written.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
    /// It was stopped during its start.
    #[error("interrupted before it was ready")]
    Interrupted,
}

/// Runs until Ctrl-C or SIGTERM, or until a part fails.
pub async fn run(args: DevArgs) -> Result<(), DevError> {
    let mut signals = Signals::listen().map_err(DevError::Signals)?;
    let exporting = Exporting::begin(args.otlp.read("archway-dev")?)?;
    let mut dev = tokio::select! {
        dev = Box::pin(Dev::start(&args)) => dev?,
        () = signals.stop() => return Err(DevError::Interrupted),
    };
    // If the announcement cannot be written, its reader is gone, and `dev` ends.
    let ended = match dev.announce(args.json) {
        Ok(()) => tokio::select! {
            () = signals.stop() => Ok(()),
            error = dev.failed() => Err(error),
        },
        unread => unread,
    };
    signals.exit_on_next();
    let stopped = dev.stop().await;
    exporting.finish().await;
    ended.and(stopped)
}

/// All parts, in the order in which they are stopped.
struct Dev {
    stack: Stack,
    mirrors: Mirrors,
    changes: FolderChanges,
    database: Database,
    listening: listen::Addresses,
    console: bool,
    api_key: SecretString,
    /// The slug of the project of calls that name none.
    default: String,
    served: Served,
    // Dropped last: until then no other process may touch what the fields above use.
    data: DataDir,
}

impl Dev {
    async fn start(args: &DevArgs) -> Result<Self, DevError> {
        let data = match &args.data {
            Some(path) => DataDir::open(path)?,
            None => DataDir::open(&DataDir::default_path()?)?,
        };
        args.embedder.check()?;
        args.chat.check()?;
        let (repos, syncing) = named(args, &data).await?;
        let listeners = Listeners::bind(args.port, args.admin_port, args.open_bind)?;
        let database = Database::open(args.database_url.as_ref(), &data, &args.postgres).await?;
        let owner = database.owner_pool().await?;
        let wanted = Wanted {
            repos: &repos,
            credential: args.mirrors.credential.as_deref(),
        };
        let seeded = seed::seed(&data, (&database, &owner), &wanted).await?;
        let listening = listeners.addresses.clone();
        let (mirrors, metrics) = Mirrors::start(syncing, &data, &database).await?;
        let stack = Stack::start(Plan {
            data: &data,
            database: &database,
            secret: seeded.secret,
            guard: guard(&args.guard, &listening),
            console: args.console.clone(),
            embedder: &args.embedder,
            chat: &args.chat,
            sampling: match args.otlp.is_on() {
                true => args.sampling.clone(),
                false => SamplingConfig::NONE,
            },
            listeners,
            folders: &seeded.served.folders,
            metrics,
        });
        let stack = stack.await?;
        let git_absence = std::sync::Arc::clone(&mirrors.git_absence);
        Ok(Dev {
            stack,
            changes: FolderChanges::new(owner, data.path().to_owned(), git_absence),
            mirrors,
            database,
            listening,
            console: args.console.console,
            api_key: seeded.api_key,
            default: seeded.default,
            served: seeded.served,
            data,
        })
    }

    fn announce(&self, as_json: bool) -> Result<(), DevError> {
        let announcement = Announcement {
            url: &self.listening.url,
            open_url: self.listening.open_url.as_deref(),
            admin: self.listening.admin,
            console: self.console,
            api_key: &self.api_key,
            tenant: TENANT,
            default: &self.default,
            served: &self.served,
            has_git: self.mirrors.git_absence.lock().is_none(),
            data: self.data.path(),
        };
        announcement.print(as_json).map_err(DevError::Output)
    }

    /// Keeps the database running, and serves folders that are added. Returns if that is impossible, or if
    /// gateway or worker end.
    async fn failed(&mut self) -> DevError {
        tokio::select! {
            error = self.database.keep() => error.into(),
            error = self.stack.run(&mut self.changes) => error.into(),
        }
    }

    /// Stops all parts, even if stopping one fails. Returns the first failure.
    async fn stop(self) -> Result<(), DevError> {
        let stack = self.stack.stop().await;
        self.mirrors.stop().await;
        self.changes.close().await;
        let database = self.database.stop().await;
        stack?;
        Ok(database?)
    }
}

/// The repositories that `--repo` names, and how mirrors are made. Refuses what cannot be served.
async fn named(args: &DevArgs, data: &DataDir) -> Result<(Vec<NamedRepo>, SyncConfig), DevError> {
    let repos = args.repo.iter().map(|typed| NamedRepo::read(typed, data));
    let repos = repos.collect::<Result<Vec<_>, _>>()?;
    let has_url = repos.iter().any(|it| matches!(it, NamedRepo::Remote(_)));
    if args.mirrors.credential.is_some() && !has_url {
        return Err(DevError::NoUrl);
    }
    Ok((repos, args.mirrors.prepare(data, has_url).await?))
}

/// The host names and origins that `dev` accepts, in addition to the configured ones.
fn guard(asked: &GuardConfig, listening: &listen::Addresses) -> GuardConfig {
    let mut guard = asked.clone();
    guard.allowed_hosts.extend(listening.hosts());
    guard.allowed_origins.extend(INSPECTOR.map(str::to_owned));
    guard
}
