//! A collector of traces on loopback: it decodes OTLP over gRPC and over HTTP, and hangs or refuses
//! on command.
//!
//! The binary's own tests, which start processes, compile this file too.

use std::{collections::BTreeMap, io::Read, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, header::CONTENT_ENCODING},
};
use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::{KeyValue, any_value::Value},
    resource::v1::Resource,
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use parking_lot::Mutex;
use prost::Message;
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};
use tonic::{
    Request, Response, Status, codec::CompressionEncoding, metadata::MetadataMap, service::Routes,
};

/// Spans arrive within seconds of their end, or never.
const PATIENCE: Duration = Duration::from_secs(20);

/// How it treats requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// Takes every span.
    #[default]
    Taking,
    /// Accepts requests and never answers.
    Hanging,
    /// Takes all but one span of each request.
    Choosing,
}

/// A span as it was exported.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// The name of the process that recorded it.
    pub service: String,
    /// Further attributes of that process.
    pub resource: BTreeMap<String, String>,
    /// Its name.
    pub name: String,
    /// `server`, `client` or `internal`.
    pub kind: &'static str,
    /// In hexadecimal digits.
    pub trace: String,
    /// In hexadecimal digits.
    pub id: String,
    /// In hexadecimal digits; empty for the root of a trace.
    pub parent: String,
    /// The `tracestate` that other tracers sent along.
    pub state: String,
    /// Values as text.
    pub attributes: BTreeMap<String, String>,
    /// Ids of linked spans.
    pub links: Vec<String>,
    /// Whether its status is an error.
    pub failed: bool,
    /// In nanoseconds since 1970.
    pub start: u64,
    /// In nanoseconds since 1970.
    pub end: u64,
}

impl Exported {
    /// The value of an attribute, or an empty text.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

/// A running collector. It ends with its runtime.
#[derive(Clone, Debug)]
pub struct Collector {
    address: SocketAddr,
    kept: Arc<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    spans: Mutex<Vec<Exported>>,
    manner: Mutex<Manner>,
    headers: Mutex<Vec<MetadataMap>>,
}

impl Collector {
    /// Starts one that takes every span, on the current runtime.
    pub async fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Arc::<Kept>::default();
        let service = TraceServiceServer::new(Service(kept.clone()))
            .accept_compressed(CompressionEncoding::Gzip);
        let over_http = axum::routing::post(over_http).with_state(kept.clone());
        let routes = Routes::new(service)
            .into_axum_router()
            .route("/v1/traces", over_http);
        tokio::spawn(axum::serve(listener, routes).into_future());
        Collector { address, kept }
    }

    /// For `--otlp-endpoint`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes its behaviour.
    pub fn be(&self, manner: Manner) {
        *self.kept.manner.lock() = manner;
    }

    /// The spans of a trace so far, by their start.
    pub fn spans(&self, trace: &str) -> Vec<Exported> {
        let mut spans = self.all();
        spans.retain(|span| span.trace == trace);
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// All spans so far.
    pub fn all(&self) -> Vec<Exported> {
        self.kept.spans.lock().clone()
    }

    /// The metadata of each request.
    pub fn headers(&self) -> Vec<MetadataMap> {
        self.kept.headers.lock().clone()
    }

    /// Waits until the spans of a trace satisfy `are_so`, and returns them. Panics on timeout.
    pub async fn once(&self, trace: &str, are_so: impl Fn(&[Exported]) -> bool) -> Vec<Exported> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let spans = self.spans(trace);
            if are_so(&spans) {
                return spans;
            }
            assert!(Instant::now() < deadline, "{spans:#?}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Kept {
    /// Takes a request as it was told to behave.
    async fn take(
        &self,
        headers: MetadataMap,
        request: ExportTraceServiceRequest,
    ) -> ExportTraceServiceResponse {
        self.headers.lock().push(headers);
        let manner = *self.manner.lock();
        if manner == Manner::Hanging {
            std::future::pending::<()>().await;
        }
        let mut taken = Vec::new();
        for of_process in request.resource_spans {
            let resource = texts(of_process.resource.unwrap_or_default());
            let spans = of_process.scope_spans.into_iter().flat_map(|it| it.spans);
            taken.extend(spans.map(|span| exported(&resource, span)));
        }
        let refused = manner == Manner::Choosing && taken.pop().is_some();
        self.spans.lock().extend(taken);
        let partial_success = refused.then(|| ExportTracePartialSuccess {
            rejected_spans: 1,
            error_message: "one too many".to_owned(),
        });
        ExportTraceServiceResponse { partial_success }
    }
}

struct Service(Arc<Kept>);

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let headers = request.metadata().clone();
        let answer = self.0.take(headers, request.into_inner()).await;
        Ok(Response::new(answer))
    }
}

/// `POST /v1/traces`, with protobuf in the body, compressed or not.
async fn over_http(State(kept): State<Arc<Kept>>, headers: HeaderMap, body: Bytes) -> Vec<u8> {
    let mut plain = Vec::new();
    match headers.get(CONTENT_ENCODING) {
        Some(_gzip) => GzDecoder::new(body.as_ref()).read_to_end(&mut plain),
        None => body.as_ref().read_to_end(&mut plain),
    }
    .unwrap();
    let request = ExportTraceServiceRequest::decode(plain.as_slice()).unwrap();
    let headers = MetadataMap::from_headers(headers);
    kept.take(headers, request).await.encode_to_vec()
}

fn texts(resource: Resource) -> BTreeMap<String, String> {
    resource.attributes.into_iter().map(text).collect()
}

fn text(pair: KeyValue) -> (String, String) {
    let value = match pair.value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    (pair.key, value)
}

fn exported(resource: &BTreeMap<String, String>, span: Span) -> Exported {
    let kind = match span.kind() {
        SpanKind::Server => "server",
        SpanKind::Client => "client",
        _ => "internal",
    };
    let status = span.status.as_ref().map(|status| status.code());
    Exported {
        service: resource["service.name"].clone(),
        resource: resource.clone(),
        kind,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        links: span.links.iter().map(|link| hex(&link.span_id)).collect(),
        failed: status == Some(StatusCode::Error),
        name: span.name,
        state: span.trace_state,
        attributes: span.attributes.into_iter().map(text).collect(),
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
