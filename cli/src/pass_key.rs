//! `archway pass-key`: makes the key pair by which workers believe a gateway's passes.
//!
//! The private file is readable by its owner alone and neither file replaces another unless that
//! is asked for: a lost private key costs nothing but a new pair, an overwritten one an outage.

use std::io;
use std::path::{Path, PathBuf};

use archway_proto::pass::PassError;
use archway_proto::pass::files::PassKeyPair;
use serde_json::json;

use crate::key_file::write_new;
use crate::output::{self, OutputError};

const PRIVATE_MODE: u32 = 0o600;
const PUBLIC_MODE: u32 = 0o644;
/// What the files are called in a folder.
const PRIVATE_FILE: &str = "pass.key";
const PUBLIC_FILE: &str = "pass.pub";

/// What `archway pass-key` can do.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum PassKeyCommand {
    /// Make a pair: the private key is for gateways (`ARCHWAY_PASS_KEY_FILE`), the public one for
    /// workers (`ARCHWAY_PASS_PUBLIC_FILE`). To replace a pair: add the new public key to the
    /// workers' file as a second line and restart them, give gateways the new private key, then
    /// take the old line out.
    Generate(GenerateArgs),
}

/// Where the pair goes.
#[derive(Clone, Debug, clap::Args)]
pub struct GenerateArgs {
    /// File that the private key is written to, readable by you alone. Without files or a
    /// folder the pair is printed.
    #[arg(long, value_name = "FILE", requires = "public", group = "files")]
    private: Option<PathBuf>,
    /// File that the public key is written to.
    #[arg(
        long,
        value_name = "FILE",
        requires = "private",
        conflicts_with = "out"
    )]
    public: Option<PathBuf>,
    /// Folder that both are written to, as `pass.key` and `pass.pub`. It has to be there.
    #[arg(long, value_name = "DIR", group = "files")]
    out: Option<PathBuf>,
    /// Replace files that are there already.
    #[arg(long, requires = "files")]
    force: bool,
    /// Print one line of JSON: `{"private", "public"}`, or with files
    /// `{"private_file", "public_file", "public"}`.
    #[arg(long)]
    json: bool,
}

/// Why there is no pair.
#[derive(Debug, thiserror::Error)]
pub enum PassKeyCommandError {
    /// No random bytes.
    #[error(transparent)]
    Generate(#[from] PassError),
    /// A file is in the way.
    #[error("{} is there already: choose another name, or --force to replace it", .0.display())]
    Exists(PathBuf),
    /// A file can't be written.
    #[error("writing {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's word.
        #[source]
        source: io::Error,
    },
    /// Nowhere to print.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

/// Runs the command.
pub fn run(command: &PassKeyCommand) -> Result<(), PassKeyCommandError> {
    let PassKeyCommand::Generate(args) = command;
    let pair = PassKeyPair::generate()?;
    let answer = match args.files() {
        Some((private, public)) => {
            write_pair(&pair, &private, &public, args.force)?;
            about_files(&pair, &private, &public, args.json)
        }
        None => in_words(&pair, args.json),
    };
    output::print(&answer, args.json).map_err(PassKeyCommandError::Output)
}

impl GenerateArgs {
    /// The private and the public file, unless the pair is to be printed.
    fn files(&self) -> Option<(PathBuf, PathBuf)> {
        let named = self.private.clone().zip(self.public.clone());
        let within = |out: &PathBuf| (out.join(PRIVATE_FILE), out.join(PUBLIC_FILE));
        named.or_else(|| self.out.as_ref().map(within))
    }
}

fn about_files(pair: &PassKeyPair, private: &Path, public: &Path, as_json: bool) -> String {
    let (private, public) = (private.display(), public.display());
    if as_json {
        return json!({
            "private_file": private.to_string(),
            "public_file": public.to_string(),
            "public": pair.public_line(),
        })
        .to_string();
    }
    format!(
        "gateways: ARCHWAY_PASS_KEY_FILE={private} (keep it secret)\n\
         workers:  ARCHWAY_PASS_PUBLIC_FILE={public}"
    )
}

fn in_words(pair: &PassKeyPair, as_json: bool) -> String {
    let (private, public) = (pair.private_line(), pair.public_line());
    if as_json {
        return json!({ "private": private, "public": public }).to_string();
    }
    format!(
        "# for the file of ARCHWAY_PASS_KEY_FILE, at gateways (keep it secret)\n{private}\n\
         # for the file of ARCHWAY_PASS_PUBLIC_FILE, at workers\n{public}"
    )
}

/// Writes both files, or neither if one is in the way.
fn write_pair(
    pair: &PassKeyPair,
    private: &Path,
    public: &Path,
    force: bool,
) -> Result<(), PassKeyCommandError> {
    if !force {
        // Told before anything is written; `create_new` holds it against a race.
        for path in [private, public] {
            if path.symlink_metadata().is_ok() {
                return Err(PassKeyCommandError::Exists(path.to_owned()));
            }
        }
    }
    write(private, pair.private_line(), PRIVATE_MODE, force)?;
    write(public, pair.public_line(), PUBLIC_MODE, force)
}

/// A file that is replaced keeps neither its mode nor a reader of half of it: the new one is
/// written beside it and takes its name.
fn write(path: &Path, line: &str, mode: u32, force: bool) -> Result<(), PassKeyCommandError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists if !force => PassKeyCommandError::Exists(path.to_owned()),
        _ => PassKeyCommandError::Write {
            path: path.to_owned(),
            source,
        },
    };
    if !force {
        return write_new(path, line, mode).map_err(failed);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = write_new(&beside, line, mode).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|error| {
        std::fs::remove_file(&beside).ok();
        failed(error)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use archway_proto::pass::files::{load_minter, load_public_keys};
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: PassKeyCommand,
    }

    fn parse(args: &[&str]) -> Result<PassKeyCommand, clap::Error> {
        let line = Line::try_parse_from([&["pass-key", "generate"], args].concat());
        line.map(|line| line.command)
    }

    #[test]
    fn a_folder_gets_both_files_under_the_names_that_are_documented() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        run(&parse(&["--out", out, "--json"]).unwrap()).unwrap();
        let minter = load_minter(&folder.path().join("pass.key")).unwrap();
        let public = load_public_keys(&folder.path().join("pass.pub")).unwrap();
        assert_eq!(public, [minter.public_key()]);
        let again = run(&parse(&["--out", out]).unwrap());
        assert!(matches!(again, Err(PassKeyCommandError::Exists(_))));
        run(&parse(&["--out", out, "--force"]).unwrap()).unwrap();
    }

    #[test]
    fn a_folder_and_files_exclude_each_other_and_force_needs_either() {
        assert!(parse(&["--out", "a", "--private", "b", "--public", "c"]).is_err());
        assert!(parse(&["--out", "a", "--public", "c"]).is_err());
        assert!(parse(&["--private", "b"]).is_err());
        assert!(parse(&["--force"]).is_err());
        assert!(parse(&["--private", "b", "--public", "c", "--force"]).is_ok());
    }

    #[test]
    fn key_files_work_are_kept_unless_forced_and_the_private_is_0600() {
        let folder = tempfile::tempdir().unwrap();
        let (private, public) = (folder.path().join("key"), folder.path().join("key.pub"));
        let generate = |force| {
            run(&PassKeyCommand::Generate(GenerateArgs {
                private: Some(private.clone()),
                public: Some(public.clone()),
                out: None,
                force,
                json: true,
            }))
        };
        let loaded = || {
            let minter = load_minter(&private).unwrap();
            assert_eq!(load_public_keys(&public).unwrap(), [minter.public_key()]);
            minter.public_key()
        };
        generate(false).unwrap();
        let first = loaded();
        let mode = std::fs::metadata(&private).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, PRIVATE_MODE);

        assert!(matches!(
            generate(false),
            Err(PassKeyCommandError::Exists(_))
        ));
        std::fs::remove_file(&private).unwrap();
        let refused = generate(false).unwrap_err().to_string();
        assert!(refused.contains("key.pub") && refused.contains("--force"));
        assert!(!private.exists(), "neither file is written");

        std::fs::write(&private, "").unwrap();
        std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o644)).unwrap();
        generate(true).unwrap();
        assert_ne!(loaded(), first);
        let mode = std::fs::metadata(&private).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, PRIVATE_MODE);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
