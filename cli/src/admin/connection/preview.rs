//! `archway connection add --dry-run`: what a connection would serve, and under which slugs.

use std::collections::{BTreeMap, BTreeSet};

use archway_sync::credentials::{Credential, Credentials};
use archway_sync::hosts::{
    AppToken, CredentialSetting, HostClient, HostedRepository, Listing, slugs,
};
use archway_sync::remote::Protocol;
use secrecy::SecretString;
use serde::Serialize;

use super::{AddArgs, refused};
use crate::admin::AdminError;
use crate::admin::connect::Installation;
use crate::admin::print::{Answer, table};

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
    let token = token(add, settings.credential.as_ref(), &client).await?;
    let listing = client.list(token.as_ref(), None).await.map_err(refused)?;
    let found = match listing {
        Listing::Unchanged => Default::default(),
        Listing::Changed(found) | Listing::Whole(found) => found,
    };
    let (existing, taken) = slugs_of(installation, add).await?;
    let below = client.connection().below();
    let slugs = slugs::assign(&existing, &taken, below, &found.repositories);
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
    Ok(Preview {
        tenant: add.tenant.clone(),
        connection: settings.name,
        repositories: found.repositories.iter().map(previewed).collect(),
        left_out,
    })
}

/// Slugs by host id, and the tenant's other slugs.
type Slugs = (BTreeMap<String, String>, BTreeSet<String>);

/// The slugs that repositories have already, and those that are taken.
async fn slugs_of(installation: &Installation, add: &AddArgs) -> Result<Slugs, AdminError> {
    let read = installation.read(async |tx, _| {
        let id = tx.find_tenant(&add.tenant).await?;
        let found = tx.found_slugs(id, &add.settings.name).await?;
        let projects = tx.projects(id).await?.into_iter().map(|it| it.slug);
        let found: BTreeMap<String, String> = found.into_iter().collect();
        let own: BTreeSet<&String> = found.values().collect();
        let taken = projects.filter(|slug| !own.contains(slug)).collect();
        Ok((found, taken))
    });
    read.await
}

async fn token(
    add: &AddArgs,
    setting: Option<&CredentialSetting>,
    client: &HostClient,
) -> Result<Option<SecretString>, AdminError> {
    let credentials = Credentials {
        folder: add.credentials.clone(),
        known_hosts: None,
    };
    match setting {
        None => Ok(None),
        Some(CredentialSetting::Name(name)) => {
            match credentials.read(name, Protocol::Https).map_err(refused)? {
                Credential::Https(https) => Ok(Some(https.password)),
                Credential::Ssh(_) => Ok(None),
            }
        }
        Some(CredentialSetting::App(_)) => {
            let pem = credentials.app_key(&add.settings.name).map_err(refused)?;
            let app = AppToken::new(client, &pem).map_err(refused)?;
            Ok(Some(app.token().await.map_err(refused)?))
        }
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
