//! The home in Qdrant: for installations of many projects and several workers.
//!
//! One collection holds the chunks of all tenants, for each embedding model; a request always says
//! whose chunks it means ([`requests`]). The server need not be there at the start: what asks it
//! meanwhile fails at once, and it is found again by itself ([`pause`], [`collection`]). What a
//! reader would miss: a server that lost its collection gets an empty one, so whoever keeps the
//! index whole compares [`Home::count`] with what it wrote.

use std::time::Duration;

use futures::{FutureExt, future::BoxFuture};
use tokio::time::Instant;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::{Asked, Blob, Candidates, Home, HomeError, Question, Shelf, Text};
use crate::index::embed::Model;
use batches::batches;
use collection::Collection;
use line::{Asking, Line, Services};
use requests::Scope;

// In the order in which a request is made: the server and its collection, then what it is asked.
mod config;
mod server;
mod pause;
mod line;
mod fields;
mod collection;
mod point;
mod requests;
mod batches;
mod search;

pub use config::{QdrantConfig, QdrantConfigError};
pub use server::QdrantServer;

/// How long the server has for one batch of chunks.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it has to count.
const COUNT_TIMEOUT: Duration = Duration::from_secs(5);
/// Blobs named in one request, of 45 bytes each.
const BLOBS: usize = 8192;

/// Chunks in Qdrant.
pub struct QdrantHome {
    line: Line,
    collection: Collection,
}

impl QdrantHome {
    /// The home in this server, for the vectors of this model; without one, for words alone.
    /// Nothing is connected yet. Wants a runtime that lasts as long as the home does.
    pub fn open(server: &QdrantServer, model: Option<&Model>) -> Self {
        QdrantHome {
            line: Line::new(server),
            collection: Collection::new(&server.prefix, model),
        }
    }

    /// Asks for something of the collection, which is made or checked first where need be.
    async fn ask<Q, A, F>(
        &self,
        asking: Asking,
        message: Q,
        send: impl Fn(Services, Request<Q>) -> F,
    ) -> Result<A, HomeError>
    where
        Q: Clone,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        self.collection.ensure(&self.line, asking).await?;
        let answer = self.line.ask(asking, message.clone(), &send).await;
        let answer = match answer {
            Err(failure) if failure.is_missing() => {
                let collection = &self.collection.name;
                tracing::warn!(%collection, "Qdrant lost a collection; it is made anew, empty");
                self.collection.forget();
                self.collection.ensure(&self.line, asking).await?;
                self.line.ask(asking, message, &send).await
            }
            answer => answer,
        };
        answer.map_err(|failure| {
            // Who comes back may have lost it, or may be another.
            if failure.is_away() {
                self.collection.forget();
            }
            failure.of(asking.what)
        })
    }

    async fn keep(&self, shelf: Shelf, texts: &[Text], average: f32) -> Result<(), HomeError> {
        for batch in batches(shelf, texts, average, self.collection.is_dense()) {
            let asking = within(WRITE_TIMEOUT, "keeping chunks");
            let message = batch?.keep(&self.collection.name, shelf);
            self.ask(asking, message, |to, request| async move {
                to.points().update_batch(request).await
            })
            .await?;
        }
        Ok(())
    }

    async fn forget(&self, shelf: Shelf, blobs: &[Blob]) -> Result<(), HomeError> {
        for blobs in blobs.chunks(BLOBS) {
            let asking = within(WRITE_TIMEOUT, "removing chunks");
            let message = Scope::shelf(shelf)
                .blobs(blobs)
                .delete(&self.collection.name);
            self.ask(asking, message, |to, request| async move {
                to.points().delete(request).await
            })
            .await?;
        }
        Ok(())
    }

    async fn chunks(&self, shelf: Shelf) -> Result<u64, HomeError> {
        let asking = within(COUNT_TIMEOUT, "counting chunks");
        let message = Scope::shelf(shelf).count(&self.collection.name);
        let answer = self.ask(asking, message, |to, request| async move {
            to.points().count(request).await
        });
        Ok(answer.await?.result.map_or(0, |result| result.count))
    }
}

impl Home for QdrantHome {
    fn upsert<'a>(
        &'a self,
        shelf: Shelf,
        texts: &'a [Text],
        average: f32,
    ) -> BoxFuture<'a, Result<(), HomeError>> {
        self.keep(shelf, texts, average).boxed()
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
        let projects: Vec<Uuid> = projects.iter().map(|asked| asked.project).collect();
        async move { self.find(tenant, &projects, question).await }.boxed()
    }

    fn count(&self, shelf: Shelf) -> BoxFuture<'_, Result<u64, HomeError>> {
        self.chunks(shelf).boxed()
    }
}

fn within(time: Duration, what: &'static str) -> Asking {
    Asking {
        what,
        until: Instant::now() + time,
    }
}
