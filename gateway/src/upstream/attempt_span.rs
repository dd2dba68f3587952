//! The trace span of one attempt: a gRPC client span by OpenTelemetry's conventions.
//!
//! It lasts until the answer's stream ends or nobody waits for it any more. An attempt that is
//! dropped earlier, because its caller disconnected, is recorded as cancelled.

use std::time::SystemTime;

use archway_proto::{
    context::CallContext,
    failure::Failure,
    fault::Fault,
    trace::{CALL, Span, status_name},
};
use opentelemetry::{
    KeyValue,
    trace::{SpanBuilder, SpanKind},
};
use tonic::{Code, Status};

use super::attempt_end::AttemptEnd;

/// The span of an attempt, if its call is traced.
#[derive(Debug)]
pub(super) struct AttemptSpan {
    span: Span,
    ended: bool,
}

impl AttemptSpan {
    /// Starts the span of an attempt on the worker at `http://host:port` or `unix:/path`.
    pub(super) fn begin(address: &str) -> Self {
        let span = Span::child(|| {
            let mut attributes = vec![
                KeyValue::new("rpc.system.name", "grpc"),
                KeyValue::new("rpc.method", CALL),
            ];
            attributes.extend(server_attributes(address));
            SpanBuilder::from_name(CALL)
                .with_kind(SpanKind::Client)
                .with_attributes(attributes)
        });
        AttemptSpan { span, ended: false }
    }

    /// The context to send, with this span as the worker's parent.
    pub(super) fn propagate(&self, context: &CallContext) -> CallContext {
        CallContext {
            trace: self.span.trace().unwrap_or(context.trace),
            trace_state: self.span.state(),
            ..context.clone()
        }
    }

    /// Ends the span now with this code, before the next attempt starts.
    pub(super) fn ended(&mut self, code: Code) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let name = status_name(code);
        self.span.set("rpc.response.status_code", name);
        if code != Code::Ok {
            self.span.fail(name);
        }
        self.span.end_at(SystemTime::now());
    }

    /// Ends the span with the code of `status`, except for a passed deadline, which tonic reports
    /// as cancelled.
    pub(super) fn failed(&mut self, status: &Status) {
        self.ended(match AttemptEnd::of(status) {
            AttemptEnd::TimedOut => Code::DeadlineExceeded,
            _ => status.code(),
        });
    }

    /// Ends the span because the gateway stopped waiting for the answer.
    pub(super) fn given_up(&mut self, failure: &Failure) {
        let is_late = failure.code == Fault::DeadlineExceeded;
        self.ended(match is_late {
            true => Code::DeadlineExceeded,
            false => Code::Cancelled,
        });
    }
}

impl Drop for AttemptSpan {
    fn drop(&mut self) {
        self.ended(Code::Cancelled);
    }
}

fn server_attributes(address: &str) -> Vec<KeyValue> {
    let Ok(uri) = address.parse::<http::Uri>() else {
        let socket = address.trim_start_matches("unix:").to_owned();
        return vec![KeyValue::new("server.address", socket)];
    };
    let host = uri.host().unwrap_or_default().to_owned();
    let mut attributes = vec![KeyValue::new("server.address", host)];
    if let Some(port) = uri.port_u16() {
        attributes.push(KeyValue::new("server.port", i64::from(port)));
    }
    attributes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_named_by_host_and_port_or_by_its_socket() {
        let text = |address| {
            let attributes = server_attributes(address);
            let one = |it: &KeyValue| format!("{}={}", it.key, it.value);
            attributes.iter().map(one).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            text("http://10.1.2.3:7000"),
            "server.address=10.1.2.3 server.port=7000"
        );
        assert_eq!(
            text("http://[fd00::1]:7000"),
            "server.address=[fd00::1] server.port=7000"
        );
        assert_eq!(text("unix:/run/grpc"), "server.address=/run/grpc");
    }
}
