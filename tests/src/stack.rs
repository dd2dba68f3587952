//! All of Archway in one process, as a [`Harness`] describes it.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use archway::tenants::Tenants;
use archway_gateway::{
    AuthConfig, BreakerConfig, ConsoleConfig, GatewayConfig, GuardConfig, LimitsConfig,
    SamplingConfig, UpstreamConfig, secrets::RootSecret,
};
use sqlx::PgPool;
use tempfile::TempDir;
use tokio::{sync::mpsc::Sender, time::Instant};
use uuid::Uuid;

use crate::{Client, Database, Qdrant, Tenant, fixture::HangEvent, tenant::PLAIN};
use gateways::{Gateways, Shared};
use passes::PassKey;
use workers::{Worker, WorkerParts};

mod access;
mod gateways;
mod grants;
mod hosted;
mod keys;
mod passes;
mod issuers;
mod search_index;
mod terms;
mod workers;

pub use issuers::RESOURCE;
pub use terms::{until_enforced, until_limit_enforced, was_admitted};

const POOL: &str = "shared";
/// How long a test waits for a condition.
const PATIENCE: Duration = Duration::from_secs(30);

/// Builder of a [`Stack`].
#[derive(Clone, Debug)]
pub struct Harness {
    tenants: Vec<Tenant>,
    config: GatewayConfig,
    replicas: usize,
    workers: usize,
    fixture: bool,
    hung: Option<Sender<HangEvent>>,
    worker: WorkerParts,
    relayed: bool,
    issuers: Vec<String>,
}

impl Default for Harness {
    fn default() -> Self {
        Harness::new()
    }
}

impl Harness {
    /// No tenants, one gateway and one real worker.
    pub fn new() -> Harness {
        Harness {
            tenants: Vec::new(),
            config: GatewayConfig {
                name: None,
                guard: GuardConfig::default(),
                auth: AuthConfig::default(),
                breaker: BreakerConfig::default(),
                limits: LimitsConfig::default(),
                upstream: UpstreamConfig {
                    workers: Vec::new(),
                    pool: POOL.to_owned(),
                    worker_ca: None,
                    call_deadline: 30,
                },
                sampling: SamplingConfig::NONE,
                tenant_metrics: 0,
                console: ConsoleConfig::default(),
            },
            replicas: 1,
            workers: 1,
            fixture: false,
            hung: None,
            worker: WorkerParts::default(),
            relayed: false,
            issuers: Vec::new(),
        }
    }

    /// The worker indexes, with this Qdrant as its vector store.
    #[must_use]
    pub fn qdrant(mut self, qdrant: &Qdrant) -> Harness {
        self.worker.index.qdrant.qdrant_url = Some(qdrant.url());
        self.indexing()
    }

    /// Adds a tenant.
    #[must_use]
    pub fn tenant(mut self, tenant: Tenant) -> Harness {
        self.tenants.push(tenant);
        self
    }

    /// The number of gateways. They share database, root secret and pass key.
    #[must_use]
    pub fn replicas(mut self, count: usize) -> Harness {
        self.replicas = count;
        self
    }

    /// Replaces the workers by the fixture: the conformance suite's tools and no files.
    #[must_use]
    pub fn fixture(mut self) -> Harness {
        self.fixture = true;
        self
    }

    /// Replaces the workers by the fixture with three more tools: `hang` never answers, and `hung` receives the
    /// events of its calls; `break` fails as a broken worker does; `crash` ends the worker.
    #[must_use]
    pub fn hanging(mut self, hung: Sender<HangEvent>) -> Harness {
        self.hung = Some(hung);
        self.fixture()
    }

    /// Changes the gateways' configuration. The workers' addresses are added later.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut GatewayConfig)) -> Harness {
        change(&mut self.config);
        self
    }

    /// Creates database, repositories, tenants and keys, and starts worker and gateways. Returns once
    /// each gateway lists the worker's tools.
    pub async fn start(self) -> Stack {
        archway::tls::choose_cryptography();
        let folder = tempfile::tempdir().unwrap();
        let repositories = folder.path().join("repos");
        std::fs::create_dir(&repositories).unwrap();
        for tenant in &self.tenants {
            tenant.build(&repositories.join(tenant.slug()));
        }
        let mut database = Database::create().await;
        let owner = PgPool::connect_with(database.owner()).await.unwrap();
        let tenants = Tenants::new(owner.clone());
        let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
        let mut keys = BTreeMap::new();
        let mut ids = BTreeMap::new();
        for tenant in &self.tenants {
            let slug = tenant.slug().to_owned();
            let id = tenants.create_tenant(&slug).await.unwrap();
            terms::of_tenant(&owner, id, tenant).await;
            for (label, key) in grants::give(tenant, id, &tenants, &secret).await {
                keys.insert((slug.clone(), label), key);
            }
            ids.insert(slug, id);
        }

        let pass_key = PassKey::generate();
        let minter = pass_key.minter();
        let started = self.start_workers(&database, &repositories, &minter).await;
        let (workers, addresses): (Vec<Worker>, Vec<SocketAddr>) = started.into_iter().unzip();
        let parts = Box::new(self.worker.clone());
        let urls = addresses.iter().map(|address| format!("http://{address}"));
        let mut config = self.config;
        config.upstream.workers = urls.collect();
        issuers::write(&self.issuers, folder.path(), &mut config.auth);
        let shared = Shared {
            config,
            database_url: database.gateways_url(self.relayed),
            secret: Arc::new(secret),
            minter,
        };
        Stack {
            pass_key,
            addresses,
            gateways: Gateways::start(shared, self.replicas).await,
            keys,
            ids,
            tenants,
            workers,
            parts,
            database,
            repositories,
            _folder: folder,
        }
    }
}

/// The running gateways and workers.
pub struct Stack {
    keys: BTreeMap<(String, String), String>,
    ids: BTreeMap<String, Uuid>,
    tenants: Tenants,
    // In drop order: each field ends before what it uses.
    gateways: Gateways,
    workers: Vec<Worker>,
    parts: Box<WorkerParts>,
    database: Database,
    repositories: PathBuf,
    _folder: TempDir,
    pass_key: PassKey,
    addresses: Vec<SocketAddr>,
}

impl Stack {
    /// A client with the tenant's plain key, which has all projects and scopes.
    pub fn client(&self, tenant: &str) -> Client {
        self.keyed(tenant, PLAIN)
    }

    /// A client with the tenant's key of this label.
    pub fn keyed(&self, tenant: &str, label: &str) -> Client {
        self.at(0, tenant, label)
    }

    /// A client of the gateway at this index, with the tenant's key of this label.
    pub fn at(&self, gateway: usize, tenant: &str, label: &str) -> Client {
        let key = self.keys.get(&(tenant.to_owned(), label.to_owned()));
        let key = key.expect("a key of this test");
        Client::new(self.gateways.services()[gateway], key)
    }

    /// The MCP addresses of the gateways.
    pub fn gateways(&self) -> Vec<SocketAddr> {
        self.gateways.services()
    }

    /// Administration of tenants.
    pub fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    /// The gateways' root secret.
    pub fn secret(&self) -> &RootSecret {
        self.gateways.secret()
    }

    /// The folder of a project.
    pub fn folder(&self, tenant: &str, project: &str) -> PathBuf {
        self.repositories.join(tenant).join(project)
    }

    /// The worker's mount, which holds `<tenant>/<project>`.
    pub fn repositories(&self) -> &Path {
        &self.repositories
    }

    /// The admin addresses of the gateways.
    pub fn admins(&self) -> Vec<SocketAddr> {
        self.gateways.admins()
    }

    /// The admin address of the first gateway.
    pub fn admin(&self) -> SocketAddr {
        self.gateways.admins()[0]
    }

    /// The test's own database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// A tenant's id.
    pub fn tenant_id(&self, tenant: &str) -> Uuid {
        self.ids[tenant]
    }

    /// Polls until `ask` returns a value. Panics after 30 s.
    pub async fn eventually<T>(&self, ask: impl AsyncFn() -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            assert!(Instant::now() < deadline, "not in time");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
