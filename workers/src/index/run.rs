//! One run: a project's index is made whole, as of the commit that HEAD names.
//!
//! Texts that are not at home yet are read, cut, and brought there in batches; each is noted, so
//! that a run that ends early loses nothing. Only then the documents change, all at once: who
//! searches sees what was before, or all of what is now. At last texts go that no document has.

mod progress;
mod texts;
mod wanted;

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;

use tokio::time::{Duration, Instant, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::documents::differences;
use super::embed::EmbedError;
use super::home::{Blob, HomeError, Text};
use super::indexer::Indexer;
use super::lost;
use super::thread::Panicked;
use crate::repo::{Cancel, Repo, RepoError, Stopped};
use crate::store::{
    AtHome, Document, LEASE, Lease, Mounted, Note, NoteId, StoreError, TenantStore, Whole,
};
pub(super) use progress::Progress;
use texts::{FULL, first_average, noted, prepared};
use wanted::Wanted;

/// How many texts go home at once, at most: fewer where they have many chunks.
const BATCH: usize = 64;
/// How long it may take to read and cut a batch, to embed [`FULL`] chunks, and to bring all home.
const BATCH_TIME: Duration = Duration::from_secs(120);

/// Why an index was not made whole. What stands in Postgres of it is shown to whoever asks: no
/// variant names a path or a host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("the repository can't be read")]
    Repo(#[from] RepoError),
    #[error("the index can't be written to Postgres")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error("another worker makes it")]
    Held,
    #[error("another worker took the index over")]
    Lost,
    #[error("the worker ended")]
    Ended,
    #[error(transparent)]
    Bug(#[from] Panicked),
    #[error("the repository is not used: {0}")]
    Refused(&'static str),
    #[error("a path rule of the project does not parse: set it anew with `archway project set`")]
    NoRules,
}

/// A run under way.
pub(super) struct Run<'a> {
    indexer: &'a Indexer,
    project: &'a Mounted,
    lease: Lease,
    progress: &'a Progress,
    stop: CancellationToken,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        indexer: &'a Indexer,
        project: &'a Mounted,
        lease: Lease,
        progress: &'a Progress,
        stop: CancellationToken,
    ) -> Run<'a> {
        Run {
            indexer,
            project,
            lease,
            progress,
            stop,
        }
    }

    /// Makes the index whole. `average` is how many words its chunks had until now.
    ///
    /// # Errors
    /// Why it is as it was before, but for texts that are at home already.
    pub(super) async fn finish(self, average: Option<f32>) -> Result<(), RunError> {
        let store = self.store();
        let wanted = self.wanted().await?;
        let had = store.documents(self.lease.index).await?;
        let home = self.indexer.with.home.prepare().await?;
        let there = self.there(home).await?;
        self.bring(&wanted, &there, average).await?;
        let (chunks, words) = store.size_of_index(self.lease.index).await?;
        let (changed, gone) = differences(&had, &wanted.documents);
        let unused = unused(there, &wanted.documents);
        let whole = Whole {
            begun: wanted.begun,
            commit: wanted.commit.as_deref(),
            rules: &wanted.rules,
            texts: self.progress.read(),
            average: texts::average(chunks, words),
            home,
            notes: wanted.notes,
            changed: &changed,
            gone: &gone,
            unused: &unused,
        };
        self.is_still(home).await?;
        if !store.complete_index(self.lease, &whole).await? {
            return Err(RunError::Lost);
        }
        self.forget(&unused).await
    }

    fn store(&self) -> TenantStore<'a> {
        self.indexer.with.stores.tenant(self.lease.shelf.tenant)
    }

    /// The texts that are in this store, or may be since a run ended in between: whether they surely
    /// are. None, if they are noted to be in another one, or any is lost: the index is not whole then
    /// until all are back.
    async fn there(&self, home: Uuid) -> Result<HashMap<Blob, bool>, RunError> {
        let (shelf, index) = (self.lease.shelf, self.lease.index);
        let with = &self.indexer.with;
        let store = self.store();
        let noted = store.home_of_index(index).await?;
        if noted == home && !lost::is_lost(with, shelf, index).await? {
            return Ok(store.texts_of_index(index).await?);
        }
        let texts = store.lose_texts(self.lease, home).await?;
        // A new index has none.
        if texts.ok_or(RunError::Lost)? > 0 {
            tracing::warn!(project = %shelf.project, "chunks of a project were lost: it is indexed anew");
            with.metrics.lost();
        }
        Ok(HashMap::new())
    }

    /// Makes sure that what was brought home is in this store: it may have been lost meanwhile, and
    /// another worker may have made it anew.
    async fn is_still(&self, home: Uuid) -> Result<(), RunError> {
        let projects = vec![self.lease.shelf.project];
        match self.indexer.with.home.identity().await? == Some(home) {
            true => Ok(()),
            false => Err(HomeError::Lost { projects }.into()),
        }
    }

    /// Brings the texts home that are not there yet. By their ids, and so in no order: the first
    /// ones have the average length of all.
    async fn bring(
        &self,
        wanted: &Wanted,
        there: &HashMap<Blob, bool>,
        average: Option<f32>,
    ) -> Result<(), RunError> {
        let mut texts: HashMap<Blob, &Document> = HashMap::new();
        for document in &wanted.documents {
            // The first path is the text's name.
            texts.entry(document.blob).or_insert(document);
        }
        let all = texts.len();
        texts.retain(|blob, _| there.get(blob) != Some(&true));
        let mut lacking: Vec<Document> = texts.into_values().cloned().collect();
        lacking.sort_unstable_by_key(|document| document.blob);
        self.progress.begin(all - lacking.len(), all);
        let mut left = self.indexer.with.metrics.left(lacking.len());
        let mut average = average;
        let mut rest = &lacking[..];
        while !rest.is_empty() {
            let batch = rest.get(..BATCH).unwrap_or(rest);
            let (texts, taken) = self.texts(&wanted.repo, batch).await?;
            let known = *average.get_or_insert_with(|| first_average(&texts));
            self.bring_home(&texts, known).await?;
            left.brought(taken);
            self.progress.brought(texts.len());
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(())
    }

    /// Brings texts home, and notes that they are there.
    async fn bring_home(&self, texts: &[Text], average: f32) -> Result<(), RunError> {
        let with = &self.indexer.with;
        let store = self.store();
        let blobs: Vec<Blob> = texts.iter().map(|text| text.blob).collect();
        if !store.expect_texts(self.lease, &blobs).await? {
            return Err(RunError::Lost);
        }
        let brought = with.home.upsert(self.lease.shelf, texts, average);
        let brought = timeout(BATCH_TIME, brought).await;
        brought.map_err(|_elapsed| HomeError::Late("keeping texts"))??;
        let noted: Vec<AtHome> = texts.iter().map(noted).collect();
        if !store.note_texts(self.lease, &noted).await? {
            return Err(RunError::Lost);
        }
        let chunks = texts.iter().map(|text| text.pieces.len()).sum();
        with.metrics.brought(texts.len(), chunks);
        Ok(())
    }

    /// The first of these texts, as many as have a fitting number of chunks: cut, with the vectors
    /// of all chunks. And of how many documents.
    async fn texts(&self, repo: &Repo, batch: &[Document]) -> Result<(Vec<Text>, usize), RunError> {
        let notes = self.notes(batch).await?;
        let (repo, batch, stop) = (repo.clone(), batch.to_vec(), self.stop.clone());
        let embedder = Arc::clone(&self.indexer.with.embedder);
        let prepare = move || {
            let mut cut = prepared(&repo, &batch, &notes, &cancel(stop))?;
            let texts = cut.texts.iter_mut();
            let readings = texts.map(|text| mem::take(&mut text.readings));
            let readings: Vec<String> = readings.flatten().collect();
            let vectors = embedder.at_once(&readings);
            Ok::<_, Stopped>((cut, readings, vectors))
        };
        let prepared = self.indexer.thread.run(prepare).await?;
        let (cut, readings, vectors) = prepared.map_err(RepoError::from)?;
        let mut vectors = match vectors {
            Some(vectors) => vectors,
            None => {
                let batches = u32::try_from(readings.len() / FULL).unwrap_or(u32::MAX);
                let until = Instant::now() + BATCH_TIME * batches.saturating_add(1);
                self.indexer.with.embedder.texts(&readings, until).await?
            }
        }
        .into_iter();
        let texts = cut.texts.into_iter();
        let texts = texts.map(|text| text.with(&mut vectors)).collect();
        Ok((texts, cut.taken))
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

    /// Has texts go that no document has, while the lease holds: another worker may have brought one
    /// of them again since it was lost.
    async fn forget(&self, unused: &[Blob]) -> Result<(), RunError> {
        let store = self.store();
        for blobs in unused.chunks(BATCH) {
            if !store.holds_index(self.lease).await? {
                return Err(RunError::Lost);
            }
            let removed = self.indexer.with.home.remove(self.lease.shelf, blobs);
            let removed = timeout(LEASE / 4, removed).await;
            removed.map_err(|_elapsed| HomeError::Late("forgetting texts"))??;
            store.drop_texts(self.lease, blobs).await?;
        }
        Ok(())
    }
}

/// The texts that no document has.
fn unused(there: HashMap<Blob, bool>, documents: &[Document]) -> Vec<Blob> {
    let used: HashSet<Blob> = documents.iter().map(|document| document.blob).collect();
    let blobs = there.into_keys();
    blobs.filter(|blob| !used.contains(blob)).collect()
}

/// Ends work that begins now when its time is up, or its run is given up.
fn cancel(stop: CancellationToken) -> Cancel {
    Cancel::new(Instant::now() + BATCH_TIME, stop)
}
