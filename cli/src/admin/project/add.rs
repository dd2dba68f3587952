//! `archway project add`: adds a project, with the remote repository that it is mirrored from.

use std::path::Path;

use archway_sync::credentials;
use archway_sync::remote::{AllowedProtocols, Protocol, RemoteUrl, check_reference};

use super::answer::ProjectChange;
use super::{ProjectName, ProjectSettingsArgs};
use crate::admin::AdminError;
use crate::admin::connect::Connected;
use crate::dev::{self, remember_folder};
use crate::tenants::{NewSource, ProjectSettings, TenantsTx};

/// Where a project is mirrored from.
#[derive(Debug, clap::Args)]
pub(super) struct SourceArgs {
    /// The URL of its repository, by https or ssh: `archway sync`, or the running `archway dev`, mirrors it.
    #[arg(long, value_name = "URL", conflicts_with = "path")]
    git: Option<String>,
    /// The branch, tag or commit to serve [default: the repository's own HEAD].
    #[arg(long = "ref", value_name = "REF", requires = "git")]
    reference: Option<String>,
    /// The credential: a file of this name in the folder that `archway sync` has by `--credentials`.
    #[arg(long, value_name = "NAME", requires = "git")]
    credential: Option<String>,
    /// A file of certificates that git trusts instead of the system's, as `archway sync` sees it.
    #[arg(long, value_name = "FILE", requires = "git")]
    ca_file: Option<String>,
    /// The proxy for https.
    #[arg(long, value_name = "URL", requires = "git")]
    https_proxy: Option<String>,
    /// Protocols besides https and ssh that `archway sync` may use, separated by commas.
    #[arg(long, value_name = "PROTOCOL", value_delimiter = ',', requires = "git")]
    allow_protocol: Vec<Protocol>,
}

/// Adds a project to this installation. `path` is the folder that `archway dev` serves.
pub(super) async fn add<'a>(
    tx: &mut TenantsTx,
    which: &'a ProjectName,
    (settings, source): (&ProjectSettingsArgs, &SourceArgs),
    (to, path): (&Connected, Option<&Path>),
) -> Result<ProjectChange<'a>, AdminError> {
    settings.check()?;
    let remote = source.remote(to.dev.is_some())?;
    let tenant = tx.find_tenant(&which.tenant).await?;
    let settings = settings.over(ProjectSettings::default());
    let project = tx.add_project(tenant, &which.slug, &settings).await?;
    if let Some(remote) = &remote {
        let new = source.of(remote);
        tx.add_source((tenant, project), &new).await?;
        return Ok(which.done(match to.dev {
            Some(_) => "added; the running `archway dev` mirrors it",
            None => "added; `archway sync` mirrors it",
        }));
    }
    let Some(path) = path else {
        return Ok(which.done("added"));
    };
    let dev = to.dev.as_deref().filter(|_| which.tenant == dev::TENANT);
    remember_folder(dev.ok_or_else(|| which.has_no_path())?, &which.slug, path)?;
    Ok(which.done("added; the running `archway dev` serves it within seconds"))
}

impl SourceArgs {
    /// The checked URL. `archway dev` mirrors from this machine by http, too.
    fn remote(&self, is_dev: bool) -> Result<Option<RemoteUrl>, AdminError> {
        let refused = |error: &dyn std::error::Error| AdminError::Refused(error.to_string());
        if let Some(name) = &self.credential {
            credentials::check_name(name).map_err(|error| refused(&error))?;
        }
        if let Some(reference) = &self.reference {
            check_reference(reference).map_err(|error| refused(&error))?;
        }
        let allowed = AllowedProtocols {
            more: self.allow_protocol.clone(),
            loopback_http: is_dev,
        };
        let git = self.git.as_deref();
        let remote = git.map(|url| RemoteUrl::parse(url, &allowed)).transpose();
        remote.map_err(|error| refused(&error))
    }

    fn of<'a>(&'a self, remote: &'a RemoteUrl) -> NewSource<'a> {
        NewSource {
            remote,
            reference: self.reference.as_deref(),
            credential: self.credential.as_deref(),
            ca_file: self.ca_file.as_deref(),
            https_proxy: self.https_proxy.as_deref(),
        }
    }
}
