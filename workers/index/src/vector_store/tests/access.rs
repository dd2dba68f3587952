//! Authentication and TLS of the Qdrant store.

use secrecy::SecretString;
use tonic::Code;

use super::{
    PROJECT_KEY, QdrantConfig, QdrantDouble, TEST_TIMEOUT, VectorStore, VectorStoreError, config,
    double::Behavior, full_text, model, open, search, store_chunk,
};

#[tokio::test]
async fn the_key_is_sent_with_each_request_and_never_shown() {
    let double = QdrantDouble::start().await;
    double.require_key("hunter2");
    let open_with = |key: Option<&str>| {
        let config = QdrantConfig {
            qdrant_key: key.map(SecretString::from),
            ..config(&double.url())
        };
        open(&config, Some(&model(2)))
    };
    for wrong in [None, Some("hunter3")] {
        let error = open_with(wrong).count(PROJECT_KEY).await.unwrap_err();
        assert!(
            matches!(error, VectorStoreError::Refused { .. }),
            "{error:?}"
        );
        assert!(
            !full_text(&error).contains("hunter"),
            "{}",
            full_text(&error)
        );
    }
    let store = open_with(Some("hunter2"));
    let id = store_chunk(&store).await;
    assert_eq!(search(&store, id, TEST_TIMEOUT).await.unwrap(), (1, 1));
    double.set_behavior(Behavior::Failing(Code::Internal));
    let error = search(&store, id, TEST_TIMEOUT).await.unwrap_err();
    assert!(
        !full_text(&error).contains("hunter"),
        "{}",
        full_text(&error)
    );
}

#[tokio::test]
async fn a_server_without_the_configured_tls_is_unavailable() {
    let double = QdrantDouble::start().await;
    let url = double.url().replace("http://", "https://");
    let store = open(&config(&url), Some(&model(2)));
    let unavailable = store.count(PROJECT_KEY).await.unwrap_err();
    assert!(
        matches!(unavailable, VectorStoreError::Unavailable { .. }),
        "{unavailable:?}"
    );
    assert!(
        double.take_requests().is_empty(),
        "nothing was sent unencrypted"
    );
}
