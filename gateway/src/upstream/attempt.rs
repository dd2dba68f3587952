//! What is recorded of one try: the span of a client of gRPC, by OpenTelemetry's conventions.
//!
//! It lasts until the answer's stream ended, or nobody waits for that any longer. A try that is let
//! go before, because its caller went away, is one that was cancelled.

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

use super::ending::Ending;

/// The span of a try, if its call is recorded.
#[derive(Debug)]
pub(super) struct Attempt {
    span: Span,
    ended: bool,
}

impl Attempt {
    /// Begins a try on the worker of this address: `http://host:port` or `unix:/path`.
    pub(super) fn begin(address: &str) -> Self {
        let span = Span::child(|| {
            let mut attributes = vec![
                KeyValue::new("rpc.system.name", "grpc"),
                KeyValue::new("rpc.method", CALL),
            ];
            attributes.extend(place(address));
            SpanBuilder::from_name(CALL)
                .with_kind(SpanKind::Client)
                .with_attributes(attributes)
        });
        Attempt { span, ended: false }
    }

    /// Has the worker continue from here.
    pub(super) fn lead(&self, context: &CallContext) -> CallContext {
        CallContext {
            trace: self.span.trace().unwrap_or(context.trace),
            trace_state: self.span.state(),
            ..context.clone()
        }
    }

    /// The try ended with this code, now: the next one begins after it.
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

    /// The try ended with what tonic made of its end. Its word for a deadline is "cancelled".
    pub(super) fn failed(&mut self, status: &Status) {
        self.ended(match Ending::of(status) {
            Ending::Late => Code::DeadlineExceeded,
            _ => status.code(),
        });
    }

    /// It was waited for in vain: what became of the wait, the call is told.
    pub(super) fn given_up(&mut self, failure: &Failure) {
        let is_late = failure.code == Fault::DeadlineExceeded;
        self.ended(match is_late {
            true => Code::DeadlineExceeded,
            false => Code::Cancelled,
        });
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.ended(Code::Cancelled);
    }
}

fn place(address: &str) -> Vec<KeyValue> {
    let Ok(uri) = address.parse::<http::Uri>() else {
        let socket = address.trim_start_matches("unix:").to_owned();
        return vec![KeyValue::new("server.address", socket)];
    };
    let host = uri.host().unwrap_or_default().to_owned();
    let mut place = vec![KeyValue::new("server.address", host)];
    if let Some(port) = uri.port_u16() {
        place.push(KeyValue::new("server.port", i64::from(port)));
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_named_by_host_and_port_or_by_its_socket() {
        let text = |address| {
            let place = place(address);
            let one = |it: &KeyValue| format!("{}={}", it.key, it.value);
            place.iter().map(one).collect::<Vec<_>>().join(" ")
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
