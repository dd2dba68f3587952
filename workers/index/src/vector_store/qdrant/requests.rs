//! Requests for chunks: always within one tenant.
//!
//! A request that searches, counts or deletes is built from a [`Scope`], whose constructors all take
//! the tenant. The types of such requests are named in this file alone; a test enforces it.

use archway_store::{Blob, ProjectKey};
use qdrant_client::qdrant::{
    Condition, CountPoints, DeletePoints, DenseVector, FacetCounts, Filter, IdfParams, PointStruct,
    PointsSelector, PointsUpdateOperation, Query, QueryBatchPoints, QueryPoints, Range,
    SearchParams, SparseVector, UpdateBatchPoints, VectorInput,
    points_selector::PointsSelectorOneOf,
    points_update_operation::{DeletePoints as DeleteOperation, Operation, PointStructList},
    query::Variant,
    vector_input,
};
use uuid::Uuid;

use super::point::{
    BLOB, DENSE, KIND, POSITION, PROJECT_KEY_FIELD, TEXT, hex, kind_name, project_key_text,
    tenant_term,
};
use crate::{chunk::Kind, terms::Term};

/// Neighbours that a graph search visits.
const GRAPH_NEIGHBOURS: u64 = 256;

/// Some chunks of one tenant.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    tenant: Uuid,
    /// Always contains the tenant.
    all_of: Vec<Condition>,
    none_of: Vec<Condition>,
}

impl Scope {
    /// All chunks of a project.
    pub(super) fn project(project_key: ProjectKey) -> Self {
        Scope::projects(project_key.tenant, &[project_key.project])
    }

    /// All chunks of these projects of a tenant, by one condition: with a second one the server would
    /// visit each chunk that matches the first, which takes four times as long.
    pub(super) fn projects(tenant: Uuid, any_of: &[Uuid]) -> Self {
        let project_keys = any_of
            .iter()
            .map(|&project| project_key_text(ProjectKey { tenant, project }));
        let project_keys: Vec<String> = project_keys.collect();
        // Matching a value is faster than matching a list of one.
        let condition = match <[String; 1]>::try_from(project_keys) {
            Ok([project_key]) => Condition::matches(PROJECT_KEY_FIELD, project_key),
            Err(project_keys) => Condition::matches(PROJECT_KEY_FIELD, project_keys),
        };
        Scope {
            tenant,
            all_of: vec![condition],
            none_of: Vec::new(),
        }
    }

    /// Only these kinds.
    pub(super) fn kinds(self, any_of: &[Kind]) -> Self {
        let any_of: Vec<String> = any_of
            .iter()
            .map(|kind| kind_name(*kind).to_owned())
            .collect();
        self.with(Condition::matches(KIND, any_of))
    }

    /// Only these blobs.
    pub(super) fn blobs<'a>(self, any_of: impl IntoIterator<Item = &'a Blob>) -> Self {
        self.with(in_blobs(any_of))
    }

    /// All but these blobs.
    pub(super) fn except<'a>(mut self, none_of: impl IntoIterator<Item = &'a Blob>) -> Self {
        self.none_of.push(in_blobs(none_of));
        self
    }

    /// Of each blob the chunks at this position or later, left over from a longer version.
    fn past_end(self, lengths: &[(Blob, u32)]) -> Self {
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
        Filter {
            must_not: self.none_of,
            ..Filter::must(self.all_of)
        }
    }

    fn selector(self) -> PointsSelector {
        PointsSelector {
            points_selector_one_of: Some(PointsSelectorOneOf::Filter(self.filter())),
        }
    }

    /// Counts the chunks.
    pub(super) fn count(self, collection: &str) -> CountPoints {
        CountPoints {
            collection_name: collection.to_owned(),
            filter: Some(self.filter()),
            exact: Some(true),
            ..CountPoints::default()
        }
    }

    /// Counts the chunks of each of these `projects`.
    pub(super) fn count_by_project(self, collection: &str, projects: usize) -> FacetCounts {
        FacetCounts {
            collection_name: collection.to_owned(),
            key: PROJECT_KEY_FIELD.to_owned(),
            filter: Some(self.filter()),
            limit: Some(projects as u64),
            exact: Some(true),
            ..FacetCounts::default()
        }
    }

    /// Deletes the chunks.
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

/// A search for the nearest chunks.
pub(super) struct Search<'a> {
    pub(super) collection: &'a str,
    /// Which chunks may match.
    pub(super) among: Scope,
    /// Over which chunks document frequencies are counted. Without it Qdrant would count those of all
    /// tenants, and scores would reveal other tenants' vocabulary.
    pub(super) corpus: Scope,
    /// Whether to visit all chunks in `among` rather than walk a graph.
    pub(super) exact: bool,
    pub(super) limit: u64,
}

impl Search<'_> {
    /// By vector.
    pub(super) fn dense(&self, vector: &[f32]) -> QueryPoints {
        let data = vector.to_vec();
        let params = SearchParams {
            hnsw_ef: Some(self.limit.max(GRAPH_NEIGHBOURS)),
            exact: Some(self.exact),
            ..SearchParams::default()
        };
        self.query(
            DENSE,
            vector_input::Variant::Dense(DenseVector { data }),
            params,
        )
    }

    /// By words; duplicates count once.
    pub(super) fn sparse(&self, terms: &[Term]) -> QueryPoints {
        let tenant = self.among.tenant;
        let mut indices: Vec<Term> = terms
            .iter()
            .map(|&term| tenant_term(tenant, term))
            .collect();
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
            limit: Some(self.limit),
            with_payload: Some(true.into()),
            ..QueryPoints::default()
        }
    }

    /// Several searches in one request.
    pub(super) fn batch(&self, query_points: Vec<QueryPoints>) -> QueryBatchPoints {
        QueryBatchPoints {
            collection_name: self.collection.to_owned(),
            query_points,
            ..QueryBatchPoints::default()
        }
    }
}

/// Chunks that are stored in one request.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) points: Vec<PointStruct>,
    /// Blobs that this batch completes, with their number of chunks: any beyond are left over from an
    /// earlier version.
    pub(super) complete: Vec<(Blob, u32)>,
}

impl Batch {
    /// Stores the chunks, and deletes left-over ones.
    pub(super) fn upsert(self, collection: &str, project_key: ProjectKey) -> UpdateBatchPoints {
        let upsert = (!self.points.is_empty()).then_some(Operation::Upsert(PointStructList {
            points: self.points,
            ..PointStructList::default()
        }));
        let delete = (!self.complete.is_empty()).then(|| {
            let beyond = Scope::project(project_key).past_end(&self.complete);
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
