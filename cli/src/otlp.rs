//! Traces go to a collector by OTLP, or nowhere: what is recorded, [`archway_proto::trace`] says.
//!
//! A span that ended is put into a queue of bounded length, and a task sends what is there, a batch
//! at a time. Nobody waits for it: while the collector is slow, hangs or is away, spans are given up
//! and counted. What has to be read of the file system is read before a worker is confined.

// From the option to the wire.
mod collector;
mod queue;
mod export;
mod statements;

use std::time::Duration;

use opentelemetry::{KeyValue, global};
use opentelemetry_sdk::{
    Resource,
    trace::{Sampler, SdkTracerProvider},
};
use secrecy::SecretString;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use collector::{Collector, OtlpError};
use export::Export;
use queue::Queue;
pub(crate) use statements::layer as statements;

/// What the end of a process waits for spans that are queued.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// Where traces go. The variables are OpenTelemetry's own.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Traces")]
pub struct OtlpArgs {
    /// The collector that traces are sent to, by OTLP over gRPC: `http://host:4317`, or `https://…`
    /// with a certificate of an authority that this machine trusts. Without one nothing is
    /// recorded.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// What the collector is told with each export, such as a key: `name=value,…`, values
    /// percent-encoded.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_HEADERS",
        hide_env_values = true,
        value_name = "LIST"
    )]
    otlp_headers: Option<SecretString>,
    /// How OTLP is spoken: `grpc` alone. What other programs choose by this variable is refused where
    /// a collector is named.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_PROTOCOL",
        value_name = "PROTOCOL",
        default_value = "grpc"
    )]
    otlp_protocol: String,
    /// What the process is called in traces [default: `archway-gateway`, `archway-worker`, of `dev`
    /// `archway-dev`].
    #[arg(long, env = "OTEL_SERVICE_NAME", value_name = "NAME")]
    otlp_service_name: Option<String>,
    /// What else traces say of the process: `name=value,…`, values percent-encoded.
    #[arg(long, env = "OTEL_RESOURCE_ATTRIBUTES", value_name = "LIST")]
    otlp_resource: Option<String>,
}

impl OtlpArgs {
    /// Whether a collector is named.
    pub fn is_on(&self) -> bool {
        self.endpoint().is_some()
    }

    /// The collector, if one is named, and what it is told of this process, which is called `name`
    /// unless something else was said. Reads the certificates that this machine trusts, so it comes
    /// before a process is confined. Connects to nothing.
    ///
    /// # Errors
    /// If an option can't be used.
    pub fn read(&self, name: &'static str) -> Result<Option<Collector>, OtlpError> {
        let Some(endpoint) = self.endpoint() else {
            return Ok(None);
        };
        if !matches!(self.otlp_protocol.as_str(), "" | "grpc") {
            return Err(OtlpError::Protocol);
        }
        let called = self.otlp_service_name.as_deref();
        let called = called.filter(|name| !name.is_empty()).unwrap_or(name);
        let told = collector::pairs(self.otlp_resource.as_deref().unwrap_or_default())
            .ok_or(OtlpError::Resource)?;
        let told = told
            .into_iter()
            .map(|(key, value)| KeyValue::new(key, value));
        // What is said by an option of its own wins.
        let resource = Resource::builder_empty()
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attribute(KeyValue::new(
                "service.instance.id",
                Uuid::new_v4().to_string(),
            ))
            .with_attributes(told)
            .with_service_name(called.to_owned())
            .build();
        Collector::new(endpoint, self.otlp_headers.as_ref(), resource).map(Some)
    }

    /// By the specification, a variable that is empty is as if absent.
    fn endpoint(&self) -> Option<&str> {
        let endpoint = self.otlp_endpoint.as_deref();
        endpoint.filter(|endpoint| !endpoint.is_empty())
    }
}

/// Spans on their way to a collector, or nothing.
#[must_use = "what is queued is lost unless it is finished"]
pub struct Exporting(Option<Task>);

struct Task {
    running: JoinHandle<()>,
    stop: CancellationToken,
}

impl Exporting {
    /// Begins to export what this process records, if there is a collector. Call it within a
    /// runtime, and once.
    pub fn begin(collector: Option<Collector>) -> Exporting {
        Exporting(collector.map(|collector| {
            let (queue, spans) = Queue::new();
            let stop = CancellationToken::new();
            let provider = SdkTracerProvider::builder()
                // Who begins a trace has decided.
                .with_sampler(Sampler::AlwaysOn)
                .with_resource(collector.resource().clone())
                .with_span_processor(queue)
                .build();
            global::set_tracer_provider(provider);
            let export = Export::new(collector, spans, stop.clone());
            let running = tokio::spawn(export.run());
            Task { running, stop }
        }))
    }

    /// Sends what is queued, for at most 2 s.
    pub async fn finish(self) {
        let Some(Task { running, stop }) = self.0 else {
            return;
        };
        stop.cancel();
        let rest = running.abort_handle();
        if tokio::time::timeout(LAST_SPANS, running).await.is_err() {
            rest.abort();
            tracing::warn!("the collector of traces did not take the last spans: they are lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        otlp: OtlpArgs,
    }

    #[tokio::test]
    async fn a_protocol_is_refused_only_where_a_collector_is_named() {
        let read = |protocol: &str, endpoint: &str| {
            let protocol = format!("--otlp-protocol={protocol}");
            let endpoint = format!("--otlp-endpoint={endpoint}");
            let line = Line::try_parse_from(["test", &protocol, &endpoint]);
            let read = line.unwrap().otlp.read("archway-tests");
            read.map(|collector| collector.is_some())
        };
        let url = "http://127.0.0.1:4317";
        for good in ["grpc", ""] {
            assert!(matches!(read(good, url), Ok(true)), "{good}");
        }
        for other in ["http/protobuf", "http/json", "GRPC"] {
            assert!(matches!(read(other, ""), Ok(false)), "{other}");
            let refused = read(other, url).unwrap_err();
            assert!(matches!(refused, OtlpError::Protocol), "{refused}");
        }
    }
}
