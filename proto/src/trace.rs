//! Spans: what gateway and worker record of a call, where it is recorded at all.
//!
//! The gateway decides once for each request; after that a span is begun only within one that is
//! recorded, so that all other calls pay a look at a variable of their thread. The span that is
//! current goes with a future ([`Span::run`]), not with a thread, and not by itself into a task
//! ([`apart`]). What a reader would get wrong: a span ends when the last that holds it lets
//! it go. Names and attributes are those of OpenTelemetry's semantic conventions where it has any;
//! arguments, paths and contents are never among them.

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

use crate::context::TraceContext;

pub use counts::{COUNTS, Lost, SpanCounts, Spans};

/// Who says what spans hold, in all that we export.
const SCOPE: &str = "archway";
/// The RPC between gateway and workers, as `rpc.method`: a span's name, too.
pub const CALL: &str = "archway.v1.Worker/Call";
/// Characters of a `tracestate` that is passed on. One that is longer is dropped whole.
const LONGEST_STATE: usize = 512;

/// A span that is recorded, or none.
#[derive(Clone, Debug, Default)]
pub struct Span(Option<Context>);

impl Span {
    /// The span in which this thread is at work, if that is recorded.
    pub fn current() -> Span {
        if !is_recorded() {
            return Span(None);
        }
        Span(Some(Context::current()))
    }

    /// A span within the current one, if that is recorded: what it is, is asked only then.
    pub fn child(describe: impl FnOnce() -> SpanBuilder) -> Span {
        Span::current().within(describe)
    }

    /// A span of a trace that is not of this process, if that is recorded.
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

    /// The first span of a trace.
    pub fn of_new_trace(describe: impl FnOnce() -> SpanBuilder) -> Span {
        begin(&Context::new(), describe())
    }

    /// A span within this one.
    #[must_use]
    pub fn within(&self, describe: impl FnOnce() -> SpanBuilder) -> Span {
        match &self.0 {
            Some(parent) => begin(parent, describe()),
            None => Span(None),
        }
    }

    /// The same span, which keeps another from ending before it.
    #[must_use]
    pub fn inside(self, outer: &Span) -> Span {
        Span(self.0.map(|it| it.with_value(Outer(outer.clone()))))
    }

    /// Adds an attribute, or replaces it.
    pub fn set(&self, key: &'static str, value: impl Into<Value>) {
        if let Some(recorded) = &self.0 {
            recorded.span().set_attribute(KeyValue::new(key, value));
        }
    }

    /// Says that what it is about failed, and how: a word of few.
    pub fn fail(&self, error_type: impl Into<Value>) {
        if let Some(recorded) = &self.0 {
            recorded.span().set_status(Status::error(""));
            self.set("error.type", error_type);
        }
    }

    /// Ends it in the past.
    pub fn end_at(&self, moment: SystemTime) {
        if let Some(recorded) = &self.0 {
            recorded.span().end_with_timestamp(moment);
        }
    }

    /// Where it stands, for who continues its trace elsewhere.
    pub fn trace(&self) -> Option<TraceContext> {
        let recorded = self.0.as_ref()?;
        Some(TraceContext::of(recorded.span().span_context()))
    }

    /// Where it stands, for a link to it.
    pub fn span_context(&self) -> Option<SpanContext> {
        let recorded = self.0.as_ref()?;
        Some(recorded.span().span_context().clone())
    }

    /// What other makers of traces wrote beside it, as the header has it.
    pub fn state(&self) -> String {
        let state = |it: &Context| it.span().span_context().trace_state().header();
        self.0.as_ref().map(state).unwrap_or_default()
    }

    /// Runs a future within this span. Takes what is pinned already, so that nothing is moved for
    /// calls that are not recorded.
    pub fn run<F: Future + Unpin>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        Within {
            span: self.clone(),
            future,
        }
    }
}

/// A future for a task of its own: what is recorded of it belongs to the span of whoever begins it,
/// which need not wait for it to end.
pub fn apart<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let span = Span::current().0.map(|it| {
        let context = it.span().span_context().clone();
        Context::new().with_remote_span_context(context)
    });
    async move { Span(span).run(pin!(future)).await }
}

/// The current span failed, if it is recorded: for who has no hold of it.
pub fn fail(error_type: impl Into<Value>) {
    if is_recorded() {
        Span::current().fail(error_type);
    }
}

/// Adds an attribute to the current span, if it is recorded.
pub fn set(key: &'static str, value: impl Into<Value>) {
    if is_recorded() {
        Span::current().set(key, value);
    }
}

/// Whether what this thread does now is recorded.
pub fn is_recorded() -> bool {
    Context::map_current(|it| it.has_active_span() && it.span().span_context().is_sampled())
}

/// A gRPC status as the conventions for RPC have it.
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

/// A `tracestate` as it came; nothing, if it is too long, malformed, or could be no header.
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
    // Without an exporter there are none.
    let recorded = begun.span().is_recording();
    Span(recorded.then_some(begun))
}

/// A span that lasts as long as another, inside it, does.
struct Outer(#[expect(dead_code, reason = "held, so that it does not end")] Span);

/// A future whose every step is taken within a span.
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
    fn nothing_is_described_where_nothing_is_recorded() {
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
    fn a_trace_state_passes_as_it_is_unless_it_is_too_long_or_malformed() {
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
