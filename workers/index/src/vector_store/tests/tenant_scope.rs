//! Every request for chunks names its tenant.

use std::{collections::HashSet, sync::Arc};

use qdrant_client::qdrant::{Filter, condition::ConditionOneOf, r#match::MatchValue};

use super::{
    Double, PATIENCE, SHELF, VectorStore, config, model, open, query, searched_project, store_chunk,
};
use crate::chunk::Kind;

/// Whether the filter matches the tenant's chunks only.
fn within_the_tenant(filter: &Filter) -> bool {
    let tenant = SHELF.tenant.to_string();
    filter.must.iter().any(|condition| {
        let Some(ConditionOneOf::Field(field)) = &condition.condition_one_of else {
            return false;
        };
        let value = field
            .r#match
            .as_ref()
            .and_then(|it| it.match_value.as_ref());
        let is_own =
            |project_key: &String| project_key.split_once('/').is_some_and(|it| it.0 == tenant);
        let is_within = match value {
            Some(MatchValue::Keyword(project_key)) => is_own(project_key),
            Some(MatchValue::Keywords(any)) => any.strings.iter().all(is_own),
            _ => false,
        };
        field.key == "shelf" && is_within
    })
}

#[tokio::test]
async fn every_request_for_chunks_names_its_tenant_and_its_deadline() {
    let double = Double::start().await;
    let store = open(&config(&double.url()), Some(&model(2)));
    let projects = [searched_project(store_chunk(&store).await, 1)];
    store.count(SHELF).await.unwrap();
    let mut query = query(PATIENCE);
    store
        .nearest(SHELF.tenant, &projects, &query)
        .await
        .unwrap();
    query.filter.kinds = Some(vec![Kind::Function]);
    query.filter.blobs = Some(Arc::new(HashSet::from([[7; 20]])));
    let found = store
        .nearest(SHELF.tenant, &projects, &query)
        .await
        .unwrap();
    assert_eq!((found.dense.len(), found.sparse.len()), (1, 1));
    store.remove(SHELF, &[[7; 20]]).await.unwrap();
    let requests = double.take_requests();
    let filters: Vec<_> = requests
        .iter()
        .filter(|request| request.method != "points.create_field_index")
        .filter(|request| request.method.starts_with("points."))
        .map(|request| (request.method, request.filters.len()))
        .collect();
    // A search by words has two filters: which chunks may match, and over which document
    // frequencies are counted. A count follows, to verify the answer.
    let expected = [
        ("points.update_batch", 1),
        ("points.count", 1),
        ("points.query_batch", 3),
        ("points.count", 1),
        ("points.query_batch", 3),
        ("points.count", 1),
        ("points.delete", 1),
    ];
    assert_eq!(filters, expected);
    for requests in requests {
        assert!(
            requests.filters.iter().all(within_the_tenant),
            "{requests:?}"
        );
        assert!(requests.timed, "{requests:?}");
    }
}

#[tokio::test]
async fn a_search_of_whole_projects_has_a_single_condition() {
    let double = Double::start().await;
    let store = open(&config(&double.url()), Some(&model(2)));
    let projects = [searched_project(store_chunk(&store).await, 1)];
    let query = query(PATIENCE);
    store
        .nearest(SHELF.tenant, &projects, &query)
        .await
        .unwrap();
    let requests = double.take_requests();
    let searched = requests
        .iter()
        .filter(|requests| ["points.query_batch", "points.count"].contains(&requests.method))
        .flat_map(|requests| &requests.filters);
    let conditions: Vec<usize> = searched.map(|filter| filter.must.len()).collect();
    assert!(!conditions.is_empty());
    assert!(conditions.iter().all(|count| *count == 1), "{conditions:?}");
}

#[test]
fn requests_for_chunks_are_built_in_one_file_only() {
    let elsewhere = [
        include_str!("../qdrant.rs"),
        include_str!("../qdrant/batches.rs"),
        include_str!("../qdrant/collection.rs"),
        include_str!("../qdrant/search_permits.rs"),
        include_str!("../qdrant/failure.rs"),
        include_str!("../qdrant/fields.rs"),
        include_str!("../qdrant/connection.rs"),
        include_str!("../qdrant/point.rs"),
        include_str!("../qdrant/completeness.rs"),
        include_str!("../qdrant/search.rs"),
        include_str!("../qdrant/server.rs"),
        include_str!("../qdrant/schema.rs"),
    ];
    let built = [
        "QueryPoints {",
        "CountPoints {",
        "DeletePoints {",
        "Filter::",
        "Condition::",
    ];
    let here = include_str!("../qdrant/requests.rs");
    for name in built {
        assert!(here.contains(name), "{name} is built in requests.rs");
        assert!(elsewhere.iter().all(|file| !file.contains(name)), "{name}");
    }
    for other in [
        "ScrollPoints",
        "GetPoints",
        "SearchPoints",
        "FacetCounts",
        "QueryPointGroups",
    ] {
        assert!(!here.contains(other), "{other} needs a scope first");
        assert!(
            elsewhere.iter().all(|file| !file.contains(other)),
            "{other}"
        );
    }
}
