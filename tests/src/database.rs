//! One database per test: cloned from a template that one process migrates, dropped with the test.
//!
//! The cluster is the one that `tests/run` started, else one of this process. The template's name
//! contains a hash of the migrations, so a cluster that outlives a run never serves an old schema.

mod embedded;
mod relay;

use std::hash::{DefaultHasher, Hash, Hasher};

use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, postgres::PgConnectOptions,
};
use tokio::sync::OnceCell;
use uuid::Uuid;

use relay::Relay;

/// The advisory lock of processes that make templates. Any number will do if all use the same.
const MAKING_TEMPLATES: i64 = 0x6172_6368;

/// An empty, migrated database of one test.
#[derive(Debug)]
pub struct Database {
    admin: PgConnectOptions,
    name: String,
    /// The relay through which gateways connect, if a test wants to drop notifications.
    relay: Option<Relay>,
}

impl Database {
    /// Creates one.
    pub async fn create() -> Database {
        let admin = cluster().await;
        let template = template(&admin).await;
        let name = format!("test_{}", Uuid::new_v4().simple());
        let mut connection = connect(&admin).await;
        run(
            &mut connection,
            format!("create database {name} template {template}"),
        )
        .await;
        Database {
            admin,
            name,
            relay: None,
        }
    }

    /// Connection options of the owner.
    pub fn owner(&self) -> PgConnectOptions {
        self.admin.clone().database(&self.name)
    }

    /// The gateways' URL. With `relayed` they connect through a relay that can drop notifications.
    pub(crate) fn gateways_url(&mut self, relayed: bool) -> String {
        let direct = self.owner().username("archway_gateway");
        if !relayed {
            return direct.to_url_lossy().to_string();
        }
        let folder = direct.get_socket().expect("a cluster on a unix socket");
        let socket = folder.join(format!(".s.PGSQL.{}", direct.get_port()));
        let relay = self.relay.insert(Relay::start(socket));
        direct.socket(relay.folder()).to_url_lossy().to_string()
    }

    /// With `true`, relayed gateways receive no notifications from now on, though their connections stay
    /// open. Panics without a relay.
    pub fn drop_notifications(&self, dropping: bool) {
        let relay = self.relay.as_ref().expect("gateways that are relayed");
        relay.drop_notifications(dropping);
    }

    /// The URL of a database role.
    pub fn url(&self, role: &str) -> String {
        self.owner().username(role).to_url_lossy().to_string()
    }
}

impl Database {
    /// The process id of the postmaster.
    pub async fn server_pid(&self) -> u32 {
        let mut admin = connect(&self.admin).await;
        let folder: String = sqlx::query_scalar("show data_directory")
            .fetch_one(&mut admin)
            .await
            .unwrap();
        let file = std::fs::read_to_string(format!("{folder}/postmaster.pid")).unwrap();
        file.lines().next().unwrap().trim().parse().unwrap()
    }

    /// Ends all connections and refuses new ones, as if Postgres were down.
    pub async fn close(&self) {
        self.allow_connections(false).await;
        self.cut().await;
    }

    /// Accepts connections again.
    pub async fn open(&self) {
        self.allow_connections(true).await;
    }

    /// Ends all connections, but accepts new ones.
    pub async fn cut(&self) {
        let mut admin = connect(&self.admin).await;
        sqlx::query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1")
            .bind(&self.name)
            .execute(&mut admin)
            .await
            .unwrap();
    }

    /// Ends all connections but the owner's, and from now on accepts the owner only.
    pub async fn shut_out(&self) {
        let mut admin = connect(&self.admin).await;
        let name = &self.name;
        run(
            &mut admin,
            format!("revoke connect on database {name} from public"),
        )
        .await;
        sqlx::query(
            "select pg_terminate_backend(pid) from pg_stat_activity \
             where datname = $1 and usename <> current_user",
        )
        .bind(name)
        .execute(&mut admin)
        .await
        .unwrap();
    }

    /// Accepts connections of every role again.
    pub async fn let_in(&self) {
        let mut admin = connect(&self.admin).await;
        let name = &self.name;
        run(
            &mut admin,
            format!("grant connect on database {name} to public"),
        )
        .await;
    }

    async fn allow_connections(&self, allow: bool) {
        let mut admin = connect(&self.admin).await;
        let name = &self.name;
        run(
            &mut admin,
            format!("alter database {name} allow_connections {allow}"),
        )
        .await;
    }
}

impl Drop for Database {
    /// Drops the database on a thread of its own, since the test's runtime may have ended.
    fn drop(&mut self) {
        let (admin, name) = (self.admin.clone(), self.name.clone());
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut connection = connect(&admin).await;
                run(
                    &mut connection,
                    format!("drop database {name} with (force)"),
                )
                .await;
            });
        });
        // Whatever this misses is removed with the cluster.
        dropping.join().ok();
    }
}

/// The owner's connection options for the test cluster, which each process finds or starts once.
async fn cluster() -> PgConnectOptions {
    static CLUSTER: OnceCell<PgConnectOptions> = OnceCell::const_new();
    let found = CLUSTER.get_or_init(|| async {
        match std::env::var_os("ARCHWAY_TEST_DATABASE_URL") {
            Some(url) => url
                .to_str()
                .and_then(|url| url.parse().ok())
                .expect("a database's URL"),
            None => embedded::start().await,
        }
    });
    found.await.clone()
}

/// The name of the migrated template. The first process that needs it creates it.
async fn template(admin: &PgConnectOptions) -> &'static str {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    TEMPLATE.get_or_init(|| make_template(admin)).await
}

async fn make_template(admin: &PgConnectOptions) -> String {
    let mut hasher = DefaultHasher::new();
    for migration in MIGRATIONS.iter() {
        migration.checksum.hash(&mut hasher);
    }
    let name = format!("template_{:016x}", hasher.finish());
    let mut connection = connect(admin).await;
    // Held until the connection closes: other processes may be creating the same template.
    sqlx::query("select pg_advisory_lock($1)")
        .bind(MAKING_TEMPLATES)
        .execute(&mut connection)
        .await
        .unwrap();
    let there: bool =
        sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
            .bind(&name)
            .fetch_one(&mut connection)
            .await
            .unwrap();
    if !there {
        let draft = format!("{name}_draft");
        run(&mut connection, format!("drop database if exists {draft}")).await;
        run(&mut connection, format!("create database {draft}")).await;
        let mut inside = connect(&admin.clone().database(&draft)).await;
        MIGRATIONS
            .run(&mut inside)
            .await
            .expect("the migrations run");
        inside.close().await.unwrap();
        run(
            &mut connection,
            format!("alter database {draft} rename to {name}"),
        )
        .await;
    }
    connection.close().await.unwrap();
    name
}

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../migrations");

async fn connect(options: &PgConnectOptions) -> PgConnection {
    options.connect().await.expect("the test cluster answers")
}

/// Runs a statement that names a database. No bind parameter can stand for that name.
async fn run(connection: &mut PgConnection, statement: String) {
    connection.execute(AssertSqlSafe(statement)).await.unwrap();
}
