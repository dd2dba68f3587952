//! The home in Qdrant: for installations of many projects and several workers.
//!
//! One collection holds the chunks of all tenants, for each embedding model; a request always says
//! whose chunks it means ([`requests`]). The server need not be there at the start: what asks it
//! meanwhile fails at once, and it is found again by itself ([`circuit`], [`collection`]). What a
//! reader would miss: a server may lose chunks, or all of them, and answers as before. So each
//! answer is proved ([`proof`]), and only indexing makes a collection ([`Home::prepare`]).

use std::{sync::Arc, time::Duration};

use archway_store::{Blob, Shelf};
use futures::{FutureExt, future::BoxFuture};
use tokio::time::Instant;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::{Asked, Candidates, Home, HomeError, Question, Text};
use crate::embed::Model;
use batches::batches;
use collection::Collection;
use failure::Asking;
use line::{Line, Services};
use proof::{Counted, everybody};
use requests::Scope;

// In the order in which a request is made: the server and its collection, then what it is asked.
mod config;
mod server;
mod circuit;
mod crowd;
mod failure;
mod line;
mod fields;
mod shape;
mod collection;
mod point;
mod requests;
mod batches;
mod search;
mod proof;

pub use config::QdrantConfig;
pub(crate) use config::QdrantConfigError;
pub use server::QdrantServer;

/// How long the server has for one batch of chunks.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it has to count.
const COUNT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it has to make a collection and what belongs to it.
const MAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it has to say which collection it has.
const LOOK_TIMEOUT: Duration = Duration::from_secs(1);
/// Blobs named in one request, of 45 bytes each.
const BLOBS: usize = 8192;

/// Chunks in Qdrant.
pub struct QdrantHome {
    line: Arc<Line>,
    collection: Collection,
    /// For [`proof`].
    counted: Counted,
}

/// Why chunks can't be kept.
#[derive(Debug, thiserror::Error)]
#[error("the collection is gone: it is made again by the next run")]
struct Gone;

impl QdrantHome {
    /// The home in this server, for the vectors of this model; without one, for words alone.
    /// Nothing is connected yet. Wants a runtime that lasts as long as the home does.
    pub fn open(server: &QdrantServer, model: Option<&Model>) -> Self {
        QdrantHome {
            line: Arc::new(Line::new(server)),
            collection: Collection::new(&server.prefix, model),
            counted: Counted::new(),
        }
    }

    /// Asks for something of the collection, which is checked first where need be; `None` if it is
    /// not there.
    async fn ask<Q, A, F>(
        &self,
        asking: Asking,
        message: Q,
        send: impl FnOnce(Services, Request<Q>) -> F,
    ) -> Result<Option<A>, HomeError>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        if !self.collection.is_there(&self.line, asking).await? {
            return Ok(None);
        }
        let failure = match self.line.ask(asking, message, send).await {
            Ok(answer) => return Ok(Some(answer)),
            Err(failure) => failure,
        };
        // Who comes back may have lost it, or may be another.
        if failure.is_away() || failure.is_missing() {
            self.collection.forget();
        }
        match failure.is_missing() {
            true => Ok(None),
            false => Err(failure.of(asking.what)),
        }
    }

    async fn keep(&self, shelf: Shelf, texts: &[Text]) -> Result<(), HomeError> {
        for batch in batches(shelf, texts, self.collection.is_dense()) {
            let asking = within(WRITE_TIMEOUT, "keeping chunks");
            let message = batch?.keep(&self.collection.name, shelf);
            let kept = self.ask(asking, message, |to, request| async move {
                to.points().update_batch(request).await
            });
            kept.await?.ok_or_else(|| gone(asking))?;
        }
        Ok(())
    }

    async fn forget(&self, shelf: Shelf, blobs: &[Blob]) -> Result<(), HomeError> {
        for blobs in blobs.chunks(BLOBS) {
            let asking = within(WRITE_TIMEOUT, "removing chunks");
            let message = Scope::shelf(shelf)
                .blobs(blobs)
                .delete(&self.collection.name);
            let removed = self.ask(asking, message, |to, request| async move {
                to.points().delete(request).await
            });
            removed.await?.ok_or_else(|| gone(asking))?;
        }
        Ok(())
    }

    async fn chunks(&self, shelf: Shelf, asking: Asking) -> Result<u64, HomeError> {
        let message = Scope::shelf(shelf).count(&self.collection.name);
        let answer = self.ask(asking, message, |to, request| async move {
            to.points().count(request).await
        });
        let result = answer.await?.and_then(|answer| answer.result);
        Ok(result.map_or(0, |result| result.count))
    }
}

impl Home for QdrantHome {
    fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, HomeError>> {
        let asking = within(LOOK_TIMEOUT, "looking which collection there is");
        self.collection.id(&self.line, asking).boxed()
    }

    fn prepare(&self) -> BoxFuture<'_, Result<Uuid, HomeError>> {
        let asking = within(MAKE_TIMEOUT, "making the collection");
        self.collection.make(&self.line, asking).boxed()
    }

    fn upsert<'a>(
        &'a self,
        shelf: Shelf,
        texts: &'a [Text],
    ) -> BoxFuture<'a, Result<(), HomeError>> {
        self.keep(shelf, texts).boxed()
    }

    fn remove<'a>(
        &'a self,
        shelf: Shelf,
        blobs: &'a [Blob],
    ) -> BoxFuture<'a, Result<(), HomeError>> {
        self.forget(shelf, blobs).boxed()
    }

    fn nearest<'a>(
        &'a self,
        tenant: Uuid,
        projects: &'a [Asked],
        question: &'a Question,
    ) -> BoxFuture<'a, Result<Candidates, HomeError>> {
        self.find(tenant, projects, question).boxed()
    }

    fn count(&self, shelf: Shelf) -> BoxFuture<'_, Result<u64, HomeError>> {
        let asking = within(COUNT_TIMEOUT, "counting chunks");
        self.chunks(shelf, asking).boxed()
    }
}

fn gone(asking: Asking) -> HomeError {
    HomeError::Away {
        what: asking.what,
        source: Box::new(Gone),
    }
}

fn within(time: Duration, what: &'static str) -> Asking {
    Asking {
        what,
        until: Instant::now() + time,
    }
}
