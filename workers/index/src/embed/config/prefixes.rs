//! What stands before texts, for models that are told by it what a text is.

use super::EmbedderConfigError;

/// What a service's model is told of each text. Nothing, unless it is set.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Prefixes {
    /// What the service's model wants before each query, blanks included: `query: `.
    #[arg(long, env = "ARCHWAY_EMBEDDER_QUERY_PREFIX", value_name = "TEXT")]
    pub embedder_query_prefix: Option<String>,
    /// What it wants before each piece of code or text that is indexed: `passage: `. Another one
    /// means another index.
    #[arg(long, env = "ARCHWAY_EMBEDDER_DOCUMENT_PREFIX", value_name = "TEXT")]
    pub embedder_document_prefix: Option<String>,
}

impl Prefixes {
    /// Before queries, and before what is indexed. They count among the characters of a text, of
    /// which it may have so many.
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
