//! What is recorded of a call: the span of a server of gRPC, by OpenTelemetry's conventions.

use archway_proto::{
    context::CallContext,
    method::Method,
    trace::{self, CALL, Span},
};
use opentelemetry::{
    KeyValue,
    trace::{SpanBuilder, SpanKind},
};
use uuid::Uuid;

/// The span of a call, if its gateway has it recorded. What becomes of the call is the tool's span's
/// to say: to gRPC a failure is an answer.
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
