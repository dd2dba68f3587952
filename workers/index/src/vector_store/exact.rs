//! The home in Postgres and memory: rows there, searched exactly here.
//!
//! Of each project that is asked about, this process holds the words and vectors of all chunks
//! ([`view`]), read when first asked for and brought up to date when the index has become another
//! one. What is held has a bound in bytes; who was not asked about for longest goes first, and is
//! read again.

mod form;
mod segment;
mod view;
mod turns;
mod views;

use std::sync::Arc;
use std::thread::available_parallelism;

use archway_store::{Blob, Shelf};
use archway_store::{Pieces, StoreError, Stores};
use futures::future::BoxFuture;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::timeout_at;
use uuid::Uuid;

use super::{Asked, Candidates, Home, HomeError, Question, Text};
use crate::embed::Model;
use turns::Turns;
use views::Views;

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
    views: Arc<Views>,
    /// Searches under way: each has a thread to itself.
    searches: Turns,
}

impl ExactHome {
    /// The rows that `made_by` names, held in memory while there is room; with the vectors of this
    /// model, or without one, for words alone.
    pub fn new(stores: Stores, made_by: &str, model: Option<&Model>, room: Room) -> ExactHome {
        // Twice as many as can run, half of them one tenant's: nobody waits for another's longest.
        let each = available_parallelism().map_or(1, usize::from);
        ExactHome {
            views: Arc::new(Views::new(stores.clone(), made_by.to_owned(), room)),
            stores,
            made_by: made_by.to_owned(),
            is_dense: model.is_some(),
            searches: Turns::new(2 * each, each),
        }
    }

    async fn find(
        &self,
        tenant: Uuid,
        projects: &[Asked],
        question: &Question,
    ) -> Result<Candidates, HomeError> {
        let mut views = Vec::with_capacity(projects.len());
        for asked in projects {
            let shelf = Shelf {
                tenant,
                project: asked.project,
            };
            let view = self.views.of(shelf, asked.edition).await?;
            views.push((asked.project, view));
        }
        let turn = self.searches.take(tenant).await.map_err(ended)?;
        let question = question.clone();
        let search = move || {
            // Whoever asked may be gone: the thread is busy all the same.
            let _until_the_end = turn;
            view::nearest(&views, &question)
        };
        blocking(search).await?
    }
}

impl Home for ExactHome {
    // Rows stand in the database that notes them, and go with it: they need no id, and no proof.
    fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, HomeError>> {
        Box::pin(async { Ok(Some(Uuid::nil())) })
    }

    fn prepare(&self) -> BoxFuture<'_, Result<Uuid, HomeError>> {
        Box::pin(async { Ok(Uuid::nil()) })
    }

    fn upsert<'a>(
        &'a self,
        shelf: Shelf,
        texts: &'a [Text],
    ) -> BoxFuture<'a, Result<(), HomeError>> {
        Box::pin(async move {
            let row = |text: &Text| Pieces {
                blob: text.blob,
                bytes: form::written(&text.pieces, self.is_dense),
                chunks: i32::try_from(text.pieces.len()).unwrap_or(i32::MAX),
            };
            let rows: Vec<Pieces> = texts.iter().map(row).collect();
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
            let found = self.find(tenant, projects, question);
            timeout_at(question.deadline, found).await.map_err(late)?
        })
    }

    fn count(&self, shelf: Shelf) -> BoxFuture<'_, Result<u64, HomeError>> {
        Box::pin(async move {
            let store = self.stores.tenant(shelf.tenant);
            let chunks = store.count_pieces(shelf.project, &self.made_by).await;
            Ok(u64::try_from(chunks.map_err(away)?).unwrap_or(0))
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HomeError> {
    tokio::task::spawn_blocking(work).await.map_err(ended)
}

/// Work that ended without an outcome.
fn ended(error: impl std::error::Error + Send + Sync + 'static) -> HomeError {
    HomeError::Away {
        what: "searching in memory",
        source: error.into(),
    }
}

fn away(error: StoreError) -> HomeError {
    HomeError::Away {
        what: "rows of the index",
        source: error.into(),
    }
}
