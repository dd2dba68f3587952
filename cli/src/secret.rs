//! `archway secret`: makes the root secret, of which sessions, cursors and key hashes are derived.

use std::io::{self, Write};

use archway_gateway::secrets::{RootSecret, SecretError};

/// What `archway secret` can do.
#[derive(Clone, Copy, Debug, clap::Subcommand)]
pub enum SecretCommand {
    /// Print a new line for the file that `ARCHWAY_SECRET_FILE` names. To rotate the secret, put
    /// it before the others: older lines go on verifying what they made.
    Generate {
        /// Print it as one line of JSON: `{"line"}`.
        #[arg(long)]
        json: bool,
    },
}

/// Why there is no new secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretCommandError {
    /// No random bytes.
    #[error(transparent)]
    Generate(#[from] SecretError),
    /// Nowhere to print it.
    #[error("writing to standard output")]
    Output(#[source] io::Error),
}

/// Runs the command.
pub fn run(command: &SecretCommand) -> Result<(), SecretCommandError> {
    match command {
        SecretCommand::Generate { json } => {
            let line = RootSecret::generate_line()?;
            let line = if *json {
                serde_json::json!({ "line": line }).to_string()
            } else {
                line
            };
            writeln!(io::stdout().lock(), "{line}").map_err(SecretCommandError::Output)
        }
    }
}
