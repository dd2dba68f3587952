//! `archway connection add --dry-run`: what a connection would serve, and under which slugs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use archway_sync::credentials::{Credential, Credentials};
use archway_sync::hosts::{
    ConnectionSettings, CredentialSetting, HostClient, HostedRepository, Listing, slugs,
};
use archway_sync::remote::{Protocol, RemoteUrl};
use secrecy::SecretString;
use serde::Serialize;

use super::{AddArgs, refused};
use crate::admin::AdminError;
use crate::admin::connect::Installation;
use crate::admin::print::{Answer, table};
use crate::data_dir::CREDENTIALS;

/// What a connection would serve.
#[derive(Serialize)]
pub(super) struct Preview {
    tenant: String,
    connection: String,
    repositories: Vec<PreviewedRepository>,
    /// How many repositories are left out, by reason.
    left_out: BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
struct PreviewedRepository {
    slug: String,
    path: String,
    /// The clone URL, without a secret.
    url: String,
    description: Option<String>,
}

/// Asks the host, and changes nothing.
pub(super) async fn of(installation: &Installation, add: &AddArgs) -> Result<Preview, AdminError> {
    let settings = add.settings.settings();
    let checked = settings
        .check(&add.settings.protocols.allowed())
        .map_err(refused)?;
    let client = HostClient::new(checked).map_err(refused)?;
    let known = Known::of(installation, add).await?;
    let token = token(add, &settings, known.dev.as_deref())?;
    let listing = client.list(token.as_ref(), None).await.map_err(refused)?;
    let found = match listing {
        Listing::Unchanged => Default::default(),
        Listing::Changed(found) | Listing::Whole(found) => found,
    };
    let below = client.connection().below();
    let (named, served): (Vec<_>, Vec<_>) = (found.repositories.into_iter())
        .partition(|it| known.repositories.contains(&it.clone_url.identity()));
    let slugs = slugs::assign(&known.slugs, &known.taken, below, &served);
    let previewed = |it: &HostedRepository| PreviewedRepository {
        slug: slugs.get(&it.host_id).cloned().unwrap_or_default(),
        path: it.path.clone(),
        url: it.clone_url.to_string(),
        description: it.description.clone(),
    };
    let mut left_out = BTreeMap::new();
    for exclusion in found.excluded.values() {
        *left_out.entry(exclusion.name()).or_default() += 1;
    }
    if !named.is_empty() {
        left_out.insert("named", named.len());
    }
    Ok(Preview {
        tenant: add.tenant.clone(),
        connection: settings.name,
        repositories: served.iter().map(previewed).collect(),
        left_out,
    })
}

/// What the tenant has already.
struct Known {
    /// The slugs that the connection's repositories got before, by the host's id.
    slugs: BTreeMap<String, String>,
    /// The tenant's other slugs.
    taken: BTreeSet<String>,
    /// Repositories that an operator or another connection serves: a listing leaves them to these.
    repositories: BTreeSet<String>,
    /// The data folder of `archway dev`, if it is asked.
    dev: Option<PathBuf>,
}

impl Known {
    async fn of(installation: &Installation, add: &AddArgs) -> Result<Known, AdminError> {
        let allowed = add.settings.protocols.allowed();
        let read = installation.read(async |tx, connected| {
            let (id, name) = (tx.find_tenant(&add.tenant).await?, &add.settings.name);
            let slugs: BTreeMap<_, _> = tx.found_slugs(id, name).await?.into_iter().collect();
            let own: BTreeSet<&String> = slugs.values().collect();
            let projects = tx.projects(id).await?;
            let in_use = projects.iter().filter(|it| it.removed_at.is_none());
            let in_use: BTreeSet<&String> = in_use.map(|it| &it.slug).collect();
            let others = tx.sources(id).await?.into_iter();
            let others = others.filter(|it| !own.contains(&it.project));
            let others = others.filter(|it| in_use.contains(&it.project));
            let remotes = others.filter_map(|it| RemoteUrl::parse(&it.url, &allowed).ok());
            let taken = projects.iter().map(|it| &it.slug);
            Ok(Known {
                repositories: remotes.map(|remote| remote.identity()).collect(),
                taken: taken.filter(|slug| !own.contains(slug)).cloned().collect(),
                slugs,
                dev: connected.dev.clone(),
            })
        });
        read.await
    }
}

/// The secret for the listing: from the folder that is named, or from that of `archway dev`.
fn token(
    add: &AddArgs,
    settings: &ConnectionSettings,
    dev: Option<&Path>,
) -> Result<Option<SecretString>, AdminError> {
    // Options name no GitHub App.
    let Some(CredentialSetting::Name(name)) = settings.listing_credential() else {
        return Ok(None);
    };
    let folder = add.credentials.clone();
    let folder = folder.or_else(|| dev.map(|data| data.join(CREDENTIALS)));
    let credentials = Credentials::new(folder, None);
    let read = credentials.read(&add.tenant, name, Protocol::Https);
    match read.map_err(refused)? {
        Credential::Https(https) => Ok(Some(https.password)),
        Credential::Ssh(_) => Ok(None),
    }
}

impl Answer for Preview {
    fn text(&self) -> String {
        let cells = |it: &PreviewedRepository| {
            [
                it.slug.clone(),
                it.path.clone(),
                it.description.clone().unwrap_or_default(),
            ]
        };
        let rows = self.repositories.iter().map(cells).collect();
        let table = table(
            ["project", "repository", "description"],
            rows,
            "it would serve nothing",
        );
        let left_out = (self.left_out.iter()).map(|(reason, count)| format!("{count} {reason}"));
        let left_out: Vec<String> = left_out.collect();
        let left_out = match left_out.as_slice() {
            [] => "none".to_owned(),
            reasons => reasons.join(", "),
        };
        format!("{table}\nleft out: {left_out}\ndry run: nothing was changed")
    }
}
