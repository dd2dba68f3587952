//! `archway init`: creates the secrets of an installation, each in the folder of its users.
//!
//! ```text
//! gateway/  secret  pass.key  database.pw
//! worker/   pass.pub  database.pw
//! sync/     database.pw
//! owner/    database.pw  api.key
//! ```
//!
//! Existing files stay as they are, so it can run before every start; only `--new-key` replaces the API
//! key. A file gets its name after it was written completely: otherwise a power failure could leave a
//! truncated secret, which later runs would keep.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use archway_gateway::secrets::{RootSecret, SecretError};
use archway_proto::pass::PassError;
use archway_proto::pass::files::{PassFileError, PassKeyPair, load_minter, load_public_keys};
use aws_lc_rs::rand;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::ExposeSecret;
use serde::Serialize;

use crate::key_file::{PRIVATE_MODE, write_new};
use crate::output::{self, OutputError};
use crate::tenants::{TenantError, generate_key};

/// For its user's group as well: PostgreSQL, which runs as another user.
const OF_GROUP: u32 = 0o640;
const PUBLIC: u32 = 0o644;
/// Random bytes of a password.
const PASSWORD_BYTES: usize = 32;

/// Arguments of `archway init`.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// The folder for the secrets, with a folder each for gateways (`gateway`), workers (`worker`),
    /// `archway sync` (`sync`) and the database's owner (`owner`).
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace the API key in `owner/api.key` by a new one. The old key stays valid until it is
    /// revoked: `archway apply` adds the new one, `archway key revoke` ends the old one.
    #[arg(long)]
    new_key: bool,
    /// Print one line of JSON: `{"made", "kept"}`.
    #[arg(long)]
    json: bool,
}

/// Why secrets are still missing.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// The random number generator failed.
    #[error("the cryptographic library failed")]
    Random,
    /// The root secret could not be created.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The pass keys could not be created.
    #[error(transparent)]
    PassKey(#[from] PassError),
    /// The API key could not be created.
    #[error(transparent)]
    ApiKey(#[from] TenantError),
    /// The private key cannot be used.
    #[error(transparent)]
    PassFile(#[from] PassFileError),
    /// The private key is missing, and workers trust no other.
    #[error(
        "{} is missing, and its public key exists: restore it, or make both anew with `archway \
         pass-key generate --private FILE --public FILE --force` and restart gateways and workers",
        .0.display()
    )]
    NoPrivateKey(PathBuf),
    /// Workers would trust no gateway.
    #[error(
        "{} is not the public key of the private key beside it: restore the right one, or remove it to \
         have it made from the private key", .0.display()
    )]
    OtherPublicKey(PathBuf),
    /// A folder or file could not be created.
    #[error("making {}", path.display())]
    Make {
        /// The folder or file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// Standard output cannot be written.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

/// The files that were made, and those that were kept, by name in the folder.
#[derive(Debug, Default, PartialEq, Serialize)]
struct InitReport {
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

fn make_all(folder: &Path, new_key: bool) -> Result<InitReport, InitError> {
    // Users of one of its folders must be able to pass through it.
    let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
    made.map_err(failed(folder))?;
    let private = ["gateway", "worker", "sync"].map(|name| (name, 0o700));
    for (name, mode) in private.into_iter().chain([("owner", 0o750)]) {
        make_folder(&folder.join(name), mode)?;
    }
    let mut files = Files {
        folder,
        report: InitReport::default(),
    };
    files.make("gateway/secret", PRIVATE_MODE, || {
        Ok(RootSecret::generate_line()?)
    })?;
    files.make_pair("gateway/pass.key", "worker/pass.pub")?;
    for name in [
        "gateway/database.pw",
        "worker/database.pw",
        "sync/database.pw",
    ] {
        files.make(name, PRIVATE_MODE, password)?;
    }
    files.make("owner/database.pw", OF_GROUP, password)?;
    let key = || Ok(generate_key()?.api_key.expose_secret().to_owned());
    match new_key {
        true => files.replace("owner/api.key", PRIVATE_MODE, &key()?)?,
        false => files.make("owner/api.key", PRIVATE_MODE, key)?,
    }
    Ok(files.report)
}

/// Creates a folder and sets its mode. An existing folder, such as a volume, gets the mode as well.
fn make_folder(path: &Path, mode: u32) -> Result<(), InitError> {
    // `recursive` accepts an existing folder.
    let made = match DirBuilder::new().recursive(true).mode(mode).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)),
        failed => failed,
    };
    made.map_err(failed(path))
}

struct Files<'a> {
    folder: &'a Path,
    report: InitReport,
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

    /// The public key can be derived from the private one, so the private key is written first.
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
                self.write(private, PRIVATE_MODE, pair.private_line())?;
                self.write(public, PUBLIC, pair.public_line())
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.folder.join(name).symlink_metadata().is_ok()
    }

    /// A hard link never replaces a file: if two processes run at once, the second one fails.
    fn write(&mut self, name: &'static str, mode: u32, line: &str) -> Result<(), InitError> {
        self.put(name, mode, line, |draft, path| {
            fs::hard_link(draft, path)?;
            fs::remove_file(draft)
        })
    }

    /// Replaces the file, if any. Readers see the old line or the new one, never a part.
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
        // The mode is set again, because the umask may have cleared bits.
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

impl InitReport {
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

/// Hexadecimal, which needs no escaping anywhere.
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

    const ALL: [&str; 8] = [
        "gateway/secret",
        "gateway/pass.key",
        "worker/pass.pub",
        "gateway/database.pw",
        "worker/database.pw",
        "sync/database.pw",
        "owner/database.pw",
        "owner/api.key",
    ];

    fn contents(folder: &Path) -> BTreeMap<&'static str, String> {
        let read = |name| fs::read_to_string(folder.join(name)).unwrap();
        ALL.into_iter().map(|name| (name, read(name))).collect()
    }

    #[test]
    fn every_file_is_usable_and_has_its_mode() {
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
            "sync/database.pw",
            "owner/database.pw",
        ] {
            let password = password_file::read(&path(name)).unwrap();
            passwords.push(password.expose_secret().to_owned());
        }
        passwords.sort();
        passwords.dedup();
        assert_eq!(passwords.len(), 4);
        let key = contents(&folder)["owner/api.key"].trim_end().to_owned();
        assert!(key_id(&key.into()).is_some());

        let mode = |name| path(name).metadata().unwrap().permissions().mode() & 0o777;
        for name in ALL {
            let wanted = match name {
                "worker/pass.pub" => PUBLIC,
                "owner/database.pw" => OF_GROUP,
                _ => PRIVATE_MODE,
            };
            assert_eq!(mode(name), wanted, "{name}");
        }
        assert_eq!(
            ["gateway", "worker", "sync", "owner"].map(mode),
            [0o700, 0o700, 0o700, 0o750]
        );
        // Members of the owner's group can reach its folder.
        assert_eq!(mode(".") & 0o111, 0o111);
    }

    #[test]
    fn existing_files_stay_and_missing_ones_are_made() {
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
        assert!(
            refusal.contains("worker/pass.pub is not the public key"),
            "{refusal}"
        );

        lose("gateway/pass.key");
        let refusal = make_all(place.path(), false).unwrap_err().to_string();
        assert!(refusal.contains("gateway/pass.key"), "{refusal}");
        assert!(refusal.contains("--force"), "{refusal}");
        assert!(!place.path().join("gateway/pass.key").exists());
    }
}
