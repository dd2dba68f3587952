//! Spans: what gateway and worker record of a call, if it is recorded.
//!
//! The gateway decides once per request. Afterwards a span begins only within a recorded one, so other
//! calls cost a look at a thread-local variable. The current span belongs to a future ([`Span::run`]), not
//! to a thread, and is not inherited by tasks ([`apart`]). What a reader would get wrong: a span ends when
//! its last holder drops it. Names and attributes follow OpenTelemetry's semantic conventions where they
//! exist. Arguments, paths and contents are never recorded.

mod counts;

use std::{
    pin::{Pin, pin},
    task::{self, Poll},
    time::SystemTime,
};

use opentelemetry::{
    Context, KeyValue, Value, global,
    trace::{SpanBuilder, SpanContext, Status, TraceContextExt, TraceState, Tracer as _},
};
use tonic::Code;

use crate::trace_context::TraceContext;

pub use counts::{COUNTS, Lost, SpanCounts, Spans};

/// The instrumentation scope of all exported spans.
const SCOPE: &str = "archway";
/// The RPC between gateway and workers, as `rpc.method` and as a span's name.
pub const CALL: &str = "archway.v1.Worker/Call";
/// The longest `tracestate` that is propagated, in characters. A longer one is dropped entirely.
const LONGEST_STATE: usize = 512;

/// A recorded span, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Span(Option<Context>);

impl Span {
    /// The current span of this thread, if it is recorded.
    pub fn current() -> Span {
        if !is_recorded() {
            return Span(None);
        }
        Span(Some(Context::current()))
    }

    /// A child of the current span, if that is recorded. `describe` is called only then.
    pub fn child(describe: impl FnOnce() -> SpanBuilder) -> Span {
        Span::current().within(describe)
    }

    /// A child of a span in another process, if that is recorded.
    pub fn of_remote(
        parent: TraceContext,
        state: TraceState,
        describe: impl FnOnce() -> SpanBuilder,
    ) -> Span {
        if !parent.is_sampled() {
            return Span(None);
        }
        let parent = Context::new().with_remote_span_context(parent.to_remote(state));
        begin(&parent, describe())
    }

    /// The root span of a new trace.
    pub fn of_new_trace(describe: impl FnOnce() -> SpanBuilder) -> Span {
        begin(&Context::new(), describe())
    }

    /// A child of this span.
    #[must_use]
    pub fn within(&self, describe: impl FnOnce() -> SpanBuilder) -> Span {
        match &self.0 {
            Some(parent) => begin(parent, describe()),
            None => Span(None),
        }
    }

    /// The same span, which keeps `outer` from ending before it.
    #[must_use]
    pub fn inside(self, outer: &Span) -> Span {
        Span(self.0.map(|it| it.with_value(Outer(outer.clone()))))
    }

    /// Sets an attribute.
    pub fn set(&self, key: &'static str, value: impl Into<Value>) {
        if let Some(recorded) = &self.0 {
            recorded.span().set_attribute(KeyValue::new(key, value));
        }
    }

    /// Marks the span as failed, with an error type of low cardinality.
    pub fn fail(&self, error_type: impl Into<Value>) {
        if let Some(recorded) = &self.0 {
            recorded.span().set_status(Status::error(""));
            self.set("error.type", error_type);
        }
    }

    /// Ends the span at a moment in the past.
    pub fn end_at(&self, moment: SystemTime) {
        if let Some(recorded) = &self.0 {
            recorded.span().end_with_timestamp(moment);
        }
    }

    /// Its trace context, to continue the trace elsewhere.
    pub fn trace(&self) -> Option<TraceContext> {
        let recorded = self.0.as_ref()?;
        Some(TraceContext::of(recorded.span().span_context()))
    }

    /// Its span context, for links.
    pub fn span_context(&self) -> Option<SpanContext> {
        let recorded = self.0.as_ref()?;
        Some(recorded.span().span_context().clone())
    }

    /// Its `tracestate`, as the header's value.
    pub fn state(&self) -> String {
        let state = |it: &Context| it.span().span_context().trace_state().header();
        self.0.as_ref().map(state).unwrap_or_default()
    }

    /// Runs a future within this span. Takes a pinned future, so that calls which are not recorded move
    /// nothing.
    pub fn run<F: Future + Unpin>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        Within {
            span: self.clone(),
            future,
        }
    }
}

/// Prepares a future for a task of its own: its spans are children of the caller's current span, which
/// may end earlier.
pub fn apart<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let span = Span::current().0.map(|it| {
        let context = it.span().span_context().clone();
        Context::new().with_remote_span_context(context)
    });
    async move { Span(span).run(pin!(future)).await }
}

/// Marks the current span as failed, if it is recorded.
pub fn fail(error_type: impl Into<Value>) {
    if is_recorded() {
        Span::current().fail(error_type);
    }
}

/// Sets an attribute of the current span, if it is recorded.
pub fn set(key: &'static str, value: impl Into<Value>) {
    if is_recorded() {
        Span::current().set(key, value);
    }
}

/// Whether the current span of this thread is recorded.
pub fn is_recorded() -> bool {
    Context::map_current(|it| it.has_active_span() && it.span().span_context().is_sampled())
}

/// The name of a gRPC status in the semantic conventions.
pub fn status_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// Parses a `tracestate`. Empty if it is too long, malformed, or not a valid header.
pub fn state(text: Option<&str>) -> TraceState {
    let is_plain = |text: &&str| text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let text = text
        .filter(|text| text.len() <= LONGEST_STATE)
        .filter(is_plain);
    let state = text.and_then(|text| text.parse().ok());
    state.unwrap_or_default()
}

fn begin(parent: &Context, span: SpanBuilder) -> Span {
    let span = global::tracer(SCOPE).build_with_context(span, parent);
    let begun = parent.with_span(span);
    // Without an exporter, spans don't record.
    let recorded = begun.span().is_recording();
    Span(recorded.then_some(begun))
}

/// A span that ends no earlier than another one within it.
struct Outer(#[expect(dead_code, reason = "held, so that it does not end")] Span);

/// A future that is polled within a span.
struct Within<F> {
    span: Span,
    future: F,
}

impl<F: Future + Unpin> Future for Within<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let _entered = self.span.0.clone().map(Context::attach);
        Pin::new(&mut self.future).poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_described_only_if_they_are_recorded() {
        let describe = || panic!("it is not recorded");
        let span = Span::child(describe);
        let of_remote = Span::of_remote(TraceContext::start(), TraceState::NONE, describe);
        for span in [span, of_remote] {
            span.set("a", "b");
            span.fail("c");
            assert_eq!((span.trace(), span.state()), (None, String::new()));
            let within = span.within(describe);
            assert_eq!(within.trace(), None);
        }
        assert!(!is_recorded());
    }

    #[test]
    fn without_an_exporter_a_sampled_trace_is_not_recorded() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parent = TraceContext::parse(text).unwrap();
        let span = Span::of_remote(parent, TraceState::NONE, || SpanBuilder::from_name("a"));
        assert_eq!(span.trace(), None);
    }

    #[test]
    fn a_trace_state_is_propagated_unless_too_long_or_malformed() {
        let good = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
        assert_eq!(state(Some(good)).header(), good);
        let long = format!("a={}", "b".repeat(200)) + ",c=d,e=f";
        assert_eq!(state(Some(&long)).header(), long);
        let longer = [long.as_str(); 3].join(",");
        for bad in [longer.as_str(), "no pair", "A=b", ""] {
            assert_eq!(state(Some(bad)).header(), "", "{bad}");
        }
        assert_eq!(state(None).header(), "");
    }
}
