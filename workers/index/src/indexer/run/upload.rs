//! Uploads texts: reads and cuts them, and adds vectors that arrive soon.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;
use std::sync::Arc;

use archway_repo::{Repo, RepoError, Stopped};
use archway_store::{Blob, Document, Note, NoteId, RecordedText, StoredText, TextState};
use tokio::time::{Duration, Instant, timeout, timeout_at};
use uuid::Uuid;

use super::texts::{BATCH_CHUNKS, ChunkedTexts, cut_batch, stored_text};
use super::{BATCH_TEXTS, BATCH_TIMEOUT, DesiredIndex, Run, RunError, cancel};
use crate::embed::EmbedError;
use crate::vector_store::{IndexedText, VectorStoreError};

/// How long a run's documents wait for vectors, all texts together. Documents with vectors are
/// ranked by both from the start; others by their words meanwhile.
pub(super) const VECTOR_WAIT: Duration = Duration::from_secs(10);

/// Texts that were read and cut, with the vectors of their chunks if no service was needed.
pub(super) struct PreparedBatch {
    cut: ChunkedTexts,
    /// The input of the embedder.
    inputs: Vec<String>,
    vectors: Option<Vec<Option<Vec<f32>>>>,
}

impl Run<'_> {
    /// Uploads the texts that the store lacks, except for `left_out`; with words alone once vectors are
    /// late or failed, and then `vectors_until` becomes `None`. Adds them to `stored`, and returns how
    /// many there were.
    pub(super) async fn upload(
        &self,
        desired: &DesiredIndex,
        left_out: &HashSet<Blob>,
        stored: &mut HashMap<Blob, RecordedText>,
        vectors_until: &mut Option<Instant>,
    ) -> Result<usize, RunError> {
        let mut texts = by_text(&desired.documents, |blob| !left_out.contains(blob));
        let all = texts.len();
        texts.retain(|blob, _| !stored.get(blob).is_some_and(RecordedText::is_stored));
        let new: Vec<Document> = texts.into_values().cloned().collect();
        self.progress.begin(all - new.len(), all);
        let mut remaining = self.indexer.parts.metrics.remaining_texts(new.len());
        let mut brought = 0;
        let mut rest = &new[..];
        while !rest.is_empty() {
            let batch = rest.get(..BATCH_TEXTS).unwrap_or(rest);
            let mut made = self.prepare(&desired.repo, batch).await?;
            let taken = made.cut.taken;
            if let (None, Some(until)) = (&made.vectors, *vectors_until) {
                // Dropping the request says nothing about the service, which may be slow but healthy.
                let vectors = timeout_at(until, self.vectors(&made)).await;
                match vectors.unwrap_or(Err(EmbedError::Late)) {
                    Ok(vectors) => made.vectors = Some(vectors),
                    Err(error) => {
                        tracing::debug!(%error, "indexing the words of texts first");
                        *vectors_until = None;
                    }
                }
            }
            let recorded = self.upload_texts(&made.texts()).await?;
            remaining.uploaded(taken);
            self.progress.add(recorded.len());
            brought += recorded.len();
            stored.extend(recorded.iter().map(|text| (text.blob, text.recorded())));
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(brought)
    }

    /// Uploads texts and records them.
    pub(super) async fn upload_texts(
        &self,
        (texts, have_vectors): &(Vec<IndexedText>, bool),
    ) -> Result<Vec<StoredText>, RunError> {
        let parts = &self.indexer.parts;
        let store = self.store();
        let blobs: Vec<Blob> = texts.iter().map(|text| text.blob).collect();
        if !store.announce_texts(self.lease, &blobs).await? {
            return Err(RunError::LeaseLost);
        }
        let brought = parts.vector_store.upsert(self.lease.project_key, texts);
        let brought = timeout(BATCH_TIMEOUT, brought).await;
        brought.map_err(|_elapsed| VectorStoreError::Late("storing texts"))??;
        let recorded = texts.iter().map(|text| stored_text(text, *have_vectors));
        let recorded: Vec<StoredText> = recorded.collect();
        if !store.record_texts(self.lease, &recorded).await? {
            return Err(RunError::LeaseLost);
        }
        let chunks = texts.iter().map(|text| text.chunks.len()).sum();
        parts.metrics.uploaded(texts.len(), chunks);
        Ok(recorded)
    }

    /// Reads and cuts the first of these texts, until the batch has enough chunks.
    pub(super) async fn prepare(
        &self,
        repo: &Repo,
        batch: &[Document],
    ) -> Result<PreparedBatch, RunError> {
        let notes = self.notes(batch).await?;
        let (repo, batch, stop) = (repo.clone(), batch.to_vec(), self.stop.clone());
        let embedder = Arc::clone(&self.indexer.parts.embedder);
        let prepare = move || {
            let mut cut = cut_batch(&repo, &batch, &notes, &cancel(stop))?;
            let texts = cut.texts.iter_mut();
            let inputs = texts.map(|text| mem::take(&mut text.inputs));
            let inputs: Vec<String> = inputs.flatten().collect();
            let vectors = embedder.embed_locally(&inputs);
            Ok::<_, Stopped>(PreparedBatch {
                cut,
                inputs,
                vectors,
            })
        };
        let made = self.indexer.thread.run(prepare).await?;
        Ok(made.map_err(RepoError::from)?)
    }

    /// Vectors from the service; the timeout grows with the number of chunks.
    pub(super) async fn vectors(
        &self,
        made: &PreparedBatch,
    ) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        let batches = u32::try_from(made.inputs.len() / BATCH_CHUNKS).unwrap_or(u32::MAX);
        let expected = Instant::now() + BATCH_TIMEOUT * batches.saturating_add(1);
        let embedder = &self.indexer.parts.embedder;
        embedder.texts(&made.inputs, expected).await
    }

    /// The notes among these documents.
    async fn notes(&self, batch: &[Document]) -> Result<HashMap<NoteId, Note>, RunError> {
        let project = self.lease.project_key.project;
        let ids = batch.iter().filter_map(Document::note);
        let ids: Vec<(Uuid, NoteId)> = ids.map(|id| (project, id)).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let notes = self.store().notes(&ids).await?;
        Ok(notes
            .into_iter()
            .map(|note| (note.id.clone(), note))
            .collect())
    }
}

impl PreparedBatch {
    /// Number of documents in the batch.
    pub(super) fn taken(&self) -> usize {
        self.cut.taken
    }

    /// Adds vectors.
    pub(super) fn with(self, vectors: Vec<Option<Vec<f32>>>) -> PreparedBatch {
        PreparedBatch {
            vectors: Some(vectors),
            ..self
        }
    }

    /// The texts, and whether they have vectors.
    pub(super) fn texts(self) -> (Vec<IndexedText>, bool) {
        let are_made = self.vectors.is_some();
        let mut vectors = self.vectors.unwrap_or_default().into_iter();
        let texts = self.cut.texts.into_iter();
        let texts = texts.map(|text| text.with_vectors(&mut vectors)).collect();
        (texts, are_made)
    }
}

/// One document for each of these texts: the first that has it.
fn by_text(documents: &[Document], is_wanted: impl Fn(&Blob) -> bool) -> BTreeMap<Blob, &Document> {
    let mut texts = BTreeMap::new();
    for document in documents.iter().filter(|each| is_wanted(&each.blob)) {
        texts.entry(document.blob).or_insert(document);
    }
    texts
}

/// One document for each text that is stored without vectors, sorted by text.
pub(super) fn without_vectors(
    documents: &[Document],
    stored: &HashMap<Blob, RecordedText>,
) -> Vec<Document> {
    let lacks_vectors = |blob: &Blob| {
        let text = stored.get(blob);
        text.is_some_and(|text| text.state == TextState::WithoutVectors)
    };
    by_text(documents, lacks_vectors)
        .into_values()
        .cloned()
        .collect()
}
