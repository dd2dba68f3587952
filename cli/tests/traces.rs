//! Traces of processes: their export, their handling of an unusable collector, and logs without secrets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use collector::{Collector, Exported, Manner};
use http::{Connection, HttpResponse, get, tool_call};
use role::{Role, wait_until};
use stage::Stage;

#[path = "../../tests/src/collector.rs"]
#[expect(unreachable_pub, reason = "a file of the end-to-end tests")]
mod collector;
#[path = "traces/secrets.rs"]
mod secrets;
#[path = "traces/sync.rs"]
mod sync;
#[path = "traces/unfinished.rs"]
mod unfinished;

#[path = "processes/stage.rs"]
mod stage;

#[path = "processes/role.rs"]
mod role;

#[path = "processes/http.rs"]
mod http;

const CALLER: &str = "00f067aa0ba902b7";
const READ: &str = r#"{"path":"greeting.txt"}"#;
/// No limit on calls of `hello`.
const LIFT: &str = "insert into limits (tenant_id, level, of, per_minute) \
    select id, level, of, 0 from tenants, unnest(array['session', 'key', 'tenant']) level, \
    unnest(array['total', 'hello']) of where not (level = 'session' and of = 'total')";
/// A gateway's count of spans that found the queue full.
const QUEUE_FULL: &str = r#"archway_gateway_spans_lost_total{reason="queue_full"} "#;
const NOT_TAKEN: &str = r#"archway_gateway_spans_lost_total{reason="not_taken"} "#;
const EXPORTED: &str = "archway_gateway_spans_exported_total ";
/// How long an export to a hanging collector takes.
const EXPORT: Duration = Duration::from_secs(5);

impl Stage {
    fn collector(&self) -> Collector {
        self.runtime.block_on(Collector::start())
    }

    /// A worker and a gateway that export everything to this URL.
    fn recording(&self, url: &str) -> (Role, Role) {
        let mut worker = self.worker("127.0.0.1:0");
        worker.args(["--otlp-endpoint", url]);
        let worker = Role::start(worker);
        let mut gateway = self.gateway(&worker.address);
        gateway
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
            .env(
                "OTEL_RESOURCE_ATTRIBUTES",
                "deployment.environment.name=a%20test",
            )
            .args(["--trace-rate", "10000", "--otlp-headers", "x-key=hunter2"]);
        let gateway = Role::start(gateway);
        gateway.becomes(200, "ready");
        (worker, gateway)
    }

    fn call_within(
        &self,
        gateway: &Role,
        trace: &str,
        tool: &str,
        arguments: &str,
    ) -> HttpResponse {
        let body = tool_call(1, tool, arguments);
        let request = http::message(&self.key, &body);
        let parent = format!("traceparent: 00-{trace}-{CALLER}-01\r\nHost:");
        let request = request.replacen("Host:", &parent, 1);
        let answer = Connection::open(&gateway.address)
            .unwrap()
            .exchange(&request);
        answer.unwrap()
    }
}

fn new_trace() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// The value of a gateway's counter.
fn counted(gateway: &Role, name: &str) -> u64 {
    let text = get(&gateway.admin, "/metrics").unwrap().body;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name} in {text}"))
        .parse()
        .unwrap()
}

fn one<'a>(spans: &'a [Exported], name: &str, kind: &str) -> &'a Exported {
    let mut found = spans.iter().filter(|it| it.name == name && it.kind == kind);
    let one = found
        .next()
        .unwrap_or_else(|| panic!("{kind} {name} of {spans:#?}"));
    assert_eq!(found.next(), None);
    one
}

#[test]
fn one_trace_spans_both_processes_and_shutdown_loses_no_span() {
    let stage = Stage::set();
    let collector = stage.collector();
    let (worker, gateway) = stage.recording(&collector.url());
    let trace = new_trace();
    let answer = stage.call_within(&gateway, &trace, "read_file", READ);
    assert!(answer.body.contains("sesame"), "{answer:?}");
    assert!(!answer.head.contains("traceparent"), "{answer:?}");
    // Immediately: queued spans are exported during shutdown.
    let asked = Instant::now();
    for role in [gateway, worker] {
        role.signal(Signal::TERM);
        let (code, log) = role.end();
        assert_eq!(code, Some(0), "{log}");
    }
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
    let spans = collector.spans(&trace);
    let http = one(&spans, "POST /mcp", "server");
    assert_eq!(
        (http.parent.as_str(), http.service.as_str()),
        (CALLER, "archway-gateway")
    );
    assert_eq!(http.resource["deployment.environment.name"], "a test");
    assert_eq!(http.resource["service.version"], env!("CARGO_PKG_VERSION"));
    let message = one(&spans, "tools/call read_file", "server");
    assert_eq!(message.parent, http.id);
    let sent = one(&spans, "archway.v1.Worker/Call", "client");
    assert_eq!(sent.parent, message.id);
    let taken = one(&spans, "archway.v1.Worker/Call", "server");
    assert_eq!(
        (taken.parent.as_str(), taken.service.as_str()),
        (sent.id.as_str(), "archway-worker")
    );
    let instance = |span: &Exported| span.resource["service.instance.id"].clone();
    assert_ne!(instance(taken), instance(http));
    let tool = one(&spans, "execute_tool read_file", "internal");
    assert_eq!(tool.parent, taken.id);
    let statement = one(&spans, "SELECT projects", "client");
    let database = (statement.service.as_str(), statement.parent.as_str());
    assert_eq!(database, ("archway-worker", tool.id.as_str()));
    assert!(statement.end - statement.start < 5_000_000_000);
    // The collector may receive the key.
    let key = |it: &tonic::metadata::MetadataMap| it.get("x-key").is_some_and(|it| it == "hunter2");
    assert!(collector.headers().iter().any(key));
}

#[test]
fn traces_go_by_grpc_and_by_http_compressed_as_the_variables_say() {
    let stage = Stage::set();
    for (protocol, encoding) in [
        ("grpc", "grpc-encoding"),
        ("http/protobuf", "content-encoding"),
    ] {
        let collector = stage.collector();
        let worker = Role::start(stage.worker("127.0.0.1:0"));
        let mut gateway = stage.gateway(&worker.address);
        gateway
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
            .env("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
            .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=hunter2");
        let gateway = Role::start(gateway);
        gateway.becomes(200, "ready");
        collector.be(Manner::Choosing);
        let trace = new_trace();
        stage.call_within(&gateway, &trace, "hello", "{}");
        wait_until("a batch was exported", || counted(&gateway, EXPORTED) > 0);
        // Rejected spans of an accepted batch are lost as well.
        let rejected = || collector.headers().len() as u64;
        wait_until("one a batch is lost", || {
            counted(&gateway, NOT_TAKEN) == rejected()
        });
        assert!(!collector.spans(&trace).is_empty(), "{protocol}");
        let headers = collector.headers();
        let has = |name: &str, value: &str| {
            headers
                .iter()
                .all(|it| it.get(name).is_some_and(|it| it == value))
        };
        assert!(
            has("x-key", "hunter2") && has(encoding, "gzip"),
            "{headers:?}"
        );
        let log: Vec<String> = gateway.log.try_iter().collect();
        assert!(!log.concat().contains("one too many"), "{log:?}");
    }
}

#[test]
fn a_hanging_collector_slows_nothing_and_lost_spans_are_counted() {
    let stage = Stage::set();
    let collector = stage.collector();
    collector.be(Manner::Hanging);
    let lifted = sqlx::query(LIFT).execute(&stage.owner);
    stage.runtime.block_on(lifted).unwrap();
    let (worker, gateway) = stage.recording(&collector.url());
    let begun = Instant::now();
    while counted(&gateway, QUEUE_FULL) == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "the queue has room"
        );
        let asked = Instant::now();
        for _ in 0..50 {
            let answer = stage.call_within(&gateway, &new_trace(), "hello", "{}");
            assert!(
                answer.status == 200 && !answer.body.contains("isError\":true"),
                "{answer:?}"
            );
        }
        // The sum, because a busy machine may delay any single call.
        let took = asked.elapsed();
        assert!(took < 50 * EXPORT, "as if each waited for one: {took:?}");
    }
    wait_until("a batch was given up", || counted(&gateway, NOT_TAKEN) > 0);
    assert_eq!(counted(&gateway, EXPORTED), 0);
    // Shutdown is not delayed either.
    for role in [gateway, worker] {
        let asked = Instant::now();
        role.signal(Signal::TERM);
        let (code, log) = role.end();
        assert_eq!(code, Some(0), "{log}");
        assert!(
            asked.elapsed() < Duration::from_secs(8),
            "{:?}",
            asked.elapsed()
        );
    }
}

#[test]
fn spans_that_a_down_or_choosing_collector_does_not_take_are_counted() {
    let stage = Stage::set();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let (_worker, gateway) = stage.recording(&url);
    let answer = stage.call_within(&gateway, &new_trace(), "hello", "{}");
    assert_eq!(answer.status, 200, "{answer:?}");
    wait_until("it was given up", || counted(&gateway, NOT_TAKEN) > 0);
    let told: Vec<String> = gateway.log.try_iter().collect();
    let away = |line: &&String| line.contains("the trace collector accepts no spans");
    assert_eq!(told.iter().filter(away).count(), 1, "{told:?}");
    drop(gateway);

    let collector = stage.collector();
    collector.be(Manner::Choosing);
    let (_worker, gateway) = stage.recording(&collector.url());
    stage.call_within(&gateway, &new_trace(), "hello", "{}");
    wait_until("it took some", || counted(&gateway, EXPORTED) > 0);
    assert!(counted(&gateway, NOT_TAKEN) > 0);
}

#[test]
fn a_collector_that_can_not_be_is_refused_at_the_start_without_its_key() {
    let stage = Stage::set();
    for (arguments, told) in [
        (
            ["--otlp-endpoint", "collector:4317"],
            "--otlp-endpoint (OTEL_EXPORTER_OTLP_ENDPOINT)",
        ),
        (
            ["--otlp-headers", "hunter2"],
            "--otlp-headers (OTEL_EXPORTER_OTLP_HEADERS)",
        ),
        (
            ["--otlp-resource", "prod"],
            "--otlp-resource (OTEL_RESOURCE_ATTRIBUTES)",
        ),
        (["--otlp-protocol", "http/json"], "grpc"),
    ] {
        let mut gateway = stage.gateway("127.0.0.1:1");
        gateway.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
        gateway.args(arguments);
        let mut worker = stage.worker("127.0.0.1:0");
        worker.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
        worker.args(arguments);
        for mut command in [gateway, worker] {
            let said = command.output().unwrap();
            assert!(!said.status.success());
            let said = String::from_utf8(said.stderr).unwrap();
            assert!(said.contains(told), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
