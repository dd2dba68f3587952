//! Traces: one call is one trace, from its caller's span to the last statement, and unsampled calls are
//! not recorded.
//!
//! A process has one exporter, so one collector serves all tests here. They find their spans by trace id.

mod recorded;
mod sampled;
mod unfinished;

use std::sync::{OnceLock, mpsc};

use archway::{
    logging::{self, LogArgs, LogFormat},
    otlp::{Exporting, OtlpArgs},
};
use archway_gateway::terms::Level;
use clap::Parser;
use e2e::{
    Client, Collector, Harness, Repo, Stack, Tenant,
    collector::Exported,
    http::{Request, Response},
};
use serde_json::{Value, json};

/// Span ids of callers.
const CALLER: &str = "00f067aa0ba902b7";
const OTHER: &str = "b7ad6b7169203331";

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    otlp: OtlpArgs,
}

/// The one collector, which runs on a thread of its own.
fn collector() -> &'static Collector {
    static COLLECTOR: OnceLock<Collector> = OnceLock::new();
    COLLECTOR.get_or_init(|| {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(async {
                let collector = Collector::start().await;
                let line = Line::parse_from(["test", "--otlp-endpoint", &collector.url()]);
                // Statements are recorded even if logging is off.
                let log = LogArgs {
                    log: Some("off".to_owned()),
                    log_format: LogFormat::Text,
                };
                logging::start(&log, "off", line.otlp.is_on());
                let collector_of_line = line.otlp.read("archway-tests").unwrap();
                let _exporting = Exporting::begin(collector_of_line).unwrap();
                tell.send(collector).unwrap();
                std::future::pending::<()>().await;
            });
        });
        told.recv().unwrap()
    })
}

/// Gateway and worker for `acme`. The gateway records so many traces per second.
fn recording(rate: u32) -> Harness {
    collector();
    let repo = Repo::new().file("src/lib.rs", "fn sesame() {}\n").commit();
    // One limit, so that the limit store is used.
    let tenant = Tenant::new("acme").limit(Level::Key, "total", 100_000);
    Harness::new()
        .tenant(tenant.project("site", repo))
        .configure(|config| config.sampling.trace_rate = rate)
}

async fn started(rate: u32) -> (Stack, Client) {
    let stack = recording(rate).start().await;
    let client = stack.client("acme");
    (stack, client)
}

/// A unique trace id.
fn new_trace() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

fn parent(trace: &str, span: &str, flags: &str) -> String {
    format!("00-{trace}-{span}-{flags}")
}

/// A call as a request that a test may change.
fn call(client: &Client, tool: &str, arguments: Value) -> Request {
    let params = json!({ "name": tool, "arguments": arguments });
    client.request("tools/call", params)
}

/// Calls a tool within a trace.
async fn called(client: &Client, tool: &str, arguments: Value, parent: &str) -> Response {
    let request = call(client, tool, arguments).header("traceparent", parent);
    request.send(client.address()).await
}

/// The one span of this name and kind.
fn one<'a>(spans: &'a [Exported], name: &str, kind: &str) -> &'a Exported {
    let is_it = |span: &&Exported| span.name == name && span.kind == kind;
    let found: Vec<&Exported> = spans.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{kind} {name} of {}", outline(spans));
    found[0]
}

fn outline(spans: &[Exported]) -> String {
    let line =
        |span: &Exported| format!("\n{} {} {}<{}", span.kind, span.name, span.id, span.parent);
    spans.iter().map(line).collect()
}

/// Whether the HTTP request's span, which ends last, is among them.
fn is_whole(spans: &[Exported]) -> bool {
    spans.iter().any(|span| span.name == "POST /mcp")
}
