//! `archway project add`: adds a project, with the remote repository that it is mirrored from.

use std::path::Path;

use super::answer::ProjectChange;
use super::{ProjectName, ProjectSettingsArgs};
use crate::admin::AdminError;
use crate::admin::connect::Connected;
use crate::admin::source_text::{ProtocolArgs, SourceText};
use crate::dev::{self, remember_folder};
use crate::tenants::{ProjectSettings, ProjectSource, TenantsTx};

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
    #[command(flatten)]
    protocols: ProtocolArgs,
}

/// Adds a project to this installation. `path` is the folder that `archway dev` serves.
pub(super) async fn add<'a>(
    tx: &mut TenantsTx,
    which: &'a ProjectName,
    (settings, source): (&ProjectSettingsArgs, &SourceArgs),
    (to, path): (&Connected, Option<&Path>),
) -> Result<ProjectChange<'a>, AdminError> {
    settings.check()?;
    let source = source.source(to.dev.is_some())?;
    let tenant = tx.find_tenant(&which.tenant).await?;
    let settings = settings.over(ProjectSettings::default());
    let project = tx.add_project(tenant, &which.slug, &settings).await?;
    if let Some(source) = source {
        tx.set_source((tenant, project), &source).await?;
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
    /// The checked source. `archway dev` mirrors from this machine by http, too.
    fn source(&self, is_dev: bool) -> Result<Option<ProjectSource>, AdminError> {
        let mut allowed = self.protocols.allowed();
        allowed.loopback_http = is_dev;
        let source = self.git.as_deref().map(|url| {
            SourceText {
                url,
                reference: self.reference.as_deref(),
                credential: self.credential.as_deref(),
                ca_file: self.ca_file.as_deref(),
                https_proxy: self.https_proxy.as_deref(),
            }
            .check(&allowed)
        });
        source.transpose()
    }
}
