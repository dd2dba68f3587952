//! Makes the vectors that were late for a run's documents, after the words became searchable.
//!
//! Each batch is recorded with its vectors, so that no later run makes them again. The index is
//! ranked by vectors once all texts have theirs.

use archway_repo::Repo;
use archway_store::Document;
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use super::{BATCH_TEXTS, Run, RunError};

/// How long a run makes vectors before another run indexes new documents, by words first.
const VECTOR_TIME: Duration = Duration::from_secs(60);

impl Run<'_> {
    /// Makes the vectors of these documents' texts, and uploads them to this store, until
    /// [`VECTOR_TIME`] is over. If others wait for the run's slot, it stops after one batch.
    ///
    /// # Errors
    /// Why vectors are still missing.
    pub(super) async fn upload_vectors(
        &self,
        repo: &Repo,
        lacking: &[Document],
        store_id: Uuid,
    ) -> Result<(), RunError> {
        let until = Instant::now() + VECTOR_TIME;
        let mut remaining = self.indexer.parts.metrics.remaining_texts(lacking.len());
        let mut unread = 0;
        let mut rest = lacking;
        while !rest.is_empty() {
            if Instant::now() >= until {
                return Ok(());
            }
            let batch = rest.get(..BATCH_TEXTS).unwrap_or(rest);
            let made = self.prepare(repo, batch).await?;
            let taken = made.taken();
            let vectors = self.vectors(&made).await?;
            let texts = made.with(vectors).texts();
            unread += taken - texts.0.len();
            self.upload_texts(&texts).await?;
            remaining.uploaded(taken);
            rest = rest.get(taken..).unwrap_or_default();
            if self.yields.is_cancelled() && !rest.is_empty() {
                return Ok(());
            }
        }
        if unread > 0 {
            return Err(RunError::TextUnreadable);
        }
        self.verify_store(store_id).await?;
        if self.store().complete_vectors(self.lease, store_id).await? {
            return Ok(());
        }
        // A search that missed chunks marks the index, whoever holds its lease.
        Err(match self.store().holds_lease(self.lease).await? {
            true => self.chunks_lost(),
            false => RunError::LeaseLost,
        })
    }
}
