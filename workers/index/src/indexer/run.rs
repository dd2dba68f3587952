//! One run: completes a project's index for HEAD's commit.
//!
//! Texts that the store lacks are read, cut and uploaded in batches ([`upload`]). Each batch is
//! recorded, so that an interrupted run loses nothing. Only then the documents change, all at once:
//! a search sees either the old state or the new one. Texts that no document has are removed. A slow
//! embedding service delays none of this: vectors that do not arrive within seconds follow at the
//! end ([`vectors`]), and until then words alone rank the project.

mod selection;
mod upload;
mod vectors;
mod progress;
mod texts;
mod desired;

use std::collections::{HashMap, HashSet};

use archway_repo::{Cancel, Look, RepoError};
use archway_store::{
    Blob, CompletedIndex, Document, LEASE, Lease, MountedProject, RecordedIndex, RecordedText,
    StoreError, TenantStore,
};
use tokio::time::{Duration, Instant, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::documents::differences;
use crate::embed::EmbedError;
use crate::indexer::Indexer;
use crate::indexer::chunk_loss;
use crate::thread::Panicked;
use crate::vector_store::VectorStoreError;
use desired::DesiredIndex;
pub(super) use progress::Progress;
use selection::Selection;
use upload::VECTOR_WAIT;

/// How often texts are selected by better estimates of their sizes, at most.
const MAX_SELECTIONS: usize = 8;
/// Texts per upload, at most: fewer if they have many chunks.
const BATCH_TEXTS: usize = 64;
/// Timeout of reading and cutting a batch, of embedding [`BATCH_CHUNKS`](texts::BATCH_CHUNKS)
/// chunks, and of uploading.
const BATCH_TIMEOUT: Duration = Duration::from_secs(120);

/// Why an index was not completed. Stored in Postgres and shown to callers, so no variant names a
/// path or a host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("the repository can't be read")]
    Repo(#[from] RepoError),
    #[error("the index can't be written to Postgres")]
    Store(#[from] StoreError),
    #[error(transparent)]
    VectorStore(#[from] VectorStoreError),
    #[error("only words are indexed so far: {0}")]
    NoVectors(#[from] EmbedError),
    #[error("only words are indexed so far: a text can't be read again to make its vectors")]
    TextUnreadable,
    #[error("another worker is indexing it, or did so a moment ago")]
    LeaseHeld,
    #[error("another worker took the index over")]
    LeaseLost,
    #[error("the worker stopped")]
    Stopped,
    #[error(transparent)]
    Bug(#[from] Panicked),
    #[error("the repository is not used: {0}")]
    RepositoryRejected(&'static str),
    #[error("a path rule of the project is invalid: set it again with `archway project set`")]
    InvalidRules,
}

/// A run in progress.
pub(super) struct Run<'a> {
    indexer: &'a Indexer,
    project: &'a MountedProject,
    lease: Lease,
    progress: &'a Progress,
    stop: CancellationToken,
    /// Cancelled when others wait for its slot: it then makes no more vectors.
    yields: CancellationToken,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        indexer: &'a Indexer,
        project: &'a MountedProject,
        lease: Lease,
        progress: &'a Progress,
        (stop, yields): (CancellationToken, CancellationToken),
    ) -> Run<'a> {
        Run {
            indexer,
            project,
            lease,
            progress,
            stop,
            yields,
        }
    }

    /// Completes the index. Returns the state of the repository, for comparison with later ones.
    ///
    /// # Errors
    /// If the index stays as it was, except for uploaded texts; or if vectors are missing.
    pub(super) async fn finish(self) -> Result<Look, RunError> {
        let mut desired = self.desired().await?;
        let store_id = self.indexer.parts.vector_store.prepare().await?;
        let mut recorded = self.recorded(store_id).await?;
        let (brought, left_out) = self.upload_selected(&mut desired, &mut recorded).await?;
        let lacking = upload::without_vectors(&desired.documents, &recorded.texts);
        let (changed, gone) = differences(&recorded.documents, &desired.documents);
        let whole = CompletedIndex {
            begun: desired.begun,
            commit: desired.commit.as_deref(),
            rules: &desired.rules,
            texts: self.progress.read(),
            store_id,
            notes: desired.notes,
            changed: &changed,
            gone: &gone,
            unused: &unused(recorded.texts, &desired.documents),
            lacks_vectors: !lacking.is_empty(),
            left_out,
        };
        if brought > 0 || !self.is_unchanged(&whole) {
            self.complete(&whole).await?;
        }
        if !lacking.is_empty() {
            self.upload_vectors(&desired.repo, &lacking, store_id)
                .await?;
        }
        Ok(desired.look)
    }

    /// Uploads the texts that the store lacks, and removes the documents that a search could not hold.
    /// Returns how many texts were uploaded, and how many documents were removed.
    async fn upload_selected(
        &self,
        desired: &mut DesiredIndex,
        recorded: &mut RecordedIndex,
    ) -> Result<(usize, usize), RunError> {
        let texts = &mut recorded.texts;
        let mut selection = Selection::new(self, desired, &recorded.documents);
        let mut left_out = selection.left_out(texts).await?;
        let mut vectors_until = Some(Instant::now() + VECTOR_WAIT);
        let mut brought = 0;
        for round in 1..=MAX_SELECTIONS {
            let uploaded = self.upload(desired, &left_out, texts, &mut vectors_until);
            brought += uploaded.await?;
            // By the exact sizes of what was uploaded.
            let exact = selection.left_out(texts).await?;
            if exact == left_out {
                break;
            }
            // What the last selection admits would not be uploaded any more.
            left_out = match round == MAX_SELECTIONS {
                true => left_out.union(&exact).copied().collect(),
                false => exact,
            };
        }
        let all = desired.documents.len();
        let documents = &mut desired.documents;
        documents.retain(|document| !left_out.contains(&document.blob));
        Ok((brought, all - documents.len()))
    }

    /// Switches to the new documents, and removes texts that none of them has.
    async fn complete(&self, whole: &CompletedIndex<'_>) -> Result<(), RunError> {
        self.verify_store(whole.store_id).await?;
        if !self.store().complete_index(self.lease, whole).await? {
            return Err(RunError::LeaseLost);
        }
        self.remove_unused(whole.unused).await
    }

    /// Whether the index is complete but for vectors, and unchanged: it then keeps its edition, since
    /// readers would reload a new one.
    fn is_unchanged(&self, whole: &CompletedIndex<'_>) -> bool {
        let project = self.project;
        let is_of_commit = project.indexed.as_ref().map(Option::as_deref) == Some(whole.commit);
        let is_by_rules = project.rules_fingerprint.as_deref() == Some(whole.rules);
        let is_known =
            project.lacks_vectors && is_of_commit && is_by_rules && !project.is_requested;
        let is_same = whole.changed.is_empty() && whole.gone.is_empty() && whole.unused.is_empty();
        whole.lacks_vectors && is_known && is_same
    }

    fn store(&self) -> TenantStore<'a> {
        self.indexer
            .parts
            .stores
            .tenant(self.lease.project_key.tenant)
    }

    /// The documents of the last edition, and the texts that the store has, or may have after an
    /// interrupted run. There are none if they were recorded for another store. If chunks are lost, all
    /// are uncertain: the index is then incomplete until all are uploaded again.
    async fn recorded(&self, store_id: Uuid) -> Result<RecordedIndex, RunError> {
        let (project_key, index) = (self.lease.project_key, self.lease.index);
        let parts = &self.indexer.parts;
        let store = self.store();
        let recorded = store.recorded_index(index).await?;
        let is_elsewhere = recorded.store_id != store_id;
        if !is_elsewhere && !chunk_loss::is_lost(parts, project_key, recorded.chunks()).await {
            return Ok(recorded);
        }
        let lost = store
            .mark_texts_lost(self.lease, store_id, is_elsewhere)
            .await?;
        // A new index has no texts to lose.
        if lost.ok_or(RunError::LeaseLost)? > 0 {
            tracing::warn!(project = %project_key.project, "chunks of a project were lost; indexing it again");
            parts.metrics.chunks_lost();
        }
        Ok(store.recorded_index(index).await?)
    }

    /// Verifies that the uploads went to this store: it may have been lost meanwhile, and recreated by
    /// another worker.
    async fn verify_store(&self, store_id: Uuid) -> Result<(), RunError> {
        match self.indexer.parts.vector_store.identity().await? == Some(store_id) {
            true => Ok(()),
            false => Err(self.chunks_lost()),
        }
    }

    fn chunks_lost(&self) -> RunError {
        let projects = vec![self.lease.project_key.project];
        VectorStoreError::Lost { projects }.into()
    }

    /// Removes texts that no document has, while the lease is held: after its end another worker may have
    /// uploaded one of them again.
    async fn remove_unused(&self, unused: &[Blob]) -> Result<(), RunError> {
        let store = self.store();
        for blobs in unused.chunks(BATCH_TEXTS) {
            if !store.holds_lease(self.lease).await? {
                return Err(RunError::LeaseLost);
            }
            let removed = self
                .indexer
                .parts
                .vector_store
                .remove(self.lease.project_key, blobs);
            let removed = timeout(LEASE / 4, removed).await;
            removed.map_err(|_elapsed| VectorStoreError::Late("forgetting texts"))??;
            store.remove_texts(self.lease, blobs).await?;
        }
        Ok(())
    }
}

/// The texts that no document has.
fn unused(stored: HashMap<Blob, RecordedText>, documents: &[Document]) -> Vec<Blob> {
    let used: HashSet<Blob> = documents.iter().map(|document| document.blob).collect();
    let blobs = stored.into_keys();
    blobs.filter(|blob| !used.contains(blob)).collect()
}

/// Cancels work after its timeout, or when its run is abandoned.
fn cancel(stop: CancellationToken) -> Cancel {
    Cancel::new(Instant::now() + BATCH_TIMEOUT, stop)
}
