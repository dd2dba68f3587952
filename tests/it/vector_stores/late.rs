//! What a worker writes after its lease ended is put right by the next run.

use archway_index::vector_store::{IndexedText, MemoryBudget, PostgresStore, VectorStore};
use archway_store::{Blob, Lease, StoreConfig, StoredText, Stores};
use e2e::{Embeddings, Harness, Repo, Stack, Tenant};
use serde_json::json;
use sqlx::PgPool;
use tokio::time::Duration;
use uuid::Uuid;

use super::cases::chunk_at;

/// Whether the worker's own index is whole, and nobody holds it.
const IS_WHOLE: &str = "select exists (select from indexes where edition > 0 and not lacks_vectors \
    and holder is null and not coalesce(asked_at > indexed_at, false))";
/// A fingerprint of all stored chunks, with their vectors.
const CHUNKS: &str = "select md5(string_agg(blob || pieces, '' order by blob)) from index_pieces";

/// A worker's index, and the vector store and records that another worker would write to.
struct Scene {
    stack: Stack,
    owner: PgPool,
    stores: Stores,
    made_by: String,
    /// Answers until this value is dropped.
    _service: Embeddings,
}

impl Scene {
    async fn whole() -> Scene {
        let service = Embeddings::start(8).await;
        let repo = Repo::new()
            .file("gate.rs", "pub fn open_gate() {}\n")
            .file("bell.rs", "pub fn ring_bell() {}\n");
        let tenant = Tenant::new("acme").project("site", repo.commit());
        let harness = Harness::new().tenant(tenant).indexing().embedder(&service);
        let stack = harness.start().await;
        let owner = stack.database().owner();
        let owner = PgPool::connect_with(owner).await.unwrap();
        let stores = Stores::connect(&StoreConfig {
            url: stack.database().url("archway_worker").into(),
            max_connections: 2,
        });
        let is_whole = async || is_whole(&owner).await.then_some(());
        stack.eventually(is_whole).await;
        let made_by = "select made_by from indexes";
        Scene {
            made_by: sqlx::query_scalar(made_by).fetch_one(&owner).await.unwrap(),
            stores: stores.unwrap(),
            stack,
            owner,
            _service: service,
        }
    }

    async fn chunks(&self) -> String {
        let chunks = sqlx::query_scalar(CHUNKS).fetch_one(&self.owner).await;
        chunks.unwrap()
    }

    /// A lease of another worker that ended before its last write.
    async fn ended_lease(&self) -> Lease {
        let tenant = self.stores.tenant(self.stack.tenant_id("acme"));
        let project = "select project_id from indexes";
        let project = sqlx::query_scalar::<_, Uuid>(project);
        let project = project.fetch_one(&self.owner).await.unwrap();
        let taken = async || {
            let taken =
                tenant.acquire_lease(project, &self.made_by, (Uuid::new_v4(), Duration::ZERO));
            taken.await.unwrap()
        };
        let lease = self.stack.eventually(taken).await;
        let end = "update indexes set held_until = now() - interval '1 second'";
        sqlx::query(end).execute(&self.owner).await.unwrap();
        lease
    }

    /// Writes a text by its words alone after the lease ended, and notes it.
    async fn write_late(&self, blob: Blob) {
        let lease = self.ended_lease().await;
        let mut chunks = vec![chunk_at(0.0, &[(1, 1)])];
        chunks[0].dense = None;
        let store = PostgresStore::new(
            self.stores.clone(),
            &self.made_by,
            None,
            MemoryBudget::default(),
        );
        let texts = [IndexedText { blob, chunks }];
        store.upsert(lease.project_key, &texts).await.unwrap();
        let written = StoredText {
            blob,
            chunks: 1,
            words: 1,
            lacks_vectors: true,
        };
        let tenant = self.stores.tenant(lease.project_key.tenant);
        assert!(!tenant.record_texts(lease, &[written]).await.unwrap());
    }

    /// Waits until exactly these chunks are stored.
    async fn has_again(&self, chunks: &str) {
        let is_same = async || (self.chunks().await == chunks).then_some(());
        self.stack.eventually(is_same).await;
        let is_whole = async || is_whole(&self.owner).await.then_some(());
        self.stack.eventually(is_whole).await;
        assert_eq!(self.chunks().await, chunks);
    }
}

async fn is_whole(owner: &PgPool) -> bool {
    let is_whole = sqlx::query_scalar(IS_WHOLE).fetch_one(owner).await;
    is_whole.unwrap()
}

#[tokio::test]
async fn a_late_write_by_words_alone_gets_its_vectors_back() {
    let scene = Scene::whole().await;
    let before = scene.chunks().await;
    let blob = "select blob from index_pieces order by blob limit 1";
    let blob = sqlx::query_scalar::<_, Vec<u8>>(blob);
    let blob = blob.fetch_one(&scene.owner).await.unwrap();
    scene.write_late(blob.try_into().unwrap()).await;
    scene.has_again(&before).await;
    let client = scene.stack.client("acme");
    let query = json!({ "query": "open gate" });
    let reply = client.call("context_search", query).await;
    assert_eq!(reply.structured()["index"]["mode"], "hybrid");
}

#[tokio::test]
async fn a_late_write_of_a_text_that_was_removed_is_removed_again() {
    let scene = Scene::whole().await;
    let before = scene.chunks().await;
    scene.write_late([7; 20]).await;
    assert_ne!(scene.chunks().await, before);
    scene.has_again(&before).await;
}
