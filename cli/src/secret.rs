//! `archway secret`: makes the root secret, from which session, cursor and key secrets are derived.

use std::io;
use std::path::{Path, PathBuf};

use archway_gateway::secrets::{RootSecret, SecretError};

use crate::key_file::{PRIVATE_MODE, write_new};
use crate::output::{self, OutputError};

/// Subcommands of `archway secret`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum SecretCommand {
    /// Make a new line for the file that `ARCHWAY_SECRET_FILE` names. To rotate the secret, put it
    /// before the others: older lines still verify what they made.
    Generate {
        /// A new file for it, readable by its owner only (0600) [default: standard output].
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        out: Option<PathBuf>,
        /// Print it as one line of JSON: `{"line"}`.
        #[arg(long)]
        json: bool,
    },
}

/// Why no secret was made.
#[derive(Debug, thiserror::Error)]
pub enum SecretCommandError {
    /// The random number generator failed.
    #[error(transparent)]
    Generate(#[from] SecretError),
    /// Standard output cannot be written.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
    /// The file cannot be created. An existing secret is never replaced.
    #[error("making the file {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

/// Runs the command.
pub fn run(command: &SecretCommand) -> Result<(), SecretCommandError> {
    let SecretCommand::Generate { out, json } = command;
    let line = RootSecret::generate_line()?;
    if let Some(path) = out {
        return store(path, &line);
    }
    let answer = match *json {
        true => serde_json::json!({ "line": line }).to_string(),
        false => line,
    };
    output::print(&answer, *json).map_err(SecretCommandError::Output)
}

fn store(path: &Path, line: &str) -> Result<(), SecretCommandError> {
    write_new(path, line, PRIVATE_MODE).map_err(|source| SecretCommandError::File {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_private_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let generate = || {
            run(&SecretCommand::Generate {
                out: Some(path.clone()),
                json: false,
            })
        };
        generate().unwrap();
        RootSecret::load(&path).unwrap();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let before = std::fs::read(&path).unwrap();
        let refusal = generate().unwrap_err().to_string();
        assert!(refusal.contains("secret"), "{refusal}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
