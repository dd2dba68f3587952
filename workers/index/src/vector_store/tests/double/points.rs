//! The double's service for points.

use qdrant_client::qdrant::{
    BatchResult, ClearPayloadPoints, CountPoints, CountResponse, CountResult,
    CreateFieldIndexCollection, CreateVectorNameRequest, DeleteFieldIndexCollection,
    DeletePayloadPoints, DeletePointVectors, DeletePoints, DeleteVectorNameRequest,
    DiscoverBatchPoints, DiscoverBatchResponse, DiscoverPoints, DiscoverResponse, FacetCounts,
    FacetHit, FacetResponse, FacetValue, FieldType, Filter, GetPoints, GetResponse,
    PayloadSchemaType, PointsOperationResponse, PointsSelector, QueryBatchPoints,
    QueryBatchResponse, QueryGroupsResponse, QueryPointGroups, QueryPoints, QueryResponse,
    RecommendBatchPoints, RecommendBatchResponse, RecommendGroupsResponse, RecommendPointGroups,
    RecommendPoints, RecommendResponse, ScrollPoints, ScrollResponse, SearchBatchPoints,
    SearchBatchResponse, SearchGroupsResponse, SearchMatrixOffsetsResponse,
    SearchMatrixPairsResponse, SearchMatrixPoints, SearchPointGroups, SearchPoints, SearchResponse,
    SetPayloadPoints, UpdateBatchPoints, UpdateBatchResponse, UpdatePointVectors, UpsertPoints,
    facet_value, points_selector::PointsSelectorOneOf, points_server::Points,
    points_update_operation::Operation,
};
use tonic::{Request, Response, Status};

use super::{Shared, unimplemented_methods};

#[tonic::async_trait]
impl Points for Shared {
    async fn create_field_index(
        &self,
        request: Request<CreateFieldIndexCollection>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let message = self
            .enter("points.create_field_index", request, |_| Vec::new())
            .await?;
        let kind = match message.field_type() {
            FieldType::Keyword => PayloadSchemaType::Keyword,
            FieldType::Integer => PayloadSchemaType::Integer,
            _ => return Err(Status::unimplemented("an index of this kind")),
        };
        self.with(&message.collection_name, |collection| {
            collection.fields.insert(message.field_name.clone(), kind);
            Ok(())
        })?;
        Ok(Response::new(Default::default()))
    }

    async fn update_batch(
        &self,
        request: Request<UpdateBatchPoints>,
    ) -> Result<Response<UpdateBatchResponse>, Status> {
        let message = self
            .enter("points.update_batch", request, filters_of_updates)
            .await?;
        self.with(&message.collection_name, |collection| {
            for operation in message.operations {
                match operation.operation {
                    Some(Operation::Upsert(list)) => collection.upsert(list.points)?,
                    Some(Operation::DeletePoints(delete)) => collection.delete(delete.points)?,
                    _ => return Err(Status::unimplemented("this operation")),
                }
            }
            Ok(())
        })?;
        Ok(Response::new(Default::default()))
    }

    async fn delete(
        &self,
        request: Request<DeletePoints>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let filters = |message: &DeletePoints| filters_of(message.points.as_ref());
        let message = self.enter("points.delete", request, filters).await?;
        self.with(&message.collection_name, |it| it.delete(message.points))?;
        Ok(Response::new(Default::default()))
    }

    async fn count(
        &self,
        request: Request<CountPoints>,
    ) -> Result<Response<CountResponse>, Status> {
        let filters = |message: &CountPoints| message.filter.clone().into_iter().collect();
        let message = self.enter("points.count", request, filters).await?;
        let count = self.with(&message.collection_name, |collection| {
            Ok(collection.matching(message.filter.as_ref())?.len() as u64)
        })?;
        Ok(Response::new(CountResponse {
            result: Some(CountResult { count }),
            ..CountResponse::default()
        }))
    }

    async fn query_batch(
        &self,
        request: Request<QueryBatchPoints>,
    ) -> Result<Response<QueryBatchResponse>, Status> {
        let message = self
            .enter("points.query_batch", request, filters_of_queries)
            .await?;
        let result = self.with(&message.collection_name, |collection| {
            let queries = message.query_points.into_iter();
            let lists = queries.map(|query| {
                let result = collection.nearest(query)?;
                Ok(BatchResult { result })
            });
            lists.collect()
        })?;
        Ok(Response::new(QueryBatchResponse {
            result,
            ..QueryBatchResponse::default()
        }))
    }

    async fn facet(
        &self,
        request: Request<FacetCounts>,
    ) -> Result<Response<FacetResponse>, Status> {
        let filters = |message: &FacetCounts| message.filter.clone().into_iter().collect();
        let message = self.enter("points.facet", request, filters).await?;
        let counts = self.with(&message.collection_name, |collection| {
            collection.count_by(&message.key, message.filter.as_ref())
        })?;
        let hits = counts.into_iter().map(|(value, count)| FacetHit {
            value: Some(FacetValue {
                variant: Some(facet_value::Variant::StringValue(value)),
            }),
            count,
        });
        let most = usize::try_from(message.limit.unwrap_or(10)).unwrap_or(usize::MAX);
        Ok(Response::new(FacetResponse {
            hits: hits.take(most).collect(),
            ..FacetResponse::default()
        }))
    }

    unimplemented_methods! {
        upsert(UpsertPoints) -> PointsOperationResponse;
        get(GetPoints) -> GetResponse;
        update_vectors(UpdatePointVectors) -> PointsOperationResponse;
        delete_vectors(DeletePointVectors) -> PointsOperationResponse;
        set_payload(SetPayloadPoints) -> PointsOperationResponse;
        overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
        delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
        clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
        delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
        create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
        delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
        search(SearchPoints) -> SearchResponse;
        search_batch(SearchBatchPoints) -> SearchBatchResponse;
        search_groups(SearchPointGroups) -> SearchGroupsResponse;
        scroll(ScrollPoints) -> ScrollResponse;
        recommend(RecommendPoints) -> RecommendResponse;
        recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
        recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
        discover(DiscoverPoints) -> DiscoverResponse;
        discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
        query(QueryPoints) -> QueryResponse;
        query_groups(QueryPointGroups) -> QueryGroupsResponse;
        search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
        search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
    }
}

/// The filter of a deletion; an empty one if it has none.
fn filters_of(points: Option<&PointsSelector>) -> Vec<Filter> {
    match points.and_then(|points| points.points_selector_one_of.as_ref()) {
        Some(PointsSelectorOneOf::Filter(filter)) => vec![filter.clone()],
        _ => vec![Filter::default()],
    }
}

fn filters_of_updates(message: &UpdateBatchPoints) -> Vec<Filter> {
    let deletes = message
        .operations
        .iter()
        .filter_map(|it| match &it.operation {
            Some(Operation::DeletePoints(delete)) => Some(filters_of(delete.points.as_ref())),
            _ => None,
        });
    deletes.flatten().collect()
}

/// The filter and the corpus of each query.
fn filters_of_queries(message: &QueryBatchPoints) -> Vec<Filter> {
    let queries = message.query_points.iter();
    let filters = queries.flat_map(|query| {
        let idf = query.params.as_ref().and_then(|params| params.idf.as_ref());
        let sparse = query.using.as_deref() == Some("text");
        let corpus = sparse.then(|| idf.and_then(|idf| idf.corpus.clone()).unwrap_or_default());
        [Some(query.filter.clone().unwrap_or_default()), corpus]
    });
    filters.flatten().collect()
}
