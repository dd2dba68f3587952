//! What Qdrant is asked of chunks: always within one tenant.
//!
//! A request that finds, counts or deletes is made of a [`Scope`], and each of its makers takes the tenant.
//! The types of such requests are named in this file alone; a test holds that.

use archway_store::{Blob, Shelf};
use qdrant_client::qdrant::{
    Condition, CountPoints, DeletePoints, DenseVector, Filter, IdfParams, PointStruct,
    PointsSelector, PointsUpdateOperation, Query, QueryBatchPoints, QueryPoints, Range,
    SearchParams, SparseVector, UpdateBatchPoints, VectorInput,
    points_selector::PointsSelectorOneOf,
    points_update_operation::{DeletePoints as DeleteOperation, Operation, PointStructList},
    query::Variant,
    vector_input,
};
use uuid::Uuid;

use super::point::{BLOB, DENSE, KIND, POSITION, SHELF, TEXT, hex, keyed, shelved, word};
use crate::{chunk::Kind, terms::Term};

/// How many neighbours of a graph are looked at, where there is a graph.
const BEAM: u64 = 256;

/// Which chunks of one tenant are meant.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    tenant: Uuid,
    /// Always has the tenant in it.
    all_of: Vec<Condition>,
}

impl Scope {
    /// All chunks of a tenant's project.
    pub(super) fn shelf(shelf: Shelf) -> Self {
        Scope::projects(shelf.tenant, &[shelf.project])
    }

    /// All chunks of these projects of a tenant. One condition says it: with a second one the server
    /// looks at each chunk that the first one found, which takes four times as long.
    pub(super) fn projects(tenant: Uuid, any_of: &[Uuid]) -> Self {
        let shelves = any_of
            .iter()
            .map(|&project| shelved(Shelf { tenant, project }));
        let shelves: Vec<String> = shelves.collect();
        // A value is found sooner than one of a list of one.
        let condition = match <[String; 1]>::try_from(shelves) {
            Ok([shelf]) => Condition::matches(SHELF, shelf),
            Err(shelves) => Condition::matches(SHELF, shelves),
        };
        Scope {
            tenant,
            all_of: vec![condition],
        }
    }

    /// Of these kinds only.
    pub(super) fn kinds(self, any_of: &[Kind]) -> Self {
        let any_of: Vec<String> = any_of.iter().map(|kind| word(*kind).to_owned()).collect();
        self.with(Condition::matches(KIND, any_of))
    }

    /// Of these blobs only.
    pub(super) fn blobs<'a>(self, any_of: impl IntoIterator<Item = &'a Blob>) -> Self {
        self.with(in_blobs(any_of))
    }

    /// Of each blob what stands beyond its last chunk: all from that position on.
    fn beyond(self, lengths: &[(Blob, u32)]) -> Self {
        let beyond = lengths.iter().map(|(blob, length)| {
            let gte = Some(f64::from(*length));
            let from = Condition::range(
                POSITION,
                Range {
                    gte,
                    ..Range::default()
                },
            );
            Condition::from(Filter::must([in_blobs([blob]), from]))
        });
        self.with(Filter::should(beyond).into())
    }

    fn with(mut self, condition: Condition) -> Self {
        self.all_of.push(condition);
        self
    }

    fn filter(self) -> Filter {
        Filter::must(self.all_of)
    }

    fn selector(self) -> PointsSelector {
        PointsSelector {
            points_selector_one_of: Some(PointsSelectorOneOf::Filter(self.filter())),
        }
    }

    /// How many chunks there are.
    pub(super) fn count(self, collection: &str) -> CountPoints {
        CountPoints {
            collection_name: collection.to_owned(),
            filter: Some(self.filter()),
            exact: Some(true),
            ..CountPoints::default()
        }
    }

    /// Deletes them all.
    pub(super) fn delete(self, collection: &str) -> DeletePoints {
        DeletePoints {
            collection_name: collection.to_owned(),
            wait: Some(true),
            points: Some(self.selector()),
            ..DeletePoints::default()
        }
    }
}

fn in_blobs<'a>(any_of: impl IntoIterator<Item = &'a Blob>) -> Condition {
    let any_of: Vec<String> = any_of.into_iter().map(hex).collect();
    Condition::matches(BLOB, any_of)
}

/// What is looked for, among which chunks.
pub(super) struct Search<'a> {
    pub(super) collection: &'a str,
    /// Which chunks may be found.
    pub(super) among: Scope,
    /// Among which a word is rare or is not. Without it Qdrant would count the words of all
    /// tenants, and scores would tell each of the others' vocabulary.
    pub(super) corpus: Scope,
    /// Whether all that may be found is looked at, rather than what a graph leads to.
    pub(super) exact: bool,
    pub(super) most: u64,
}

impl Search<'_> {
    /// By vector.
    pub(super) fn dense(&self, vector: &[f32]) -> QueryPoints {
        let data = vector.to_vec();
        let params = SearchParams {
            hnsw_ef: Some(self.most.max(BEAM)),
            exact: Some(self.exact),
            ..SearchParams::default()
        };
        self.query(
            DENSE,
            vector_input::Variant::Dense(DenseVector { data }),
            params,
        )
    }

    /// By words; each counts once.
    pub(super) fn sparse(&self, terms: &[Term]) -> QueryPoints {
        let tenant = self.among.tenant;
        let mut indices: Vec<Term> = terms.iter().map(|&term| keyed(tenant, term)).collect();
        indices.sort_unstable();
        indices.dedup();
        let values = vec![1.0; indices.len()];
        let params = SearchParams {
            idf: Some(IdfParams {
                corpus: Some(self.corpus.clone().filter()),
            }),
            ..SearchParams::default()
        };
        self.query(
            TEXT,
            vector_input::Variant::Sparse(SparseVector { values, indices }),
            params,
        )
    }

    fn query(&self, using: &str, by: vector_input::Variant, params: SearchParams) -> QueryPoints {
        QueryPoints {
            collection_name: self.collection.to_owned(),
            query: Some(Query {
                variant: Some(Variant::Nearest(VectorInput { variant: Some(by) })),
            }),
            using: Some(using.to_owned()),
            filter: Some(self.among.clone().filter()),
            params: Some(params),
            limit: Some(self.most),
            with_payload: Some(true.into()),
            ..QueryPoints::default()
        }
    }

    /// Several lists at once.
    pub(super) fn together(&self, query_points: Vec<QueryPoints>) -> QueryBatchPoints {
        QueryBatchPoints {
            collection_name: self.collection.to_owned(),
            query_points,
            ..QueryBatchPoints::default()
        }
    }
}

/// Chunks that are kept together.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) points: Vec<PointStruct>,
    /// The blobs that are whole with this batch, and how many chunks each has: further ones are of
    /// an earlier form of it.
    pub(super) whole: Vec<(Blob, u32)>,
}

impl Batch {
    /// Keeps them.
    pub(super) fn keep(self, collection: &str, shelf: Shelf) -> UpdateBatchPoints {
        let upsert = (!self.points.is_empty()).then_some(Operation::Upsert(PointStructList {
            points: self.points,
            ..PointStructList::default()
        }));
        let delete = (!self.whole.is_empty()).then(|| {
            let beyond = Scope::shelf(shelf).beyond(&self.whole);
            Operation::DeletePoints(DeleteOperation {
                points: Some(beyond.selector()),
                ..DeleteOperation::default()
            })
        });
        let operations = [upsert, delete].into_iter().flatten();
        UpdateBatchPoints {
            collection_name: collection.to_owned(),
            wait: Some(true),
            operations: operations
                .map(|operation| PointsUpdateOperation {
                    operation: Some(operation),
                })
                .collect(),
            ..UpdateBatchPoints::default()
        }
    }
}
