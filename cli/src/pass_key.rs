//! `archway pass-key`: makes the key pair with which workers verify a gateway's passes.
//!
//! Only its owner can read the private file, and neither file is replaced unless that is requested: a
//! lost private key costs a new pair, an overwritten one an outage.

use std::io;
use std::path::{Path, PathBuf};

use archway_proto::pass::PassError;
use archway_proto::pass::files::PassKeyPair;
use serde_json::json;

use crate::key_file::{PRIVATE_MODE, write_new};
use crate::output::{self, OutputError};

const PUBLIC_MODE: u32 = 0o644;
/// The file names in a folder.
const PRIVATE_FILE: &str = "pass.key";
const PUBLIC_FILE: &str = "pass.pub";

/// Subcommands of `archway pass-key`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum PassKeyCommand {
    /// Make a pair: the private key is for gateways (`ARCHWAY_PASS_KEY_FILE`), the public one for
    /// workers (`ARCHWAY_PASS_PUBLIC_FILE`). To replace a pair: add the new public key to the
    /// workers' file as a second line and restart them, give gateways the new private key, then
    /// remove the old line.
    Generate(GenerateArgs),
}

/// Where the pair is written.
#[derive(Clone, Debug, clap::Args)]
pub struct GenerateArgs {
    /// File for the private key, readable by its owner only. Without files or a folder the pair is
    /// printed.
    #[arg(long, value_name = "FILE", requires = "public", group = "files")]
    private: Option<PathBuf>,
    /// File for the public key.
    #[arg(
        long,
        value_name = "FILE",
        requires = "private",
        conflicts_with = "out"
    )]
    public: Option<PathBuf>,
    /// Folder for both, as `pass.key` and `pass.pub`. It must exist.
    #[arg(long, value_name = "DIR", group = "files")]
    out: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long, requires = "files")]
    force: bool,
    /// Print one line of JSON: `{"private", "public"}`, or with files
    /// `{"private_file", "public_file", "public"}`.
    #[arg(long)]
    json: bool,
}

/// Why no pair was made.
#[derive(Debug, thiserror::Error)]
pub enum PassKeyCommandError {
    /// The random number generator failed.
    #[error(transparent)]
    Generate(#[from] PassError),
    /// A file exists.
    #[error("{} is there already: choose another name, or --force to replace it", .0.display())]
    Exists(PathBuf),
    /// A file cannot be written.
    #[error("writing {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Standard output cannot be written.
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
        None => as_text(&pair, args.json),
    };
    output::print(&answer, args.json).map_err(PassKeyCommandError::Output)
}

impl GenerateArgs {
    /// The private and the public file; `None` to print the pair.
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

fn as_text(pair: &PassKeyPair, as_json: bool) -> String {
    let (private, public) = (pair.private_line(), pair.public_line());
    if as_json {
        return json!({ "private": private, "public": public }).to_string();
    }
    format!(
        "# for the file of ARCHWAY_PASS_KEY_FILE, at gateways (keep it secret)\n{private}\n\
         # for the file of ARCHWAY_PASS_PUBLIC_FILE, at workers\n{public}"
    )
}

/// Writes both files, or neither if one exists.
fn write_pair(
    pair: &PassKeyPair,
    private: &Path,
    public: &Path,
    force: bool,
) -> Result<(), PassKeyCommandError> {
    if !force {
        // Checked before anything is written; `create_new` prevents a race.
        for path in [private, public] {
            if path.symlink_metadata().is_ok() {
                return Err(PassKeyCommandError::Exists(path.to_owned()));
            }
        }
    }
    write(private, pair.private_line(), PRIVATE_MODE, force)?;
    write(public, pair.public_line(), PUBLIC_MODE, force)
}

/// With `force`, writes a new file and renames it, so that the replaced file's mode is not kept and no
/// reader sees a partial file.
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
    fn a_folder_gets_both_files_under_their_documented_names() {
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
    fn a_folder_excludes_files_and_force_needs_either() {
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
