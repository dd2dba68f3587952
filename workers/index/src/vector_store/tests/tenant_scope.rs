//! Every request for chunks names its tenant.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use qdrant_client::qdrant::{Filter, condition::ConditionOneOf, r#match::MatchValue};
use uuid::Uuid;

use super::{
    PROJECT_KEY, QdrantDouble, SearchedProject, TEST_TIMEOUT, VectorStore, config,
    double::RecordedRequest, model, open, query, searched_project, store_chunk,
};
use crate::chunk::Kind;
use crate::vector_store::AllowedBlobs;

/// Whether the request reads or writes chunks.
fn is_about_chunks(request: &RecordedRequest) -> bool {
    request.method.starts_with("points.") && request.method != "points.create_field_index"
}

/// Whether the filter matches only chunks of the tenant.
fn is_within_tenant(filter: &Filter) -> bool {
    let tenant = PROJECT_KEY.tenant.to_string();
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
            Some(MatchValue::Keywords(any_of)) => {
                !any_of.strings.is_empty() && any_of.strings.iter().all(is_own)
            }
            _ => false,
        };
        field.key == "shelf" && is_within
    })
}

#[tokio::test]
async fn every_request_for_chunks_names_its_tenant_and_its_deadline() {
    let double = QdrantDouble::start().await;
    let store = open(&config(&double.url()), Some(&model(2)));
    let projects = [searched_project(store_chunk(&store).await, 1)];
    store.count(PROJECT_KEY).await.unwrap();
    let mut query = query(TEST_TIMEOUT);
    store
        .nearest(PROJECT_KEY.tenant, &projects, &query)
        .await
        .unwrap();
    query.filter.kinds = Some(vec![Kind::Function]);
    query.filter.blobs = Some(AllowedBlobs::Only(Arc::new(HashSet::from([[7; 20]]))));
    let found = store
        .nearest(PROJECT_KEY.tenant, &projects, &query)
        .await
        .unwrap();
    assert_eq!((found.dense.len(), found.sparse.len()), (1, 1));
    let second = SearchedProject {
        project: Uuid::from_u128(3),
        ..projects[0]
    };
    let both = [projects[0], second];
    let lost = store.nearest(PROJECT_KEY.tenant, &both, &query).await;
    assert!(lost.is_err(), "the second has no chunks");
    store.remove(PROJECT_KEY, &[[7; 20]]).await.unwrap();
    let requests = double.take_requests();
    let filters: Vec<_> = requests
        .iter()
        .filter(|request| is_about_chunks(request))
        .map(|request| (request.method, request.filters.len()))
        .collect();
    // A search by words has two filters: one selects the candidates, one the corpus for document
    // frequencies. A count follows, to verify the answer; of several projects, one by project.
    let expected = [
        ("points.update_batch", 1),
        ("points.count", 1),
        ("points.query_batch", 3),
        ("points.count", 1),
        ("points.query_batch", 3),
        ("points.count", 1),
        ("points.query_batch", 3),
        ("points.facet", 1),
        ("points.delete", 1),
    ];
    assert_eq!(filters, expected);
    for request in requests {
        let has_filter = !request.filters.is_empty();
        assert_eq!(has_filter, is_about_chunks(&request), "{request:?}");
        assert!(request.filters.iter().all(is_within_tenant), "{request:?}");
        assert!(request.has_deadline, "{request:?}");
    }
}

#[tokio::test]
async fn a_search_of_whole_projects_has_a_single_condition() {
    let double = QdrantDouble::start().await;
    let store = open(&config(&double.url()), Some(&model(2)));
    let projects = [searched_project(store_chunk(&store).await, 1)];
    let query = query(TEST_TIMEOUT);
    store
        .nearest(PROJECT_KEY.tenant, &projects, &query)
        .await
        .unwrap();
    let requests = double.take_requests();
    let searched = requests
        .iter()
        .filter(|request| ["points.query_batch", "points.count"].contains(&request.method))
        .flat_map(|request| &request.filters);
    let conditions: Vec<usize> = searched.map(|filter| filter.must.len()).collect();
    assert!(!conditions.is_empty());
    assert!(conditions.iter().all(|count| *count == 1), "{conditions:?}");
}

/// The name and the text of each source file of the Qdrant store.
fn qdrant_sources() -> Vec<(String, String)> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let store_dir = crate_dir.join("src/vector_store");
    let mut folders = vec![store_dir.join("qdrant")];
    let mut files = vec![store_dir.join("qdrant.rs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    let source = |path: &PathBuf| {
        let name = path.strip_prefix(&store_dir).unwrap().display();
        (name.to_string(), fs::read_to_string(path).unwrap())
    };
    files.iter().map(source).collect()
}

#[test]
fn requests_for_chunks_are_built_in_one_file_only() {
    let (scoped, elsewhere): (Vec<_>, Vec<_>) = qdrant_sources()
        .into_iter()
        .partition(|(name, _)| name == "qdrant/requests.rs");
    let [(_, requests)] = scoped.as_slice() else {
        panic!("requests.rs was moved");
    };
    assert!(!elsewhere.is_empty(), "the other files were moved");
    let needs_scope = [
        "QueryPoints {",
        "CountPoints {",
        "FacetCounts {",
        "DeletePoints {",
        "Filter::",
        "Condition::",
    ];
    // These have no scope, so no file may build them.
    let unscoped = [
        "ScrollPoints",
        "GetPoints",
        "SearchPoints",
        "QueryPointGroups",
    ];
    for request in needs_scope {
        assert!(requests.contains(request), "{request}");
    }
    for request in unscoped {
        assert!(!requests.contains(request), "{request}");
    }
    for (name, text) in &elsewhere {
        for request in needs_scope.iter().chain(&unscoped) {
            assert!(!text.contains(request), "{name} builds {request}");
        }
    }
}
