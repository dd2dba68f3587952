//! What a server of vectors needs before it answers: its key, and TLS.

use secrecy::SecretString;
use tonic::Code;

use super::{
    Double, Home, HomeError, PATIENCE, QdrantConfig, SHELF, ask, config, double::Mood, keep, model,
    open, told,
};

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
    let store = keep(&home).await;
    assert_eq!(ask(&home, store, PATIENCE).await.unwrap(), (1, 1));
    double.be(Mood::Refusing(Code::Internal));
    let error = ask(&home, store, PATIENCE).await.unwrap_err();
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
