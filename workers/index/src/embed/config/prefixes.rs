//! Prefixes of texts, for models that tell queries from documents by them.

use super::EmbedderConfigError;

/// Prefixes of the texts that a service receives; empty unless set.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Prefixes {
    /// Text that the service's model expects before each query, spaces included: `query: `.
    #[arg(long, env = "ARCHWAY_EMBEDDER_QUERY_PREFIX", value_name = "TEXT")]
    pub embedder_query_prefix: Option<String>,
    /// Text that it expects before each indexed text: `passage: `. A different one needs a new index.
    #[arg(long, env = "ARCHWAY_EMBEDDER_DOCUMENT_PREFIX", value_name = "TEXT")]
    pub embedder_document_prefix: Option<String>,
}

impl Prefixes {
    /// The prefixes of queries and documents. Each counts towards the characters of a text, and may use
    /// up to half of them.
    pub(super) fn check(&self, text_chars: usize) -> Result<(String, String), EmbedderConfigError> {
        let fitting = |option, prefix: &Option<String>| {
            let prefix = prefix.clone().unwrap_or_default();
            let fits = prefix.chars().count() <= text_chars / 2;
            fits.then_some(prefix)
                .ok_or(EmbedderConfigError::Prefix(option))
        };
        Ok((
            fitting("--embedder-query-prefix", &self.embedder_query_prefix)?,
            fitting("--embedder-document-prefix", &self.embedder_document_prefix)?,
        ))
    }
}
