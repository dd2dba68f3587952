//! A server that lost chunks or its collection: searches give no incomplete answers and create nothing,
//! and a lost collection is recognized by its id. With the double or a real server.

use futures::future::join_all;
use qdrant_client::qdrant::{
    Condition, DeletePoints, Filter, PointsSelector, points_selector::PointsSelectorOneOf,
};
use uuid::Uuid;

use super::{
    IndexedText, PROJECT_KEY, ProjectKey, SearchedProject, TEST_TIMEOUT, TestServer, VectorStore,
    VectorStoreError, model, one_text, open, query, search, searched_project, store_chunk,
};

/// Four texts of one chunk each, equal but for their blobs.
fn four_texts() -> Vec<IndexedText> {
    let text = |number| IndexedText {
        blob: [number; 20],
        ..one_text().remove(0)
    };
    (1..=4).map(text).collect()
}

fn lost(outcome: Result<impl std::fmt::Debug, VectorStoreError>) -> Vec<Uuid> {
    match outcome {
        Err(VectorStoreError::Lost { projects }) => projects,
        other => panic!("{other:?} is not VectorStoreError::Lost"),
    }
}

#[tokio::test]
async fn a_search_of_a_lost_collection_fails_and_creates_none() {
    let server = TestServer::start().await;
    let store = open(&server.config, Some(&model(2)));
    let id = store_chunk(&store).await;
    assert_eq!(search(&store, id, TEST_TIMEOUT).await.unwrap(), (1, 1));
    server.drop_all().await;
    for _ in 0..2 {
        let asked = search(&store, id, TEST_TIMEOUT).await;
        assert_eq!(lost(asked), [PROJECT_KEY.project]);
    }
    assert_eq!(store.identity().await.unwrap(), None);
    assert_eq!(store.count(PROJECT_KEY).await.unwrap(), 0);
    let away = store.upsert(PROJECT_KEY, &one_text()).await.unwrap_err();
    assert!(
        matches!(away, VectorStoreError::Unavailable { .. }),
        "{away:?}"
    );
    assert!(server.names().await.is_empty(), "only a run creates one");
    server.drop_all().await;
}

#[tokio::test]
async fn chunks_of_a_former_collection_are_lost_even_if_stored_again() {
    let server = TestServer::start().await;
    let store = open(&server.config, Some(&model(2)));
    let first = store_chunk(&store).await;
    server.drop_all().await;
    let second = store.prepare().await.unwrap();
    assert_ne!(first, second);
    assert_eq!(store.identity().await.unwrap(), Some(second));
    // The new collection is empty: searches of either fail.
    assert_eq!(
        lost(search(&store, first, TEST_TIMEOUT).await),
        [PROJECT_KEY.project]
    );
    assert_eq!(
        lost(search(&store, second, TEST_TIMEOUT).await),
        [PROJECT_KEY.project]
    );
    store_chunk(&store).await;
    assert_eq!(
        lost(search(&store, first, TEST_TIMEOUT).await),
        [PROJECT_KEY.project]
    );
    assert_eq!(search(&store, second, TEST_TIMEOUT).await.unwrap(), (1, 1));
    server.drop_all().await;
}

#[tokio::test]
async fn an_incomplete_project_fails_and_others_still_answer() {
    let server = TestServer::start().await;
    let store = open(&server.config, Some(&model(2)));
    let id = store_chunk(&store).await;
    let halved = ProjectKey {
        project: Uuid::from_u128(3),
        ..PROJECT_KEY
    };
    store.upsert(halved, &four_texts()).await.unwrap();
    let projects = [
        searched_project(id, 1),
        SearchedProject {
            project: halved.project,
            ..searched_project(id, 4)
        },
    ];
    let find = async |projects: &[SearchedProject]| {
        let query = query(TEST_TIMEOUT);
        let found = store.nearest(PROJECT_KEY.tenant, projects, &query);
        found.await.map(|found| found.dense.len())
    };
    assert_eq!(find(&projects).await.unwrap(), 5);
    let half = ["01".repeat(20), "02".repeat(20)].to_vec();
    let selected = PointsSelectorOneOf::Filter(Filter::must([Condition::matches("blob", half)]));
    let delete = DeletePoints {
        collection_name: server.names().await.remove(0),
        wait: Some(true),
        points: Some(PointsSelector {
            points_selector_one_of: Some(selected),
        }),
        ..DeletePoints::default()
    };
    server.points().await.delete(delete).await.unwrap();
    assert_eq!(lost(find(&projects).await), [halved.project]);
    assert_eq!(lost(find(&projects[1..]).await), [halved.project]);
    assert_eq!(find(&projects[..1]).await.unwrap(), 1);
    server.drop_all().await;
}

#[tokio::test]
async fn concurrent_creations_of_the_collection_agree_on_its_id() {
    let server = TestServer::start().await;
    for _ in 0..3 {
        let stores: Vec<_> = (0..8)
            .map(|_| open(&server.config, Some(&model(2))))
            .collect();
        let ids = join_all(stores.iter().map(store_chunk)).await;
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        assert!(!ids[0].is_nil());
        for store in &stores {
            assert_eq!(search(store, ids[0], TEST_TIMEOUT).await.unwrap(), (1, 1));
        }
        server.drop_all().await;
    }
}
