//! No request leaves that does not say whose chunks it means.

use std::{collections::HashSet, sync::Arc};

use qdrant_client::qdrant::{Filter, condition::ConditionOneOf, r#match::MatchValue};

use super::{Double, Home, PATIENCE, SHELF, asked, config, keep, model, open, question};
use crate::chunk::Kind;

/// Whether nothing but the tenant's can be meant.
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
        let is_own = |shelf: &String| shelf.split_once('/').is_some_and(|it| it.0 == tenant);
        let is_within = match value {
            Some(MatchValue::Keyword(shelf)) => is_own(shelf),
            Some(MatchValue::Keywords(any)) => any.strings.iter().all(is_own),
            _ => false,
        };
        field.key == "shelf" && is_within
    })
}

#[tokio::test]
async fn every_request_for_chunks_names_its_tenant_and_its_deadline() {
    let double = Double::start().await;
    let home = open(&config(&double.url()), Some(&model(2)));
    let asked = [asked(keep(&home).await, 1)];
    home.count(SHELF).await.unwrap();
    let mut question = question(PATIENCE);
    home.nearest(SHELF.tenant, &asked, &question).await.unwrap();
    question.filter.kinds = Some(vec![Kind::Function]);
    question.filter.blobs = Some(Arc::new(HashSet::from([[7; 20]])));
    let found = home.nearest(SHELF.tenant, &asked, &question).await.unwrap();
    assert_eq!((found.dense.len(), found.sparse.len()), (1, 1));
    home.remove(SHELF, &[[7; 20]]).await.unwrap();
    let seen = double.seen();
    let filters: Vec<_> = seen
        .iter()
        .filter(|seen| seen.method != "points.create_field_index")
        .filter(|seen| seen.method.starts_with("points."))
        .map(|seen| (seen.method, seen.filters.len()))
        .collect();
    // A search has two filters for words: what may be found, and where words are counted. After it
    // it is counted whether all is there.
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
    for seen in seen {
        assert!(seen.filters.iter().all(within_the_tenant), "{seen:?}");
        assert!(seen.timed, "{seen:?}");
    }
}

#[tokio::test]
async fn what_is_found_in_whole_projects_is_said_by_one_condition() {
    let double = Double::start().await;
    let home = open(&config(&double.url()), Some(&model(2)));
    let asked = [asked(keep(&home).await, 1)];
    let question = question(PATIENCE);
    home.nearest(SHELF.tenant, &asked, &question).await.unwrap();
    let seen = double.seen();
    let searched = seen
        .iter()
        .filter(|seen| ["points.query_batch", "points.count"].contains(&seen.method))
        .flat_map(|seen| &seen.filters);
    let conditions: Vec<usize> = searched.map(|filter| filter.must.len()).collect();
    assert!(!conditions.is_empty());
    assert!(conditions.iter().all(|count| *count == 1), "{conditions:?}");
}

#[test]
fn requests_for_chunks_are_made_in_one_file_alone() {
    let elsewhere = [
        include_str!("../qdrant.rs"),
        include_str!("../qdrant/batches.rs"),
        include_str!("../qdrant/collection.rs"),
        include_str!("../qdrant/crowd.rs"),
        include_str!("../qdrant/failure.rs"),
        include_str!("../qdrant/fields.rs"),
        include_str!("../qdrant/line.rs"),
        include_str!("../qdrant/point.rs"),
        include_str!("../qdrant/proof.rs"),
        include_str!("../qdrant/search.rs"),
        include_str!("../qdrant/server.rs"),
        include_str!("../qdrant/shape.rs"),
    ];
    let made = [
        "QueryPoints {",
        "CountPoints {",
        "DeletePoints {",
        "Filter::",
        "Condition::",
    ];
    let here = include_str!("../qdrant/requests.rs");
    for name in made {
        assert!(here.contains(name), "{name} is made in requests.rs");
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
