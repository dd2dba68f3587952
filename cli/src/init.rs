//! `archway init`: makes the secrets of an installation, each for those who may hold it.
//!
//! ```text
//! gateway/  secret  pass.key  database.pw
//! worker/   pass.pub  database.pw
//! owner/    database.pw  api.key
//! ```
//!
//! What is there stays as it is, so it can run before every start; but for the API key, if another one is asked
//! for (`--new-key`). A file has its name only once
//! all of it is written: one that a power cut left half-made would be kept for ever.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::tenants::{TenantError, generate_key};
use archway_gateway::secrets::{RootSecret, SecretError};
use archway_proto::pass::PassError;
use archway_proto::pass::files::{PassFileError, PassKeyPair, load_minter, load_public_keys};
use aws_lc_rs::rand;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::ExposeSecret;
use serde::Serialize;

use crate::key_file::write_new;
use crate::output::{self, OutputError};

/// For one user alone.
const PRIVATE: u32 = 0o600;
/// For those who are in the user's group, too: PostgreSQL, which runs as another user.
const OF_GROUP: u32 = 0o640;
const PUBLIC: u32 = 0o644;
/// Random bytes of a password.
const PASSWORD_BYTES: usize = 32;

/// What `archway init` is told.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// The folder that they are kept in, in one of its own for gateways (`gateway`), workers
    /// (`worker`) and whoever owns the database (`owner`).
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Make another API key in place of the one in `owner/api.key`, which goes on until it is revoked: `archway apply`
    /// takes the new one, `archway key revoke` ends the old one.
    #[arg(long)]
    new_key: bool,
    /// Print one line of JSON: `{"made", "kept"}`.
    #[arg(long)]
    json: bool,
}

/// Why secrets are missing yet.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// No random bytes.
    #[error("the cryptographic library failed")]
    Random,
    /// No root secret.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// No pass keys.
    #[error(transparent)]
    PassKey(#[from] PassError),
    /// No API key.
    #[error(transparent)]
    ApiKey(#[from] TenantError),
    /// The private key is of no use.
    #[error(transparent)]
    PassFile(#[from] PassFileError),
    /// It was lost, and workers believe no other.
    #[error(
        "{} is missing, and the public key that belongs to it is there: bring it back, or make \
         both anew with `archway pass-key generate --private FILE --public FILE --force` and \
         restart gateways and workers", .0.display()
    )]
    NoPrivateKey(PathBuf),
    /// Workers would believe no gateway.
    #[error(
        "{} is not of the private key beside it: bring the right one back, or remove it to have it \
         made from the private key", .0.display()
    )]
    OtherPublicKey(PathBuf),
    /// A folder or file can't be made.
    #[error("making {}", path.display())]
    Make {
        /// Which.
        path: PathBuf,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// Nowhere to print.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

/// What became of each file: its name in the folder.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Report {
    made: Vec<&'static str>,
    kept: Vec<&'static str>,
}

/// Runs the command.
pub fn run(args: &InitArgs) -> Result<(), InitError> {
    let report = make_all(&args.folder, args.new_key)?;
    let answer = match args.json {
        true => serde_json::json!(report).to_string(),
        false => report.text(),
    };
    output::print(&answer, args.json).map_err(InitError::Output)
}

fn make_all(folder: &Path, new_key: bool) -> Result<Report, InitError> {
    // Who may read one of those in it must be let through.
    let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
    made.map_err(failed(folder))?;
    for (name, mode) in [("gateway", 0o700), ("worker", 0o700), ("owner", 0o750)] {
        make_folder(&folder.join(name), mode)?;
    }
    let mut files = Files {
        folder,
        report: Report::default(),
    };
    files.make("gateway/secret", PRIVATE, || {
        Ok(RootSecret::generate_line()?)
    })?;
    files.make_pair("gateway/pass.key", "worker/pass.pub")?;
    for name in ["gateway/database.pw", "worker/database.pw"] {
        files.make(name, PRIVATE, password)?;
    }
    files.make("owner/database.pw", OF_GROUP, password)?;
    let key = || Ok(generate_key()?.api_key.expose_secret().to_owned());
    match new_key {
        true => files.replace("owner/api.key", PRIVATE, &key()?)?,
        false => files.make("owner/api.key", PRIVATE, key)?,
    }
    Ok(files.report)
}

/// A folder that is there already may be a volume: it gets its mode all the same.
fn make_folder(path: &Path, mode: u32) -> Result<(), InitError> {
    // Recursive: it may be there.
    let made = match DirBuilder::new().recursive(true).mode(mode).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)),
        failed => failed,
    };
    made.map_err(failed(path))
}

struct Files<'a> {
    folder: &'a Path,
    report: Report,
}

impl Files<'_> {
    fn make(
        &mut self,
        name: &'static str,
        mode: u32,
        line: impl FnOnce() -> Result<String, InitError>,
    ) -> Result<(), InitError> {
        if self.has(name) {
            self.report.kept.push(name);
            return Ok(());
        }
        self.write(name, mode, &line()?)
    }

    /// The public key can be told from the private one, which is so written first.
    fn make_pair(&mut self, private: &'static str, public: &'static str) -> Result<(), InitError> {
        match (self.has(private), self.has(public)) {
            (true, has_public) => {
                self.report.kept.push(private);
                let own = load_minter(&self.folder.join(private))?.public_key();
                let public_path = self.folder.join(public);
                if has_public && !load_public_keys(&public_path)?.contains(&own) {
                    return Err(InitError::OtherPublicKey(public_path));
                }
                self.make(public, PUBLIC, || Ok(STANDARD.encode(own)))
            }
            (false, true) => Err(InitError::NoPrivateKey(self.folder.join(private))),
            (false, false) => {
                let pair = PassKeyPair::generate()?;
                self.write(private, PRIVATE, pair.private_line())?;
                self.write(public, PUBLIC, pair.public_line())
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.folder.join(name).symlink_metadata().is_ok()
    }

    /// A link is made only where nothing is: of two that run at once the second fails, and replaces nothing.
    fn write(&mut self, name: &'static str, mode: u32, line: &str) -> Result<(), InitError> {
        self.put(name, mode, line, |draft, path| {
            fs::hard_link(draft, path)?;
            fs::remove_file(draft)
        })
    }

    /// Whatever is there is no more. Readers find the old line or the new one, and never a part.
    fn replace(&mut self, name: &'static str, mode: u32, line: &str) -> Result<(), InitError> {
        self.put(name, mode, line, |draft, path| fs::rename(draft, path))
    }

    fn put(
        &mut self,
        name: &'static str,
        mode: u32,
        line: &str,
        place: impl FnOnce(&Path, &Path) -> io::Result<()>,
    ) -> Result<(), InitError> {
        let path = self.folder.join(name);
        let draft = path.with_extension(format!("{}.draft", std::process::id()));
        // Its mode is said again: the umask may have taken something from it.
        let written = write_new(&draft, line, mode)
            .and_then(|()| fs::set_permissions(&draft, Permissions::from_mode(mode)))
            .and_then(|()| place(&draft, &path));
        if written.is_err() {
            fs::remove_file(&draft).ok();
        }
        written.map_err(failed(&path))?;
        self.report.made.push(name);
        Ok(())
    }
}

impl Report {
    fn text(&self) -> String {
        let lines = |what, names: &[&str]| -> String {
            let lines = names.iter().map(|name| format!("{what} {name}\n"));
            lines.collect()
        };
        let text = lines("made", &self.made) + &lines("kept", &self.kept);
        text.trim_end().to_owned()
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> InitError {
    let path = path.to_owned();
    move |source| InitError::Make { path, source }
}

/// Hexadecimal: it needs no escaping anywhere.
fn password() -> Result<String, InitError> {
    let mut bytes = [0; PASSWORD_BYTES];
    rand::fill(&mut bytes).map_err(|_unspecified| InitError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::tenants::key_id;

    use super::*;
    use crate::password_file;

    const ALL: [&str; 7] = [
        "gateway/secret",
        "gateway/pass.key",
        "worker/pass.pub",
        "gateway/database.pw",
        "worker/database.pw",
        "owner/database.pw",
        "owner/api.key",
    ];

    fn contents(folder: &Path) -> BTreeMap<&'static str, String> {
        let read = |name| fs::read_to_string(folder.join(name)).unwrap();
        ALL.into_iter().map(|name| (name, read(name))).collect()
    }

    #[test]
    fn every_file_is_good_for_its_purpose_and_nobody_elses() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        assert_eq!(make_all(&folder, false).unwrap().made, ALL);
        let path = |name| folder.join(name);
        RootSecret::load(&path("gateway/secret")).unwrap();
        let minter = load_minter(&path("gateway/pass.key")).unwrap();
        let public = load_public_keys(&path("worker/pass.pub")).unwrap();
        assert_eq!(public, [minter.public_key()]);
        let mut passwords = Vec::new();
        for name in [
            "gateway/database.pw",
            "worker/database.pw",
            "owner/database.pw",
        ] {
            let password = password_file::read(&path(name)).unwrap();
            passwords.push(password.expose_secret().to_owned());
        }
        passwords.sort();
        passwords.dedup();
        assert_eq!(passwords.len(), 3);
        let key = contents(&folder)["owner/api.key"].trim_end().to_owned();
        assert!(key_id(&key.into()).is_some());

        let mode = |name| path(name).metadata().unwrap().permissions().mode() & 0o777;
        for name in ALL {
            let wanted = match name {
                "worker/pass.pub" => PUBLIC,
                "owner/database.pw" => OF_GROUP,
                _ => PRIVATE,
            };
            assert_eq!(mode(name), wanted, "{name}");
        }
        assert_eq!(
            ["gateway", "worker", "owner"].map(mode),
            [0o700, 0o700, 0o750]
        );
        // Whoever is in the owner's group gets to its folder.
        assert_eq!(mode(".") & 0o111, 0o111);
    }

    #[test]
    fn what_is_there_stays_and_what_is_missing_is_made() {
        let place = tempfile::tempdir().unwrap();
        make_all(place.path(), false).unwrap();
        let before = contents(place.path());
        let again = make_all(place.path(), false).unwrap();
        assert_eq!((again.made.len(), again.kept.len()), (0, ALL.len()));
        assert_eq!(contents(place.path()), before);

        fs::remove_file(place.path().join("owner/api.key")).unwrap();
        assert_eq!(
            make_all(place.path(), false).unwrap().made,
            ["owner/api.key"]
        );
        let after = contents(place.path());
        assert_ne!(after["owner/api.key"], before["owner/api.key"]);
        assert_eq!(after["gateway/secret"], before["gateway/secret"]);
        let left = fs::read_dir(place.path().join("owner")).unwrap().count();
        assert_eq!(left, 2, "and no draft");
    }

    #[test]
    fn a_new_key_replaces_the_existing_one_and_nothing_else_changes() {
        let place = tempfile::tempdir().unwrap();
        make_all(place.path(), false).unwrap();
        let mut before = contents(place.path());
        let again = make_all(place.path(), true).unwrap();
        assert_eq!(again.made, ["owner/api.key"]);
        assert_eq!(again.kept.len(), ALL.len() - 1);
        let mut after = contents(place.path());
        let [old, new] = [&mut before, &mut after].map(|all| all.remove("owner/api.key").unwrap());
        assert_eq!(before, after);
        let id = |key: String| key_id(&key.trim_end().to_owned().into()).unwrap();
        assert_ne!(id(old), id(new));
        let left = fs::read_dir(place.path().join("owner")).unwrap().count();
        assert_eq!(left, 2, "and no draft");
    }

    #[test]
    fn a_lost_public_key_is_derived_and_a_lost_private_key_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        make_all(place.path(), false).unwrap();
        let before = contents(place.path());
        let lose = |name| fs::remove_file(place.path().join(name)).unwrap();
        lose("worker/pass.pub");
        assert_eq!(
            make_all(place.path(), false).unwrap().made,
            ["worker/pass.pub"]
        );
        assert_eq!(contents(place.path()), before);

        let other = PassKeyPair::generate().unwrap();
        fs::write(place.path().join("worker/pass.pub"), other.public_line()).unwrap();
        let refusal = make_all(place.path(), false).unwrap_err().to_string();
        assert!(refusal.contains("worker/pass.pub is not of"), "{refusal}");

        lose("gateway/pass.key");
        let refusal = make_all(place.path(), false).unwrap_err().to_string();
        assert!(refusal.contains("gateway/pass.key"), "{refusal}");
        assert!(refusal.contains("--force"), "{refusal}");
        assert!(!place.path().join("gateway/pass.key").exists());
    }
}
