//! The token issuers that a stack trusts.

use std::path::Path;

use archway_gateway::AuthConfig;

use super::Harness;

/// The public URL of a stack with issuers, which clients learn as the protected resource.
pub const RESOURCE: &str = "https://archway.example";

impl Harness {
    /// Trusts an issuer: an entry of the issuers file.
    #[must_use]
    pub fn issuer(mut self, entry: String) -> Harness {
        self.issuers.push(entry);
        self
    }
}

/// Writes the issuers file, if there are issuers, and configures it.
pub(super) fn write(entries: &[String], folder: &Path, config: &mut AuthConfig) {
    if entries.is_empty() {
        return;
    }
    let file = folder.join("issuers.yaml");
    std::fs::write(&file, format!("issuers: [{}]\n", entries.join(", "))).unwrap();
    config.issuers = Some(file);
    config.resource = Some(RESOURCE.to_owned());
}
