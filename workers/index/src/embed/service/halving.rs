//! Texts that the service refuses: a batch is halved until they are found, so that one of them keeps
//! no repository from being indexed.
//!
//! What a reader would get wrong: a service that was set up wrongly refuses with the same status. So
//! it is first asked about a text that none refuses; if it does, nothing is left out.

use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::{EmbedError, Lane, Service};
use crate::openai::blames_input;

/// What every service takes that is set up right.
const PLAIN: &str = "text";

impl Service {
    /// The vectors of a batch of the index; none for a text that the service refuses.
    pub(super) async fn halving(
        &self,
        texts: &[String],
        deadline: Instant,
    ) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut is_right = false;
        // The next one last.
        let mut parts = vec![texts];
        while let Some(part) = parts.pop() {
            let status = match self.batch(part, Lane::Index, deadline).await {
                Ok(made) => {
                    vectors.extend(made.into_iter().map(Some));
                    continue;
                }
                Err(EmbedError::Refused { status }) if blames_input(status) => status,
                Err(error) => return Err(error),
            };
            is_right = is_right || self.takes_texts(deadline).await;
            if !is_right {
                return Err(EmbedError::Refused { status });
            }
            if part.len() > 1 {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            } else {
                self.left_out(status);
                vectors.push(None);
            }
        }
        Ok(vectors)
    }

    /// Whether it takes any text at all.
    async fn takes_texts(&self, deadline: Instant) -> bool {
        let plain = [format!("{}{PLAIN}", self.document_prefix)];
        self.batch(&plain, Lane::Index, deadline).await.is_ok()
    }

    /// Counts a text without a vector, and says it in the log the first time.
    fn left_out(&self, status: u16) {
        self.metrics.text_refused();
        if !self.was_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                status,
                "the embedding service refuses a text, which is found by its words alone; others \
                 are counted (embedder_texts_refused)"
            );
        }
    }
}
