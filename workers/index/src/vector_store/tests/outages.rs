//! A server that is away, slow or of another mind: what a call is told, and that it is
//! found again without a restart.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, timeout};
use tonic::Code;
use uuid::Uuid;

use super::{
    Double, Home, HomeError, PATIENCE, QdrantHome, SHELF, ask, config, double::Mood, keep, model,
    one_text, open,
};

/// A server and a home in it, which has one chunk.
async fn kept() -> (Double, QdrantHome, Uuid) {
    let double = Double::start().await;
    let home = open(&config(&double.url()), Some(&model(2)));
    let store = keep(&home).await;
    assert_eq!(ask(&home, store, PATIENCE).await.unwrap(), (1, 1));
    (double, home, store)
}

/// Asks until there is an answer.
async fn comes_back(home: &QdrantHome, store: Uuid) -> (usize, usize) {
    let asking = async {
        loop {
            match ask(home, store, PATIENCE).await {
                Ok(found) => return found,
                Err(error) => assert!(matches!(error, HomeError::Away { .. }), "{error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, asking).await.expect("it comes back")
}

#[tokio::test]
async fn a_server_that_is_away_at_the_start_is_found_when_it_comes() {
    let mut double = Double::start().await;
    double.stop();
    let home = open(&config(&double.url()), Some(&model(2)));
    let away = ask(&home, Uuid::nil(), PATIENCE).await.unwrap_err();
    assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    double.start_again().await;
    let prepared = async {
        while home.prepare().await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, prepared).await.expect("it is found");
    let store = keep(&home).await;
    assert_eq!(ask(&home, store, PATIENCE).await.unwrap(), (1, 1));
}

#[tokio::test]
async fn a_server_that_crashed_is_away_until_it_is_back_and_nothing_is_lost() {
    let (mut double, home, store) = kept().await;
    double.stop();
    let away = ask(&home, store, PATIENCE).await.unwrap_err();
    assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    for error in [
        home.upsert(SHELF, &one_text()).await.unwrap_err(),
        home.remove(SHELF, &[[7; 20]]).await.unwrap_err(),
        home.count(SHELF).await.unwrap_err(),
    ] {
        assert!(matches!(error, HomeError::Away { .. }), "{error:?}");
    }
    double.start_again().await;
    assert_eq!(comes_back(&home, store).await, (1, 1));
}

#[tokio::test]
async fn a_server_that_comes_back_with_less_than_it_had_gives_no_answer() {
    for lose in [Double::lose_everything, Double::lose_half] {
        let (mut double, home, store) = kept().await;
        double.stop();
        lose(&double);
        double.start_again().await;
        let asking = async {
            loop {
                match ask(&home, store, PATIENCE).await {
                    Err(HomeError::Lost { projects }) => return projects,
                    Err(HomeError::Away { .. }) => {}
                    other => panic!("{other:?}"),
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let lost = timeout(PATIENCE, asking).await.expect("it comes back");
        assert_eq!(lost, [SHELF.project]);
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_costs_three_calls_their_deadline_and_no_other() {
    let (double, home, store) = kept().await;
    double.be(Mood::Silent);
    let slow = join_all((0..3).map(|_| ask(&home, store, Duration::from_millis(1100)))).await;
    for outcome in slow {
        let late = outcome.unwrap_err();
        assert!(matches!(late, HomeError::Late(_)), "{late:?}");
    }
    double.seen();
    let calls = join_all((0..20).map(|_| ask(&home, store, PATIENCE))).await;
    for outcome in calls {
        let away = outcome.unwrap_err();
        assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    }
    assert!(double.seen().is_empty(), "it was left alone");
    double.be(Mood::Well);
    assert_eq!(comes_back(&home, store).await, (1, 1));
}

#[tokio::test]
async fn a_request_that_is_too_much_for_the_server_holds_up_no_other() {
    let (double, home, store) = kept().await;
    double.be(Mood::Silent);
    let late = ask(&home, store, Duration::from_millis(1100))
        .await
        .unwrap_err();
    assert!(matches!(late, HomeError::Late(_)), "{late:?}");
    double.be(Mood::Refusing(Code::ResourceExhausted));
    let away = ask(&home, store, PATIENCE).await.unwrap_err();
    assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    double.be(Mood::Well);
    assert_eq!(
        ask(&home, store, PATIENCE).await.unwrap(),
        (1, 1),
        "at once"
    );
}

#[tokio::test]
async fn a_call_in_a_hurry_is_late_and_says_nothing_of_the_server() {
    let (double, home, store) = kept().await;
    double.be(Mood::Silent);
    let begun = Instant::now();
    let late = ask(&home, store, Duration::from_millis(50))
        .await
        .unwrap_err();
    assert!(matches!(late, HomeError::Late(_)), "{late:?}");
    assert!(begun.elapsed() < PATIENCE);
    double.be(Mood::Well);
    assert_eq!(ask(&home, store, PATIENCE).await.unwrap(), (1, 1));
}

#[tokio::test]
async fn what_a_server_will_not_do_is_refused_and_what_it_can_not_do_now_is_away() {
    let refused = [
        Code::InvalidArgument,
        Code::PermissionDenied,
        Code::Unauthenticated,
        Code::FailedPrecondition,
    ];
    let away = [
        Code::Unavailable,
        Code::ResourceExhausted,
        Code::Internal,
        Code::Cancelled,
        Code::Unknown,
    ];
    let meetings = refused.into_iter().chain(away).map(async |code| {
        let (double, home, store) = kept().await;
        double.be(Mood::Refusing(code));
        let error = ask(&home, store, PATIENCE).await.unwrap_err();
        let as_expected = match &error {
            HomeError::Refused { .. } => refused.contains(&code),
            HomeError::Away { .. } => away.contains(&code),
            _ => false,
        };
        assert!(as_expected, "{code:?}: {error:?}");
        double.be(Mood::Well);
        assert_eq!(comes_back(&home, store).await, (1, 1), "{code:?}");
    });
    join_all(meetings).await;
}

#[tokio::test]
async fn of_a_hundred_calls_at_once_to_a_server_that_hangs_few_reach_it() {
    let (double, home, store) = kept().await;
    double.be(Mood::Silent);
    double.seen();
    // What was heard of it before counts for a moment.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    let calls = join_all((0..100).map(async |_| {
        let error = ask(&home, store, PATIENCE).await.unwrap_err();
        (error, begun.elapsed())
    }));
    let calls = calls.await;
    let reached: Vec<&str> = double.seen().iter().map(|seen| seen.method).collect();
    let searches = reached.iter().filter(|it| **it == "points.query_batch");
    assert_eq!(searches.count(), 8, "{reached:?}");
    let signs = reached.iter().filter(|it| **it == "health_check").count();
    assert_eq!(signs + 8, reached.len(), "{reached:?}");
    assert!((1..=3).contains(&signs), "one asks for all: {reached:?}");
    let (late, told): (Vec<_>, Vec<_>) = calls
        .iter()
        .partition(|(error, _)| matches!(error, HomeError::Late(_)));
    assert_eq!(late.len(), 8, "{calls:?}");
    for (error, _) in &told {
        assert!(matches!(error, HomeError::Away { .. }), "{error:?}");
    }
    let first_late = late.iter().map(|(_, took)| *took).min().unwrap();
    assert!(first_late >= Duration::from_secs(2), "{first_late:?}");
    assert!(told.iter().all(|(_, took)| *took < first_late), "{calls:?}");
    // And nobody waits longer than a sign of life would take, until it is back.
    double.be(Mood::Well);
    assert_eq!(comes_back(&home, store).await, (1, 1));
}

/// By the paused clock: the server says nothing, so time passes only from one limit to the next, and
/// how busy the machine is does not count.
#[tokio::test]
async fn calls_that_a_server_that_hangs_has_no_room_for_are_told_in_100_ms() {
    let (double, home, store) = kept().await;
    double.be(Mood::Silent);
    tokio::time::pause();
    // What was heard of it before counts for a moment.
    tokio::time::advance(Duration::from_millis(300)).await;
    let begun = Instant::now();
    let calls = join_all((0..100).map(async |_| {
        let error = ask(&home, store, PATIENCE).await.unwrap_err();
        (error, begun.elapsed())
    }));
    let calls = calls.await;
    let (late, told): (Vec<_>, Vec<_>) = calls
        .iter()
        .partition(|(error, _)| matches!(error, HomeError::Late(_)));
    assert_eq!((late.len(), told.len()), (8, 92), "{calls:?}");
    for (error, took) in told {
        assert!(matches!(error, HomeError::Away { .. }), "{error:?}");
        // The clock of timers counts in milliseconds, rounded up.
        assert!(*took <= Duration::from_millis(101), "{took:?}");
    }
}

#[tokio::test]
async fn a_burst_of_calls_to_a_server_that_is_well_is_answered_whole() {
    let (_double, home, store) = kept().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let calls = join_all((0..100).map(|_| ask(&home, store, PATIENCE))).await;
    for outcome in calls {
        assert_eq!(outcome.unwrap(), (1, 1));
    }
}

#[tokio::test]
async fn calls_that_meet_a_server_for_the_first_time_do_not_queue_behind_one_look() {
    let double = Double::start().await;
    let home = open(&config(&double.url()), Some(&model(2)));
    double.be(Mood::Silent);
    let calls = join_all((0..100).map(|_| ask(&home, Uuid::nil(), PATIENCE))).await;
    let is_away = |outcome: &&Result<_, HomeError>| matches!(outcome, Err(HomeError::Away { .. }));
    // Who looks waits for a second, and nobody else does.
    let away = calls.iter().filter(is_away).count();
    assert!(away >= 98, "{calls:?}");
    let seen = double.seen();
    let looks = seen.iter().filter(|seen| seen.method == "health_check");
    assert_eq!(looks.count(), seen.len(), "{seen:?}");
    assert!(seen.len() <= 3, "{seen:?}");
}

#[tokio::test]
async fn what_meets_a_collection_that_comes_or_goes_is_away_and_not_refused() {
    for code in [Code::NotFound, Code::AlreadyExists, Code::Internal] {
        let (double, home, store) = kept().await;
        double.be(Mood::Refusing(code));
        for error in [
            home.upsert(SHELF, &one_text()).await.unwrap_err(),
            home.remove(SHELF, &[[7; 20]]).await.unwrap_err(),
        ] {
            assert!(
                matches!(error, HomeError::Away { .. }),
                "{code:?}: {error:?}"
            );
        }
        let error = ask(&home, store, PATIENCE).await.unwrap_err();
        let is_lost = matches!(error, HomeError::Lost { .. });
        let is_away = matches!(error, HomeError::Away { .. });
        assert!(is_lost || is_away, "{code:?}: {error:?}");
    }
}
