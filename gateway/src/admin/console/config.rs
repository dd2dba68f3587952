//! Configuration of the operator's page.

use std::path::PathBuf;

use super::ConsoleTokenError;
use crate::auth::LoginConfigError;

/// Configuration of the operator's page.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConsoleConfig {
    /// Serve read-only pages about the installation at /console on the admin port: calls, tenants, keys, projects. They
    /// name tenants, and whoever reaches that port can read them.
    #[arg(
        long,
        env = "ARCHWAY_CONSOLE",
        value_parser = clap::builder::FalseyValueParser::new()
    )]
    pub console: bool,
    /// File with a token, at least 32 characters on one line, that the pages require: a browser asks for it as a
    /// password (any user name will do), programs send it as a bearer token. Read at the start.
    #[arg(
        long,
        env = "ARCHWAY_CONSOLE_TOKEN_FILE",
        value_name = "FILE",
        requires = "console"
    )]
    pub console_token_file: Option<PathBuf>,
    /// File (YAML) with the OpenID Connect provider at which people sign in to the pages, and whom it lets in. With
    /// --console-token-file, either will do. Read at the start.
    #[arg(
        long,
        env = "ARCHWAY_CONSOLE_OIDC_FILE",
        value_name = "FILE",
        requires = "console"
    )]
    pub console_oidc: Option<PathBuf>,
}

/// Why the pages cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// Their token.
    #[error("--console-token-file (ARCHWAY_CONSOLE_TOKEN_FILE) can't be used")]
    Token(#[from] ConsoleTokenError),
    /// Their provider.
    #[error("--console-oidc (ARCHWAY_CONSOLE_OIDC_FILE) can't be used")]
    Oidc(#[from] LoginConfigError),
}
