//! `archway apply`: changes the database to match a file, and reports the changes.
//!
//! The file is parsed ([`document`]), becomes the desired state ([`from_document`]), and is applied in one
//! transaction ([`crate::desired`]): all of it or nothing.

// In the order in which a file passes them.
mod document;
mod left_out;
mod from_document;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use archway_gateway::secrets::RootSecret;
use secrecy::SecretString;

use super::AdminError;
use super::connect::{ConnectError, Installation, KeySecret};
use super::input::open;
use super::print::{Answer, print};
use super::source_text::ProtocolArgs;
use crate::desired::{self, ApplyReport, DesiredState, Prune, ReconcileError};
use crate::migrate::SchemaError;
use document::{Document, DocumentError, LARGEST_FILE};

/// Make the database match a file: tenants, limits, projects, connections and keys.
///
/// The file is the truth about what it lists: an omitted field is reset to its default, except for
/// `disabled`, `pool` and `limits`, which stay unchanged. --dry-run shows each field before and after.
/// Applied a second time, it changes nothing.
/// A key's secret is not in the file: `from_env` names the variable that holds a key made by
/// `archway key generate`, unless --key-file names a file for it. A new key there succeeds the one
/// with the same label, which stays good until it is revoked.
#[derive(Debug, clap::Args)]
pub struct ApplyArgs {
    /// The file (YAML or JSON); `-` for standard input.
    #[arg(short, long, value_name = "FILE", required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// A file with the key that `from_env: NAME` means, instead of a variable; may be repeated.
    #[arg(long = "key-file", value_name = "NAME=FILE", value_parser = key_file)]
    key_files: Vec<(String, PathBuf)>,
    /// Report what would be changed, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Also disable what the file doesn't list. For each tenant that it names: if it has a list
    /// `projects`, other projects are removed, except those that a connection found; if it has a list
    /// `connections`, others are removed with their projects; if it has a list `keys`, other keys are revoked.
    /// Other limits of a tenant or key are unset if that has `limits`. With `--prune=tenants`,
    /// tenants that it doesn't name are disabled as well. Nothing is ever erased.
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "contents"
    )]
    prune: Option<Prune>,
    /// Do nothing and exit with 0 if a newer build made the database's schema: after a rollback.
    #[arg(long)]
    unless_newer: bool,
    /// Print the file's JSON Schema, for editors, and do nothing else.
    #[arg(long, conflicts_with_all = ["file", "key_files", "dry_run", "prune"])]
    schema: bool,
    #[command(flatten)]
    protocols: ProtocolArgs,
    #[command(flatten)]
    secret: KeySecret,
    #[command(flatten)]
    installation: Installation,
}

/// Why a file was not applied. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The file cannot be read.
    #[error("reading {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The file is too large.
    #[error("{} is larger than {} MiB", .0.display(), LARGEST_FILE >> 20)]
    TooLarge(PathBuf),
    /// The file is invalid; the source has line and column.
    #[error("{} is not valid", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        #[source]
        source: DocumentError,
    },
    /// A key file that no entry of the document uses.
    #[error(
        "--key-file {0} is unused: no from_env of the file is {0}, so a key that is meant to be new \
         would not be stored"
    )]
    NobodysKey(String),
    /// Two entries are the same.
    #[error("{0} is listed twice")]
    Twice(String),
    /// An entry is invalid.
    #[error("{place}: {problem}")]
    Entry {
        /// The entry: `tenant acme, key ci`.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The variable of a key is not set.
    #[error(
        "{place}: the environment variable {variable} is not set, and no --key-file names it; \
         `archway key generate` makes a key for it"
    )]
    NoVariable {
        /// The entry.
        place: String,
        /// The variable's name.
        variable: String,
    },
    /// An entry was refused, or the database failed.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
}

/// Runs the command.
pub async fn run(args: ApplyArgs) -> Result<(), AdminError> {
    let Some(file) = args.file.as_deref().filter(|_| !args.schema) else {
        return print(&document::Schema::new(), args.installation.json);
    };
    let keys = read_keys(&args.key_files)?;
    let document = read(file)?;
    if let Some(name) = keys.keys().find(|name| !document.names_key(name)) {
        return Err(ApplyError::NobodysKey(name.clone()).into());
    }
    let state = DesiredState::from_document(document, &keys, args.protocols.allowed())?;
    let secret: Option<RootSecret> = match state.has_keys() {
        true => Some(args.installation.secret(&args.secret.file)?),
        false => None,
    };
    let (dry_run, prune) = (args.dry_run, args.prune);
    let applied = args.installation.change_unless(dry_run, async |tx, _| {
        if let Some(secret) = &secret {
            args.secret.check(tx, secret).await?;
        }
        let report = desired::apply(tx, &state, secret.as_ref(), prune).await;
        Ok(report.map_err(ApplyError::from)?)
    });
    let mut report = match applied.await {
        Err(error) if args.unless_newer && is_newer(&error) => {
            tracing::warn!(%error, "nothing was applied");
            return Ok(());
        }
        applied => applied?,
    };
    report.dry_run = dry_run;
    print(&report, args.installation.json)
}

/// Whether a newer build made the schema.
fn is_newer(error: &AdminError) -> bool {
    let AdminError::Connect(ConnectError::Schema(schema)) = error else {
        return false;
    };
    matches!(schema, SchemaError::Newer { .. })
}

/// Keys by the names of `from_env`.
type KeysByName = BTreeMap<String, SecretString>;

fn key_file(text: &str) -> Result<(String, PathBuf), &'static str> {
    let named = text.split_once('=');
    let named = named.filter(|(name, file)| !name.is_empty() && !file.is_empty());
    let (name, file) = named.ok_or("write it as NAME=FILE, with the name of from_env")?;
    Ok((name.to_owned(), file.into()))
}

fn read_keys(files: &[(String, PathBuf)]) -> Result<KeysByName, ApplyError> {
    let mut keys = KeysByName::new();
    for (name, path) in files {
        let text = std::fs::read_to_string(path).map_err(|source| ApplyError::Read {
            path: path.clone(),
            source,
        })?;
        let key = SecretString::from(text.trim_end());
        if keys.insert(name.clone(), key).is_some() {
            return Err(ApplyError::Twice(format!("--key-file {name}")));
        }
    }
    Ok(keys)
}

impl Answer for ApplyReport {
    fn text(&self) -> String {
        ApplyReport::text(self)
    }
}

/// The JSON Schema of the file, as `--schema` prints it, for programs that write such files.
pub fn schema() -> serde_json::Value {
    document::Schema::new().value()
}

fn read(path: &Path) -> Result<Document, ApplyError> {
    let failed = |source| ApplyError::Read {
        path: path.to_owned(),
        source,
    };
    // One byte more than allowed tells a file of the largest size from a larger one.
    let mut source = open(path).map_err(failed)?.take(LARGEST_FILE as u64 + 1);
    let parsed = Document::parse(&mut source);
    if source.limit() == 0 {
        return Err(ApplyError::TooLarge(path.to_owned()));
    }
    parsed.map_err(|error| match error {
        DocumentError::Unreadable(source) => failed(source),
        invalid @ DocumentError::Invalid(_) => ApplyError::Document {
            path: path.to_owned(),
            source: invalid,
        },
    })
}
