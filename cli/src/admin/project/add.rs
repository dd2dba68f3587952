//! `archway project add`: adds a project, with the remote repository that it is mirrored from.

use std::path::Path;

use archway_sync::remote::AllowedProtocols;

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
    #[command(flatten)]
    source: Option<SourceText>,
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
    if path.is_some_and(|path| path.to_string_lossy().contains("://")) {
        return Err(AdminError::Refused(
            "--path (or --repo) names a folder of this machine; a URL goes to --git".to_owned(),
        ));
    }
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
    /// The checked source. `archway dev` mirrors by https and ssh, and from this machine by http.
    fn source(&self, is_dev: bool) -> Result<Option<ProjectSource>, AdminError> {
        let allowed = match is_dev {
            true => AllowedProtocols {
                more: Vec::new(),
                loopback_http: true,
            },
            false => self.protocols.allowed(),
        };
        let source = self.source.as_ref();
        source.map(|source| source.check(&allowed)).transpose()
    }
}
