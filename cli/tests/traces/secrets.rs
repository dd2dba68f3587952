//! No log contains a secret that a process was given or shown, at any log level.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use super::{Exported, READ, new_trace};
use crate::http::{Connection, message, tool_call};
use crate::role::{Role, archway};
use crate::stage::{Stage, private};

const GATEWAYS_DATABASE: &str = "hunter-gateway";
const WORKERS_DATABASE: &str = "hunter-worker";
const LIMITS: &str = "hunter-limits";
const EMBEDDER: &str = "hunter-embedder";
const QDRANT: &str = "hunter-qdrant";
const COLLECTOR: &str = "hunter-collector";
const CHAT: &str = "hunter-chat";
const OWNERS_DATABASE: &str = "hunter-owner";
/// The beginning of every token of an issuer or gateway. No log contains a pass either.
const SIGNED: &str = "eyJ";

impl Stage {
    /// The URL of the role's database, with a password that Postgres may or may not require.
    fn url_with(&self, role: &str, password: &str) -> String {
        use sqlx::ConnectOptions;
        let database = self.database().username(role).password(password);
        database.to_url_lossy().into()
    }

    fn secret_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        private(&path, text);
        path
    }

    /// Both processes, with all possible secrets, at the most verbose log level.
    fn talkative(&self, collector: &str) -> (Role, Role) {
        // Nothing listens there, so that errors are logged as well.
        let nowhere = "127.0.0.1:9";
        let mut worker = self.worker("127.0.0.1:0");
        let url = self.database().username("archway_worker");
        worker
            .env(
                "ARCHWAY_DATABASE_URL",
                sqlx::ConnectOptions::to_url_lossy(&url).as_str(),
            )
            .arg("--database-password-file")
            .arg(self.secret_file("worker.pw", WORKERS_DATABASE))
            .env("ARCHWAY_CHAT_URL", format!("http://{nowhere}/v1"))
            .env("ARCHWAY_CHAT_MODEL", "words")
            .env("ARCHWAY_CHAT_KEY", CHAT)
            .env("ARCHWAY_EMBEDDER_URL", format!("http://{nowhere}/v1"))
            .env("ARCHWAY_EMBEDDER_MODEL", "words")
            .env("ARCHWAY_EMBEDDER_DIMENSIONS", "8")
            .env("ARCHWAY_EMBEDDER_KEY", EMBEDDER)
            .env("ARCHWAY_QDRANT_URL", format!("http://{nowhere}"))
            .env("ARCHWAY_QDRANT_KEY", QDRANT)
            .env("ARCHWAY_LOG", "trace")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
            .env("OTEL_EXPORTER_OTLP_HEADERS", format!("x-key={COLLECTOR}"));
        let worker = Role::start(worker);
        let mut gateway = self.gateway(&worker.address);
        let limits = format!("redis://:{LIMITS}@{nowhere}");
        gateway
            .env(
                "ARCHWAY_DATABASE_URL",
                self.url_with("archway_gateway", GATEWAYS_DATABASE),
            )
            .env("ARCHWAY_LIMITS_URL", limits)
            .env("ARCHWAY_LOG", "trace")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
            .env("OTEL_EXPORTER_OTLP_HEADERS", format!("x-key={COLLECTOR}"));
        let gateway = Role::start(gateway);
        gateway.becomes(200, "ready");
        (worker, gateway)
    }

    fn secrets(&self) -> Vec<String> {
        let file = |name| fs::read_to_string(self.path(name)).unwrap();
        // The last word of `id:base64`, and of a key file, is the secret.
        let last = |text: &str| {
            text.trim()
                .rsplit([':', ' ', '\n'])
                .next()
                .unwrap()
                .to_owned()
        };
        let (root, pass) = (last(&file("secret")), last(&file("pass")));
        let of_key = self.key.split('_').nth(2).unwrap().to_owned();
        assert!(root.len() > 30 && pass.len() > 30 && of_key.len() > 20);
        let given = [
            GATEWAYS_DATABASE,
            WORKERS_DATABASE,
            LIMITS,
            EMBEDDER,
            QDRANT,
            COLLECTOR,
            CHAT,
            SIGNED,
        ];
        let mut secrets = vec![root, pass, of_key];
        secrets.extend(given.map(str::to_owned));
        secrets
    }
}

#[test]
fn no_log_line_contains_a_secret_and_each_names_its_trace() {
    let stage = Stage::set();
    let collector = stage.collector();
    let (worker, gateway) = stage.talkative(&collector.url());
    let trace = new_trace();
    for (tool, arguments) in [
        ("read_file", READ),
        ("context_search", r#"{"query":"where is sesame"}"#),
        ("read_file", r#"{"path":"absent.txt"}"#),
        ("no_such_tool", "{}"),
    ] {
        let answer = stage.call_within(&gateway, &trace, tool, arguments);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    // A key that is almost right, and one that is malformed.
    let nearly = format!("{}x", stage.key);
    let token = format!("{SIGNED}hbGciOiJFZERTQSJ9.{SIGNED}zdWIiOiJtZSJ9.c2lnbmVk");
    for key in [nearly.as_str(), "hunter-nobody", &token] {
        let request = message(key, &tool_call(1, "hello", "{}"));
        let answer = Connection::open(&gateway.address)
            .unwrap()
            .exchange(&request);
        assert_eq!(answer.unwrap().status, 401);
    }
    let is_whole = |spans: &[Exported]| spans.iter().any(|it| it.name == "POST /mcp");
    stage.runtime.block_on(collector.once(&trace, is_whole));
    let lines = [gateway, worker].map(|role| {
        role.signal(Signal::TERM);
        let (code, log) = role.end();
        assert_eq!(code, Some(0));
        let of_trace = log.lines().filter(|line| line.contains(&trace)).count();
        let all = log.lines().count();
        assert!(of_trace > 0 && all > 100, "{of_trace} of {all}: {log}");
        log
    });
    for secret in stage.secrets().iter().chain([&nearly]) {
        let mut lines = lines.iter().flat_map(|log| log.lines());
        let said = lines.find(|line| line.contains(secret.as_str()));
        assert_eq!(said, None, "{secret}");
    }
    let lines = lines.iter().flat_map(|log| log.lines());
    lines.for_each(is_well_formed);
}

#[test]
fn no_admin_command_prints_a_password_or_key_at_any_log_level() {
    let stage = Stage::set();
    let owner = stage.database();
    let url = sqlx::ConnectOptions::to_url_lossy(&owner.password(OWNERS_DATABASE));
    let gateway = stage.secret_file("gateway.pw", GATEWAYS_DATABASE);
    let worker = stage.secret_file("worker.pw", WORKERS_DATABASE);
    let key = printed(&mut archway(&["key", "generate"]));
    let tenants = "tenants: [{slug: new, keys: [{label: ci, from_env: CI}]}]";
    let tenants = stage.secret_file("tenants.yaml", tenants);
    let mut migrate = archway(&["migrate", "--gateway-password-file"]);
    migrate
        .arg(gateway)
        .arg("--worker-password-file")
        .arg(worker);
    let mut apply = archway(&["apply", "--file"]);
    apply.arg(tenants).env("CI", key.trim());
    let root = fs::read_to_string(stage.path("secret")).unwrap();
    let secret_of = |text: &str| text.trim().rsplit([':', '_']).next().unwrap().to_owned();
    for command in [&mut migrate, &mut apply] {
        command
            .env("ARCHWAY_MIGRATE_DATABASE_URL", url.as_str())
            .env("ARCHWAY_SECRET_FILE", stage.path("secret"))
            .env("ARCHWAY_LOG", "trace");
        let said = printed(command);
        assert!(said.contains("DEBUG"), "{said}");
        let passwords = [OWNERS_DATABASE, GATEWAYS_DATABASE, WORKERS_DATABASE];
        let secrets = passwords.map(str::to_owned).into_iter();
        for secret in secrets.chain([secret_of(&key), secret_of(&root)]) {
            let line = said.lines().find(|line| line.contains(&secret));
            assert_eq!(line, None, "{secret}");
        }
    }
}

/// The whole output of a command that must succeed.
fn printed(command: &mut std::process::Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let [out, log] = [done.stdout, done.stderr].map(|said| String::from_utf8(said).unwrap());
    out + &log
}

/// A log line as an object; if it belongs to a trace, with the trace's ids.
fn is_well_formed(line: &str) {
    let said: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    let is_text = |name: &str| said[name].is_string();
    assert!(is_text("timestamp") && is_text("level"), "{line}");
    let spans = said["spans"].as_array().into_iter().flatten();
    for span in spans.filter(|span| span["trace.id"].is_string()) {
        assert_eq!(span["trace.id"].as_str().unwrap().len(), 32, "{line}");
        assert_eq!(span["span.id"].as_str().unwrap().len(), 16, "{line}");
    }
}
