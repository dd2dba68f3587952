//! What every home promises ([`cases`]), asked of each; and how the one in Qdrant meets a server
//! that is away, slow, wrong or empty.
//!
//! Qdrant is the one at `ARCHWAY_TEST_QDRANT_URL`, in collections that are removed afterwards; where
//! none is given, the [`double`], which the other tests always take.

use std::time::Duration;

use futures::{FutureExt, future::LocalBoxFuture};
use qdrant_client::qdrant::{
    DeleteCollection, ListCollectionsRequest, collections_client::CollectionsClient,
};
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    Asked, Filter, Home, HomeError, Piece, Place, Question, Shelf, Text,
    qdrant::{QdrantConfig, QdrantHome, QdrantServer},
};
use crate::index::{self, chunk::Kind, embed::Model, terms::Terms};
use cases::Stage;
use double::Double;

#[macro_use]
mod cases;
mod double;
mod outages;
mod shapes;
mod whose;

mod in_qdrant {
    every_case!(super::InQdrant);
}

/// A home in a Qdrant.
struct InQdrant {
    home: QdrantHome,
    config: QdrantConfig,
    /// Where no other server was given.
    double: Option<Double>,
}

impl Stage for InQdrant {
    fn start(dimensions: Option<usize>) -> LocalBoxFuture<'static, Self> {
        async move {
            let given = std::env::var_os("ARCHWAY_TEST_QDRANT_URL");
            let given = given.map(|url| url.into_string().unwrap());
            let (url, double) = match given.filter(|url| !url.is_empty()) {
                Some(url) => (url, None),
                None => {
                    let double = Double::start().await;
                    (double.url(), Some(double))
                }
            };
            let config = config(&url);
            let model = dimensions.map(model);
            InQdrant {
                home: open(&config, model.as_ref()),
                config,
                double,
            }
        }
        .boxed_local()
    }

    fn home(&self) -> &dyn Home {
        &self.home
    }

    fn end(self) -> LocalBoxFuture<'static, ()> {
        async move {
            // All of it: a double ends with its value.
            let InQdrant { config, double, .. } = self;
            let url = config.qdrant_url.unwrap();
            let mut client = CollectionsClient::connect(url).await.unwrap();
            let all = client.list(ListCollectionsRequest {}).await.unwrap();
            for collection in all.into_inner().collections {
                if collection.name.starts_with(&config.qdrant_collection) {
                    let collection_name = collection.name;
                    let delete = DeleteCollection {
                        collection_name,
                        ..DeleteCollection::default()
                    };
                    client.delete(delete).await.unwrap();
                }
            }
            drop(double);
        }
        .boxed_local()
    }
}

/// Nothing that a test waits for takes longer, whatever else this machine does.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server, and collections of no other test.
fn config(url: &str) -> QdrantConfig {
    QdrantConfig {
        qdrant_url: Some(url.to_owned()),
        qdrant_collection: format!("test-{}", Uuid::new_v4().simple()),
        ..QdrantConfig::default()
    }
}

fn open(config: &QdrantConfig, model: Option<&Model>) -> QdrantHome {
    QdrantHome::open(&QdrantServer::read(config).unwrap(), model)
}

fn model(dimensions: usize) -> Model {
    Model {
        name: "test".to_owned(),
        dimensions,
    }
}

/// One chunk in one text.
fn one_text() -> Vec<Text> {
    vec![Text {
        blob: [7; 20],
        pieces: vec![Piece {
            place: Place {
                kind: Kind::Function,
                symbol: None,
                parent: None,
                bytes: (0, 10),
                lines: (1, 2),
            },
            terms: Terms {
                counts: vec![(1, 1)],
                length: 1,
            },
            dense: Some(vec![1.0, 0.0]),
        }],
    }]
}

/// A question for that chunk, that is answered within a time.
fn question(time: Duration) -> Question {
    Question {
        dense: Some(vec![1.0, 0.0]),
        terms: vec![1],
        filter: Filter::default(),
        most: 10,
        deadline: Instant::now() + time,
    }
}

const SHELF: Shelf = Shelf {
    tenant: Uuid::from_u128(1),
    project: Uuid::from_u128(2),
};

/// Asks it; how many were found by vector and by words.
async fn ask(home: &QdrantHome, time: Duration) -> Result<(usize, usize), HomeError> {
    let asked = [Asked {
        project: SHELF.project,
        edition: 1,
    }];
    let found = home.nearest(SHELF.tenant, &asked, &question(time)).await?;
    Ok((found.dense.len(), found.sparse.len()))
}

/// All of an error, as a log has it.
fn told(error: &HomeError) -> String {
    format!("{} {error:?}", archway_proto::chain::Chain(error))
}
