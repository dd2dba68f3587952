//! Why there is no catalogue, or no newer one, and how the log tells of it.

use archway_proto::{chain::Chain, failure::Failure};

use super::{LONGEST_NAME, WEIGHTS, arguments::SchemaError};
use crate::{absence_log::Severity, terms};

/// Why a worker's catalogue was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum CatalogError {
    #[error("fetching it")]
    Fetch(#[from] Failure),
    #[error("it is not a list of tools")]
    Malformed(#[from] serde_json::Error),
    #[error("two tools are named {0}")]
    Duplicate(String),
    #[error(
        "{0:?} is no name of a tool: a-z, 0-9 and _, a letter first, at most {LONGEST_NAME} bytes, \
         and neither {total} nor {memory}", total = terms::TOTAL, memory = terms::MEMORY
    )]
    HostName(String),
    #[error("{tool} weighs {weight}, which is not from 1 to {most}", most = WEIGHTS.end())]
    Weight { tool: String, weight: u32 },
    #[error("{tool} allows {per_minute} calls a minute, more than {most}", most = terms::MOST)]
    PerMinute { tool: String, per_minute: u32 },
    #[error("the schema of {tool}")]
    Schema {
        tool: String,
        #[source]
        source: SchemaError,
    },
}

impl CatalogError {
    /// Writes it to the log. That no worker gives one is told as an absence; what a worker gives and
    /// is no good, each time.
    pub(super) fn tell(&self, absence: Option<Severity>) {
        match (self, absence) {
            // Workers may start after their gateway.
            (CatalogError::Fetch(_), Some(Severity::Note)) => {
                tracing::info!(error = %Chain(self), "no catalogue yet");
            }
            (CatalogError::Fetch(_), None) => {}
            _ => tracing::warn!(error = %Chain(self), "catalogue not refreshed"),
        }
    }
}
