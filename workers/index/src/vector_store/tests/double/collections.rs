//! The double's service for collections.

use qdrant_client::qdrant::{
    ChangeAliases, CollectionClusterInfoRequest, CollectionClusterInfoResponse, CollectionConfig,
    CollectionDescription, CollectionExistsRequest, CollectionExistsResponse, CollectionInfo,
    CollectionOperationResponse, CollectionParams, CreateCollection, CreateShardKeyRequest,
    CreateShardKeyResponse, DeleteCollection, DeleteShardKeyRequest, DeleteShardKeyResponse,
    GetCollectionInfoRequest, GetCollectionInfoResponse, ListAliasesRequest, ListAliasesResponse,
    ListCollectionAliasesRequest, ListCollectionsRequest, ListCollectionsResponse,
    ListShardKeysRequest, ListShardKeysResponse, PayloadSchemaInfo, SparseVectorConfig,
    UpdateCollection, UpdateCollectionClusterSetupRequest, UpdateCollectionClusterSetupResponse,
    VectorParamsMap, VectorsConfig, collections_server::Collections, vectors_config,
};
use tonic::{Request, Response, Status};

use super::{Shared, store::Collection, unimplemented_methods};

#[tonic::async_trait]
impl Collections for Shared {
    async fn get(
        &self,
        request: Request<GetCollectionInfoRequest>,
    ) -> Result<Response<GetCollectionInfoResponse>, Status> {
        let message = self
            .enter("collections.get", request, |_| Vec::new())
            .await?;
        let info = self.with(&message.collection_name, |it| Ok(it.info()))?;
        Ok(Response::new(GetCollectionInfoResponse {
            result: Some(info),
            time: 0.0,
        }))
    }

    async fn list(
        &self,
        request: Request<ListCollectionsRequest>,
    ) -> Result<Response<ListCollectionsResponse>, Status> {
        self.enter("collections.list", request, |_| Vec::new())
            .await?;
        let names: Vec<String> = self.collections.lock().keys().cloned().collect();
        let described = names.into_iter().map(|name| CollectionDescription { name });
        Ok(Response::new(ListCollectionsResponse {
            collections: described.collect(),
            time: 0.0,
        }))
    }

    async fn create(
        &self,
        request: Request<CreateCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let message = self
            .enter("collections.create", request, |_| Vec::new())
            .await?;
        let mut collections = self.collections.lock();
        let name = message.collection_name.clone();
        if collections.contains_key(&name) {
            let there = format!("Wrong input: Collection `{name}` already exists!");
            return Err(Status::already_exists(there));
        }
        collections.insert(name, Collection::new(message));
        Ok(done())
    }

    async fn delete(
        &self,
        request: Request<DeleteCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let message = self
            .enter("collections.delete", request, |_| Vec::new())
            .await?;
        self.collections.lock().remove(&message.collection_name);
        Ok(done())
    }

    unimplemented_methods! {
        update(UpdateCollection) -> CollectionOperationResponse;
        update_aliases(ChangeAliases) -> CollectionOperationResponse;
        list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
        list_aliases(ListAliasesRequest) -> ListAliasesResponse;
        collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
        collection_exists(CollectionExistsRequest) -> CollectionExistsResponse;
        update_collection_cluster_setup(UpdateCollectionClusterSetupRequest)
            -> UpdateCollectionClusterSetupResponse;
        create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
        delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
        list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
    }
}

fn done() -> Response<CollectionOperationResponse> {
    Response::new(CollectionOperationResponse {
        result: true,
        time: 0.0,
    })
}

impl Collection {
    fn new(message: CreateCollection) -> Self {
        let dense = match message.vectors_config.and_then(|vectors| vectors.config) {
            Some(vectors_config::Config::ParamsMap(named)) => named.map,
            Some(vectors_config::Config::Params(nameless)) => [(String::new(), nameless)].into(),
            None => [].into(),
        };
        let sparse = message.sparse_vectors_config.map(|sparse| sparse.map);
        Collection {
            dense,
            sparse: sparse.unwrap_or_default(),
            metadata: message.metadata,
            ..Collection::default()
        }
    }

    fn info(&self) -> CollectionInfo {
        let map = self.dense.clone();
        let nameless = map.get("").cloned().map(vectors_config::Config::Params);
        let named = vectors_config::Config::ParamsMap(VectorParamsMap { map });
        let schema = self.fields.iter().map(|(name, kind)| {
            let info = PayloadSchemaInfo {
                data_type: (*kind).into(),
                ..PayloadSchemaInfo::default()
            };
            (name.clone(), info)
        });
        let params = CollectionParams {
            vectors_config: Some(VectorsConfig {
                config: nameless.or(Some(named)),
            }),
            sparse_vectors_config: Some(SparseVectorConfig {
                map: self.sparse.clone(),
            }),
            ..CollectionParams::default()
        };
        CollectionInfo {
            config: Some(CollectionConfig {
                params: Some(params),
                metadata: self.metadata.clone(),
                ..CollectionConfig::default()
            }),
            payload_schema: schema.collect(),
            ..CollectionInfo::default()
        }
    }
}
