//! The double's scores: cosine, and sparse products with IDF.

use qdrant_client::qdrant::{
    Modifier, PointId, QueryPoints, ScoredPoint, SearchParams, VectorInput, query, vector_input,
};
use tonic::Status;

use super::store::{Collection, Point, words};

impl Collection {
    /// The matches of one query, best first.
    pub(super) fn nearest(&self, query: QueryPoints) -> Result<Vec<ScoredPoint>, Status> {
        let limit = usize::try_from(query.limit.unwrap_or(10)).unwrap_or(usize::MAX);
        if limit == 0 {
            return Err(Status::invalid_argument(
                "Validation error: limit: must be 1 or larger",
            ));
        }
        let variant = query.query.and_then(|query| query.variant);
        let Some(query::Variant::Nearest(VectorInput { variant: Some(by) })) = variant else {
            return Err(Status::unimplemented("queries but for the nearest"));
        };
        let using = query.using.unwrap_or_default();
        let params = query.params.unwrap_or_default();
        let among = self.matching(query.filter.as_ref())?;
        let mut scored = match by {
            vector_input::Variant::Dense(vector) => {
                self.by_vector(&using, vector.data, &params, &among)?
            }
            vector_input::Variant::Sparse(vector) => {
                let query: Vec<(u32, f32)> =
                    words(vector.indices, vector.values)?.into_iter().collect();
                self.by_words(&using, &query, &params, &among)?
            }
            _ => return Err(Status::unimplemented("queries by this")),
        };
        scored.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        scored.truncate(limit);
        Ok(scored
            .into_iter()
            .map(|(id, score)| self.shown(id, score))
            .collect())
    }

    fn shown(&self, id: &str, score: f32) -> ScoredPoint {
        ScoredPoint {
            id: Some(PointId::from(id)),
            payload: self.points[id].payload.clone(),
            score,
            ..ScoredPoint::default()
        }
    }

    fn by_vector<'a>(
        &self,
        using: &str,
        query: Vec<f32>,
        params: &SearchParams,
        among: &[&'a String],
    ) -> Result<Vec<(&'a str, f32)>, Status> {
        if params.idf.is_some() {
            return Err(Status::invalid_argument(
                "idf is for sparse vectors with that modifier",
            ));
        }
        let query = self.unit(using, query)?;
        let cosine = |there: &[f32]| there.iter().zip(&query).map(|(a, b)| a * b).sum::<f32>();
        let scored = among.iter().filter_map(|id| {
            let there = self.points[*id].dense.get(using)?;
            Some((id.as_str(), cosine(there)))
        });
        Ok(scored.collect())
    }

    fn by_words<'a>(
        &self,
        using: &str,
        query: &[(u32, f32)],
        params: &SearchParams,
        among: &[&'a String],
    ) -> Result<Vec<(&'a str, f32)>, Status> {
        let modified = self.sparse_named(using)?.modifier == Some(Modifier::Idf.into());
        let corpus = params.idf.as_ref().and_then(|idf| idf.corpus.as_ref());
        let corpus = self.matching(corpus)?;
        let corpus: Vec<&Point> = corpus.into_iter().map(|id| &self.points[id]).collect();
        let weigh = |(word, weight): &(u32, f32)| {
            let rarity = if modified {
                rarity(&corpus, using, *word)
            } else {
                1.0
            };
            (*word, weight * rarity)
        };
        let query: Vec<(u32, f32)> = query.iter().map(weigh).collect();
        let scored = among.iter().filter_map(|id| {
            let there = self.points[*id].sparse.get(using)?;
            let shared = query
                .iter()
                .filter_map(|(word, weight)| Some(there.get(word)? * weight));
            let shared: Vec<f32> = shared.collect();
            (!shared.is_empty()).then(|| (id.as_str(), shared.iter().sum()))
        });
        Ok(scored.collect())
    }
}

#[expect(clippy::cast_precision_loss, reason = "tests keep few points")]
fn rarity(corpus: &[&Point], using: &str, word: u32) -> f32 {
    let vectors = corpus.iter().filter_map(|point| point.sparse.get(using));
    let (all, with) = vectors.fold((0_u32, 0_u32), |(all, with), vector| {
        (all + 1, with + u32::from(vector.contains_key(&word)))
    });
    let (all, with) = (all as f32, with as f32);
    ((all - with + 0.5) / (with + 0.5) + 1.0).ln()
}
