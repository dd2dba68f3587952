//! Chunks in Qdrant: for installations of many projects and several workers.
//!
//! One collection per embedding model holds the chunks of all tenants, and every request names its
//! tenant ([`requests`]). The server may be absent at start: requests then fail at once, and
//! recover by themselves ([`circuit`], [`collection`]). A server that lost chunks, or all of them,
//! answers as if nothing had happened. So each answer is verified ([`completeness`]), and only
//! indexing creates a collection ([`VectorStore::prepare`]).

use std::{sync::Arc, time::Duration};

use archway_store::{Blob, ProjectKey};
use futures::{FutureExt, future::BoxFuture};
use tokio::time::Instant;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::blobs::BLOBS_PER_REQUEST;
use super::{
    Candidates, IndexedText, NearestQuery, ProjectMemory, SearchedProject, VectorStore,
    VectorStoreError,
};
use crate::embed::Model;
use batches::batches;
use collection::Collection;
use completeness::{RecentCounts, all_lost};
use connection::{Connection, Services};
use failure::RequestContext;
use requests::Scope;

// In the order of a request: the server and its collection, then the request itself.
mod config;
mod server;
mod circuit;
mod search_permits;
mod failure;
mod connection;
mod fields;
mod schema;
mod collection;
mod point;
mod requests;
mod batches;
mod search;
mod completeness;

pub use config::QdrantConfig;
pub(crate) use config::QdrantConfigError;
pub use server::QdrantServer;

/// Timeout of writing one batch of chunks.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of counting.
const COUNT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of creating the collection and its field indexes.
const CREATE_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of reading the collection's id.
const ID_TIMEOUT: Duration = Duration::from_secs(1);

/// The chunks of one embedding model in Qdrant.
pub struct QdrantStore {
    connection: Arc<Connection>,
    collection: Collection,
    /// For [`completeness`].
    recent_counts: RecentCounts,
}

/// A write found no collection.
#[derive(Debug, thiserror::Error)]
#[error("the collection is gone; the next indexing run creates it")]
struct CollectionGone;

impl QdrantStore {
    /// The store in this server, for vectors of `model`, or for words alone. Connects on the first
    /// request. Needs a Tokio runtime that outlives it.
    pub fn open(server: &QdrantServer, model: Option<&Model>) -> Self {
        QdrantStore {
            connection: Arc::new(Connection::new(server)),
            collection: Collection::new(&server.prefix, model),
            recent_counts: RecentCounts::new(),
        }
    }

    /// Sends a request, after checking the collection where necessary; `None` if the collection is
    /// missing.
    async fn send<Q, A, F>(
        &self,
        context: RequestContext,
        message: Q,
        send: impl FnOnce(Services, Request<Q>) -> F,
    ) -> Result<Option<A>, VectorStoreError>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        if !self.collection.exists(&self.connection, context).await? {
            return Ok(None);
        }
        let failure = match self.connection.send(context, message, send).await {
            Ok(answer) => return Ok(Some(answer)),
            Err(failure) => failure,
        };
        // The server may come back without the collection, or with another one.
        if failure.is_away() || failure.is_missing() {
            self.collection.invalidate();
        }
        match failure.is_missing() {
            true => Ok(None),
            false => Err(failure.into_error(context.operation)),
        }
    }

    async fn upsert_texts(
        &self,
        project_key: ProjectKey,
        texts: &[IndexedText],
    ) -> Result<(), VectorStoreError> {
        for batch in batches(project_key, texts, self.collection.is_dense()) {
            let context = within(WRITE_TIMEOUT, "storing chunks");
            let message = batch?.upsert(&self.collection.name, project_key);
            let stored = self.send(context, message, |to, request| async move {
                to.points().update_batch(request).await
            });
            stored.await?.ok_or_else(|| collection_gone(context))?;
        }
        Ok(())
    }

    async fn remove_texts(
        &self,
        project_key: ProjectKey,
        blobs: &[Blob],
    ) -> Result<(), VectorStoreError> {
        for blobs in blobs.chunks(BLOBS_PER_REQUEST) {
            let context = within(WRITE_TIMEOUT, "removing chunks");
            let message = Scope::project(project_key)
                .blobs(blobs)
                .delete(&self.collection.name);
            let removed = self.send(context, message, |to, request| async move {
                to.points().delete(request).await
            });
            removed.await?.ok_or_else(|| collection_gone(context))?;
        }
        Ok(())
    }

    async fn count_chunks(
        &self,
        project_key: ProjectKey,
        context: RequestContext,
    ) -> Result<u64, VectorStoreError> {
        let message = Scope::project(project_key).count(&self.collection.name);
        let answer = self.send(context, message, |to, request| async move {
            to.points().count(request).await
        });
        let result = answer.await?.and_then(|answer| answer.result);
        Ok(result.map_or(0, |result| result.count))
    }
}

impl VectorStore for QdrantStore {
    fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, VectorStoreError>> {
        let context = within(ID_TIMEOUT, "reading the collection's id");
        self.collection.id(&self.connection, context).boxed()
    }

    fn prepare(&self) -> BoxFuture<'_, Result<Uuid, VectorStoreError>> {
        let context = within(CREATE_TIMEOUT, "creating the collection");
        self.collection.ensure(&self.connection, context).boxed()
    }

    fn upsert<'a>(
        &'a self,
        project_key: ProjectKey,
        texts: &'a [IndexedText],
    ) -> BoxFuture<'a, Result<(), VectorStoreError>> {
        self.upsert_texts(project_key, texts).boxed()
    }

    fn remove<'a>(
        &'a self,
        project_key: ProjectKey,
        blobs: &'a [Blob],
    ) -> BoxFuture<'a, Result<(), VectorStoreError>> {
        self.remove_texts(project_key, blobs).boxed()
    }

    fn nearest<'a>(
        &'a self,
        tenant: Uuid,
        projects: &'a [SearchedProject],
        query: &'a NearestQuery,
    ) -> BoxFuture<'a, Result<Candidates, VectorStoreError>> {
        self.find(tenant, projects, query).boxed()
    }

    fn project_memory(&self) -> Option<ProjectMemory> {
        None
    }

    fn count(&self, project_key: ProjectKey) -> BoxFuture<'_, Result<u64, VectorStoreError>> {
        let context = within(COUNT_TIMEOUT, "counting chunks");
        self.count_chunks(project_key, context).boxed()
    }
}

fn collection_gone(context: RequestContext) -> VectorStoreError {
    VectorStoreError::Unavailable {
        what: context.operation,
        source: Box::new(CollectionGone),
    }
}

fn within(time: Duration, operation: &'static str) -> RequestContext {
    RequestContext {
        operation,
        deadline: Instant::now() + time,
    }
}
