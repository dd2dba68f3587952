//! An installation for one test: a migrated database, a root secret, and the binary for both.

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

/// One test's installation. Its database is dropped with it.
pub(crate) struct Installation {
    pub(crate) folder: TempDir,
    database: String,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Installation {
    /// A database with this version's schema.
    pub(crate) fn new() -> Installation {
        let installation = Installation::unmigrated();
        installation.run("migrate").ok();
        installation
    }

    /// An empty database.
    pub(crate) fn unmigrated() -> Installation {
        let folder = tempfile::tempdir().unwrap();
        let line = RootSecret::generate_line().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, line).unwrap();
        // A file that others may read would cause a warning.
        std::fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
        let database = format!("admin_{}", Uuid::new_v4().simple());
        let make = format!("create database {database}");
        on(cluster(), async |postgres| {
            postgres.execute(AssertSqlSafe(make)).await.unwrap();
        });
        Installation { folder, database }
    }

    /// The binary, configured for this installation.
    pub(crate) fn archway(&self) -> Command {
        let mut command = bare();
        command.env("ARCHWAY_MIGRATE_DATABASE_URL", self.url());
        command.env("ARCHWAY_SECRET_FILE", self.folder.path().join("secret"));
        command
    }

    /// Runs a command whose arguments contain no blanks.
    pub(crate) fn run(&self, line: &str) -> CommandResult {
        CommandResult::of(self.archway().args(line.split_whitespace()))
    }

    /// Runs a command with `--json`, which must succeed, and parses its answer.
    pub(crate) fn json(&self, line: &str) -> Value {
        self.run(&format!("{line} --json")).json()
    }

    /// Writes a file beside the database. Returns its path.
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

    /// The result of a query for one number.
    pub(crate) fn count(&self, query: &str) -> i64 {
        on(&self.owner(), async |postgres| {
            let query = AssertSqlSafe(query.to_owned());
            sqlx::query_scalar(query).fetch_one(postgres).await.unwrap()
        })
    }

    /// The result of a query for a column of texts.
    pub(crate) fn texts(&self, query: &str) -> Vec<String> {
        on(&self.owner(), async |postgres| {
            let query = AssertSqlSafe(query.to_owned());
            sqlx::query_scalar(query).fetch_all(postgres).await.unwrap()
        })
    }

    /// Whether a gateway would accept this key now.
    pub(crate) fn takes(&self, api_key: &str) -> bool {
        let secret = RootSecret::load(&self.folder.path().join("secret")).unwrap();
        let owner = self.owner();
        block_on(async {
            let tenants = Tenants::new(PgPool::connect_with(owner).await.unwrap());
            let good = tenants.key_is_good(&secret, api_key).await.unwrap();
            good.is_some()
        })
    }

    /// The database's URL, as its owner.
    pub(crate) fn url(&self) -> String {
        self.owner().to_url_lossy().into()
    }

    fn owner(&self) -> PgConnectOptions {
        cluster().clone().database(&self.database)
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let drop = format!("drop database {} with (force)", self.database);
        on(cluster(), async |postgres| {
            // If dropping fails, the database goes with the cluster.
            postgres.execute(AssertSqlSafe(drop)).await.ok();
        });
    }
}

impl CommandResult {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> CommandResult {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        CommandResult {
            code: status.code().unwrap(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }

    /// The output of a successful command.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The JSON of a successful command.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// The error of a failed command, which must have printed no answer.
    #[track_caller]
    pub(crate) fn refusal(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{}", self.err);
        self.err
    }
}

/// The binary without any configuration.
pub(crate) fn bare() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_archway"));
    for name in [
        "ARCHWAY_MIGRATE_DATABASE_URL",
        "ARCHWAY_SECRET_FILE",
        "ARCHWAY_ADMIN_URLS",
    ] {
        command.env_remove(name);
    }
    // The default filter, but without warnings about slow statements on a busy server.
    command.env("ARCHWAY_LOG", "warn,rmcp=error,sqlx=error");
    command
}

/// Connection options of the test cluster's owner: the cluster of `tests/run`, else an embedded one.
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
