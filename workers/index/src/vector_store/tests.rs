//! The contract of every store ([`cases`]), and how the Qdrant store copes with a server that is
//! unavailable, slow, misconfigured or empty.
//!
//! Tests use the Qdrant at `ARCHWAY_TEST_QDRANT_URL`, in collections that they remove afterwards; if
//! unset, the [`double`]. Tests in which the server stops, hangs or fails always use the double.

use std::time::Duration;

use archway_store as store;
use archway_store::ProjectKey;
use futures::{FutureExt, future::LocalBoxFuture};
use qdrant_client::qdrant::{
    DeleteCollection, ListCollectionsRequest, collections_client::CollectionsClient,
    points_client::PointsClient,
};
use tokio::time::Instant;
use tonic::transport::Channel;
use uuid::Uuid;

use super::{
    ChunkLocation, Filter, IndexedChunk, IndexedText, NearestQuery, SearchedProject, VectorStore,
    VectorStoreError,
    qdrant::{QdrantConfig, QdrantServer, QdrantStore},
};
use crate as index;
use crate::{chunk::Kind, embed::Model, terms::Terms};
use cases::StoreFixture;
use double::QdrantDouble;

#[macro_use]
mod cases;
mod double;
mod losses;
mod access;
mod outages;
mod schemas;
mod tenant_scope;

mod in_qdrant {
    every_case!(super::QdrantFixture);
}

/// A store in Qdrant.
struct QdrantFixture {
    store: QdrantStore,
    server: TestServer,
}

/// A Qdrant server, and one test's collections in it.
struct TestServer {
    config: QdrantConfig,
    /// Set unless a real server is configured.
    _double: Option<QdrantDouble>,
}

impl TestServer {
    async fn start() -> TestServer {
        let configured = std::env::var_os("ARCHWAY_TEST_QDRANT_URL");
        let configured = configured.map(|url| url.into_string().unwrap());
        let (url, double) = match configured.filter(|url| !url.is_empty()) {
            Some(url) => (url, None),
            None => {
                let double = QdrantDouble::start().await;
                (double.url(), Some(double))
            }
        };
        TestServer {
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

    /// The names of the test's collections.
    async fn names(&self) -> Vec<String> {
        let mut client = self.collections().await;
        let all = client.list(ListCollectionsRequest {}).await.unwrap();
        let all = all.into_inner().collections.into_iter();
        all.map(|collection| collection.name)
            .filter(|name| name.starts_with(&self.config.qdrant_collection))
            .collect()
    }

    /// Drops the test's collections.
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

impl StoreFixture for QdrantFixture {
    fn start(dimensions: Option<usize>) -> LocalBoxFuture<'static, Self> {
        async move {
            let server = TestServer::start().await;
            let store = open(&server.config, dimensions.map(model).as_ref());
            store.prepare().await.unwrap();
            QdrantFixture { store, server }
        }
        .boxed_local()
    }

    fn store(&self) -> &dyn VectorStore {
        &self.store
    }

    fn end(self) -> LocalBoxFuture<'static, ()> {
        async move { self.server.drop_all().await }.boxed_local()
    }
}

/// Upper bound of any wait, however busy the machine is.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The configuration of a server, with a collection prefix of its own.
fn config(url: &str) -> QdrantConfig {
    QdrantConfig {
        qdrant_url: Some(url.to_owned()),
        qdrant_collection: format!("test-{}", Uuid::new_v4().simple()),
        ..QdrantConfig::default()
    }
}

fn open(config: &QdrantConfig, model: Option<&Model>) -> QdrantStore {
    QdrantStore::open(&QdrantServer::read(config).unwrap(), model)
}

fn model(dimensions: usize) -> Model {
    Model {
        name: "test".to_owned(),
        dimensions,
    }
}

/// One text with one chunk.
fn one_text() -> Vec<IndexedText> {
    vec![IndexedText {
        blob: [7; 20],
        chunks: vec![IndexedChunk {
            location: ChunkLocation {
                kind: Kind::Function,
                symbol: None,
                parent: None,
                bytes: (0, 10),
                lines: (1, 2),
                declaration: None,
            },
            terms: Terms {
                counts: vec![(1, 1)],
                length: 1,
            },
            dense: Some(vec![1.0, 0.0]),
        }],
    }]
}

/// A query for that chunk, with this timeout.
fn query(time: Duration) -> NearestQuery {
    NearestQuery {
        dense: Some(vec![1.0, 0.0]),
        terms: vec![1],
        filter: Filter::default(),
        limit: 10,
        required: None,
        deadline: Instant::now() + time,
    }
}

const PROJECT_KEY: ProjectKey = ProjectKey {
    tenant: Uuid::from_u128(1),
    project: Uuid::from_u128(2),
};

/// A project with this many chunks in this store.
fn searched_project(store_id: Uuid, chunks: u64) -> SearchedProject {
    SearchedProject {
        project: PROJECT_KEY.project,
        edition: 1,
        store_id,
        chunks,
    }
}

/// Searches for the chunk; returns the number of matches by vector and by words.
async fn search(
    store: &QdrantStore,
    id: Uuid,
    time: Duration,
) -> Result<(usize, usize), VectorStoreError> {
    let projects = [searched_project(id, 1)];
    let found = store
        .nearest(PROJECT_KEY.tenant, &projects, &query(time))
        .await?;
    Ok((found.dense.len(), found.sparse.len()))
}

/// Stores the chunk, creating the collection if necessary; returns the store's id.
async fn store_chunk(store: &QdrantStore) -> Uuid {
    let id = store.prepare().await.unwrap();
    store.upsert(PROJECT_KEY, &one_text()).await.unwrap();
    id
}

/// Everything that a log may show of an error.
fn full_text(error: &VectorStoreError) -> String {
    format!("{} {error:?}", archway_proto::chain::Chain(error))
}
