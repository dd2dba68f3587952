//! `archway apply`: makes the database say what a file says, and tells what that changed.
//!
//! The file is read ([`document`]), becomes what is wanted ([`wanted`]), and that is carried out in
//! one transaction ([`crate::wanted`]): all of it or nothing.

// In the order a file meets them.
mod document;
mod wanted;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use archway_gateway::secrets::RootSecret;
use secrecy::SecretString;

use super::AdminError;
use super::connect::{ConnectError, KeySecret, Place};
use super::print::{Answer, print};
use crate::migrate::SchemaError;
use crate::wanted::{Prune, Report, Wanted, WantedError, carry_out};
use document::Document;

/// No file of this size was written by hand.
const LARGEST: u64 = 4 << 20;

/// Make the database say what a file says: tenants, limits, projects and keys.
///
/// The file is the truth about what it lists: a field that is left out has its default, except for
/// `disabled`, `pool` and `limits`, which are left alone. Applied twice, it changes nothing the second time. A key's
/// secret is not in the file: `from_env` names the variable that holds a key made by `archway key
/// generate`, unless --key-file says that a file does. A new key there is the successor of the one
/// with the same label, which stays good until it is revoked.
#[derive(Debug, clap::Args)]
pub struct ApplyArgs {
    /// The file (YAML or JSON); `-` for standard input.
    #[arg(short, long, value_name = "FILE", required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// A file that holds the key which `from_env: NAME` means, instead of a variable; may be
    /// repeated.
    #[arg(long = "key-file", value_name = "NAME=FILE", value_parser = key_file)]
    key_files: Vec<(String, PathBuf)>,
    /// Say what would be changed, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Also put out of use what the file doesn't list. Of each tenant that it names: its other
    /// projects are removed if it has a list `projects`, its other keys revoked if it has a list
    /// `keys`; other limits of a tenant or key that has `limits` are as by default again. With `--prune=tenants`, tenants it doesn't name are disabled as well. Nothing is
    /// ever erased.
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "contents"
    )]
    prune: Option<Prune>,
    /// Do nothing, and end with 0, where a newer build made the database's schema: after a rollback.
    #[arg(long)]
    unless_newer: bool,
    /// Print the file's JSON Schema, for editors, and do nothing else.
    #[arg(long, conflicts_with_all = ["file", "key_files", "dry_run", "prune"])]
    schema: bool,
    #[command(flatten)]
    secret: KeySecret,
    #[command(flatten)]
    place: Place,
}

/// Why a file was not applied. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// It can't be read.
    #[error("reading {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// It is larger than anybody means.
    #[error("{} is larger than {} MiB", .0.display(), LARGEST >> 20)]
    TooLarge(PathBuf),
    /// It doesn't say what such a file says; the source tells line and column.
    #[error("{} is not right", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        #[source]
        source: document::DocumentError,
    },
    /// A file for a key that the document doesn't have.
    #[error(
        "--key-file {0} is for no key: no from_env of the file says {0}, so a key that is meant to be \
         a new one would not be taken"
    )]
    NobodysKey(String),
    /// Two entries are one.
    #[error("{0} is listed twice")]
    Twice(String),
    /// One entry makes no sense.
    #[error("{place}: {problem}")]
    Entry {
        /// Which: `tenant acme, key ci`.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The variable that a key should be in is not set.
    #[error(
        "{place}: the environment variable {variable} is not set, and no --key-file names it; \
         `archway key generate` makes a key for it"
    )]
    NoVariable {
        /// Which key.
        place: String,
        /// The variable's name.
        variable: String,
    },
    /// One entry was refused, or the database failed.
    #[error(transparent)]
    Wanted(#[from] WantedError),
}

/// Runs the command.
pub async fn run(args: ApplyArgs) -> Result<(), AdminError> {
    let Some(file) = args.file.as_deref().filter(|_| !args.schema) else {
        return print(&document::Schema::new(), args.place.json);
    };
    let keys = read_keys(&args.key_files)?;
    let document = read(file)?;
    if let Some(name) = keys.keys().find(|name| !document.names_key(name)) {
        return Err(ApplyError::NobodysKey(name.clone()).into());
    }
    let wanted = Wanted::from_document(document, &keys)?;
    let secret: Option<RootSecret> = match wanted.has_keys() {
        true => Some(args.place.secret(&args.secret.file)?),
        false => None,
    };
    let (dry_run, prune) = (args.dry_run, args.prune);
    let applied = args.place.change_unless(dry_run, async |tx, _| {
        if let Some(secret) = &secret {
            args.secret.check(tx, secret).await?;
        }
        let report = carry_out(tx, &wanted, secret.as_ref(), prune).await;
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
    print(&report, args.place.json)
}

/// Whether the schema is a newer build's.
fn is_newer(error: &AdminError) -> bool {
    let AdminError::Connect(ConnectError::Schema(schema)) = error else {
        return false;
    };
    matches!(schema, SchemaError::Newer { .. })
}

/// Keys by the names of `from_env`.
type Keys = BTreeMap<String, SecretString>;

fn key_file(text: &str) -> Result<(String, PathBuf), &'static str> {
    let named = text.split_once('=');
    let named = named.filter(|(name, file)| !name.is_empty() && !file.is_empty());
    let (name, file) = named.ok_or("write it as NAME=FILE, with the name that from_env has")?;
    Ok((name.to_owned(), file.into()))
}

fn read_keys(files: &[(String, PathBuf)]) -> Result<Keys, ApplyError> {
    let mut keys = Keys::new();
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

impl Answer for Report {
    fn text(&self) -> String {
        Report::text(self)
    }
}

/// The JSON Schema of the file, which `--schema` prints: for whoever writes such files by program.
pub fn schema() -> serde_json::Value {
    document::Schema::new().value()
}

fn read(path: &Path) -> Result<Document, ApplyError> {
    let failed = |source| ApplyError::Read {
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(failed)?)
    };
    let length = source.take(LARGEST + 1).read_to_string(&mut text);
    if length.map_err(failed)? as u64 > LARGEST {
        return Err(ApplyError::TooLarge(path.to_owned()));
    }
    Document::parse(&text).map_err(|source| ApplyError::Document {
        path: path.to_owned(),
        source,
    })
}
