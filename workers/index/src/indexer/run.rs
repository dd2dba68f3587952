//! One run: a project's index is made whole, as of the commit that HEAD names.
//!
//! Texts that are not at home yet are read, cut, and brought there in batches ([`bring`]); each is
//! noted, so that a run that ends early loses nothing. Only then the documents change, all at once:
//! who searches sees what was before, or all of what is now. Texts go that no document has. A service
//! that makes vectors holds none of this up: what it does not give within seconds follows at last
//! ([`vectors`]), and until then words alone rank the project.

mod bring;
mod vectors;
mod progress;
mod texts;
mod wanted;

use std::collections::{HashMap, HashSet};

use archway_repo::{Cancel, RepoError};
use archway_store::{
    Blob, Document, LEASE, Lease, Mounted, Standing, StoreError, TenantStore, Whole,
};
use tokio::time::{Duration, Instant, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::documents::differences;
use crate::embed::EmbedError;
use crate::indexer::Indexer;
use crate::indexer::lost;
use crate::thread::Panicked;
use crate::vector_store::HomeError;
pub(super) use progress::Progress;
use wanted::Wanted;

/// How many texts go home at once, at most: fewer where they have many chunks.
const BATCH: usize = 64;
/// How long it may take to read and cut a batch, to embed [`FULL`](texts::FULL) chunks, and to bring all home.
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
    #[error("words alone are indexed yet: {0}")]
    NoVectors(#[from] EmbedError),
    #[error("words alone are indexed yet: a text can't be read again to make its vectors")]
    Unread,
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
    /// Cancelled once others wait for its place: it makes no more vectors then.
    yields: CancellationToken,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        indexer: &'a Indexer,
        project: &'a Mounted,
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

    /// Makes the index whole.
    ///
    /// # Errors
    /// Why it is as it was before, but for texts that are at home already; or why vectors are lacking.
    pub(super) async fn finish(self) -> Result<(), RunError> {
        let wanted = self.wanted().await?;
        let had = self.store().documents(self.lease.index).await?;
        let home = self.indexer.with.home.prepare().await?;
        let there = self.there(home).await?;
        let (lacking, brought) = self.bring(&wanted, &there).await?;
        let (changed, gone) = differences(&had, &wanted.documents);
        let whole = Whole {
            begun: wanted.begun,
            commit: wanted.commit.as_deref(),
            rules: &wanted.rules,
            texts: self.progress.read(),
            home,
            notes: wanted.notes,
            changed: &changed,
            gone: &gone,
            unused: &unused(there, &wanted.documents),
            lacks_vectors: !lacking.is_empty(),
        };
        if brought > 0 || !self.stands(&whole) {
            self.complete(&whole).await?;
        }
        if lacking.is_empty() {
            return Ok(());
        }
        self.bring_vectors(&wanted.repo, &lacking, home).await
    }

    /// Has the documents change, and the texts go that none has.
    async fn complete(&self, whole: &Whole<'_>) -> Result<(), RunError> {
        self.is_still(whole.home).await?;
        if !self.store().complete_index(self.lease, whole).await? {
            return Err(RunError::Lost);
        }
        self.forget(whole.unused).await
    }

    /// Whether the index lacks nothing but vectors, as it did before: it stays as it is then, since a
    /// new edition would be read anew by all who ask.
    fn stands(&self, whole: &Whole<'_>) -> bool {
        let project = self.project;
        let is_of_commit = project.indexed.as_ref().map(Option::as_deref) == Some(whole.commit);
        let is_by_rules = project.ruled.as_deref() == Some(whole.rules);
        let is_known = project.lacks_vectors && is_of_commit && is_by_rules && !project.is_asked;
        let is_same = whole.changed.is_empty() && whole.gone.is_empty() && whole.unused.is_empty();
        whole.lacks_vectors && is_known && is_same
    }

    fn store(&self) -> TenantStore<'a> {
        self.indexer.with.stores.tenant(self.lease.shelf.tenant)
    }

    /// The texts that are in this store, or may be since a run ended in between, and how they stand
    /// there. None, if they are noted to be in another one; all may be, if any is lost: the index is
    /// not whole then until all are back.
    async fn there(&self, home: Uuid) -> Result<HashMap<Blob, Standing>, RunError> {
        let (shelf, index) = (self.lease.shelf, self.lease.index);
        let with = &self.indexer.with;
        let store = self.store();
        let noted = store.home_of_index(index).await?;
        if noted == home && !lost::is_lost(with, shelf, index).await? {
            return Ok(store.texts_of_index(index).await?);
        }
        let lost = store.lose_texts(self.lease, home, noted != home).await?;
        // A new index has none.
        if lost.ok_or(RunError::Lost)? > 0 {
            tracing::warn!(project = %shelf.project, "chunks of a project were lost: it is indexed anew");
            with.metrics.lost();
        }
        Ok(store.texts_of_index(index).await?)
    }

    /// Makes sure that what was brought home is in this store: it may have been lost meanwhile, and
    /// another worker may have made it anew.
    async fn is_still(&self, home: Uuid) -> Result<(), RunError> {
        match self.indexer.with.home.identity().await? == Some(home) {
            true => Ok(()),
            false => Err(self.chunks_lost()),
        }
    }

    fn chunks_lost(&self) -> RunError {
        let projects = vec![self.lease.shelf.project];
        HomeError::Lost { projects }.into()
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
fn unused(there: HashMap<Blob, Standing>, documents: &[Document]) -> Vec<Blob> {
    let used: HashSet<Blob> = documents.iter().map(|document| document.blob).collect();
    let blobs = there.into_keys();
    blobs.filter(|blob| !used.contains(blob)).collect()
}

/// Ends work that begins now when its time is up, or its run is given up.
fn cancel(stop: CancellationToken) -> Cancel {
    Cancel::new(Instant::now() + BATCH_TIME, stop)
}
