//! Isolates texts that the service rejects by bisecting their batch, so that one of them does not
//! prevent the indexing of a repository.
//!
//! A misconfigured service rejects requests with the same status. So a text that every service
//! accepts is sent first; if that is rejected, too, no text is skipped.

use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::{EmbedError, RequestKind, Service};
use crate::openai::blames_input;

/// A text that every correctly configured service accepts.
const PLAIN: &str = "text";

impl Service {
    /// The vectors of a batch of the indexer; `None` for texts that the service rejects.
    pub(super) async fn bisected(
        &self,
        texts: &[String],
        deadline: Instant,
    ) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut is_configured = false;
        // A stack: the next part is last.
        let mut parts = vec![texts];
        while let Some(part) = parts.pop() {
            let status = match self.batch(part, RequestKind::Index, deadline).await {
                Ok(made) => {
                    vectors.extend(made.into_iter().map(Some));
                    continue;
                }
                Err(EmbedError::Refused { status }) if blames_input(status) => status,
                Err(error) => return Err(error),
            };
            is_configured = is_configured || self.accepts_texts(deadline).await;
            if !is_configured {
                return Err(EmbedError::Refused { status });
            }
            if part.len() > 1 {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            } else {
                self.count_rejected(status);
                vectors.push(None);
            }
        }
        Ok(vectors)
    }

    /// Whether the service accepts any text at all.
    async fn accepts_texts(&self, deadline: Instant) -> bool {
        let plain = [format!("{}{PLAIN}", self.document_prefix)];
        self.batch(&plain, RequestKind::Index, deadline)
            .await
            .is_ok()
    }

    /// Counts a text without a vector; the first one is logged.
    fn count_rejected(&self, status: u16) {
        self.metrics.text_refused();
        if !self.is_rejection_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                status,
                "the embedding service rejects a text, which matches by its words alone; further \
                 ones are counted (embedder_texts_refused)"
            );
        }
    }
}
