//! Texts brought home: read, cut, with their vectors where those come soon.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;

use archway_repo::{Repo, RepoError, Stopped};
use archway_store::{AtHome, Blob, Document, Note, NoteId, Standing};
use tokio::time::{Duration, Instant, timeout, timeout_at};

use super::texts::{Cut, FULL, noted, prepared};
use super::{BATCH, BATCH_TIME, Run, RunError, Wanted, cancel};
use crate::embed::EmbedError;
use crate::vector_store::{HomeError, Text};

/// How long the documents of a run wait for vectors, all texts together. What is indexed with them is
/// hybrid from the first answer on; what takes longer is found by its words meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);

/// Texts that were read and cut, and the vectors of their chunks if nobody had to be asked for them.
pub(super) struct Made {
    cut: Cut,
    /// What an embedder reads.
    readings: Vec<String>,
    vectors: Option<Vec<Option<Vec<f32>>>>,
}

impl Run<'_> {
    /// Brings the texts home that are not there yet, by their words alone once vectors took too long
    /// or failed. Which documents have a text that lacks them, of all; and how many texts came home.
    pub(super) async fn bring(
        &self,
        wanted: &Wanted,
        there: &HashMap<Blob, Standing>,
    ) -> Result<(Vec<Document>, usize), RunError> {
        let (new, mut lacking) = divided(&wanted.documents, there);
        let all: HashSet<Blob> = wanted.documents.iter().map(|each| each.blob).collect();
        self.progress.begin(all.len() - new.len(), all.len());
        let mut left = self.indexer.with.metrics.left(new.len());
        let mut vectors_until = Some(Instant::now() + PATIENCE);
        let mut brought = 0;
        let mut rest = &new[..];
        while !rest.is_empty() {
            let batch = rest.get(..BATCH).unwrap_or(rest);
            let mut made = self.made(&wanted.repo, batch).await?;
            let taken = made.cut.taken;
            if let (None, Some(until)) = (&made.vectors, vectors_until) {
                // Requests that are dropped say nothing of the service: it may be slow and well.
                let vectors = timeout_at(until, self.vectors(&made)).await;
                match vectors.unwrap_or(Err(EmbedError::Late)) {
                    Ok(vectors) => made.vectors = Some(vectors),
                    Err(error) => {
                        tracing::debug!(%error, "texts are indexed by their words first");
                        vectors_until = None;
                    }
                }
            }
            let texts = made.texts();
            let blobs = self.bring_home(&texts).await?;
            let batch = batch.iter().take(taken);
            lacking.extend(batch.filter(|each| blobs.contains(&each.blob)).cloned());
            left.brought(taken);
            self.progress.brought(texts.0.len());
            brought += texts.0.len();
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok((lacking, brought))
    }

    /// Brings texts home, and notes that they are there. Which of them lack vectors.
    pub(super) async fn bring_home(
        &self,
        (texts, have_vectors): &(Vec<Text>, bool),
    ) -> Result<HashSet<Blob>, RunError> {
        let with = &self.indexer.with;
        let store = self.store();
        let blobs: Vec<Blob> = texts.iter().map(|text| text.blob).collect();
        if !store.expect_texts(self.lease, &blobs).await? {
            return Err(RunError::Lost);
        }
        let brought = with.home.upsert(self.lease.shelf, texts);
        let brought = timeout(BATCH_TIME, brought).await;
        brought.map_err(|_elapsed| HomeError::Late("keeping texts"))??;
        let noted = texts.iter().map(|text| noted(text, *have_vectors));
        let noted: Vec<AtHome> = noted.collect();
        if !store.note_texts(self.lease, &noted).await? {
            return Err(RunError::Lost);
        }
        let chunks = texts.iter().map(|text| text.pieces.len()).sum();
        with.metrics.brought(texts.len(), chunks);
        let lacking = noted.iter().filter(|text| text.lacks_vectors);
        Ok(lacking.map(|text| text.blob).collect())
    }

    /// The first of these texts, as many as have a fitting number of chunks, cut.
    pub(super) async fn made(&self, repo: &Repo, batch: &[Document]) -> Result<Made, RunError> {
        let notes = self.notes(batch).await?;
        let (repo, batch, stop) = (repo.clone(), batch.to_vec(), self.stop.clone());
        let embedder = Arc::clone(&self.indexer.with.embedder);
        let prepare = move || {
            let mut cut = prepared(&repo, &batch, &notes, &cancel(stop))?;
            let texts = cut.texts.iter_mut();
            let readings = texts.map(|text| mem::take(&mut text.readings));
            let readings: Vec<String> = readings.flatten().collect();
            let vectors = embedder.at_once(&readings);
            Ok::<_, Stopped>(Made {
                cut,
                readings,
                vectors,
            })
        };
        let made = self.indexer.thread.run(prepare).await?;
        Ok(made.map_err(RepoError::from)?)
    }

    /// The vectors of chunks, from a service, which has the longer the more chunks there are.
    pub(super) async fn vectors(&self, made: &Made) -> Result<Vec<Option<Vec<f32>>>, EmbedError> {
        let batches = u32::try_from(made.readings.len() / FULL).unwrap_or(u32::MAX);
        let expected = Instant::now() + BATCH_TIME * batches.saturating_add(1);
        let embedder = &self.indexer.with.embedder;
        embedder.texts(&made.readings, expected).await
    }

    /// The notes among some documents.
    async fn notes(&self, batch: &[Document]) -> Result<HashMap<NoteId, Note>, RunError> {
        let ids: Vec<NoteId> = batch.iter().filter_map(Document::note).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let store = self.store();
        let notes = store.notes(self.lease.shelf.project, &ids).await?;
        Ok(notes
            .into_iter()
            .map(|note| (note.id.clone(), note))
            .collect())
    }
}

impl Made {
    /// How many documents they are of.
    pub(super) fn taken(&self) -> usize {
        self.cut.taken
    }

    /// With these vectors.
    pub(super) fn with(self, vectors: Vec<Option<Vec<f32>>>) -> Made {
        Made {
            vectors: Some(vectors),
            ..self
        }
    }

    /// The texts, and whether their vectors were made.
    pub(super) fn texts(self) -> (Vec<Text>, bool) {
        let are_made = self.vectors.is_some();
        let mut vectors = self.vectors.unwrap_or_default().into_iter();
        let texts = self.cut.texts.into_iter();
        let texts = texts.map(|text| text.with(&mut vectors)).collect();
        (texts, are_made)
    }
}

/// One document of each text that is not at home, by their texts; and of each that is by its words
/// alone. The first path is the text's name.
fn divided(
    documents: &[Document],
    there: &HashMap<Blob, Standing>,
) -> (Vec<Document>, Vec<Document>) {
    let mut texts: HashMap<Blob, &Document> = HashMap::new();
    for document in documents {
        texts.entry(document.blob).or_insert(document);
    }
    let (mut new, mut lacking) = (Vec::new(), Vec::new());
    for (blob, document) in texts {
        match there.get(&blob) {
            Some(Standing::Whole) => {}
            Some(Standing::Words) => lacking.push(document.clone()),
            Some(Standing::Unsure) | None => new.push(document.clone()),
        }
    }
    new.sort_unstable_by_key(|document| document.blob);
    (new, lacking)
}
