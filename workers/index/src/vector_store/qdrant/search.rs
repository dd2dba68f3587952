//! The nearest chunks: both lists by one request, or by several if the filter allows more blobs than
//! fit into one, and refuses as many. Afterwards the answer is verified to be complete.

use archway_store::Blob;
use futures::{StreamExt, TryStreamExt, stream};
use qdrant_client::qdrant::{QueryPoints, ScoredPoint};
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use super::{
    BLOBS_PER_REQUEST, QdrantStore, all_lost,
    failure::RequestContext,
    point,
    requests::{Scope, Search},
};
use crate::vector_store::{
    AllowedBlobs, Candidates, Filter, Hit, NearestQuery, SearchedProject, VectorStoreError,
};

/// Concurrent requests of one search.
const CONCURRENT_REQUESTS: usize = 4;
/// Timeout of one request.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);

impl QdrantStore {
    /// The nearest chunks, verified to be complete.
    pub(super) async fn find(
        &self,
        tenant: Uuid,
        projects: &[SearchedProject],
        query: &NearestQuery,
    ) -> Result<Candidates, VectorStoreError> {
        // Qdrant takes a condition without values for no condition.
        if projects.is_empty() || query.limit == 0 || matches_nothing(&query.filter) {
            return Ok(Candidates::default());
        }
        let permit = self.connection.search_permit().await;
        let _permit = permit.map_err(|failure| failure.into_error("searching"))?;
        let Some(found) = self.unverified(tenant, projects, query).await? else {
            return Err(all_lost(projects));
        };
        let context = request_context("verifying the answer", query);
        self.verify_complete(tenant, projects, context).await?;
        Ok(found)
    }

    /// The nearest chunks, unverified; `None` if the collection is missing.
    async fn unverified(
        &self,
        tenant: Uuid,
        projects: &[SearchedProject],
        query: &NearestQuery,
    ) -> Result<Option<Candidates>, VectorStoreError> {
        let ids: Vec<Uuid> = projects.iter().map(|each| each.project).collect();
        let corpus = Scope::projects(tenant, &ids);
        let filter = &query.filter;
        let among = match &filter.kinds {
            Some(kinds) => corpus.clone().kinds(kinds),
            None => corpus.clone(),
        };
        let search = |among| Search {
            collection: &self.collection.name,
            among,
            corpus: corpus.clone(),
            exact: filter.kinds.is_some() || matches!(filter.blobs, Some(AllowedBlobs::Only(_))),
            limit: query.limit as u64,
        };
        let blobs = match &filter.blobs {
            None => return self.search(tenant, search(among), query).await,
            Some(AllowedBlobs::Except(refused)) => {
                let among = among.except(refused.iter());
                return self.search(tenant, search(among), query).await;
            }
            Some(AllowedBlobs::Only(blobs)) => blobs,
        };
        // A large project has more blobs than fit into one request.
        let blobs: Vec<&Blob> = blobs.iter().collect();
        let parts = blobs.chunks(BLOBS_PER_REQUEST).map(|part| {
            let among = among.clone().blobs(part.iter().copied());
            self.search(tenant, search(among), query)
        });
        let parts: Vec<_> = parts.collect();
        let mut all = stream::iter(parts).buffer_unordered(CONCURRENT_REQUESTS);
        let mut best = Candidates::default();
        while let Some(part) = all.try_next().await? {
            let Some(part) = part else {
                return Ok(None);
            };
            best.dense.extend(part.dense);
            best.sparse.extend(part.sparse);
        }
        rank(&mut best.dense, query.limit);
        rank(&mut best.sparse, query.limit);
        Ok(Some(best))
    }

    /// Both lists, by one request; `None` if the collection is missing.
    async fn search(
        &self,
        tenant: Uuid,
        search: Search<'_>,
        query: &NearestQuery,
    ) -> Result<Option<Candidates>, VectorStoreError> {
        let dense = query.dense.as_ref().filter(|_| self.collection.is_dense());
        let dense = dense.map(|vector| search.dense(vector));
        let terms = &query.terms;
        let sparse = (!terms.is_empty()).then(|| search.sparse(terms));
        let asked = [dense.is_some(), sparse.is_some()];
        let queries: Vec<QueryPoints> = [dense, sparse].into_iter().flatten().collect();
        if queries.is_empty() {
            return Ok(Some(Candidates::default()));
        }
        let message = search.batch(queries);
        let context = request_context("searching", query);
        let answer = self.send(context, message, |to, request| async move {
            to.points().query_batch(request).await
        });
        let Some(answer) = answer.await? else {
            return Ok(None);
        };
        let mut lists = answer.result.into_iter();
        let mut list = |projects: bool| {
            let points = projects.then(|| lists.next()).flatten();
            hits(tenant, points.map_or_else(Vec::new, |list| list.result))
        };
        let (mut dense, mut sparse) = (list(asked[0])?, list(asked[1])?);
        sparse.retain(|hit| hit.score > 0.0);
        rank(&mut dense, query.limit);
        rank(&mut sparse, query.limit);
        Ok(Some(Candidates {
            dense,
            sparse,
            unsearched: Vec::new(),
        }))
    }
}

/// One request of a search: it ends before the call does, to leave time for an error.
fn request_context(operation: &'static str, query: &NearestQuery) -> RequestContext {
    let deadline = query.deadline.min(Instant::now() + SEARCH_TIMEOUT);
    RequestContext {
        operation,
        deadline,
    }
}

fn matches_nothing(filter: &Filter) -> bool {
    let no_kind = filter.kinds.as_ref().is_some_and(Vec::is_empty);
    let no_blob = matches!(&filter.blobs, Some(AllowedBlobs::Only(blobs)) if blobs.is_empty());
    no_kind || no_blob
}

/// Decodes the points, dropping those of other tenants: a second line of defence.
fn hits(tenant: Uuid, points: Vec<ScoredPoint>) -> Result<Vec<Hit>, VectorStoreError> {
    let mut hits = Vec::with_capacity(points.len());
    for point in points {
        let (owner, hit) = point::decode(point)?;
        if owner == tenant {
            hits.push(hit);
        } else {
            tracing::error!("Qdrant returned a chunk of another tenant; dropped");
        }
    }
    Ok(hits)
}

/// Best first; ties in a stable order.
fn rank(hits: &mut Vec<Hit>, limit: usize) {
    hits.sort_unstable_by(|one, other| {
        let identity = |hit: &Hit| (hit.project, hit.blob, hit.position);
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| identity(one).cmp(&identity(other)))
    });
    hits.truncate(limit);
}
