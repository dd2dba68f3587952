//! The nearest chunks: both lists in one request, more requests only where a question names more
//! blobs than fit in one. At last the collection proves that it has all that was asked.

use archway_store::Blob;
use futures::{StreamExt, TryStreamExt, stream};
use qdrant_client::qdrant::{QueryPoints, ScoredPoint};
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use super::{
    BLOBS, QdrantHome, everybody,
    failure::Asking,
    point,
    requests::{Scope, Search},
};
use crate::vector_store::{Asked, Candidates, Filter, Hit, HomeError, Question};

/// Requests of one question that are under way together.
const TOGETHER: usize = 4;
/// How long the server has for one request of a search.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);

impl QdrantHome {
    /// The nearest chunks of these projects, of which all are there.
    pub(super) async fn find(
        &self,
        tenant: Uuid,
        asked: &[Asked],
        question: &Question,
    ) -> Result<Candidates, HomeError> {
        // To Qdrant, any of nothing would be anything.
        if asked.is_empty() || question.most == 0 || lets_none_be(&question.filter) {
            return Ok(Candidates::default());
        }
        let place = self.line.place().await;
        let _place = place.map_err(|failure| failure.of("searching"))?;
        let Some(found) = self.found(tenant, asked, question).await? else {
            return Err(everybody(asked));
        };
        let asking = asking("looking whether all is there", question);
        self.prove(tenant, asked, asking).await?;
        Ok(found)
    }

    /// The same, whether all are there or not; `None` without a collection.
    async fn found(
        &self,
        tenant: Uuid,
        asked: &[Asked],
        question: &Question,
    ) -> Result<Option<Candidates>, HomeError> {
        let projects: Vec<Uuid> = asked.iter().map(|asked| asked.project).collect();
        let corpus = Scope::projects(tenant, &projects);
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
            let Some(part) = part else {
                return Ok(None);
            };
            best.dense.extend(part.dense);
            best.sparse.extend(part.sparse);
        }
        rank(&mut best.dense, question.most);
        rank(&mut best.sparse, question.most);
        Ok(Some(best))
    }

    /// Both lists, in one request; `None` without a collection.
    async fn search(
        &self,
        tenant: Uuid,
        search: Search<'_>,
        question: &Question,
    ) -> Result<Option<Candidates>, HomeError> {
        let dense = question
            .dense
            .as_ref()
            .filter(|_| self.collection.is_dense());
        let dense = dense.map(|vector| search.dense(vector));
        let terms = &question.terms;
        let sparse = (!terms.is_empty()).then(|| search.sparse(terms));
        let asked = [dense.is_some(), sparse.is_some()];
        let queries: Vec<QueryPoints> = [dense, sparse].into_iter().flatten().collect();
        if queries.is_empty() {
            return Ok(Some(Candidates::default()));
        }
        let message = search.together(queries);
        let asking = asking("searching", question);
        let answer = self.ask(asking, message, |to, request| async move {
            to.points().query_batch(request).await
        });
        let Some(answer) = answer.await? else {
            return Ok(None);
        };
        let mut lists = answer.result.into_iter();
        let mut list = |asked: bool| {
            let points = asked.then(|| lists.next()).flatten();
            hits(tenant, points.map_or_else(Vec::new, |list| list.result))
        };
        let (mut dense, mut sparse) = (list(asked[0])?, list(asked[1])?);
        sparse.retain(|hit| hit.score > 0.0);
        rank(&mut dense, question.most);
        rank(&mut sparse, question.most);
        Ok(Some(Candidates { dense, sparse }))
    }
}

/// One request of a search: it ends before the call does, so that there is time to say so.
fn asking(what: &'static str, question: &Question) -> Asking {
    let until = question.deadline.min(Instant::now() + SEARCH_TIMEOUT);
    Asking { what, until }
}

fn lets_none_be(filter: &Filter) -> bool {
    let no_kind = filter.kinds.as_ref().is_some_and(Vec::is_empty);
    no_kind || filter.blobs.as_ref().is_some_and(|blobs| blobs.is_empty())
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
