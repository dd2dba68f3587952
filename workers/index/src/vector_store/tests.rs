//! What every home promises ([`cases`]), asked of each; and how the one in Qdrant meets a server
//! that is away, slow, wrong or empty.
//!
//! Qdrant is the one at `ARCHWAY_TEST_QDRANT_URL`, in collections that are removed afterwards; where
//! none is given, the [`double`]. Tests that have the server stop, hang or fail always take that.

use std::time::Duration;

use archway_store as store;
use archway_store::Shelf;
use futures::{FutureExt, future::LocalBoxFuture};
use qdrant_client::qdrant::{
    DeleteCollection, ListCollectionsRequest, collections_client::CollectionsClient,
    points_client::PointsClient,
};
use tokio::time::Instant;
use tonic::transport::Channel;
use uuid::Uuid;

use super::{
    Asked, Filter, Home, HomeError, Piece, Place, Question, Text,
    qdrant::{QdrantConfig, QdrantHome, QdrantServer},
};
use crate as index;
use crate::{chunk::Kind, embed::Model, terms::Terms};
use cases::Stage;
use double::Double;

#[macro_use]
mod cases;
mod double;
mod losses;
mod access;
mod outages;
mod shapes;
mod whose;

mod in_qdrant {
    every_case!(super::InQdrant);
}

/// A home in a Qdrant.
struct InQdrant {
    home: QdrantHome,
    server: Server,
}

/// A Qdrant, and the collections of one test in it.
struct Server {
    config: QdrantConfig,
    /// Where no other server was given.
    _double: Option<Double>,
}

impl Server {
    async fn start() -> Server {
        let given = std::env::var_os("ARCHWAY_TEST_QDRANT_URL");
        let given = given.map(|url| url.into_string().unwrap());
        let (url, double) = match given.filter(|url| !url.is_empty()) {
            Some(url) => (url, None),
            None => {
                let double = Double::start().await;
                (double.url(), Some(double))
            }
        };
        Server {
            config: config(&url),
            _double: double,
        }
    }

    fn url(&self) -> String {
        self.config.qdrant_url.clone().unwrap()
    }

    async fn collections(&self) -> CollectionsClient<Channel> {
        CollectionsClient::connect(self.url()).await.unwrap()
    }

    async fn points(&self) -> PointsClient<Channel> {
        PointsClient::connect(self.url()).await.unwrap()
    }

    /// The collections that the test has.
    async fn names(&self) -> Vec<String> {
        let mut client = self.collections().await;
        let all = client.list(ListCollectionsRequest {}).await.unwrap();
        let all = all.into_inner().collections.into_iter();
        all.map(|collection| collection.name)
            .filter(|name| name.starts_with(&self.config.qdrant_collection))
            .collect()
    }

    /// Drops the collections that the test has, as a server loses them.
    async fn drop_all(&self) {
        let mut client = self.collections().await;
        for collection_name in self.names().await {
            let delete = DeleteCollection {
                collection_name,
                ..DeleteCollection::default()
            };
            client.delete(delete).await.unwrap();
        }
    }
}

impl Stage for InQdrant {
    fn start(dimensions: Option<usize>) -> LocalBoxFuture<'static, Self> {
        async move {
            let server = Server::start().await;
            let home = open(&server.config, dimensions.map(model).as_ref());
            home.prepare().await.unwrap();
            InQdrant { home, server }
        }
        .boxed_local()
    }

    fn home(&self) -> &dyn Home {
        &self.home
    }

    fn end(self) -> LocalBoxFuture<'static, ()> {
        async move { self.server.drop_all().await }.boxed_local()
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

/// A project of so many chunks in this store.
fn asked(store: Uuid, chunks: u64) -> Asked {
    Asked {
        project: SHELF.project,
        edition: 1,
        home: store,
        chunks,
    }
}

/// Asks for the chunk that was brought to this store; how many were found by vector and by words.
async fn ask(home: &QdrantHome, store: Uuid, time: Duration) -> Result<(usize, usize), HomeError> {
    let asked = [asked(store, 1)];
    let found = home.nearest(SHELF.tenant, &asked, &question(time)).await?;
    Ok((found.dense.len(), found.sparse.len()))
}

/// Brings the chunk home, after making the store where there is none; which one it is.
async fn keep(home: &QdrantHome) -> Uuid {
    let store = home.prepare().await.unwrap();
    home.upsert(SHELF, &one_text()).await.unwrap();
    store
}

/// All of an error, as a log has it.
fn told(error: &HomeError) -> String {
    format!("{} {error:?}", archway_proto::chain::Chain(error))
}
