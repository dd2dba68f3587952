//! Traces: OpenTelemetry's SDK and OTLP exporter, as options and the variables `OTEL_…` configure them.
//!
//! [`archway_proto::trace`] decides what is recorded. A call never waits for the collector: while it
//! is slow or away, spans are dropped and counted. Everything that the file system holds is read
//! before a worker is confined.

// From the options to the wire.
mod collector;
mod export;
mod statements;

use std::time::Duration;

use opentelemetry::{KeyValue, global};
use opentelemetry_sdk::{
    Resource,
    trace::{Sampler, SdkTracerProvider},
};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

pub use collector::{Collector, OtlpError};
use export::CountingProcessor;
pub(crate) use export::rejections;
pub(crate) use statements::layer as statements;

/// How long the end of a process waits for queued spans.
const SHUTDOWN: Duration = Duration::from_secs(2);

/// Where traces go. The variables are OpenTelemetry's own; `OTEL_EXPORTER_OTLP_COMPRESSION`,
/// `OTEL_EXPORTER_OTLP_TIMEOUT`, `OTEL_EXPORTER_OTLP_TRACES_…` and `OTEL_BSP_…` hold, too.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Traces")]
pub struct OtlpArgs {
    /// The collector that receives traces by OTLP: `http://host:4317` for gRPC, `http://host:4318` for
    /// http/protobuf, or `https://…` with a certificate of an authority that this machine trusts.
    /// Without one, nothing is recorded.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// Headers of each export, such as a key: `name=value,…`, values percent-encoded.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_HEADERS",
        hide_env_values = true,
        value_name = "LIST"
    )]
    otlp_headers: Option<SecretString>,
    /// How OTLP is spoken: `grpc` or `http/protobuf`.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_PROTOCOL",
        value_name = "PROTOCOL",
        default_value = "grpc"
    )]
    otlp_protocol: String,
    /// The service name in traces [default: `archway-gateway`, `archway-worker`,
    /// `archway-sync`, for `dev` `archway-dev`].
    #[arg(long, env = "OTEL_SERVICE_NAME", value_name = "NAME")]
    otlp_service_name: Option<String>,
    /// Further attributes of the process: `name=value,…`, values percent-encoded.
    #[arg(long, env = "OTEL_RESOURCE_ATTRIBUTES", value_name = "LIST")]
    otlp_resource: Option<String>,
}

impl OtlpArgs {
    /// Whether a collector is named.
    pub fn is_on(&self) -> bool {
        self.endpoint().is_some() || collector::traces_variable("ENDPOINT").is_some()
    }

    /// The collector, if one is named. `name` is the service's name unless an option sets another.
    /// Reads the certificates that this machine trusts, so call it before a process is confined.
    /// Connects to nothing.
    ///
    /// # Errors
    /// If an option or a variable can't be used.
    pub fn read(&self, name: &'static str) -> Result<Option<Collector>, OtlpError> {
        if !self.is_on() {
            return Ok(None);
        }
        let service = self.otlp_service_name.as_deref();
        let service = service.filter(|name| !name.is_empty()).unwrap_or(name);
        let attributes = self.otlp_resource.as_deref().unwrap_or_default();
        let attributes = collector::pairs(attributes).ok_or(OtlpError::Resource)?;
        let attributes = attributes
            .into_iter()
            .map(|(key, value)| KeyValue::new(key, value));
        // A later attribute replaces an earlier one, so the option for the name wins.
        let resource = Resource::builder_empty()
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attribute(KeyValue::new(
                "service.instance.id",
                Uuid::new_v4().to_string(),
            ))
            .with_attributes(attributes)
            .with_service_name(service.to_owned())
            .build();
        let endpoint = self.endpoint().unwrap_or_default();
        let headers = self
            .otlp_headers
            .as_ref()
            .map_or("", |it| it.expose_secret());
        Collector::new(endpoint, &self.otlp_protocol, headers, resource).map(Some)
    }

    /// By the specification, an empty variable counts as unset.
    fn endpoint(&self) -> Option<&str> {
        let endpoint = self.otlp_endpoint.as_deref();
        endpoint.filter(|endpoint| !endpoint.is_empty())
    }
}

/// The export of this process' spans, if there is a collector.
#[must_use = "queued spans are lost unless it is finished"]
pub struct Exporting(Option<SdkTracerProvider>);

impl Exporting {
    /// Begins to export what this process records. Call it within a runtime, and once.
    ///
    /// # Errors
    /// If OpenTelemetry's exporter refuses a setting.
    pub fn begin(collector: Option<Collector>) -> Result<Exporting, OtlpError> {
        let Some(collector) = collector else {
            return Ok(Exporting(None));
        };
        let resource = collector.resource().clone();
        let deadline = collector.deadline();
        let processor = CountingProcessor::new(collector.exporter()?, deadline);
        let provider = SdkTracerProvider::builder()
            // The gateway decides which requests are recorded.
            .with_sampler(Sampler::AlwaysOn)
            .with_resource(resource)
            .with_span_processor(processor)
            .build();
        global::set_tracer_provider(provider.clone());
        Ok(Exporting(Some(provider)))
    }

    /// Exports queued spans, for at most 2 s.
    pub async fn finish(self) {
        let Some(provider) = self.0 else {
            return;
        };
        let shutdown = move || provider.shutdown_with_timeout(SHUTDOWN);
        let finished = tokio::task::spawn_blocking(shutdown).await;
        if !matches!(finished, Ok(Ok(()))) {
            tracing::warn!("the trace collector did not accept the last spans: they are lost");
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
        for good in ["grpc", "", "http/protobuf"] {
            assert!(matches!(read(good, url), Ok(true)), "{good}");
        }
        for other in ["http/json", "GRPC"] {
            assert!(matches!(read(other, ""), Ok(false)), "{other}");
            let refused = read(other, url).unwrap_err();
            assert!(matches!(refused, OtlpError::Protocol), "{refused}");
        }
    }
}
