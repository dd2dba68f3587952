//! The outermost spans of a traced request: the HTTP request, and the message in it.
//!
//! They start once the message is parsed, because only then their parents are known. The trace
//! context in `_meta` belongs to the message (SEP-414) and wins over that of the headers, which
//! belongs to the HTTP request. So the HTTP span starts in the past, when the request arrived.
//! Requests without a valid credential are never traced. Names follow OpenTelemetry's conventions
//! for HTTP and MCP. Client text is recorded only where its set of values is small.

use std::{pin::Pin, time::SystemTime};

use archway_proto::{
    context::TraceContext,
    trace::{self, Span},
};
use axum::response::Response;
use http::{HeaderMap, Version, request::Parts};
use opentelemetry::{
    KeyValue,
    trace::{Link, SpanBuilder, SpanKind, TraceState},
};
use serde_json::Value;

use super::{
    call::Calls,
    envelope::RequestId,
    era::{self, Era},
    method::Method,
    request::Message,
};
use crate::{
    caller::{ArrivedAt, AuthenticatedAt, Principal},
    catalog::Catalog,
    sampling::Sampler,
};

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
/// The name of an unknown method.
const OTHER: &str = "_OTHER";

/// A request, its message if it could be parsed, and its caller.
struct TracedRequest<'a> {
    who: &'a Principal,
    parts: &'a Parts,
    message: Option<&'a Message>,
    catalog: &'a Catalog,
}

/// The spans of a request.
pub(super) struct RequestSpans {
    http: Span,
    message: Span,
    /// The trace that the message belongs to, whether it is recorded or not.
    pub(super) trace: TraceContext,
}

impl Calls {
    /// Starts the spans of a request, if its trace is recorded.
    pub(super) fn begin_spans(
        &self,
        who: &Principal,
        parts: &Parts,
        message: Option<&Message>,
    ) -> RequestSpans {
        let request = TracedRequest {
            who,
            parts,
            message,
            catalog: &self.catalog,
        };
        RequestSpans::begin(&self.sampler, &request)
    }
}

impl RequestSpans {
    fn begin(sampler: &Sampler, request: &TracedRequest<'_>) -> Self {
        let of_request = RemoteParent::of_headers(&request.parts.headers);
        let of_message = request.message.and_then(RemoteParent::of_meta);
        let parent = of_message.as_ref().or(of_request.as_ref());
        let hint = parent.map(|it| it.trace.is_sampled());
        if !sampler.records(request.who.tenant_id(), hint) {
            let trace = parent.map_or_else(TraceContext::start, |it| it.trace.child());
            return RequestSpans {
                http: Span::default(),
                message: Span::default(),
                trace: trace.unsampled(),
            };
        }
        let sampled = of_request.filter(|it| it.trace.is_sampled());
        let http = request.begin_request(sampled.as_ref().or(of_message.as_ref()));
        let message = match request.message {
            Some(message) => request.begin_message(message, of_message.as_ref(), &http),
            None => Span::default(),
        };
        let trace = message.trace().or(http.trace());
        RequestSpans {
            trace: trace.unwrap_or_else(TraceContext::start),
            http,
            message,
        }
    }

    /// Answers the request within its spans.
    pub(super) async fn run(self, answering: Pin<&mut impl Future<Output = Response>>) -> Response {
        let within = match self.message.trace() {
            Some(_) => &self.message,
            None => &self.http,
        };
        let response = within.run(answering).await;
        let status = response.status();
        let code = i64::from(status.as_u16());
        self.http.set("http.response.status_code", code);
        if status.is_server_error() {
            self.http.fail(status.as_str().to_owned());
        }
        response
    }
}

impl TracedRequest<'_> {
    /// The span of the HTTP request, with a child for the authentication.
    fn begin_request(&self, parent: Option<&RemoteParent>) -> Span {
        let came = self.parts.extensions.get::<ArrivedAt>();
        let came = came.map_or_else(SystemTime::now, |at| at.0);
        let describe = || {
            SpanBuilder::from_name(format!("{} /mcp", self.parts.method))
                .with_kind(SpanKind::Server)
                .with_start_time(came)
                .with_attributes([
                    KeyValue::new("http.request.method", self.parts.method.to_string()),
                    KeyValue::new("http.route", "/mcp"),
                    KeyValue::new("url.path", "/mcp"),
                    KeyValue::new("url.scheme", "http"),
                    KeyValue::new("network.protocol.version", version(self.parts.version)),
                ])
        };
        let http = match parent {
            Some(parent) => Span::of_remote(parent.trace, parent.state.clone(), describe),
            None => Span::of_new_trace(describe),
        };
        http.set("tenant.id", self.who.tenant_id().to_string());
        if let Some(verified) = self.parts.extensions.get::<AuthenticatedAt>() {
            let span = || SpanBuilder::from_name("authenticate").with_start_time(came);
            http.within(span).end_at(verified.0);
        }
        http
    }

    /// The span of the message. If `_meta` names a parent, the span continues that trace and links
    /// to the HTTP request.
    fn begin_message(&self, message: &Message, parent: Option<&RemoteParent>, http: &Span) -> Span {
        let describe = || {
            let method = message.envelope.method.map_or(OTHER, Method::name);
            let tool = self.tool(message);
            let name = match &tool {
                Some(tool) => format!("{method} {tool}"),
                None => method.to_owned(),
            };
            SpanBuilder::from_name(name)
                .with_kind(SpanKind::Server)
                .with_attributes(self.attributes(message, method, tool))
        };
        let span = match parent {
            Some(parent) => Span::of_remote(parent.trace, parent.state.clone(), || {
                let link = http.span_context().map(Link::with_context);
                describe().with_links(link.into_iter().collect())
            }),
            None => http.within(describe),
        };
        span.inside(http)
    }

    fn attributes(
        &self,
        message: &Message,
        method: &'static str,
        tool: Option<String>,
    ) -> Vec<KeyValue> {
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", method),
            KeyValue::new("mcp.session.id", message.session.key.to_string()),
            KeyValue::new("tenant.id", self.who.tenant_id().to_string()),
            KeyValue::new("network.transport", "tcp"),
            KeyValue::new("network.protocol.name", "http"),
            KeyValue::new("network.protocol.version", version(self.parts.version)),
        ];
        if let Some(revision) = revision(message, &self.parts.headers) {
            attributes.push(KeyValue::new("mcp.protocol.version", revision));
        }
        // A string id could contain anything.
        if let Some(RequestId::Number(id)) = &message.envelope.id {
            attributes.push(KeyValue::new("jsonrpc.request.id", id.to_string()));
        }
        if let Some(tool) = tool {
            attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
            attributes.push(KeyValue::new("gen_ai.tool.name", tool));
        }
        attributes
    }

    /// The name of the called tool, if it exists.
    fn tool(&self, message: &Message) -> Option<String> {
        let called = message.envelope.method == Some(Method::TOOLS_CALL);
        let name = message.envelope.params.get("name").filter(|_| called)?;
        let known = self.catalog.tools()?.find(self.who, name.as_str()?);
        Some(known.ok()?.entry.name.clone())
    }
}

/// The parent span in a client's trace.
struct RemoteParent {
    trace: TraceContext,
    state: TraceState,
}

impl RemoteParent {
    fn of_headers(headers: &HeaderMap) -> Option<Self> {
        // Two `traceparent` headers count as none, by the specification.
        let text = |name| {
            let mut values = headers.get_all(name).iter();
            let value = values.next()?.to_str().ok();
            value.filter(|_| values.next().is_none())
        };
        RemoteParent::of(text(TRACEPARENT)?, text(TRACESTATE))
    }

    fn of_meta(message: &Message) -> Option<Self> {
        let meta = message.envelope.meta()?;
        let text = |name| meta.get(name).and_then(Value::as_str);
        RemoteParent::of(text(TRACEPARENT)?, text(TRACESTATE))
    }

    fn of(parent: &str, state: Option<&str>) -> Option<Self> {
        let trace = TraceContext::parse(parent)?;
        let state = trace.is_sampled().then_some(state).flatten();
        Some(RemoteParent {
            trace,
            state: trace::state(state),
        })
    }
}

/// The revision of MCP that a message states, if any.
fn revision(message: &Message, headers: &HeaderMap) -> Option<&'static str> {
    match message.era {
        Era::Modern => Some(era::MODERN),
        Era::Legacy => era::declared_by_header(headers),
    }
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_2 => "2",
        Version::HTTP_10 => "1.0",
        _ => "1.1",
    }
}
