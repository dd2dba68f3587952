//! The command line: what can be asked of the binary, and who answers.

use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::admin::AdminError;
use crate::admin::apply::{self, ApplyArgs};
use crate::admin::audit::{self, AuditArgs};
use crate::admin::index::{self, IndexArgs};
use crate::admin::key::{self, KeyArgs};
use crate::admin::limits::{self, LimitsArgs};
use crate::admin::memory::{self, MemoryArgs};
use crate::admin::principal::{self, PrincipalArgs};
use crate::admin::project::{self, ProjectArgs};
use crate::admin::status::{self, StatusArgs};
use crate::admin::tenant::{self, TenantArgs};
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
    /// Run everything on this machine, for the repository in a folder.
    Dev(Box<DevArgs>),
    /// Run a gateway: agents speak MCP to it, it speaks gRPC to workers.
    Gateway(Box<GatewayArgs>),
    /// Run a worker, confined to the repositories it serves.
    Worker(Box<WorkerArgs>),
    /// Bring a database to this version's schema, and set the passwords of the runtime roles.
    Migrate(MigrateArgs),
    // Its own documentation is longer than a line.
    Apply(Box<ApplyArgs>),
    /// Make, list, disable and erase tenants.
    Tenant(TenantArgs),
    /// Add, list, change, remove and erase a tenant's projects.
    Project(Box<ProjectArgs>),
    /// Issue, list, revoke and rotate API keys.
    Key(KeyArgs),
    /// Take back the tokens of OIDC issuers' principals, and list whose were.
    Principal(PrincipalArgs),
    /// Set and show how much tenants, keys and sessions may spend.
    Limits(LimitsArgs),
    /// Show how far the indexes of projects are, and have one made now.
    Index(IndexArgs),
    /// Erase what agents wrote to memory.
    Memory(MemoryArgs),
    /// Print, verify and prune the records of who called what.
    Audit(Box<AuditArgs>),
    /// Say what the database holds, and whether gateways are ready.
    Status(StatusArgs),
    /// Make the secrets of an installation, where they are missing: root secret, pass keys,
    /// passwords of the database's roles, a first API key. Nothing that is there is replaced, unless
    /// another key is asked for.
    Init(InitArgs),
    /// Print what to paste into a client so that it uses an API key.
    Settings(SettingsArgs),
    /// Make the secret that a gateway keeps.
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Make the keys by which workers believe gateways.
    #[command(subcommand)]
    PassKey(PassKeyCommand),
    /// Ask the admin port of a gateway or worker whether it is ready; ends with 1 if it is not.
    Healthcheck(HealthcheckArgs),
    /// Call a tool of a gateway once and print its answer; ends with 1 if the call failed. The API
    /// key comes from the variable `ARCHWAY_API_KEY` or from a file, never from the command line.
    Call(CallArgs),
}

/// How long threads may go on that a command left blocked when it ended.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

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
    /// No threads to run on.
    #[error("starting the asynchronous runtime")]
    Runtime(#[source] std::io::Error),
}

/// Runs the command to its end.
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
        Command::Migrate(args) => in_runtime(migrate::run(args)),
        Command::Apply(args) => in_runtime(apply::run(*args)),
        Command::Tenant(args) => in_runtime(tenant::run(args)),
        Command::Project(args) => in_runtime(project::run(*args)),
        Command::Key(args) => in_runtime(key::run(args)),
        Command::Principal(args) => in_runtime(principal::run(args)),
        Command::Limits(args) => in_runtime(limits::run(args)),
        Command::Index(args) => in_runtime(index::run(args)),
        Command::Audit(args) => in_runtime(audit::run(*args)),
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
    // A thread that waits for a process may never end; whoever asked for the stop does not wait for
    // it, too.
    runtime.shutdown_timeout(LEFT_BEHIND);
    Ok(done?)
}

impl Command {
    /// What is logged unless it was said: processes that run for long tell of their start and end.
    fn default_log(&self) -> &'static str {
        match self {
            Command::Gateway(_) | Command::Worker(_) => "info,rmcp=error",
            // What it warned of may be over.
            Command::Dev(_) => "warn,archway::dev=info,rmcp=error",
            _ => "warn,rmcp=error",
        }
    }

    /// Whether it records traces.
    fn records(&self) -> bool {
        match self {
            Command::Dev(args) => args.otlp.is_on(),
            Command::Gateway(args) => args.otlp.is_on(),
            Command::Worker(args) => args.otlp.is_on(),
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
    fn a_command_that_leaves_a_thread_blocked_ends_all_the_same() {
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
