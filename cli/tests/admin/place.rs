//! A migrated database of one test, a root secret beside it, and the binary that works on them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::sync::OnceLock;

use archway::data_dir::DataDir;
use archway::postgres::{EmbeddedPostgres, PostgresConfig};
use archway::tenants::Tenants;
use archway_gateway::secrets::RootSecret;
use serde_json::Value;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, PgPool};
use tempfile::TempDir;
use uuid::Uuid;

/// One test's installation. Its database goes with it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    database: String,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    /// A database with this version's schema.
    pub(crate) fn new() -> Place {
        let place = Place::unmigrated();
        place.run("migrate").ok();
        place
    }

    /// A database with nothing in it.
    pub(crate) fn unmigrated() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let line = RootSecret::generate_line().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, line).unwrap();
        // What others may read is warned of.
        std::fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
        let database = format!("admin_{}", Uuid::new_v4().simple());
        let make = format!("create database {database}");
        on(cluster(), async |postgres| {
            postgres.execute(AssertSqlSafe(make)).await.unwrap();
        });
        Place { folder, database }
    }

    /// The binary, told where this installation is.
    pub(crate) fn archway(&self) -> Command {
        let mut command = bare();
        command.env("ARCHWAY_MIGRATE_DATABASE_URL", self.url());
        command.env("ARCHWAY_SECRET_FILE", self.folder.path().join("secret"));
        command
    }

    /// Runs a command whose arguments hold no blanks.
    pub(crate) fn run(&self, line: &str) -> Done {
        Done::of(self.archway().args(line.split_whitespace()))
    }

    /// Runs a command with `--json` that succeeds, and reads its answer.
    pub(crate) fn json(&self, line: &str) -> Value {
        self.run(&format!("{line} --json")).json()
    }

    /// Writes a file beside the database; its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs statements as the owner.
    pub(crate) fn sql(&self, statements: &str) {
        on(&self.owner(), async |postgres| {
            let statements = AssertSqlSafe(statements.to_owned());
            postgres.execute(statements).await.unwrap();
        });
    }

    /// What a query for one number says.
    pub(crate) fn count(&self, query: &str) -> i64 {
        on(&self.owner(), async |postgres| {
            let query = AssertSqlSafe(query.to_owned());
            sqlx::query_scalar(query).fetch_one(postgres).await.unwrap()
        })
    }

    /// What a query for a column of texts says.
    pub(crate) fn texts(&self, query: &str) -> Vec<String> {
        on(&self.owner(), async |postgres| {
            let query = AssertSqlSafe(query.to_owned());
            sqlx::query_scalar(query).fetch_all(postgres).await.unwrap()
        })
    }

    /// Whether a gateway would take this key now.
    pub(crate) fn takes(&self, api_key: &str) -> bool {
        let secret = RootSecret::load(&self.folder.path().join("secret")).unwrap();
        let owner = self.owner();
        block_on(async {
            let tenants = Tenants::new(PgPool::connect_with(owner).await.unwrap());
            let good = tenants.key_is_good(&secret, api_key).await.unwrap();
            good.is_some()
        })
    }

    /// The database, as its owner.
    pub(crate) fn url(&self) -> String {
        self.owner().to_url_lossy().into()
    }

    fn owner(&self) -> PgConnectOptions {
        cluster().clone().database(&self.database)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let drop = format!("drop database {} with (force)", self.database);
        on(cluster(), async |postgres| {
            // What is left over goes with the cluster.
            postgres.execute(AssertSqlSafe(drop)).await.ok();
        });
    }
}

impl Done {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Done {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        Done {
            code: status.code().unwrap(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }

    /// What a command said that succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The document that a command answered which succeeded.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// Why a command refused, having answered nothing.
    #[track_caller]
    pub(crate) fn refusal(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{}", self.err);
        self.err
    }
}

/// The binary, told of no installation.
pub(crate) fn bare() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_archway"));
    for name in [
        "ARCHWAY_MIGRATE_DATABASE_URL",
        "ARCHWAY_SECRET_FILE",
        "ARCHWAY_ADMIN_URLS",
    ] {
        command.env_remove(name);
    }
    // The default, but for statements that a busy server is slow to answer.
    command.env("ARCHWAY_LOG", "warn,rmcp=error,sqlx=error");
    command
}

/// How the owner of the test cluster connects: the one `tests/run` started, else our own.
fn cluster() -> &'static PgConnectOptions {
    static CLUSTER: OnceLock<PgConnectOptions> = OnceLock::new();
    CLUSTER.get_or_init(|| match std::env::var_os("ARCHWAY_TEST_DATABASE_URL") {
        Some(url) => url.to_str().unwrap().parse().unwrap(),
        None => embedded(),
    })
}

/// Starts a server on a thread that lives as long as the process.
fn embedded() -> PgConnectOptions {
    let (send, started) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        block_on(async {
            let data = DataDir::open(&std::env::temp_dir().join("archway-tests-admin")).unwrap();
            let postgres = EmbeddedPostgres::start(&data, &PostgresConfig::default()).await;
            let postgres = postgres.unwrap();
            send.send(postgres.owner()).unwrap();
            std::future::pending::<()>().await;
        });
    });
    started.recv().unwrap()
}

fn on<T>(database: &PgConnectOptions, work: impl AsyncFnOnce(&mut PgConnection) -> T) -> T {
    block_on(async {
        let mut postgres = database.connect().await.unwrap();
        let done = work(&mut postgres).await;
        postgres.close().await.unwrap();
        done
    })
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(work)
}
