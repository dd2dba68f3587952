//! A server that is unavailable, slow or failing: which errors calls get, and that the store recovers
//! without a restart.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, timeout};
use tonic::Code;
use uuid::Uuid;

use super::{
    PROJECT_KEY, QdrantDouble, QdrantStore, TEST_TIMEOUT, VectorStore, VectorStoreError, config,
    double::Behavior, model, one_text, open, search, store_chunk,
};
/// A server and a store in it with one chunk.
async fn server_with_chunk() -> (QdrantDouble, QdrantStore, Uuid) {
    let double = QdrantDouble::start().await;
    let store = open(&config(&double.url()), Some(&model(2)));
    let id = store_chunk(&store).await;
    assert_eq!(search(&store, id, TEST_TIMEOUT).await.unwrap(), (1, 1));
    (double, store, id)
}

fn is_unavailable(error: &VectorStoreError) -> bool {
    matches!(error, VectorStoreError::Unavailable { .. })
}

/// Searches until it gets an answer.
async fn search_until_answered(store: &QdrantStore, id: Uuid) -> (usize, usize) {
    let answered = async {
        loop {
            match search(store, id, TEST_TIMEOUT).await {
                Ok(found) => return found,
                Err(error) => assert!(
                    matches!(error, VectorStoreError::Unavailable { .. }),
                    "{error:?}"
                ),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TEST_TIMEOUT, answered).await.expect("it recovers")
}

#[tokio::test]
async fn a_server_that_is_absent_at_start_is_used_once_it_runs() {
    let mut double = QdrantDouble::start().await;
    double.stop();
    let store = open(&config(&double.url()), Some(&model(2)));
    let unavailable = search(&store, Uuid::nil(), TEST_TIMEOUT).await.unwrap_err();
    assert!(
        matches!(unavailable, VectorStoreError::Unavailable { .. }),
        "{unavailable:?}"
    );
    double.restart().await;
    let prepared = async {
        while store.prepare().await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TEST_TIMEOUT, prepared).await.expect("it connects");
    let id = store_chunk(&store).await;
    assert_eq!(search(&store, id, TEST_TIMEOUT).await.unwrap(), (1, 1));
}

#[tokio::test]
async fn a_crash_makes_the_store_unavailable_until_the_restart() {
    let (mut double, store, id) = server_with_chunk().await;
    double.stop();
    for error in [
        search(&store, id, TEST_TIMEOUT).await.unwrap_err(),
        store.upsert(PROJECT_KEY, &one_text()).await.unwrap_err(),
        store.remove(PROJECT_KEY, &[[7; 20]]).await.unwrap_err(),
        store.count(PROJECT_KEY).await.unwrap_err(),
    ] {
        assert!(is_unavailable(&error), "{error:?}");
    }
    double.restart().await;
    assert_eq!(search_until_answered(&store, id).await, (1, 1));
}

#[tokio::test]
async fn a_server_that_restarts_with_fewer_chunks_gives_no_answer() {
    for lose in [QdrantDouble::lose_all, QdrantDouble::lose_half] {
        let (mut double, store, id) = server_with_chunk().await;
        double.stop();
        lose(&double);
        double.restart().await;
        let answered = async {
            loop {
                match search(&store, id, TEST_TIMEOUT).await {
                    Err(VectorStoreError::Lost { projects }) => return projects,
                    Err(VectorStoreError::Unavailable { .. }) => {}
                    other => panic!("{other:?}"),
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let lost = timeout(TEST_TIMEOUT, answered).await.expect("it recovers");
        assert_eq!(lost, [PROJECT_KEY.project]);
    }
}

#[tokio::test]
async fn a_silent_server_delays_three_calls_and_no_others() {
    let (double, store, id) = server_with_chunk().await;
    double.set_behavior(Behavior::Silent);
    let slow = join_all((0..3).map(|_| search(&store, id, Duration::from_millis(1100)))).await;
    for outcome in slow {
        let late = outcome.unwrap_err();
        assert!(matches!(late, VectorStoreError::Late(_)), "{late:?}");
    }
    double.take_requests();
    let calls = join_all((0..20).map(|_| search(&store, id, TEST_TIMEOUT))).await;
    for outcome in calls {
        let unavailable = outcome.unwrap_err();
        assert!(
            matches!(unavailable, VectorStoreError::Unavailable { .. }),
            "{unavailable:?}"
        );
    }
    assert!(double.take_requests().is_empty(), "no request was sent");
    double.set_behavior(Behavior::Normal);
    assert_eq!(search_until_answered(&store, id).await, (1, 1));
}

#[tokio::test]
async fn a_request_that_overloads_the_server_delays_no_others() {
    let (double, store, id) = server_with_chunk().await;
    double.set_behavior(Behavior::Silent);
    let late = search(&store, id, Duration::from_millis(1100))
        .await
        .unwrap_err();
    assert!(matches!(late, VectorStoreError::Late(_)), "{late:?}");
    double.set_behavior(Behavior::Failing(Code::ResourceExhausted));
    let unavailable = search(&store, id, TEST_TIMEOUT).await.unwrap_err();
    assert!(
        matches!(unavailable, VectorStoreError::Unavailable { .. }),
        "{unavailable:?}"
    );
    double.set_behavior(Behavior::Normal);
    assert_eq!(
        search(&store, id, TEST_TIMEOUT).await.unwrap(),
        (1, 1),
        "at once"
    );
}

#[tokio::test]
async fn a_timeout_of_a_short_deadline_does_not_blame_the_server() {
    let (double, store, id) = server_with_chunk().await;
    double.set_behavior(Behavior::Silent);
    let begun = Instant::now();
    let late = search(&store, id, Duration::from_millis(50))
        .await
        .unwrap_err();
    assert!(matches!(late, VectorStoreError::Late(_)), "{late:?}");
    assert!(begun.elapsed() < TEST_TIMEOUT);
    double.set_behavior(Behavior::Normal);
    assert_eq!(search(&store, id, TEST_TIMEOUT).await.unwrap(), (1, 1));
}

#[tokio::test]
async fn status_codes_tell_refusals_from_outages() {
    let refused = [
        Code::InvalidArgument,
        Code::PermissionDenied,
        Code::Unauthenticated,
        Code::FailedPrecondition,
    ];
    let unavailable = [
        Code::Unavailable,
        Code::ResourceExhausted,
        Code::Internal,
        Code::Cancelled,
        Code::Unknown,
    ];
    let outcomes = refused.into_iter().chain(unavailable).map(async |code| {
        let (double, store, id) = server_with_chunk().await;
        double.set_behavior(Behavior::Failing(code));
        let error = search(&store, id, TEST_TIMEOUT).await.unwrap_err();
        let as_expected = match &error {
            VectorStoreError::Refused { .. } => refused.contains(&code),
            VectorStoreError::Unavailable { .. } => unavailable.contains(&code),
            _ => false,
        };
        assert!(as_expected, "{code:?}: {error:?}");
        double.set_behavior(Behavior::Normal);
        assert_eq!(search_until_answered(&store, id).await, (1, 1), "{code:?}");
    });
    join_all(outcomes).await;
}

#[tokio::test]
async fn of_a_hundred_calls_to_a_hanging_server_few_reach_it() {
    let (double, store, id) = server_with_chunk().await;
    double.set_behavior(Behavior::Silent);
    double.take_requests();
    // An earlier answer counts as recent for 250 ms.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    let calls = join_all((0..100).map(async |_| {
        let error = search(&store, id, TEST_TIMEOUT).await.unwrap_err();
        (error, begun.elapsed())
    }));
    let calls = calls.await;
    let reached: Vec<&str> = double
        .take_requests()
        .iter()
        .map(|request| request.method)
        .collect();
    let searches = reached.iter().filter(|it| **it == "points.query_batch");
    assert_eq!(searches.count(), 8, "{reached:?}");
    let checks = reached.iter().filter(|it| **it == "health_check").count();
    assert_eq!(checks + 8, reached.len(), "{reached:?}");
    assert!((1..=3).contains(&checks), "one check for all: {reached:?}");
    let (late, rejected): (Vec<_>, Vec<_>) = calls
        .iter()
        .partition(|(error, _)| matches!(error, VectorStoreError::Late(_)));
    assert_eq!(late.len(), 8, "{calls:?}");
    for (error, _) in &rejected {
        assert!(is_unavailable(error), "{error:?}");
    }
    let first_late = late.iter().map(|(_, took)| *took).min().unwrap();
    assert!(first_late >= Duration::from_secs(2), "{first_late:?}");
    assert!(
        rejected.iter().all(|(_, took)| *took < first_late),
        "{calls:?}"
    );
    double.set_behavior(Behavior::Normal);
    assert_eq!(search_until_answered(&store, id).await, (1, 1));
}

/// On the paused clock: since the server is silent, time jumps from one timeout to the next, however
/// busy the machine is.
#[tokio::test]
async fn calls_beyond_the_bound_of_a_hanging_server_fail_in_100_ms() {
    let (double, store, id) = server_with_chunk().await;
    double.set_behavior(Behavior::Silent);
    tokio::time::pause();
    // An earlier answer counts as recent for 250 ms.
    tokio::time::advance(Duration::from_millis(300)).await;
    let begun = Instant::now();
    let calls = join_all((0..100).map(async |_| {
        let error = search(&store, id, TEST_TIMEOUT).await.unwrap_err();
        (error, begun.elapsed())
    }));
    let calls = calls.await;
    let (late, rejected): (Vec<_>, Vec<_>) = calls
        .iter()
        .partition(|(error, _)| matches!(error, VectorStoreError::Late(_)));
    assert_eq!((late.len(), rejected.len()), (8, 92), "{calls:?}");
    for (error, took) in rejected {
        assert!(is_unavailable(error), "{error:?}");
        // Timers round up to milliseconds.
        assert!(*took <= Duration::from_millis(101), "{took:?}");
    }
}

#[tokio::test]
async fn a_burst_of_calls_to_a_healthy_server_is_answered_whole() {
    let (_double, store, id) = server_with_chunk().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let calls = join_all((0..100).map(|_| search(&store, id, TEST_TIMEOUT))).await;
    for outcome in calls {
        assert_eq!(outcome.unwrap(), (1, 1));
    }
}

#[tokio::test]
async fn first_calls_do_not_queue_behind_one_check_of_the_collection() {
    let double = QdrantDouble::start().await;
    let store = open(&config(&double.url()), Some(&model(2)));
    double.set_behavior(Behavior::Silent);
    let calls = join_all((0..100).map(|_| search(&store, Uuid::nil(), TEST_TIMEOUT))).await;
    // Only the calls that check wait for a second.
    let errors = calls.iter().filter_map(|outcome| outcome.as_ref().err());
    let failed = errors.filter(|error| is_unavailable(error)).count();
    assert!(failed >= 98, "{calls:?}");
    let requests = double.take_requests();
    let mut methods = requests.iter().map(|request| request.method);
    assert!(methods.all(|method| method == "health_check") && requests.len() <= 3);
}

#[tokio::test]
async fn a_collection_created_or_deleted_meanwhile_is_an_outage() {
    for code in [Code::NotFound, Code::AlreadyExists, Code::Internal] {
        let (double, store, id) = server_with_chunk().await;
        double.set_behavior(Behavior::Failing(code));
        for error in [
            store.upsert(PROJECT_KEY, &one_text()).await.unwrap_err(),
            store.remove(PROJECT_KEY, &[[7; 20]]).await.unwrap_err(),
        ] {
            assert!(is_unavailable(&error), "{code:?}: {error:?}");
        }
        let error = search(&store, id, TEST_TIMEOUT).await.unwrap_err();
        let is_lost = matches!(error, VectorStoreError::Lost { .. });
        assert!(is_lost || is_unavailable(&error), "{code:?}: {error:?}");
    }
}
