//! Collections with another schema, and servers that are too old.

use qdrant_client::qdrant::{
    CreateCollection, CreateFieldIndexCollection, Distance, FieldType, Modifier,
    SparseVectorConfig, SparseVectorParams, VectorParams, VectorParamsMap, VectorsConfig,
    vectors_config,
};
use uuid::Uuid;

use super::{
    PROJECT_KEY, QdrantDouble, TEST_TIMEOUT, TestServer, VectorStore, VectorStoreError, config,
    model, one_text, open, search, store_chunk,
};

/// A collection as Archway creates it, for a model of two dimensions.
fn create_request(prefix: &str) -> CreateCollection {
    let dense = VectorParams {
        size: 2,
        distance: Distance::Cosine.into(),
        ..VectorParams::default()
    };
    let text = SparseVectorParams {
        modifier: Some(Modifier::Idf.into()),
        ..SparseVectorParams::default()
    };
    CreateCollection {
        collection_name: format!("{prefix}-test-2d-v5"),
        vectors_config: Some(named([("dense".to_owned(), dense)])),
        sparse_vectors_config: Some(SparseVectorConfig {
            map: [("text".to_owned(), text)].into(),
        }),
        ..CreateCollection::default()
    }
}

fn named<const N: usize>(vectors: [(String, VectorParams); N]) -> VectorsConfig {
    let map = vectors.into();
    VectorsConfig {
        config: Some(vectors_config::Config::ParamsMap(VectorParamsMap { map })),
    }
}

/// The outcome of using a collection that was created with this change.
async fn use_changed(change: impl FnOnce(&mut CreateCollection)) -> Result<(), VectorStoreError> {
    let server = TestServer::start().await;
    let mut collection = create_request(&server.config.qdrant_collection);
    change(&mut collection);
    server.collections().await.create(collection).await.unwrap();
    let store = open(&server.config, Some(&model(2)));
    let outcome = async {
        // It has no id, like collections from before ids existed.
        assert_eq!(store.prepare().await?, Uuid::nil());
        store.upsert(PROJECT_KEY, &one_text()).await?;
        assert_eq!(search(&store, Uuid::nil(), TEST_TIMEOUT).await?, (1, 1));
        Ok(())
    };
    let outcome = outcome.await;
    server.drop_all().await;
    outcome
}

fn assert_mismatch(outcome: Result<(), VectorStoreError>, what: &str) {
    let Err(VectorStoreError::Mismatch(message)) = outcome else {
        panic!("{what}: {outcome:?}");
    };
    for part in [what, "delete it", "--qdrant-collection", "-test-2d-v5"] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[tokio::test]
async fn an_existing_collection_with_the_schema_is_used() {
    use_changed(|_as_it_is| {}).await.unwrap();
}

#[tokio::test]
async fn a_collection_with_other_dimensions_or_distance_is_rejected() {
    let dense = |size, distance: Distance| VectorParams {
        size,
        distance: distance.into(),
        ..VectorParams::default()
    };
    let three = named([("dense".to_owned(), dense(3, Distance::Cosine))]);
    let outcome = use_changed(|it| it.vectors_config = Some(three)).await;
    assert_mismatch(outcome, "vectors of 3 numbers, not 2");
    let dot = named([("dense".to_owned(), dense(2, Distance::Dot))]);
    let outcome = use_changed(|it| it.vectors_config = Some(dot)).await;
    assert_mismatch(outcome, "cosine");
}

#[tokio::test]
async fn a_collection_without_the_named_vectors_is_rejected() {
    let nameless = VectorsConfig {
        config: Some(vectors_config::Config::Params(VectorParams {
            size: 2,
            distance: Distance::Cosine.into(),
            ..VectorParams::default()
        })),
    };
    let outcome = use_changed(|it| it.vectors_config = Some(nameless)).await;
    assert_mismatch(outcome, "\"dense\"");
    let outcome = use_changed(|it| it.sparse_vectors_config = None).await;
    assert_mismatch(outcome, "\"text\"");
}

#[tokio::test]
async fn a_collection_without_idf_is_rejected() {
    let outcome = use_changed(|it| {
        let map = [("text".to_owned(), SparseVectorParams::default())].into();
        it.sparse_vectors_config = Some(SparseVectorConfig { map });
    });
    assert_mismatch(outcome.await, "IDF");
}

#[tokio::test]
async fn a_collection_with_another_field_index_is_rejected() {
    let server = TestServer::start().await;
    let collection = create_request(&server.config.qdrant_collection);
    let index = CreateFieldIndexCollection {
        collection_name: collection.collection_name.clone(),
        field_name: "blob".to_owned(),
        field_type: Some(FieldType::Integer.into()),
        wait: Some(true),
        ..CreateFieldIndexCollection::default()
    };
    server.collections().await.create(collection).await.unwrap();
    server
        .points()
        .await
        .create_field_index(index)
        .await
        .unwrap();
    let store = open(&server.config, Some(&model(2)));
    let outcome = store.prepare().await.map(|_id| ());
    server.drop_all().await;
    assert_mismatch(outcome, "another kind of index on \"blob\"");
}

#[tokio::test]
async fn a_server_without_per_tenant_idf_is_rejected_until_upgraded() {
    let double = QdrantDouble::start().await;
    double.set_version("1.18.2");
    let store = open(&config(&double.url()), Some(&model(2)));
    let rejected = store.count(PROJECT_KEY).await.unwrap_err();
    let VectorStoreError::Mismatch(message) = &rejected else {
        panic!("{rejected:?}");
    };
    assert!(
        message.contains("1.18.2") && message.contains("1.19 or later"),
        "{message}"
    );
    double.set_version("1.20.0");
    assert_eq!(store.count(PROJECT_KEY).await.unwrap(), 0);
}

#[tokio::test]
async fn each_model_and_words_alone_have_separate_collections() {
    let server = TestServer::start().await;
    let of = |model| open(&server.config, model);
    let (two, three) = (model(2), model(3));
    let stores = [of(Some(&two)), of(Some(&three)), of(None)];
    for store in &stores {
        store.prepare().await.unwrap();
    }
    store_chunk(&stores[0]).await;
    for (store, count) in stores.iter().zip([1, 0, 0]) {
        assert_eq!(store.count(PROJECT_KEY).await.unwrap(), count);
    }
    server.drop_all().await;
}
