//! Which trace a call belongs to, and which span is its parent.

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use uuid::Uuid;

/// A W3C trace context (Trace Context level 2, `traceparent`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    sampled: bool,
}

impl TraceContext {
    /// A new trace, not sampled.
    pub fn start() -> Self {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        TraceContext {
            trace_id: Uuid::new_v4().as_u128().max(1),
            span_id: (high ^ low).max(1),
            sampled: false,
        }
    }

    /// The same trace, continued by a new span.
    #[must_use]
    pub fn child(self) -> Self {
        TraceContext {
            span_id: TraceContext::start().span_id,
            ..self
        }
    }

    /// Parses a `traceparent`; `None` for anything that the specification says to ignore.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let known = version == "00" && parts.next().is_none();
        let lower_hex = |s: &str, len| {
            s.len() == len && s.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        if !known || !lower_hex(trace, 32) || !lower_hex(span, 16) || !lower_hex(flags, 2) {
            return None;
        }
        let trace_id = u128::from_str_radix(trace, 16).ok()?;
        let span_id = u64::from_str_radix(span, 16).ok()?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        (trace_id != 0 && span_id != 0).then_some(TraceContext {
            trace_id,
            span_id,
            sampled: flags & 1 == 1,
        })
    }

    /// The same trace, without recording.
    #[must_use]
    pub fn unsampled(self) -> Self {
        TraceContext {
            sampled: false,
            ..self
        }
    }

    /// Whether it is recorded; in a caller's context, whether recording is requested.
    pub fn is_sampled(self) -> bool {
        self.sampled
    }

    /// The context of a span in this process.
    pub fn of(span: &SpanContext) -> Self {
        TraceContext {
            trace_id: u128::from_be_bytes(span.trace_id().to_bytes()),
            span_id: u64::from_be_bytes(span.span_id().to_bytes()),
            sampled: span.is_sampled(),
        }
    }

    /// The same, as the parent of spans in this process.
    pub fn to_remote(self, state: TraceState) -> SpanContext {
        let flags = TraceFlags::default().with_sampled(self.sampled);
        let (trace, span) = (TraceId::from(self.trace_id), SpanId::from(self.span_id));
        SpanContext::new(trace, span, flags, true, state)
    }

    /// The span's id, 16 hexadecimal digits.
    pub fn span_id(self) -> String {
        format!("{:016x}", self.span_id)
    }

    /// The trace id, 32 hexadecimal digits, for error reports.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace_id)
    }
}

impl std::fmt::Display for TraceContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let flags = u8::from(self.sampled);
        write!(
            f,
            "00-{:032x}-{:016x}-{flags:02x}",
            self.trace_id, self.span_id
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_trace_parents_are_ignored() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceContext::parse(good).unwrap().to_string(), good);
        for bad in [
            "",
            "00",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceContext::parse(bad), None, "{bad}");
        }
    }
}
