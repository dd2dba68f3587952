//! Issues one key to each of many tenants, into files.
//!
//! All keys are issued in one transaction. Each file is written before it is committed: if that
//! fails, the files are removed again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use archway_gateway::secrets::RootSecret;
use secrecy::ExposeSecret as _;
use serde::Serialize;

use super::{IssueArgs, warning};
use crate::admin::AdminError;
use crate::admin::connect::Installation;
use crate::admin::input::read_text;
use crate::admin::print::Answer;
use crate::key_file::{PRIVATE_MODE, write_new};
use crate::tenants::TenantsTx;

/// The largest list, in bytes.
const LARGEST: u64 = 4 << 20;

/// The keys that were issued.
#[derive(Serialize)]
pub(super) struct IssuedKeys {
    /// The folder with a file for each tenant.
    folder: PathBuf,
    keys: Vec<IssuedFile>,
}

#[derive(Serialize)]
struct IssuedFile {
    tenant: String,
    /// The key's id.
    id: String,
    file: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// Issues a key to each tenant that `list` names, one slug a line, into `<folder>/<slug>`.
///
/// # Errors
/// If a tenant does not exist, a file exists already, or nothing could be stored: no key is issued.
pub(super) async fn issue_each(
    installation: &Installation,
    issue: &IssueArgs,
    list: &Path,
    folder: &Path,
) -> Result<IssuedKeys, AdminError> {
    let slugs = slugs(list)?;
    let secret = installation.secret(&issue.secret.file)?;
    std::fs::create_dir_all(folder).map_err(refused(folder))?;
    let mut written = Vec::new();
    let issued = installation.change(async |tx, _| {
        issue.secret.check(tx, &secret).await?;
        let mut keys = Vec::new();
        for slug in &slugs {
            let file = folder.join(slug);
            keys.push(issue_one(tx, (slug, issue), &secret, &file, &mut written).await?);
        }
        Ok(keys)
    });
    let issued = issued.await;
    match issued {
        Ok(keys) => Ok(IssuedKeys {
            folder: folder.to_owned(),
            keys,
        }),
        Err(error) => {
            // These keys were not issued.
            written
                .iter()
                .for_each(|file| _ = std::fs::remove_file(file));
            Err(error)
        }
    }
}

async fn issue_one(
    tx: &mut TenantsTx,
    (slug, issue): (&str, &IssueArgs),
    secret: &RootSecret,
    file: &Path,
    written: &mut Vec<PathBuf>,
) -> Result<IssuedFile, AdminError> {
    let tenant = tx.find_tenant(slug).await?;
    let key = tx.issue_key(tenant, secret, &issue.terms()).await?;
    write_new(file, key.api_key.expose_secret(), PRIVATE_MODE).map_err(refused(file))?;
    written.push(file.to_owned());
    Ok(IssuedFile {
        tenant: slug.to_owned(),
        id: key.id,
        file: file.to_owned(),
        warning: warning(tx, tenant, slug).await?,
    })
}

/// The slugs in a file, each once; `-` is standard input. Empty lines and comments are skipped.
fn slugs(list: &Path) -> Result<Vec<String>, AdminError> {
    let text = read_text(list, LARGEST).map_err(refused(list))?;
    let too_large = || AdminError::Refused(format!("{} is too large", list.display()));
    let text = text.ok_or_else(too_large)?;
    let lines = text.lines().map(str::trim);
    let slugs = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let slugs: Vec<String> = slugs.map(str::to_owned).collect();
    let different: BTreeSet<&String> = slugs.iter().collect();
    if different.len() < slugs.len() || slugs.is_empty() {
        let why = "must name at least one tenant, one a line, and none of them twice";
        return Err(AdminError::Refused(format!("{} {why}", list.display())));
    }
    Ok(slugs)
}

/// For `map_err`: names the file.
fn refused(path: &Path) -> impl FnOnce(io::Error) -> AdminError {
    let path = path.display().to_string();
    move |error| AdminError::Refused(format!("{path}: {error}"))
}

impl Answer for IssuedKeys {
    fn text(&self) -> String {
        let (count, folder) = (self.keys.len(), self.folder.display());
        let text = format!(
            "{count} keys issued, each in the file {folder}/TENANT\n\
             they can't be shown again: move them to where they are used"
        );
        let warnings = self.keys.iter().filter_map(|key| key.warning.as_ref());
        warnings.fold(text, |text, it| format!("{text}\nwarning: {it}"))
    }
}
