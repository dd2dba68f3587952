//! The command line: its commands, and dispatch to them.

use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::admin::AdminError;
use crate::admin::access::{self, AccessArgs};
use crate::admin::apply::{self, ApplyArgs};
use crate::admin::audit::{self, AuditArgs};
use crate::admin::connection::{self, ConnectionArgs};
use crate::admin::index::{self, IndexArgs};
use crate::admin::key::{self, KeyArgs};
use crate::admin::limits::{self, LimitsArgs};
use crate::admin::memory::{self, MemoryArgs};
use crate::admin::principal::{self, PrincipalArgs};
use crate::admin::project::{self, ProjectArgs};
use crate::admin::status::{self, StatusArgs};
use crate::admin::sync as mirrors;
use crate::admin::tenant::{self, TenantArgs};
use crate::admin::usage::{self, UsageArgs};
use crate::call::{self, CallArgs, CallError};
use crate::dev::{self, DevArgs, DevError};
use crate::gateway::{self, GatewayArgs, GatewayCommandError};
use crate::healthcheck::{self, HealthcheckArgs, HealthcheckError};
use crate::init::{self, InitArgs, InitError};
use crate::logging::{self, LogArgs};
use crate::migrate::{self, MigrateArgs, MigrateError};
use crate::pass_key::{self, PassKeyCommand, PassKeyCommandError};
use crate::secret::{self, SecretCommand, SecretCommandError};
use crate::settings::{self, SettingsArgs, SettingsError};
use crate::sync::{self, SyncArgs, SyncCommandError};
use crate::tls;
use crate::worker::{self, WorkerArgs, WorkerCommandError};

/// A gateway that gives AI agents your repositories as MCP tools.
#[derive(Debug, Parser)]
#[command(name = "archway", version, propagate_version = true)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    log: LogArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything on this machine, for repositories in folders and by URL.
    Dev(Box<DevArgs>),
    /// Run a gateway: agents speak MCP to it, and it speaks gRPC to workers.
    Gateway(Box<GatewayArgs>),
    /// Run a worker, confined to the repositories that it serves.
    Worker(Box<WorkerArgs>),
    /// Mirror the repositories of projects that have a URL, as a process; or show and run mirrors.
    Sync(Box<SyncArgs>),
    /// Migrate a database to this version's schema, and set the passwords of the runtime roles.
    Migrate(MigrateArgs),
    // `ApplyArgs` documents it: its help has several paragraphs.
    Apply(Box<ApplyArgs>),
    /// Create, list, change, disable and erase tenants.
    Tenant(TenantArgs),
    /// Add, list, change, remove and erase a tenant's projects.
    Project(Box<ProjectArgs>),
    /// Add, list, show and remove connections: organisations whose repositories become projects.
    Connection(Box<ConnectionArgs>),
    /// Set, list and explain who may use which projects of a tenant.
    Access(AccessArgs),
    /// Issue, list, revoke and rotate API keys.
    Key(KeyArgs),
    /// Revoke the tokens of OIDC principals, and list revocations.
    Principal(PrincipalArgs),
    /// Set and show the limits of tenants, keys and sessions.
    Limits(LimitsArgs),
    /// Show the state of project indexes, and have one built now.
    Index(IndexArgs),
    /// Erase what agents wrote to memory.
    Memory(MemoryArgs),
    /// Export, verify and prune the records of who called what.
    Audit(Box<AuditArgs>),
    /// Show who used what: calls by tool, key, project, agent, day, month or tenant.
    Usage(UsageArgs),
    /// Show the state of the installation and of its gateways.
    Status(StatusArgs),
    /// Create the secrets of an installation that are missing: root secret, pass keys, passwords of
    /// the database roles, a first API key. Existing secrets are never replaced, except that
    /// `--new-key` issues another API key.
    Init(InitArgs),
    /// Print what to paste into a client so that it uses an API key.
    Settings(SettingsArgs),
    /// Create a gateway's root secret.
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Create the keys by which workers verify passes of gateways.
    #[command(subcommand)]
    PassKey(PassKeyCommand),
    /// Check on its admin port that a gateway, worker or sync is ready; exits with 1 if it is not.
    Healthcheck(HealthcheckArgs),
    /// Call a tool of a gateway once and print its answer; exits with 1 if the call failed. The API
    /// key comes from the variable `ARCHWAY_API_KEY` or from a file, never from the command line.
    Call(CallArgs),
}

/// How long blocked threads may outlive the command that started them.
const BLOCKED_THREADS_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// `archway dev`.
    #[error(transparent)]
    Dev(#[from] DevError),
    /// `archway gateway`.
    #[error(transparent)]
    Gateway(#[from] GatewayCommandError),
    /// `archway worker`.
    #[error(transparent)]
    Worker(#[from] WorkerCommandError),
    /// `archway sync`.
    #[error(transparent)]
    Sync(#[from] SyncCommandError),
    /// `archway migrate`.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// An administrative command.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// `archway init`.
    #[error(transparent)]
    Init(#[from] InitError),
    /// `archway settings`.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// `archway secret`.
    #[error(transparent)]
    Secret(#[from] SecretCommandError),
    /// `archway pass-key`.
    #[error(transparent)]
    PassKey(#[from] PassKeyCommandError),
    /// `archway healthcheck`.
    #[error(transparent)]
    Healthcheck(#[from] HealthcheckError),
    /// `archway call`.
    #[error(transparent)]
    Call(#[from] CallError),
    /// No runtime could be started.
    #[error("starting the asynchronous runtime")]
    Runtime(#[source] std::io::Error),
}

/// Runs the command to completion.
pub fn run(line: CommandLine) -> Result<(), CommandError> {
    #[cfg(target_env = "gnu")]
    crate::allocator::bound();
    tls::choose_cryptography();
    let records = line.command.records();
    logging::start(&line.log, line.command.default_log(), records);
    match line.command {
        Command::Dev(args) => in_runtime(dev::run(*args)),
        Command::Gateway(args) => in_runtime(gateway::run(*args)),
        // Confines this thread before it builds its runtime.
        Command::Worker(args) => Ok(worker::run(*args)?),
        Command::Sync(args) => match args.command {
            Some(command) => in_runtime(mirrors::run(command)),
            // Confines this thread, too.
            None => Ok(sync::run(args.role)?),
        },
        Command::Migrate(args) => in_runtime(migrate::run(args)),
        Command::Apply(args) => in_runtime(apply::run(*args)),
        Command::Tenant(args) => in_runtime(tenant::run(args)),
        Command::Project(args) => in_runtime(project::run(*args)),
        Command::Connection(args) => in_runtime(connection::run(*args)),
        Command::Access(args) => in_runtime(access::run(args)),
        Command::Key(args) => in_runtime(key::run(args)),
        Command::Principal(args) => in_runtime(principal::run(args)),
        Command::Limits(args) => in_runtime(limits::run(args)),
        Command::Index(args) => in_runtime(index::run(args)),
        Command::Audit(args) => in_runtime(audit::run(*args)),
        Command::Usage(args) => in_runtime(usage::run(args)),
        Command::Memory(args) => in_runtime(memory::run(args)),
        Command::Status(args) => in_runtime(status::run(args)),
        Command::Init(args) => Ok(init::run(&args)?),
        Command::Settings(args) => Ok(settings::run(&args)?),
        Command::Secret(command) => Ok(secret::run(&command)?),
        Command::PassKey(command) => Ok(pass_key::run(&command)?),
        Command::Healthcheck(args) => in_runtime(healthcheck::run(args)),
        Command::Call(args) => in_runtime(call::run(args)),
    }
}

fn in_runtime<E>(command: impl Future<Output = Result<(), E>>) -> Result<(), CommandError>
where
    CommandError: From<E>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(CommandError::Runtime)?;
    let done = runtime.block_on(command);
    // A blocked thread may never return, and ending the command must not wait for it.
    runtime.shutdown_timeout(BLOCKED_THREADS_TIMEOUT);
    Ok(done?)
}

impl Command {
    /// The default log filter. Long-running processes log their start and their end.
    fn default_log(&self) -> &'static str {
        match self {
            Command::Gateway(_) | Command::Worker(_) => "info,rmcp=error",
            Command::Sync(args) if args.command.is_none() => "info",
            // dev::restart logs that an outage it warned of is over, at level info. So does sync that a clone
            // that was announced has ended.
            Command::Dev(_) => "warn,archway::dev=info,archway_sync=info,rmcp=error",
            _ => "warn,rmcp=error",
        }
    }

    /// Whether the command records traces.
    fn records(&self) -> bool {
        match self {
            Command::Dev(args) => args.otlp.is_on(),
            Command::Gateway(args) => args.otlp.is_on(),
            Command::Worker(args) => args.otlp.is_on(),
            Command::Sync(args) => args.command.is_none() && args.role.otlp.is_on(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_command_ends_while_a_thread_is_blocked() {
        let (_never, blocked) = mpsc::channel::<()>();
        let (ended, hears) = mpsc::channel();
        std::thread::spawn(move || {
            let command = async {
                drop(tokio::task::spawn_blocking(move || blocked.recv()));
                Ok::<(), MigrateError>(())
            };
            ended.send(in_runtime(command)).unwrap();
        });
        let end = hears.recv_timeout(Duration::from_secs(20));
        assert!(end.unwrap().is_ok());
    }

    #[test]
    fn a_log_filter_that_does_not_parse_is_refused() {
        let line = CommandLine::try_parse_from(["archway", "dev", "--log", "a=b=c"]);
        assert!(line.is_err());
    }
}
