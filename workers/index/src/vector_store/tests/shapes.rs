//! Collections that are not as they should be, and servers that are too old.

use qdrant_client::qdrant::{
    CreateCollection, CreateFieldIndexCollection, Distance, FieldType, Modifier,
    SparseVectorConfig, SparseVectorParams, VectorParams, VectorParamsMap, VectorsConfig,
    vectors_config,
};
use uuid::Uuid;

use super::{
    Double, Home, HomeError, PATIENCE, SHELF, Server, ask, config, keep, model, one_text, open,
};

/// A collection as this program makes it, for a model of two dimensions.
fn wanted(prefix: &str) -> CreateCollection {
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
        collection_name: format!("{prefix}-test-2d-v2"),
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

/// What comes of a collection that somebody made otherwise.
async fn met(change: impl FnOnce(&mut CreateCollection)) -> Result<(), HomeError> {
    let server = Server::start().await;
    let mut collection = wanted(&server.config.qdrant_collection);
    change(&mut collection);
    server.collections().await.create(collection).await.unwrap();
    let home = open(&server.config, Some(&model(2)));
    let outcome = async {
        // One that was made before there were ids.
        assert_eq!(home.prepare().await?, Uuid::nil());
        home.upsert(SHELF, &one_text()).await?;
        assert_eq!(ask(&home, Uuid::nil(), PATIENCE).await?, (1, 1));
        Ok(())
    };
    let outcome = outcome.await;
    server.drop_all().await;
    outcome
}

fn says_what_to_do(outcome: Result<(), HomeError>, what: &str) {
    let Err(HomeError::Mismatch(message)) = outcome else {
        panic!("{what}: {outcome:?}");
    };
    for part in [what, "delete it", "--qdrant-collection", "-test-2d-v2"] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[tokio::test]
async fn a_collection_that_is_there_as_it_should_be_is_taken() {
    met(|_as_it_is| {}).await.unwrap();
}

#[tokio::test]
async fn a_collection_of_other_dimensions_or_another_distance_is_refused() {
    let dense = |size, distance: Distance| VectorParams {
        size,
        distance: distance.into(),
        ..VectorParams::default()
    };
    let three = named([("dense".to_owned(), dense(3, Distance::Cosine))]);
    let outcome = met(|it| it.vectors_config = Some(three)).await;
    says_what_to_do(outcome, "vectors of 3 numbers, not 2");
    let dot = named([("dense".to_owned(), dense(2, Distance::Dot))]);
    let outcome = met(|it| it.vectors_config = Some(dot)).await;
    says_what_to_do(outcome, "cosine");
}

#[tokio::test]
async fn a_collection_without_our_vectors_is_refused() {
    let nameless = VectorsConfig {
        config: Some(vectors_config::Config::Params(VectorParams {
            size: 2,
            distance: Distance::Cosine.into(),
            ..VectorParams::default()
        })),
    };
    let outcome = met(|it| it.vectors_config = Some(nameless)).await;
    says_what_to_do(outcome, "\"dense\"");
    let outcome = met(|it| it.sparse_vectors_config = None).await;
    says_what_to_do(outcome, "\"text\"");
}

#[tokio::test]
async fn a_collection_that_takes_all_words_for_as_rare_is_refused() {
    let outcome = met(|it| {
        let map = [("text".to_owned(), SparseVectorParams::default())].into();
        it.sparse_vectors_config = Some(SparseVectorConfig { map });
    });
    says_what_to_do(outcome.await, "IDF");
}

#[tokio::test]
async fn a_collection_with_another_index_of_a_field_is_refused() {
    let server = Server::start().await;
    let collection = wanted(&server.config.qdrant_collection);
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
    let home = open(&server.config, Some(&model(2)));
    let outcome = home.prepare().await.map(|_id| ());
    server.drop_all().await;
    says_what_to_do(outcome, "another kind of index on \"blob\"");
}

#[tokio::test]
async fn a_server_that_mixes_the_words_of_tenants_is_refused_until_it_is_renewed() {
    let double = Double::start().await;
    double.say_version("1.18.2");
    let home = open(&config(&double.url()), Some(&model(2)));
    let refused = home.count(SHELF).await.unwrap_err();
    let HomeError::Mismatch(message) = &refused else {
        panic!("{refused:?}");
    };
    assert!(
        message.contains("1.18.2") && message.contains("1.19 or later"),
        "{message}"
    );
    double.say_version("1.20.0");
    assert_eq!(home.count(SHELF).await.unwrap(), 0);
}

#[tokio::test]
async fn models_and_words_alone_have_collections_of_their_own() {
    let server = Server::start().await;
    let of = |model| open(&server.config, model);
    let (two, three) = (model(2), model(3));
    let homes = [of(Some(&two)), of(Some(&three)), of(None)];
    for home in &homes {
        home.prepare().await.unwrap();
    }
    keep(&homes[0]).await;
    for (home, count) in homes.iter().zip([1, 0, 0]) {
        assert_eq!(home.count(SHELF).await.unwrap(), count);
    }
    server.drop_all().await;
}
