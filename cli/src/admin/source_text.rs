//! Where a project is mirrored from, as an operator writes it in a file or as options.

use archway_proto::chain::Chain;
use archway_sync::credentials::check_name;
use archway_sync::remote::{
    AllowedProtocols, Protocol, RemoteUrl, RemoteUrlError, check_reference,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::AdminError;
use crate::dev::ProjectsError;
use crate::tenants::ProjectSource;

/// What `archway sync` may use besides https and ssh.
#[derive(Debug, clap::Args)]
pub(super) struct ProtocolArgs {
    /// Protocols besides https and ssh that `archway sync` may use, separated by commas.
    #[arg(
        long,
        env = "ARCHWAY_ALLOW_PROTOCOL",
        value_name = "PROTOCOL",
        value_delimiter = ','
    )]
    allow_protocol: Vec<Protocol>,
}

impl ProtocolArgs {
    /// The protocols that remotes may have.
    pub(super) fn allowed(&self) -> AllowedProtocols {
        AllowedProtocols {
            more: self.allow_protocol.clone(),
            loopback_http: false,
        }
    }
}

/// The remote repository of a project, unchecked: `git` of a file, or options.
#[derive(Debug, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceText {
    /// The URL of its repository, by https or ssh, without a password: `archway sync`, or the running `archway dev`,
    /// mirrors it.
    #[arg(
        long = "git",
        value_name = "URL",
        conflicts_with = "path",
        required = false
    )]
    #[schemars(length(min = 1, max = 2048))]
    url: String,
    /// The branch, tag or commit to serve; the repository's own HEAD if omitted.
    #[arg(
        long = "ref",
        value_name = "REF",
        requires = "url",
        help = "The branch, tag or commit to serve [default: the repository's own HEAD]"
    )]
    #[serde(rename = "ref")]
    #[schemars(length(min = 1, max = 250))]
    reference: Option<String>,
    /// The credential: a file of this name in the folder that `archway sync` has by `--credentials`.
    #[arg(long, value_name = "NAME", requires = "url")]
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,62}$"))]
    credential: Option<String>,
    /// A file of certificates that git trusts instead of the system's, as `archway sync` sees it.
    #[arg(long, value_name = "FILE", requires = "url")]
    #[schemars(length(min = 1, max = 4096))]
    ca_file: Option<String>,
    /// The proxy for https.
    #[arg(long, value_name = "URL", requires = "url")]
    #[schemars(length(min = 1, max = 2048))]
    https_proxy: Option<String>,
}

impl SourceText {
    /// Checks every part. Reads no file and asks no host.
    pub(super) fn check(&self, allowed: &AllowedProtocols) -> Result<ProjectSource, AdminError> {
        if let Some(name) = &self.credential {
            check_name(name).map_err(refused)?;
        }
        if let Some(reference) = &self.reference {
            check_reference(reference).map_err(refused)?;
        }
        let remote = RemoteUrl::parse(&self.url, allowed);
        let remote = remote.map_err(|error| match error {
            // The rules of `archway dev`, which no option widens.
            RemoteUrlError::Protocol if allowed.loopback_http => ProjectsError::Protocol.into(),
            error => refused(error),
        });
        Ok(ProjectSource {
            remote: remote?,
            reference: self.reference.clone(),
            credential: self.credential.clone(),
            ca_file: self.ca_file.clone(),
            https_proxy: self.https_proxy.clone(),
        })
    }
}

/// For `map_err`: a refusal, with its causes.
pub(super) fn refused(error: impl std::error::Error + 'static) -> AdminError {
    AdminError::Refused(Chain(&error).to_string())
}
