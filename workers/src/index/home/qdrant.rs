//! The home in Qdrant: for installations of many projects and several workers.
//!
//! One collection holds the chunks of all tenants, for each embedding model; a request always says
//! whose chunks it means ([`requests`]). The server need not be there at the start: what asks it
//! meanwhile fails at once, and it is found again by itself ([`pause`], [`collection`]). What a
//! reader would miss: a server that lost its collection gets an empty one, so whoever keeps the
//! index whole compares [`Home::count`] with what it wrote.

use std::time::Duration;

use futures::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream};
use qdrant_client::qdrant::{QueryPoints, ScoredPoint};
use tokio::time::Instant;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::{Asked, Blob, Candidates, Filter, Hit, Home, HomeError, Question, Shelf, Text};
use crate::index::{embed::Model, terms::Term};
use batches::batches;
use collection::Collection;
use line::{Asking, Line, Services};
use requests::{Scope, Search};

// In the order in which a request is made.
mod batches;
mod collection;
mod config;
mod fields;
mod line;
mod pause;
mod point;
mod requests;

pub use config::{QdrantConfig, QdrantConfigError};

/// How long the server has for one batch of chunks.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it has to count.
const COUNT_TIMEOUT: Duration = Duration::from_secs(5);
/// Blobs named in one request, of 45 bytes each.
const BLOBS: usize = 8192;
/// Requests of one question that are under way together, where it names more blobs.
const TOGETHER: usize = 4;

/// Chunks in Qdrant.
pub struct QdrantHome {
    line: Line,
    collection: Collection,
}

impl QdrantHome {
    /// The home of the configuration, for the vectors of this model; without one, for words alone.
    /// Nothing is connected yet. Wants a runtime that lasts as long as the home does.
    pub fn open(config: &QdrantConfig, model: Option<&Model>) -> Result<Self, QdrantConfigError> {
        Ok(QdrantHome {
            collection: Collection::new(config.prefix()?, model),
            line: Line::new(config)?,
        })
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

    async fn find(
        &self,
        tenant: Uuid,
        projects: &[Uuid],
        question: &Question,
    ) -> Result<Candidates, HomeError> {
        let corpus = Scope::projects(tenant, projects);
        let filter = &question.filter;
        let among = match &filter.kinds {
            Some(kinds) => corpus.clone().kinds(kinds),
            None => corpus.clone(),
        };
        let search = |among| Search {
            collection: &self.collection.name,
            among,
            corpus: corpus.clone(),
            exact: filter.kinds.is_some() || filter.blobs.is_some(),
            most: question.most as u64,
        };
        let Some(blobs) = &filter.blobs else {
            return self.search(tenant, search(among), question).await;
        };
        // One request can't name all blobs of a large project.
        let blobs: Vec<&Blob> = blobs.iter().collect();
        let parts = blobs.chunks(BLOBS).map(|part| {
            let among = among.clone().blobs(part.iter().copied());
            self.search(tenant, search(among), question)
        });
        let parts: Vec<_> = parts.collect();
        let mut all = stream::iter(parts).buffer_unordered(TOGETHER);
        let mut best = Candidates::default();
        while let Some(part) = all.try_next().await? {
            best.dense.extend(part.dense);
            best.sparse.extend(part.sparse);
        }
        rank(&mut best.dense, question.most);
        rank(&mut best.sparse, question.most);
        Ok(best)
    }

    /// Both lists, in one request.
    async fn search(
        &self,
        tenant: Uuid,
        search: Search<'_>,
        question: &Question,
    ) -> Result<Candidates, HomeError> {
        let dense = question
            .dense
            .as_ref()
            .filter(|_| self.collection.is_dense());
        let dense = dense.map(|vector| search.dense(vector));
        let terms = once(&question.terms);
        let sparse = (!terms.is_empty()).then(|| search.sparse(terms));
        let asked = [dense.is_some(), sparse.is_some()];
        let queries: Vec<QueryPoints> = [dense, sparse].into_iter().flatten().collect();
        if queries.is_empty() {
            return Ok(Candidates::default());
        }
        let asking = Asking {
            what: "searching",
            until: question.deadline,
        };
        let message = search.together(queries);
        let answer = self.ask(asking, message, |to, request| async move {
            to.points().query_batch(request).await
        });
        let mut lists = answer.await?.result.into_iter();
        let mut list = |asked: bool| {
            let points = asked.then(|| lists.next()).flatten();
            hits(tenant, points.map_or_else(Vec::new, |list| list.result))
        };
        let (mut dense, mut sparse) = (list(asked[0])?, list(asked[1])?);
        sparse.retain(|hit| hit.score > 0.0);
        rank(&mut dense, question.most);
        rank(&mut sparse, question.most);
        Ok(Candidates { dense, sparse })
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
        async move {
            // To Qdrant, any of nothing would be anything.
            if projects.is_empty() || question.most == 0 || lets_none_be(&question.filter) {
                return Ok(Candidates::default());
            }
            self.find(tenant, &projects, question).await
        }
        .boxed()
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

fn lets_none_be(filter: &Filter) -> bool {
    let no_kind = filter.kinds.as_ref().is_some_and(Vec::is_empty);
    no_kind || filter.blobs.as_ref().is_some_and(|blobs| blobs.is_empty())
}

/// Each word once: Qdrant refuses one that is there twice.
fn once(terms: &[Term]) -> Vec<Term> {
    let mut terms = terms.to_vec();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// What was found, but for what is another's: the server was told not to find that.
fn hits(tenant: Uuid, points: Vec<ScoredPoint>) -> Result<Vec<Hit>, HomeError> {
    let mut hits = Vec::with_capacity(points.len());
    for point in points {
        let (whose, hit) = point::read(point)?;
        if whose == tenant {
            hits.push(hit);
        } else {
            tracing::error!("Qdrant found a chunk of another tenant than was asked; left out");
        }
    }
    Ok(hits)
}

/// Best first; which of several that are as good, is the same each time.
fn rank(hits: &mut Vec<Hit>, most: usize) {
    hits.sort_unstable_by(|one, other| {
        let place = |hit: &Hit| (hit.project, hit.blob, hit.position);
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| place(one).cmp(&place(other)))
    });
    hits.truncate(most);
}
