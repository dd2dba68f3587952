//! Where a project is mirrored from, as an operator writes it in a file or as options.

use archway_proto::chain::Chain;
use archway_sync::credentials::check_name;
use archway_sync::remote::{AllowedProtocols, Protocol, RemoteUrl, check_reference};

use super::AdminError;
use crate::tenants::ProjectSource;

/// What `archway sync` may use besides https and ssh.
#[derive(Debug, clap::Args)]
pub(super) struct ProtocolArgs {
    /// Protocols besides https and ssh that `archway sync` may use, separated by commas.
    #[arg(long, value_name = "PROTOCOL", value_delimiter = ',')]
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

/// An unchecked source.
pub(super) struct SourceText<'a> {
    pub(super) url: &'a str,
    pub(super) reference: Option<&'a str>,
    pub(super) credential: Option<&'a str>,
    pub(super) ca_file: Option<&'a str>,
    pub(super) https_proxy: Option<&'a str>,
}

impl SourceText<'_> {
    /// Checks every part. Reads no file and asks no host.
    pub(super) fn check(&self, allowed: &AllowedProtocols) -> Result<ProjectSource, AdminError> {
        if let Some(name) = self.credential {
            check_name(name).map_err(refused)?;
        }
        if let Some(reference) = self.reference {
            check_reference(reference).map_err(refused)?;
        }
        Ok(ProjectSource {
            remote: RemoteUrl::parse(self.url, allowed).map_err(refused)?,
            reference: self.reference.map(str::to_owned),
            credential: self.credential.map(str::to_owned),
            ca_file: self.ca_file.map(str::to_owned),
            https_proxy: self.https_proxy.map(str::to_owned),
        })
    }
}

/// For `map_err`: a refusal, with its causes.
pub(super) fn refused(error: impl std::error::Error + 'static) -> AdminError {
    AdminError::Refused(Chain(&error).to_string())
}
