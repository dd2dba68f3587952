//! A server that lost chunks, or all of them: no answer is given that is not whole, a search makes
//! nothing, and what was lost is known by its id. The double, or a real server.

use futures::future::join_all;
use qdrant_client::qdrant::{
    Condition, DeletePoints, Filter, PointsSelector, points_selector::PointsSelectorOneOf,
};
use uuid::Uuid;

use super::{
    Asked, Home, HomeError, PATIENCE, SHELF, Server, Shelf, Text, ask, asked, keep, model,
    one_text, open, question,
};

/// The texts of a project of four chunks, the same but for their blobs.
fn four_texts() -> Vec<Text> {
    let text = |number| Text {
        blob: [number; 20],
        ..one_text().remove(0)
    };
    (1..=4).map(text).collect()
}

fn lost(outcome: Result<impl std::fmt::Debug, HomeError>) -> Vec<Uuid> {
    match outcome {
        Err(HomeError::Lost { projects }) => projects,
        other => panic!("{other:?} of a home that lost chunks"),
    }
}

#[tokio::test]
async fn a_search_of_a_lost_collection_has_no_answer_and_makes_none() {
    let server = Server::start().await;
    let home = open(&server.config, Some(&model(2)));
    let store = keep(&home).await;
    assert_eq!(ask(&home, store, PATIENCE).await.unwrap(), (1, 1));
    server.drop_all().await;
    for _ in 0..2 {
        let asked = ask(&home, store, PATIENCE).await;
        assert_eq!(lost(asked), [SHELF.project]);
    }
    assert_eq!(home.identity().await.unwrap(), None);
    assert_eq!(home.count(SHELF).await.unwrap(), 0);
    let away = home.upsert(SHELF, &one_text()).await.unwrap_err();
    assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    assert!(server.names().await.is_empty(), "only a run makes one");
    server.drop_all().await;
}

#[tokio::test]
async fn what_was_in_a_collection_of_another_id_is_lost_though_the_same_is_there_again() {
    let server = Server::start().await;
    let home = open(&server.config, Some(&model(2)));
    let first = keep(&home).await;
    server.drop_all().await;
    let second = home.prepare().await.unwrap();
    assert_ne!(first, second);
    assert_eq!(home.identity().await.unwrap(), Some(second));
    // It was just made: whoever asks for what was in the first one finds nothing, and is told so.
    assert_eq!(lost(ask(&home, first, PATIENCE).await), [SHELF.project]);
    assert_eq!(lost(ask(&home, second, PATIENCE).await), [SHELF.project]);
    keep(&home).await;
    assert_eq!(lost(ask(&home, first, PATIENCE).await), [SHELF.project]);
    assert_eq!(ask(&home, second, PATIENCE).await.unwrap(), (1, 1));
    server.drop_all().await;
}

#[tokio::test]
async fn half_of_a_project_is_no_answer_and_others_are_whole_beside_it() {
    let server = Server::start().await;
    let home = open(&server.config, Some(&model(2)));
    let store = keep(&home).await;
    let halved = Shelf {
        project: Uuid::from_u128(3),
        ..SHELF
    };
    home.upsert(halved, &four_texts()).await.unwrap();
    let projects = [
        asked(store, 1),
        Asked {
            project: halved.project,
            ..asked(store, 4)
        },
    ];
    let find = async |projects: &[Asked]| {
        let question = question(PATIENCE);
        let found = home.nearest(SHELF.tenant, projects, &question);
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
async fn of_workers_that_make_the_collection_at_once_one_gives_it_its_id() {
    let server = Server::start().await;
    for _ in 0..3 {
        let homes: Vec<_> = (0..8)
            .map(|_| open(&server.config, Some(&model(2))))
            .collect();
        let stores = join_all(homes.iter().map(keep)).await;
        assert!(stores.iter().all(|store| *store == stores[0]), "{stores:?}");
        assert!(!stores[0].is_nil());
        for home in &homes {
            assert_eq!(ask(home, stores[0], PATIENCE).await.unwrap(), (1, 1));
        }
        server.drop_all().await;
    }
}
