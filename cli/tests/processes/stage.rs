//! The setup of process tests: a migrated database with a tenant, files and a key.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use archway::data_dir::DataDir;
use archway::postgres::{EmbeddedPostgres, PostgresConfig};
use archway::tenants::{KeyRequest, Tenants};
use archway_gateway::secrets::RootSecret;
use secrecy::ExposeSecret;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, PgPool};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::role::archway;

/// A database, files and a key for processes.
pub(crate) struct Stage {
    pub(crate) runtime: Runtime,
    /// Connected as the owner of its tables.
    pub(crate) owner: PgPool,
    name: String,
    /// The embedded Postgres, if the environment names none.
    _postgres: Option<EmbeddedPostgres>,
    /// A key of `acme` for everything.
    pub(crate) key: String,
    folder: TempDir,
}

impl Stage {
    /// Sets up tenant `acme` with the project `site`. Its `greeting.txt` contains "sesame", and its
    /// `passwd` is a link to a file of the host.
    pub(crate) fn set() -> Stage {
        let folder = tempfile::Builder::new()
            .prefix("archway-roles-")
            .tempdir_in("/tmp")
            .unwrap();
        let site = folder.path().join("repos/acme/site");
        std::fs::create_dir_all(&site).unwrap();
        std::fs::write(site.join("greeting.txt"), "sesame\n").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", site.join("passwd")).unwrap();
        let line = RootSecret::generate_line().unwrap();
        let secret = folder.path().join("secret");
        private(&secret, &format!("{line}\n"));
        let (private, public) = (folder.path().join("pass"), folder.path().join("pass.pub"));
        let mut make = archway(&["pass-key", "generate", "--private"]);
        make.arg(private).arg("--public").arg(public);
        assert!(make.output().unwrap().status.success());

        let runtime = Runtime::new().unwrap();
        let (postgres, admin) = runtime.block_on(cluster(folder.path()));
        let name = format!("roles_{}", uuid::Uuid::new_v4().simple());
        let statement = format!("create database {name}");
        runtime.block_on(run(&admin, statement));
        let database = admin.database(&name);
        migrate(&database);
        let pool = PgPoolOptions::new().max_connections(3);
        let owner = runtime.block_on(pool.connect_with(database)).unwrap();
        let tenants = Tenants::new(owner.clone());
        let key = runtime.block_on(async {
            let acme = tenants.create_tenant("acme").await.unwrap();
            tenants.add_project(acme, "site", None).await.unwrap();
            let secret = RootSecret::parse(&line).unwrap();
            let key = tenants.issue_key(acme, &secret, KeyRequest::default());
            key.await.unwrap().api_key.expose_secret().to_owned()
        });
        Stage {
            runtime,
            owner,
            name,
            _postgres: postgres,
            key,
            folder,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn database(&self) -> PgConnectOptions {
        PgConnectOptions::clone(&self.owner.connect_options())
    }

    pub(crate) fn url(&self, role: &str) -> String {
        self.database().username(role).to_url_lossy().into()
    }

    /// `archway gateway` for `worker`, on free ports.
    pub(crate) fn gateway(&self, worker: &str) -> Command {
        let mut command = archway(&["gateway", "--log-format", "json"]);
        command
            .env("ARCHWAY_LISTEN", "127.0.0.1:0")
            .args(["--admin-listen", "127.0.0.1:0"])
            .args(["--worker", &format!("http://{worker}")])
            .env("ARCHWAY_SECRET_FILE", self.path("secret"))
            .env("ARCHWAY_PASS_KEY_FILE", self.path("pass"))
            .env("ARCHWAY_DATABASE_URL", self.url("archway_gateway"));
        command
    }

    /// `archway worker` at `address`, configured by environment variables only.
    pub(crate) fn worker(&self, address: &str) -> Command {
        let mut command = archway(&["worker"]);
        command
            .env("ARCHWAY_LOG_FORMAT", "json")
            .env("ARCHWAY_WORKER_LISTEN", address)
            .env("ARCHWAY_WORKER_ADMIN_LISTEN", "127.0.0.1:0")
            .env("ARCHWAY_WORKER_NAME", "one")
            .env("ARCHWAY_REPOS", self.path("repos"))
            .env("ARCHWAY_PASS_PUBLIC_FILE", self.path("pass.pub"))
            .env("ARCHWAY_DATABASE_URL", self.url("archway_worker"));
        command
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let database = self.database().database("postgres");
        let statement = format!("drop database {} with (force)", self.name);
        self.runtime.block_on(async {
            self.owner.close().await;
            run(&database, statement).await;
        });
    }
}

/// Writes a file that only its owner can read; otherwise a warning would be logged.
pub(crate) fn private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// The cluster of `tests/run`, else an embedded one.
async fn cluster(folder: &Path) -> (Option<EmbeddedPostgres>, PgConnectOptions) {
    if let Some(url) = std::env::var_os("ARCHWAY_TEST_DATABASE_URL") {
        return (None, url.to_str().unwrap().parse().unwrap());
    }
    let data = DataDir::open(&folder.join("data")).unwrap();
    let postgres = EmbeddedPostgres::start(&data, &PostgresConfig::default()).await;
    let postgres = postgres.unwrap();
    let owner = postgres.owner();
    (Some(postgres), owner)
}

async fn run(database: &PgConnectOptions, statement: String) {
    let mut connection = database.connect().await.unwrap();
    let done = sqlx::query(AssertSqlSafe(statement)).execute(&mut connection);
    done.await.unwrap();
}

fn migrate(database: &PgConnectOptions) {
    let mut command = archway(&["migrate"]);
    let url = database.to_url_lossy().to_string();
    let done = command.env("ARCHWAY_MIGRATE_DATABASE_URL", url).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{done:?}");
}
