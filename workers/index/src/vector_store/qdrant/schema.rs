//! How the collection is created, and whether an existing one matches.

use qdrant_client::qdrant::{
    CollectionInfo, CreateCollection, Distance, HnswConfigDiff, Modifier, SparseVectorConfig,
    SparseVectorParams, VectorParams, VectorParamsMap, VectorsConfig, value, vectors_config,
};
use uuid::Uuid;

use super::{
    collection::Collection,
    point::{DENSE, TEXT},
};
use crate::vector_store::VectorStoreError;

/// Neighbours of a chunk in the graph of its tenant or project. No graph spans all tenants, since
/// no search does.
const NEIGHBOURS: u64 = 16;
/// Kilobytes of vectors up to which all are compared instead of walking a graph: 50,000 vectors of
/// 256 dimensions, some 10 ms.
const EXACT_UP_TO: u64 = 50_000;
/// Key of the id in the collection's metadata.
const ID: &str = "archway_id";

impl Collection {
    /// The request that creates it, with a new id.
    pub(super) fn create_request(&self) -> CreateCollection {
        let dense = self.dimensions.map(|size| VectorParams {
            size,
            distance: Distance::Cosine.into(),
            ..VectorParams::default()
        });
        let dense = dense.map(|params| (DENSE.to_owned(), params));
        let text = SparseVectorParams {
            modifier: Some(Modifier::Idf.into()),
            ..SparseVectorParams::default()
        };
        let map = dense.into_iter().collect();
        CreateCollection {
            collection_name: self.name.clone(),
            hnsw_config: Some(HnswConfigDiff {
                m: Some(0),
                payload_m: Some(NEIGHBOURS),
                full_scan_threshold: Some(EXACT_UP_TO),
                ..HnswConfigDiff::default()
            }),
            vectors_config: Some(VectorsConfig {
                config: Some(vectors_config::Config::ParamsMap(VectorParamsMap { map })),
            }),
            sparse_vectors_config: Some(SparseVectorConfig {
                map: [(TEXT.to_owned(), text)].into(),
            }),
            metadata: [(ID.to_owned(), Uuid::new_v4().to_string().into())].into(),
            ..CreateCollection::default()
        }
    }

    /// Checks the parts that searches depend on.
    pub(super) fn check_schema(&self, info: &CollectionInfo) -> Result<(), VectorStoreError> {
        let params = info.config.as_ref().and_then(|it| it.params.as_ref());
        let vectors = params.and_then(|it| it.vectors_config.as_ref());
        let dense = match vectors.and_then(|it| it.config.as_ref()) {
            Some(vectors_config::Config::ParamsMap(named)) => named.map.get(DENSE),
            _ => None,
        };
        if let Some(size) = self.dimensions {
            let dense = dense.ok_or_else(|| self.mismatch("has no vectors named \"dense\""))?;
            if dense.size != size {
                let has = format!("has vectors of {} numbers, not {size}", dense.size);
                return Err(self.mismatch(&has));
            }
            if dense.distance != i32::from(Distance::Cosine) {
                return Err(self.mismatch("does not compare vectors by cosine"));
            }
        }
        let sparse = params.and_then(|it| it.sparse_vectors_config.as_ref());
        let text = sparse.and_then(|it| it.map.get(TEXT));
        let text = text.ok_or_else(|| self.mismatch("has no sparse vectors named \"text\""))?;
        if text.modifier != Some(Modifier::Idf.into()) {
            return Err(self.mismatch("does not weight words by their rarity (modifier IDF)"));
        }
        Ok(())
    }

    pub(super) fn mismatch(&self, what: &str) -> VectorStoreError {
        let name = &self.name;
        VectorStoreError::Mismatch(format!(
            "the collection {name:?} in Qdrant {what}: it was not created by Archway; delete it, \
             or name others with --qdrant-collection (ARCHWAY_QDRANT_COLLECTION)"
        ))
    }
}

/// The id of a collection; nil if it was created before ids existed.
pub(super) fn id(info: &CollectionInfo) -> Uuid {
    let config = info.config.as_ref();
    let id = config.and_then(|config| config.metadata.get(ID)?.kind.as_ref());
    match id {
        Some(value::Kind::StringValue(id)) => id.parse().unwrap_or_default(),
        _ => Uuid::nil(),
    }
}
