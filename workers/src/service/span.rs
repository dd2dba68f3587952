//! The span of a call: a gRPC server span by OpenTelemetry's conventions.

use archway_proto::{
    context::CallContext,
    method::Method,
    trace::{self, CALL, Span, status_name},
};
use opentelemetry::{
    KeyValue,
    trace::{SpanBuilder, SpanKind},
};
use tokio::time::Instant;
use tonic::Code;
use uuid::Uuid;

/// The span of a call, if its gateway samples it. A failed tool is recorded in the tool's own span:
/// for gRPC it is an answer.
pub(super) fn call_span(context: &CallContext, method: Method, tenant: Uuid) -> Span {
    let state = trace::state(Some(&context.trace_state));
    Span::of_remote(context.trace, state, || {
        SpanBuilder::from_name(CALL)
            .with_kind(SpanKind::Server)
            .with_attributes([
                KeyValue::new("rpc.system.name", "grpc"),
                KeyValue::new("rpc.method", CALL),
                KeyValue::new("mcp.method.name", method.name()),
                KeyValue::new("tenant.id", tenant.to_string()),
            ])
    })
}

/// Records how a call ended. If it is dropped before that, the caller cancelled the call or its
/// deadline passed.
pub(super) struct CallEnd {
    span: Span,
    deadline: Instant,
    is_recorded: bool,
}

impl CallEnd {
    /// The end of a call that must be answered by `deadline`.
    pub(super) fn new(span: &Span, deadline: Instant) -> Self {
        CallEnd {
            span: span.clone(),
            deadline,
            is_recorded: false,
        }
    }

    /// Records the status. A call that the worker did not finish is recorded as the status of that
    /// failure, although its caller gets an answer.
    pub(super) fn set(&mut self, code: Code) {
        self.is_recorded = true;
        let name = status_name(code);
        self.span.set("rpc.response.status_code", name);
        // A cancelled call is no failure of the server.
        if !matches!(code, Code::Ok | Code::Cancelled) {
            self.span.fail(name);
        }
    }
}

impl Drop for CallEnd {
    fn drop(&mut self) {
        if !self.is_recorded {
            self.set(match Instant::now() < self.deadline {
                true => Code::Cancelled,
                false => Code::DeadlineExceeded,
            });
        }
    }
}
