//! The issuers whose tokens a stack takes.

use std::path::Path;

use archway_gateway::AuthConfig;

use super::Harness;

/// The URL by which clients are told to reach a stack with issuers.
pub const RESOURCE: &str = "https://archway.example";

impl Harness {
    /// Takes tokens of an issuer: an entry of the file that names them.
    #[must_use]
    pub fn issuer(mut self, entry: String) -> Harness {
        self.issuers.push(entry);
        self
    }
}

/// Writes the file of issuers, if there are any, and names it.
pub(super) fn write(entries: &[String], folder: &Path, config: &mut AuthConfig) {
    if entries.is_empty() {
        return;
    }
    let file = folder.join("issuers.yaml");
    std::fs::write(&file, format!("issuers: [{}]\n", entries.join(", "))).unwrap();
    config.issuers = Some(file);
    config.resource = Some(RESOURCE.to_owned());
}
