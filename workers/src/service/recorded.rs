//! What is recorded of a call: the span of a server of gRPC, by OpenTelemetry's conventions.

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

/// The span of a call, if its gateway has it recorded. How the tool failed is the tool's span's to
/// say: to gRPC that is an answer.
pub(super) fn recorded(context: &CallContext, method: Method, tenant: Uuid) -> Span {
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

/// What is recorded of a call's end. One that is dropped without having ended was given up by its
/// caller.
pub(super) struct Ending {
    span: Span,
    deadline: Instant,
    told: bool,
}

impl Ending {
    /// Of a call that is to be answered by this moment.
    pub(super) fn new(span: &Span, deadline: Instant) -> Self {
        Ending {
            span: span.clone(),
            deadline,
            told: false,
        }
    }

    /// The call ended so. What the worker did not finish is told as the status that it stands for,
    /// though its caller gets an answer that says so.
    pub(super) fn is(&mut self, code: Code) {
        self.told = true;
        let name = status_name(code);
        self.span.set("rpc.response.status_code", name);
        // Who goes away is no failure of a server's.
        if !matches!(code, Code::Ok | Code::Cancelled) {
            self.span.fail(name);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if !self.told {
            self.is(match Instant::now() < self.deadline {
                true => Code::Cancelled,
                false => Code::DeadlineExceeded,
            });
        }
    }
}
