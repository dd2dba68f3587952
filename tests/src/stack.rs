//! The whole of Archway in one process: what [`Harness::start`] makes of what a test stated.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use archway_gateway::{
    AuthConfig, Gateway, GatewayConfig, GuardConfig, UpstreamConfig,
    secrets::RootSecret,
    store::{StoreConfig, Stores},
    tenants::Tenants,
};
use archway_proto::pass::{PassMinter, PassVerifier};
use archway_workers::{
    repo::Mounts,
    server::{ConfinedWorker, Listener, WorkerConfig},
};
use secrecy::ExposeSecret;
use sqlx::PgPool;
use tempfile::TempDir;
use tokio::{net::TcpListener, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::{Client, Database, Tenant};

const POOL: &str = "shared";
/// The label of the key that every tenant has.
pub(crate) const PLAIN: &str = "";
/// Nothing in a test takes longer; a condition that is not met by then will not be.
const PATIENCE: Duration = Duration::from_secs(30);

/// Builder of a [`Stack`].
#[derive(Clone, Debug, Default)]
pub struct Harness {
    tenants: Vec<Tenant>,
}

impl Harness {
    /// Nobody yet.
    pub fn new() -> Harness {
        Harness::default()
    }

    /// Adds a tenant.
    #[must_use]
    pub fn tenant(mut self, tenant: Tenant) -> Harness {
        self.tenants.push(tenant);
        self
    }

    /// Makes database, repositories, tenants and keys, starts a worker and a gateway, and returns
    /// once the gateway has seen the worker's tools.
    pub async fn start(self) -> Stack {
        let folder = tempfile::tempdir().unwrap();
        let repositories = folder.path().join("repos");
        for tenant in &self.tenants {
            tenant.build(&repositories.join(tenant.slug()));
        }
        let database = Database::create().await;
        let owner = PgPool::connect_with(database.owner()).await.unwrap();
        let tenants = Tenants::new(owner);
        let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
        let mut keys = BTreeMap::new();
        let mut ids = BTreeMap::new();
        for tenant in &self.tenants {
            let slug = tenant.slug().to_owned();
            let id = tenants.create_tenant(&slug).await.unwrap();
            for project in tenant.projects() {
                tenants.add_project(id, project, None).await.unwrap();
            }
            for request in tenant.keys() {
                let label = request.label.clone();
                let key = tenants.issue_key(id, &secret, request).await.unwrap();
                keys.insert(
                    (slug.clone(), label),
                    key.api_key.expose_secret().to_owned(),
                );
            }
            ids.insert(slug, id);
        }

        let minter = PassMinter::generate().unwrap();
        let (worker, workers_address) = start_worker(&database, &repositories, &minter).await;
        let stop = CancellationToken::new();
        let addresses = start_gateway(&database, secret, minter, workers_address, &stop).await;
        Stack {
            address: addresses.0,
            admin: addresses.1,
            keys,
            ids,
            tenants,
            _stop: stop.drop_guard(),
            _worker: worker,
            database,
            repositories,
            _folder: folder,
        }
    }
}

async fn start_worker(
    database: &Database,
    repositories: &Path,
    minter: &PassMinter,
) -> (ConfinedWorker, SocketAddr) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let config = WorkerConfig {
        pool: POOL.to_owned(),
        search_threads: 0,
        search_cache_bytes: 64 << 20,
        blocking_calls: NonZeroUsize::new(16).unwrap(),
        max_result_bytes: 64 << 10,
        store: archway_workers::store::StoreConfig {
            url: database.url("archway_worker").into(),
            max_connections: 4,
        },
    };
    let mounts = Mounts::beneath(repositories.to_owned());
    let verifier = PassVerifier::new(&[minter.public_key()], POOL);
    let worker = tokio::task::spawn_blocking(move || {
        ConfinedWorker::start(config, mounts, verifier, Listener::Tcp(listener))
    });
    (worker.await.unwrap().expect("the worker starts"), address)
}

/// Answers where the service and the admin port are.
async fn start_gateway(
    database: &Database,
    secret: RootSecret,
    minter: PassMinter,
    worker: SocketAddr,
    stop: &CancellationToken,
) -> (SocketAddr, SocketAddr) {
    let config = GatewayConfig {
        guard: GuardConfig::default(),
        auth: AuthConfig::default(),
        upstream: UpstreamConfig {
            workers: vec![format!("http://{worker}")],
            pool: POOL.to_owned(),
            call_deadline: 30,
        },
    };
    let stores = Stores::new(&StoreConfig {
        database_url: database.url("archway_gateway").into(),
        database_connections: 4,
    });
    let gateway = Gateway::new(&config, stores.unwrap(), Arc::new(secret), minter).unwrap();
    let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let admin = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addresses = (service.local_addr().unwrap(), admin.local_addr().unwrap());
    let (serving, stop) = (gateway.clone(), stop.clone());
    tokio::spawn(async move { serving.serve(service, admin, stop).await });
    assert!(
        gateway.ready(PATIENCE).await,
        "the gateway sees the worker's tools"
    );
    addresses
}

/// A running gateway and worker with everything that was stated.
pub struct Stack {
    address: SocketAddr,
    admin: SocketAddr,
    keys: BTreeMap<(String, String), String>,
    ids: BTreeMap<String, Uuid>,
    tenants: Tenants,
    // In the order in which they end: who uses something ends before it.
    _stop: DropGuard,
    _worker: ConfinedWorker,
    database: Database,
    repositories: PathBuf,
    _folder: TempDir,
}

impl Stack {
    /// A client with the tenant's plain key: all projects, all scopes.
    pub fn client(&self, tenant: &str) -> Client {
        self.keyed(tenant, PLAIN)
    }

    /// A client with the tenant's key of this label.
    pub fn keyed(&self, tenant: &str, label: &str) -> Client {
        let key = self.keys.get(&(tenant.to_owned(), label.to_owned()));
        Client::new(self.address, key.expect("a key that the test stated"))
    }

    /// Revokes a client's key in the database; the gateway learns of it when it looks again.
    pub async fn revoke(&self, client: &Client) {
        let id = client.key().split('_').nth(1).expect("awy_<id>_…");
        self.tenants.revoke_key(id).await.unwrap();
    }

    /// Where a project's files are.
    pub fn folder(&self, tenant: &str, project: &str) -> PathBuf {
        self.repositories.join(tenant).join(project)
    }

    /// The worker's mount: `<tenant>/<project>` below it.
    pub fn repositories(&self) -> &Path {
        &self.repositories
    }

    /// Where probes ask.
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// The test's own database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// A tenant's id.
    pub fn tenant_id(&self, tenant: &str) -> Uuid {
        self.ids[tenant]
    }

    /// Asks again and again until there is an answer. Panics after half a minute.
    pub async fn eventually<T>(&self, ask: impl AsyncFn() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            assert!(
                Instant::now() < deadline,
                "the condition was not met in time"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
