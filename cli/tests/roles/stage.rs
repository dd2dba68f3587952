//! What the tests of the roles stand on: a migrated database with a tenant, key files, and the
//! two roles as processes, whose addresses are read from their logs.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

use archway::data_dir::DataDir;
use archway::postgres::{EmbeddedPostgres, PostgresConfig};
use archway_gateway::secrets::RootSecret;
use archway_gateway::tenants::{KeyRequest, Tenants};
use rustix::process::{Pid, Signal, kill_process};
use secrecy::ExposeSecret;
use serde_json::Value;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, PgPool};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Nothing takes longer; what is not true by then will not be.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

/// A database, files and a key, for processes to be started on.
pub(crate) struct Stage {
    runtime: Runtime,
    owner: PgPool,
    name: String,
    /// Of a Postgres of our own, where none was given.
    _postgres: Option<EmbeddedPostgres>,
    key: String,
    folder: TempDir,
}

impl Stage {
    /// Tenant `acme` with the project `site`, where `greeting.txt` says sesame and `passwd` is a
    /// link to a file of the host.
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
        std::fs::write(folder.path().join("secret"), format!("{line}\n")).unwrap();
        let (private, public) = (folder.path().join("pass"), folder.path().join("pass.pub"));
        let mut make = archway(&["pass-key", "generate", "--private"]);
        make.arg(private).arg("--public").arg(public);
        assert!(make.output().unwrap().status.success());

        let runtime = Runtime::new().unwrap();
        let (postgres, admin) = runtime.block_on(cluster(folder.path()));
        let name = format!("roles_{}", uuid::Uuid::new_v4().simple());
        let statement = format!("create database {name}");
        runtime.block_on(run(&admin, statement));
        let place = admin.database(&name);
        migrate(&place);
        let pool = PgPoolOptions::new().max_connections(3);
        let owner = runtime.block_on(pool.connect_with(place)).unwrap();
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

    pub(crate) fn place(&self) -> PgConnectOptions {
        PgConnectOptions::clone(&self.owner.connect_options())
    }

    pub(crate) fn url(&self, role: &str) -> String {
        self.place().username(role).to_url_lossy().into()
    }

    /// `archway gateway` for `worker`, on ports that are free; later arguments win.
    pub(crate) fn gateway(&self, worker: &str) -> Command {
        let mut command = archway(&["gateway", "--log-format", "json"]);
        command
            .args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
            .args(["--worker", &format!("http://{worker}")])
            .env("ARCHWAY_SECRET_FILE", self.path("secret"))
            .env("ARCHWAY_PASS_KEY_FILE", self.path("pass"))
            .env("ARCHWAY_DATABASE_URL", self.url("archway_gateway"));
        command
    }

    /// `archway worker` at `address`, all of it through the environment.
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

    /// A worker and a gateway that has seen it.
    pub(crate) fn both(&self) -> (Role, Role) {
        let worker = Role::start(self.worker("127.0.0.1:0"));
        let gateway = Role::start(self.gateway(&worker.address));
        gateway.becomes(200, "ready");
        (worker, gateway)
    }

    /// What one number of a query comes to.
    pub(crate) fn count(&self, query: &'static str) -> i64 {
        let asked = sqlx::query_scalar(query).fetch_one(&self.owner);
        self.runtime.block_on(asked).unwrap()
    }

    /// While this lives, workers wait for their list of projects: every call is a slow one.
    pub(crate) fn hold_projects(&self) -> Held<'_> {
        let held = self.runtime.block_on(async {
            let mut tx = self.owner.begin().await.unwrap();
            sqlx::query("lock table projects in access exclusive mode")
                .execute(&mut *tx)
                .await
                .unwrap();
            tx
        });
        Held {
            stage: self,
            held: Some(held),
        }
    }

    /// A call of `hello`'s size that needs the list of projects.
    pub(crate) fn call(
        &self,
        gateway: &Role,
        tool: &str,
        arguments: &str,
    ) -> std::io::Result<Answer> {
        post(&gateway.address, &self.key, tool, arguments)
    }

    /// The same, on a thread; returns once the worker has it.
    pub(crate) fn call_in_flight(
        &self,
        gateway: &Role,
        worker: &Role,
    ) -> Receiver<std::io::Result<Answer>> {
        let (send, answer) = channel();
        let (address, key) = (gateway.address.clone(), self.key.clone());
        std::thread::spawn(move || {
            let call = post(&address, &key, "read_file", r#"{"path":"greeting.txt"}"#);
            send.send(call).ok();
        });
        wait_until("the worker has the call", || {
            let metrics = get(&worker.admin, "/metrics").unwrap();
            metrics
                .body
                .contains("archway_worker_tool_calls_in_flight 1\n")
        });
        answer
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let place = self.place().database("postgres");
        let statement = format!("drop database {} with (force)", self.name);
        self.runtime.block_on(async {
            self.owner.close().await;
            run(&place, statement).await;
        });
    }
}

/// A lock on the projects.
pub(crate) struct Held<'a> {
    stage: &'a Stage,
    held: Option<sqlx::Transaction<'static, sqlx::Postgres>>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let held = self.held.take().unwrap();
        self.stage.runtime.block_on(held.rollback()).unwrap();
    }
}

/// A process that runs.
pub(crate) struct Role {
    child: Child,
    pub(crate) address: String,
    pub(crate) admin: String,
    log: RefCell<BufReader<std::process::ChildStderr>>,
}

impl Role {
    /// Starts it; returns once it says where it listens.
    pub(crate) fn start(mut command: Command) -> Role {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        let text = |name: &str| said["fields"][name].as_str().unwrap().to_owned();
        Role {
            child,
            address: text("address"),
            admin: text("admin"),
            log: RefCell::new(log),
        }
    }

    /// The next line of its log, parsed.
    pub(crate) fn next_line(&self) -> Value {
        let mut line = String::new();
        self.log.borrow_mut().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits until `/readyz` answers so.
    pub(crate) fn becomes(&self, status: u16, reason: &str) {
        wait_until(&format!("{status} {reason}"), || {
            let answer = get(&self.admin, "/readyz");
            answer.is_ok_and(|answer| answer.status == status && answer.body.trim() == reason)
        });
    }

    /// Waits for its end: exit code and the rest of its log.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.log.borrow_mut().read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // Ended already, mostly.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) fn archway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_archway"));
    for (name, _) in std::env::vars_os() {
        // Nothing of whoever runs the tests.
        if name.to_string_lossy().starts_with("ARCHWAY_") {
            command.env_remove(name);
        }
    }
    command.args(arguments);
    command
}

/// Runs a command that is meant to fail soon: what it said.
pub(crate) fn refusal(mut command: Command) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

pub(crate) fn get(address: &str, path: &str) -> std::io::Result<Answer> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    exchange(address, &request)
}

/// Without `Connection: close`: it is the gateway that ends the connection, or the body's length.
fn post(address: &str, key: &str, tool: &str, arguments: &str) -> std::io::Result<Answer> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    );
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    exchange(address, &request)
}

fn exchange(address: &str, request: &str) -> std::io::Result<Answer> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.write_all(request.as_bytes())?;
    let mut reader = BufReader::new(socket);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let head = head.to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.split("content-length: ").nth(1);
    let mut body = String::new();
    match length.and_then(|rest| rest.lines().next()) {
        Some(length) => {
            let length = length.parse().unwrap();
            reader.take(length).read_to_string(&mut body)?;
        }
        None => {
            reader.read_to_string(&mut body)?;
        }
    }
    Ok(Answer { status, head, body })
}

pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = SystemTime::now() + PATIENCE;
    while !holds() {
        assert!(SystemTime::now() < deadline, "in vain: {what}");
        std::thread::sleep(LOOK);
    }
}

/// The cluster of `tests/run`, else one of our own.
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

async fn run(place: &PgConnectOptions, statement: String) {
    let mut connection = place.connect().await.unwrap();
    let done = sqlx::query(AssertSqlSafe(statement)).execute(&mut connection);
    done.await.unwrap();
}

fn migrate(place: &PgConnectOptions) {
    let mut command = archway(&["migrate"]);
    let url = place.to_url_lossy().to_string();
    let done = command.env("ARCHWAY_MIGRATE_DATABASE_URL", url).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{done:?}");
}
