//! The home in Postgres and memory: rows there, searched exactly here.
//!
//! Of each project that is asked about, this process holds the words and vectors of all chunks
//! ([`view`]), read when first asked for and brought up to date when the index has become another
//! one. What is held has a bound in bytes; who was not asked about for longest goes first, and is
//! read again.

mod form;
mod segment;
mod view;

use std::sync::Arc;

use futures::future::BoxFuture;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Mutex;
use tokio::task::JoinError;
use tokio::time::{Duration, timeout_at};
use uuid::Uuid;

use super::{Asked, Blob, Candidates, Home, HomeError, Question, Shelf, Text};
use crate::index::embed::Model;
use crate::store::{StoreError, Stores};
use view::View;

/// How many projects are held, however small they are.
const MAX_PROJECTS: u64 = 10_000;
/// How long a project is held that nobody asks about.
const IDLE: Duration = Duration::from_secs(60 * 60);

/// The memory that all views of a process have together.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// What they may take, in bytes.
    pub bytes: usize,
    /// What they take, in bytes.
    pub taken: Gauge,
}

/// Rows in Postgres, searched in this process' memory.
pub struct ExactHome {
    stores: Stores,
    /// Home, model and form: rows that another one made are not ours.
    made_by: String,
    /// Whether vectors are kept, or words alone.
    is_dense: bool,
    room: Room,
    views: Cache<Shelf, Arc<View>>,
    /// Held while a project is read, so that calls that come together read once.
    reading: Cache<Shelf, Arc<Mutex<()>>>,
}

impl ExactHome {
    /// The rows that `made_by` names, held in memory while there is room; with the vectors of this
    /// model, or without one, for words alone.
    pub fn new(stores: Stores, made_by: &str, model: Option<&Model>, room: Room) -> ExactHome {
        let taken = room.taken.clone();
        let views = Cache::builder()
            .weigher(|_, view: &Arc<View>| u32::try_from(kib(view.bytes())).unwrap_or(u32::MAX))
            .max_capacity(kib(room.bytes) as u64)
            .eviction_listener(move |_, view, _| {
                taken.dec_by(counted(&view));
            })
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE)
            .build();
        ExactHome {
            stores,
            made_by: made_by.to_owned(),
            is_dense: model.is_some(),
            room,
            views,
            reading: Cache::new(MAX_PROJECTS),
        }
    }

    /// All of a project, in this edition or a later one.
    async fn view(&self, shelf: Shelf, edition: i64) -> Result<Arc<View>, HomeError> {
        if let Some(view) = self.held(shelf, edition) {
            return Ok(view);
        }
        let turn = self.reading.get_with(shelf, Arc::default);
        let _turn = turn.lock().await;
        if let Some(view) = self.held(shelf, edition) {
            return Ok(view);
        }
        let before = self.views.get(&shelf);
        let view = Arc::new(self.read(shelf, edition, before).await?);
        // Rows are smaller than what is made of them.
        self.may_be(view.bytes())?;
        self.room.taken.inc_by(counted(&view));
        self.views.insert(shelf, Arc::clone(&view));
        Ok(view)
    }

    fn held(&self, shelf: Shelf, edition: i64) -> Option<Arc<View>> {
        let held = self.views.get(&shelf);
        held.filter(|view| view.edition() >= edition)
    }

    /// What rows there are that a view of before has not, without those that went.
    async fn read(
        &self,
        shelf: Shelf,
        edition: i64,
        before: Option<Arc<View>>,
    ) -> Result<View, HomeError> {
        let store = self.stores.tenant(shelf.tenant);
        let there = store.blobs_of_pieces(shelf.project, &self.made_by).await;
        let there = there.map_err(away)?;
        self.may_be(there.iter().map(|(_, bytes)| bytes).sum())?;
        let mut draft = View::draft(before, &there);
        for blobs in draft.lacking() {
            let rows = store.pieces(shelf.project, &self.made_by, &blobs).await;
            let rows = rows.map_err(away)?;
            draft = blocking(move || draft.with(rows)).await?;
        }
        blocking(move || draft.finish(edition)).await
    }

    /// Refuses a project that would take more than all may together.
    fn may_be(&self, needed: usize) -> Result<(), HomeError> {
        let allowed = self.room.bytes;
        match needed > allowed {
            true => Err(HomeError::TooLarge { needed, allowed }),
            false => Ok(()),
        }
    }
}

impl Home for ExactHome {
    fn upsert<'a>(
        &'a self,
        shelf: Shelf,
        texts: &'a [Text],
        _average: f32,
    ) -> BoxFuture<'a, Result<(), HomeError>> {
        Box::pin(async move {
            let rows: Vec<(Blob, Vec<u8>)> = texts
                .iter()
                .map(|text| (text.blob, form::written(&text.pieces, self.is_dense)))
                .collect();
            let store = self.stores.tenant(shelf.tenant);
            let put = store.put_pieces(shelf.project, &self.made_by, &rows);
            put.await.map_err(away)
        })
    }

    fn remove<'a>(
        &'a self,
        shelf: Shelf,
        blobs: &'a [Blob],
    ) -> BoxFuture<'a, Result<(), HomeError>> {
        Box::pin(async move {
            let store = self.stores.tenant(shelf.tenant);
            let removed = store.remove_pieces(shelf.project, &self.made_by, blobs);
            removed.await.map_err(away)
        })
    }

    fn nearest<'a>(
        &'a self,
        tenant: Uuid,
        projects: &'a [Asked],
        question: &'a Question,
    ) -> BoxFuture<'a, Result<Candidates, HomeError>> {
        Box::pin(async move {
            let late = |_elapsed| HomeError::Late("reading the index of a project");
            let mut views = Vec::with_capacity(projects.len());
            for asked in projects {
                let shelf = Shelf {
                    tenant,
                    project: asked.project,
                };
                let view = self.view(shelf, asked.edition);
                let view = timeout_at(question.deadline, view).await.map_err(late)??;
                views.push((asked.project, view));
            }
            let question = question.clone();
            blocking(move || view::nearest(&views, &question)).await
        })
    }

    fn count(&self, shelf: Shelf) -> BoxFuture<'_, Result<u64, HomeError>> {
        Box::pin(async move {
            let store = self.stores.tenant(shelf.tenant);
            let heads = store.heads_of_pieces(shelf.project, &self.made_by).await;
            let heads = heads.map_err(away)?;
            let chunks = heads.iter().filter_map(|head| form::chunks(head));
            Ok(chunks.map(|chunks| chunks as u64).sum())
        })
    }
}

/// What a view takes, in bytes, as gauges count.
fn counted(view: &View) -> i64 {
    i64::try_from(view.bytes()).unwrap_or(i64::MAX)
}

/// At least one, so that small projects have a bound, too.
fn kib(bytes: usize) -> usize {
    bytes.div_ceil(1 << 10).max(1)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HomeError> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.map_err(|panicked: JoinError| HomeError::Away {
        what: "searching in memory",
        source: panicked.into(),
    })
}

fn away(error: StoreError) -> HomeError {
    HomeError::Away {
        what: "rows of the index",
        source: error.into(),
    }
}
