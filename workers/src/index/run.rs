//! One run: a project's index is made whole, as of the commit that HEAD names.
//!
//! Texts that are not at home yet are read, cut, and brought there in batches; each is noted, so
//! that a run that ends early loses nothing. Only then the documents change, all at once: who
//! searches sees what was before, or all of what is now. At last texts go that no document has.

mod progress;
mod texts;

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;

use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::documents::differences;
use super::embed::EmbedError;
use super::home::{Blob, HomeError, Text};
use super::indexer::Indexer;
use super::lost;
use super::prepare;
use crate::repo::{Cancel, Repo, RepoError, Stopped};
use crate::store::{
    AtHome, Document, LEASE, Lease, Mounted, Note, NoteId, Source, StoreError, Whole,
};
pub(super) use progress::Progress;
use texts::{average, first_average, noted, prepared};

/// How many texts go home at once.
const BATCH: usize = 64;
/// How long a batch may take: reading, embedding, going home.
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
    #[error("another worker took the index over")]
    Lost,
    #[error("the thread that reads texts ended")]
    Thread(#[source] tokio::sync::oneshot::error::RecvError),
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

/// What is to be in an index.
struct Wanted {
    repo: Repo,
    commit: Option<String>,
    /// The fingerprint of the path rules.
    rules: String,
    /// How much was noted.
    notes: i64,
    /// By source and name, and so by path.
    documents: Vec<Document>,
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

    /// Makes the index whole.
    ///
    /// # Errors
    /// Why it is as it was before, but for texts that are at home already.
    pub(super) async fn finish(self) -> Result<(), RunError> {
        let store = self.indexer.with.stores.tenant(self.lease.shelf.tenant);
        let row = store
            .index(self.lease.shelf.project, &self.indexer.with.made_by)
            .await?;
        let wanted = self.wanted().await?;
        let had = store.documents(self.lease.index).await?;
        let at_home = self.at_home().await?;
        self.bring(&wanted, &at_home, row.and_then(|row| row.average))
            .await?;
        let (chunks, words) = store.size_of_index(self.lease.index).await?;
        let (changed, gone) = differences(&had, &wanted.documents);
        let whole = Whole {
            commit: wanted.commit.as_deref(),
            rules: &wanted.rules,
            texts: self.progress.read().1,
            average: average(chunks, words),
            notes: wanted.notes,
            changed: &changed,
            gone: &gone,
        };
        let unused = store.complete_index(self.lease, &whole).await?;
        self.forget(&unused.ok_or(RunError::Lost)?).await
    }

    /// The texts that are at home; none, if the home lost any. The index is not whole then until all
    /// are back.
    async fn at_home(&self) -> Result<HashSet<Blob>, RunError> {
        let (shelf, index) = (self.lease.shelf, self.lease.index);
        let with = &self.indexer.with;
        let store = with.stores.tenant(shelf.tenant);
        if lost::is_lost(with, shelf, index).await? {
            tracing::warn!(project = %shelf.project, "chunks of a project were lost: it is indexed anew");
            let lost = store.lose_texts(self.lease).await?;
            return lost.then(HashSet::new).ok_or(RunError::Lost);
        }
        Ok(store.texts_at_home(index).await?)
    }

    /// All files of HEAD's commit that readers may see, and all that was noted.
    async fn wanted(&self) -> Result<Wanted, RunError> {
        let mut wanted = self.files().await?;
        let store = self.indexer.with.stores.tenant(self.lease.shelf.tenant);
        // First the mark: what is noted between the two changes it once more.
        wanted.notes = store.memory_mark(self.lease.shelf.project).await?;
        let notes = store.note_heads(self.lease.shelf.project, None).await?;
        wanted
            .documents
            .extend(notes.into_iter().map(|note| Document {
                source: note.id.source,
                blob: prepare::blob_of(&note.id),
                name: note.id.name.into_bytes(),
            }));
        Ok(wanted)
    }

    async fn files(&self) -> Result<Wanted, RunError> {
        let rules = self.project.rules.clone().ok_or(RunError::NoRules)?;
        let repos = Arc::clone(&self.indexer.with.repos);
        let (tenant, slug) = (self.project.tenant.clone(), self.project.project.clone());
        let cancel = self.cancel();
        self.on_thread(move || {
            let repo = repos.open(&tenant, &slug, rules)?;
            let files = repo.committed(&cancel)?.into_iter();
            let files = files.filter_map(|file| {
                Some(Document {
                    source: Source::File,
                    name: file.path.as_bytes().to_vec(),
                    blob: file.blob.as_slice().try_into().ok()?,
                })
            });
            Ok(Wanted {
                documents: files.collect(),
                commit: repo.head().map(|head| head.commit),
                rules: repo.rules().fingerprint(),
                notes: 0,
                repo,
            })
        })
        .await?
    }

    /// Brings the texts home that are not there yet. By their ids, and so in no order: the first
    /// ones have the average length of all.
    async fn bring(
        &self,
        wanted: &Wanted,
        at_home: &HashSet<Blob>,
        average: Option<f32>,
    ) -> Result<(), RunError> {
        let mut texts: HashMap<Blob, &Document> = HashMap::new();
        for document in &wanted.documents {
            // The first path is the text's name.
            texts.entry(document.blob).or_insert(document);
        }
        let all = texts.len();
        texts.retain(|blob, _| !at_home.contains(blob));
        let mut lacking: Vec<Document> = texts.into_values().cloned().collect();
        lacking.sort_unstable_by_key(|document| document.blob);
        self.progress.begin(all - lacking.len(), all);
        let mut left = self.indexer.with.metrics.left(lacking.len());
        let mut average = average;
        for batch in lacking.chunks(BATCH) {
            let texts = self.texts(&wanted.repo, batch).await?;
            let known = *average.get_or_insert_with(|| first_average(&texts));
            let home = &self.indexer.with.home;
            let store = self.indexer.with.stores.tenant(self.lease.shelf.tenant);
            let blobs: Vec<Blob> = batch.iter().map(|document| document.blob).collect();
            store.expect_texts(self.lease, &blobs).await?;
            home.upsert(self.lease.shelf, &texts, known).await?;
            let noted: Vec<AtHome> = texts.iter().map(noted).collect();
            store.note_texts(self.lease, &noted).await?;
            let chunks = texts.iter().map(|text| text.pieces.len()).sum();
            self.indexer.with.metrics.brought(texts.len(), chunks);
            left.brought(batch.len());
            self.progress.brought(batch.len());
        }
        Ok(())
    }

    /// Texts, cut, with the vectors of all chunks.
    async fn texts(&self, repo: &Repo, batch: &[Document]) -> Result<Vec<Text>, RunError> {
        let notes = self.notes(batch).await?;
        let (repo, batch, cancel) = (repo.clone(), batch.to_vec(), self.cancel());
        let embedder = Arc::clone(&self.indexer.with.embedder);
        let prepare = move || {
            let mut prepared = prepared(&repo, &batch, &notes, &cancel)?;
            let readings = prepared
                .iter_mut()
                .map(|text| mem::take(&mut text.readings));
            let readings: Vec<String> = readings.flatten().collect();
            let vectors = embedder.at_once(&readings);
            Ok::<_, Stopped>((prepared, readings, vectors))
        };
        let prepared = self.on_thread(prepare).await?;
        let (prepared, readings, vectors) = prepared.map_err(RepoError::from)?;
        let mut vectors = match vectors {
            Some(vectors) => vectors,
            None => {
                let until = Instant::now() + BATCH_TIME;
                self.indexer.with.embedder.texts(&readings, until).await?
            }
        }
        .into_iter();
        let texts = prepared.into_iter();
        Ok(texts.map(|text| text.with(&mut vectors)).collect())
    }

    /// The notes among some documents.
    async fn notes(&self, batch: &[Document]) -> Result<HashMap<NoteId, Note>, RunError> {
        let ids: Vec<NoteId> = batch.iter().filter_map(Document::note).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let store = self.indexer.with.stores.tenant(self.lease.shelf.tenant);
        let notes = store.notes(self.lease.shelf.project, &ids).await?;
        Ok(notes
            .into_iter()
            .map(|note| (note.id.clone(), note))
            .collect())
    }

    /// Has texts go that no document has. They go while the lease surely holds, so that no other
    /// worker has brought one of them again.
    async fn forget(&self, unused: &[Blob]) -> Result<(), RunError> {
        let store = self.indexer.with.stores.tenant(self.lease.shelf.tenant);
        for blobs in unused.chunks(BATCH) {
            let removed = self.indexer.with.home.remove(self.lease.shelf, blobs);
            let removed = tokio::time::timeout(LEASE / 4, removed).await;
            removed.map_err(|_elapsed| HomeError::Late("forgetting texts"))??;
            store.drop_texts(self.lease, blobs).await?;
        }
        Ok(())
    }

    /// Does work on the thread that all runs share.
    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RunError> {
        let (done, result) = tokio::sync::oneshot::channel();
        // Nobody waits for it if the run was given up.
        self.indexer.thread.spawn(move || drop(done.send(work())));
        result.await.map_err(RunError::Thread)
    }

    fn cancel(&self) -> Cancel {
        Cancel::new(Instant::now() + BATCH_TIME, self.stop.clone())
    }
}
