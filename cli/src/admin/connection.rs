//! `archway connection`: organisations whose repositories become projects by themselves.

mod answer;
mod preview;

use std::path::PathBuf;

use archway_sync::hosts::{
    ConnectionSettings, CredentialSetting, GiteaSource, GithubSource, GitlabSource,
    PermissionsSetting, UrlsSource,
};
use clap::{ArgGroup, Subcommand, ValueEnum};

use super::AdminError;
use super::connect::Installation;
use super::print::print;
use super::source_text::{ProtocolArgs, refused};
use answer::{ConnectionChange, ConnectionList, ShownConnection};

/// Arguments of `archway connection`.
#[derive(Debug, clap::Args)]
pub struct ConnectionArgs {
    #[command(subcommand)]
    command: ConnectionCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum ConnectionCommand {
    /// Add a connection, or replace one: `archway sync` lists it and mirrors what it finds.
    Add(Box<AddArgs>),
    /// List the connections of a tenant, and how their listings go.
    List {
        /// The tenant's slug.
        tenant: String,
    },
    /// Show a connection with its settings.
    Show {
        #[command(flatten)]
        which: ConnectionName,
    },
    /// Remove a connection and its projects. What is stored about them stays.
    Remove {
        #[command(flatten)]
        which: ConnectionName,
    },
}

/// A connection.
#[derive(Debug, clap::Args)]
struct ConnectionName {
    /// The tenant's slug.
    tenant: String,
    /// The connection's name.
    name: String,
}

#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The tenant's slug.
    tenant: String,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Change nothing: ask the host, and list what would be served, and under which slugs.
    #[arg(long)]
    dry_run: bool,
    /// The folder of credentials, for --dry-run [default: that of `archway dev` if it is asked].
    #[arg(
        long,
        env = "ARCHWAY_CREDENTIALS",
        value_name = "DIR",
        requires = "dry_run"
    )]
    credentials: Option<PathBuf>,
}

/// What an operator says about a connection.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("source").args(["github", "gitlab", "gitea", "repository"]).required(true)))]
struct SettingsArgs {
    /// Its name: `[a-z0-9][a-z0-9-]{0,62}`.
    name: String,
    /// An organisation or a user at GitHub.
    #[arg(long, value_name = "ORG")]
    github: Option<String>,
    /// A group at GitLab, with its subgroups, by its full path.
    #[arg(long, value_name = "GROUP")]
    gitlab: Option<String>,
    /// An organisation or a user at Gitea or Forgejo.
    #[arg(long, value_name = "ORG", requires = "url")]
    gitea: Option<String>,
    /// Repositories by their URLs.
    #[arg(long, value_name = "URL")]
    repository: Vec<String>,
    /// The host's address [default: github.com or gitlab.com].
    #[arg(long, value_name = "URL", conflicts_with = "repository")]
    url: Option<String>,
    /// The credential: a file of this name in the folder that `archway sync` has by `--credentials`.
    #[arg(long, value_name = "NAME")]
    credential: Option<String>,
    /// Globs of names that are served [default: all].
    #[arg(long, value_name = "GLOB", default_value = "*")]
    include: Vec<String>,
    /// Globs of names that are not served; wins over --include.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Serve archived repositories, too.
    #[arg(long)]
    archived: bool,
    /// Serve forks, too.
    #[arg(long)]
    forks: bool,
    /// Only repositories with one of these topics.
    #[arg(long, value_name = "TOPIC")]
    topic: Vec<String>,
    /// The most repositories that it may serve. More is an error.
    #[arg(long, value_name = "N", default_value = "5000")]
    max: u32,
    /// A file with the authorities of the host's certificate, as `archway sync` sees it. Listings trust the system's,
    /// too; git trusts these alone.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// The proxy for https.
    #[arg(long, value_name = "URL")]
    https_proxy: Option<String>,
    /// Who says who may see private repositories: `host` for their host [default: everybody of the tenant sees them].
    #[arg(long, value_name = "WHO")]
    permissions: Option<PermissionsArg>,
    /// With --permissions: for how many hours an answer of the host counts [default: 12].
    #[arg(long, value_name = "HOURS", requires = "permissions")]
    permissions_grace: Option<u32>,
    #[command(flatten)]
    protocols: ProtocolArgs,
}

/// Who says who may see private repositories.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PermissionsArg {
    /// Their host.
    Host,
}

/// Runs the command.
pub async fn run(args: ConnectionArgs) -> Result<(), AdminError> {
    let (installation, json) = (&args.installation, args.installation.json);
    match &args.command {
        ConnectionCommand::Add(add) if add.dry_run => {
            print(&preview::of(installation, add).await?, json)
        }
        ConnectionCommand::Add(add) => print(&added(installation, add).await?, json),
        ConnectionCommand::List { tenant } => {
            let list = installation.read(async |tx, _| {
                let id = tx.find_tenant(tenant).await?;
                Ok(ConnectionList::of(tenant, tx.connections(id).await?))
            });
            print(&list.await?, json)
        }
        ConnectionCommand::Show { which } => {
            let shown = installation.read(async |tx, _| {
                let id = tx.find_tenant(&which.tenant).await?;
                let connection = tx.find_connection(id, &which.name).await?;
                let permissions = tx.permissions_state(connection.id).await?;
                Ok(ShownConnection::of(&which.tenant, connection, permissions))
            });
            print(&shown.await?, json)
        }
        ConnectionCommand::Remove { which } => {
            let change = installation.change(async |tx, _| {
                let id = tx.find_tenant(&which.tenant).await?;
                let projects = tx.remove_connection(id, &which.name).await?;
                let done = format!("removed, with {projects} projects");
                Ok(ConnectionChange::of(&which.tenant, &which.name, done))
            });
            print(&change.await?, json)
        }
    }
}

async fn added<'a>(
    installation: &Installation,
    add: &'a AddArgs,
) -> Result<ConnectionChange<'a>, AdminError> {
    let settings = add.settings.settings();
    settings
        .check(&add.settings.protocols.allowed())
        .map_err(refused)?;
    let change = installation.change(async |tx, _| {
        let id = tx.find_tenant(&add.tenant).await?;
        let done = match tx.set_connection(id, &settings).await? {
            true => "added; `archway sync` lists it",
            false => "changed; `archway sync` lists it again",
        };
        let name = &add.settings.name;
        Ok(ConnectionChange::of(&add.tenant, name, done.to_owned()))
    });
    change.await
}

impl SettingsArgs {
    fn settings(&self) -> ConnectionSettings {
        let url = || self.url.clone();
        ConnectionSettings {
            name: self.name.clone(),
            github: self
                .github
                .clone()
                .map(|org| GithubSource { org, url: url() }),
            gitlab: self
                .gitlab
                .clone()
                .map(|group| GitlabSource { group, url: url() }),
            gitea: self.gitea.clone().map(|org| GiteaSource {
                org,
                url: url().unwrap_or_default(),
            }),
            urls: (!self.repository.is_empty()).then(|| UrlsSource {
                list: self.repository.clone(),
            }),
            credential: self.credential.clone().map(CredentialSetting::Name),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            archived: self.archived,
            forks: self.forks,
            topics: self.topic.clone(),
            max: self.max,
            ca_file: self.ca_file.clone(),
            https_proxy: self.https_proxy.clone(),
            permissions: self
                .permissions
                .map(|PermissionsArg::Host| PermissionsSetting::Host),
            permissions_grace: self.permissions_grace,
        }
    }
}
