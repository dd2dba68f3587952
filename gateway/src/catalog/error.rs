//! Why no new catalogue was accepted, and how that is logged.

use archway_proto::{chain::Chain, failure::Failure};

use super::{LONGEST_NAME, WEIGHTS, arguments::SchemaError};
use crate::{absence_log::Severity, terms};

/// Why a worker's catalogue was rejected.
#[derive(Debug, thiserror::Error)]
pub(super) enum CatalogError {
    #[error("fetching it")]
    Fetch(#[from] Failure),
    #[error("it is not a list of tools")]
    Malformed(#[from] serde_json::Error),
    #[error("two tools are named {0}")]
    Duplicate(String),
    #[error(
        "{0:?} is not a valid tool name: a-z, 0-9 and _, a letter first, at most {LONGEST_NAME} bytes, \
         and neither {total} nor {memory} nor {month}",
        total = terms::TOTAL, memory = terms::MEMORY, month = terms::MONTH
    )]
    Name(String),
    #[error("{tool} weighs {weight}: 1 to {most} is allowed", most = WEIGHTS.end())]
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
    /// Logs the error. A failed fetch is logged as an absence, an invalid catalogue each time.
    pub(super) fn log(&self, absence: Option<Severity>) {
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
