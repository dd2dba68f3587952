//! A server that is away, slow, empty or of another mind: what a call is told, and that it is
//! found again without a restart.

use std::time::Duration;

use futures::future::join_all;
use secrecy::SecretString;
use tokio::time::{Instant, timeout};
use tonic::Code;

use super::{
    Double, Home, HomeError, PATIENCE, QdrantConfig, QdrantHome, SHELF, ask, config, double::Mood,
    model, one_text, open, told,
};

/// A server and a home in it, which has one chunk.
async fn kept() -> (Double, QdrantHome) {
    let double = Double::start().await;
    let home = open(&config(&double.url()), Some(&model(2)));
    home.upsert(SHELF, &one_text(), 1.0).await.unwrap();
    assert_eq!(ask(&home, PATIENCE).await.unwrap(), (1, 1));
    (double, home)
}

/// Asks until there is an answer.
async fn comes_back(home: &QdrantHome) -> (usize, usize) {
    let asking = async {
        loop {
            match ask(home, PATIENCE).await {
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
    let away = ask(&home, PATIENCE).await.unwrap_err();
    assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    double.start_again().await;
    assert_eq!(comes_back(&home).await, (0, 0));
    home.upsert(SHELF, &one_text(), 1.0).await.unwrap();
    assert_eq!(ask(&home, PATIENCE).await.unwrap(), (1, 1));
}

#[tokio::test]
async fn a_server_that_crashed_is_away_until_it_is_back_and_nothing_is_lost() {
    let (mut double, home) = kept().await;
    double.stop();
    let away = ask(&home, PATIENCE).await.unwrap_err();
    assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    for error in [
        home.upsert(SHELF, &one_text(), 1.0).await.unwrap_err(),
        home.remove(SHELF, &[[7; 20]]).await.unwrap_err(),
        home.count(SHELF).await.unwrap_err(),
    ] {
        assert!(matches!(error, HomeError::Away { .. }), "{error:?}");
    }
    double.start_again().await;
    assert_eq!(comes_back(&home).await, (1, 1));
}

#[tokio::test]
async fn a_server_that_says_nothing_costs_three_calls_their_deadline_and_no_other() {
    let (double, home) = kept().await;
    double.be(Mood::Silent);
    let slow = join_all((0..3).map(|_| ask(&home, Duration::from_millis(1100)))).await;
    for outcome in slow {
        let late = outcome.unwrap_err();
        assert!(matches!(late, HomeError::Late(_)), "{late:?}");
    }
    double.seen();
    let calls = join_all((0..20).map(|_| ask(&home, PATIENCE))).await;
    for outcome in calls {
        let away = outcome.unwrap_err();
        assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    }
    assert!(double.seen().is_empty(), "it was left alone");
    double.be(Mood::Well);
    assert_eq!(comes_back(&home).await, (1, 1));
}

#[tokio::test]
async fn a_request_that_is_too_much_for_the_server_holds_up_no_other() {
    let (double, home) = kept().await;
    double.be(Mood::Silent);
    let late = ask(&home, Duration::from_millis(1100)).await.unwrap_err();
    assert!(matches!(late, HomeError::Late(_)), "{late:?}");
    double.be(Mood::Refusing(Code::ResourceExhausted));
    let away = ask(&home, PATIENCE).await.unwrap_err();
    assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    double.be(Mood::Well);
    assert_eq!(ask(&home, PATIENCE).await.unwrap(), (1, 1), "at once");
}

#[tokio::test]
async fn a_call_in_a_hurry_is_late_and_says_nothing_of_the_server() {
    let (double, home) = kept().await;
    double.be(Mood::Silent);
    let begun = Instant::now();
    let late = ask(&home, Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(late, HomeError::Late(_)), "{late:?}");
    assert!(begun.elapsed() < PATIENCE);
    double.be(Mood::Well);
    assert_eq!(ask(&home, PATIENCE).await.unwrap(), (1, 1));
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
        let (double, home) = kept().await;
        double.be(Mood::Refusing(code));
        let error = ask(&home, PATIENCE).await.unwrap_err();
        let as_expected = match &error {
            HomeError::Refused { .. } => refused.contains(&code),
            HomeError::Away { .. } => away.contains(&code),
            _ => false,
        };
        assert!(as_expected, "{code:?}: {error:?}");
        double.be(Mood::Well);
        assert_eq!(comes_back(&home).await, (1, 1), "{code:?}");
    });
    join_all(meetings).await;
}

#[tokio::test]
async fn a_collection_that_was_lost_is_made_anew_and_counts_nothing() {
    let (double, home) = kept().await;
    double.lose_everything();
    assert_eq!(ask(&home, PATIENCE).await.unwrap(), (0, 0));
    double.lose_everything();
    assert_eq!(home.count(SHELF).await.unwrap(), 0);
    double.lose_everything();
    home.upsert(SHELF, &one_text(), 1.0).await.unwrap();
    assert_eq!(ask(&home, PATIENCE).await.unwrap(), (1, 1));
}

#[tokio::test]
async fn workers_that_start_at_once_make_the_collection_together() {
    let double = Double::start().await;
    let config = config(&double.url());
    let homes: Vec<_> = (0..8).map(|_| open(&config, Some(&model(2)))).collect();
    let texts = one_text();
    let kept = homes.iter().map(|home| home.upsert(SHELF, &texts, 1.0));
    for outcome in join_all(kept).await {
        outcome.unwrap();
    }
    for home in &homes {
        assert_eq!(ask(home, PATIENCE).await.unwrap(), (1, 1));
    }
}

#[tokio::test]
async fn the_key_is_said_with_each_request_and_in_no_error() {
    let double = Double::start().await;
    double.want_key("hunter2");
    let knowing = |key: Option<&str>| {
        let config = QdrantConfig {
            qdrant_key: key.map(SecretString::from),
            ..config(&double.url())
        };
        open(&config, Some(&model(2)))
    };
    for wrong in [None, Some("hunter3")] {
        let error = knowing(wrong).count(SHELF).await.unwrap_err();
        assert!(matches!(error, HomeError::Refused { .. }), "{error:?}");
        assert!(!told(&error).contains("hunter"), "{}", told(&error));
    }
    let home = knowing(Some("hunter2"));
    home.upsert(SHELF, &one_text(), 1.0).await.unwrap();
    assert_eq!(ask(&home, PATIENCE).await.unwrap(), (1, 1));
    double.be(Mood::Refusing(Code::Internal));
    let error = ask(&home, PATIENCE).await.unwrap_err();
    assert!(!told(&error).contains("hunter"), "{}", told(&error));
}

#[tokio::test]
async fn a_server_that_was_to_speak_tls_and_does_not_is_away() {
    let double = Double::start().await;
    let url = double.url().replace("http://", "https://");
    let home = open(&config(&url), Some(&model(2)));
    let away = home.count(SHELF).await.unwrap_err();
    assert!(matches!(away, HomeError::Away { .. }), "{away:?}");
    assert!(double.seen().is_empty(), "it was told nothing in the clear");
}
