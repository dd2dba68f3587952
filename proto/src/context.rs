//! The gRPC metadata of a call: id, trace, deadline, pass.

use std::time::Duration;

use tonic::metadata::{AsciiMetadataValue, MetadataMap};
use uuid::Uuid;

pub use crate::trace_context::TraceContext;
use crate::{pass::PassToken, trace};

const CALL_ID: &str = "archway-call-id";
const PASS: &str = "archway-pass";
const SESSION: &str = "archway-session";
const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
const GRPC_TIMEOUT: &str = "grpc-timeout";
/// In the metadata of a status: the worker did not begin the call, so it may be sent to another worker,
/// even if it writes.
pub const NOT_BEGUN: &str = "archway-not-begun";
/// In the metadata of every answer: an id that the worker's process made at its start. If a worker answers
/// with the same id after its connection was lost, its process had not ended.
pub const INSTANCE: &str = "archway-instance";

/// The context of one call, as the worker received it.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The gateway's id of the call; the same for all attempts.
    pub call_id: Uuid,
    /// The caller's session, for calls in one: the gateway's hash, never a usable handle.
    pub session: Option<u128>,
    /// The W3C trace context to continue.
    pub trace: TraceContext,
    /// The `tracestate` of other tracing systems; empty if the trace is not recorded.
    pub trace_state: String,
    /// The signed pass, not yet verified.
    pub pass: PassToken,
    /// How long the caller still waits, from `grpc-timeout`; `None` if it set none.
    pub timeout: Option<Duration>,
}

/// Why a request's metadata is not a call context.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// A header is missing.
    #[error("metadata {0} is missing")]
    Missing(&'static str),
    /// A header does not parse.
    #[error("metadata {0} is malformed")]
    Malformed(&'static str),
}

impl CallContext {
    /// Writes the context into a request: metadata, and the timeout as `grpc-timeout`.
    pub fn attach<T>(&self, request: &mut tonic::Request<T>) -> Result<(), ContextError> {
        let metadata = request.metadata_mut();
        metadata.insert(CALL_ID, ascii(CALL_ID, &self.call_id.to_string())?);
        metadata.insert(TRACEPARENT, ascii(TRACEPARENT, &self.trace.to_string())?);
        if !self.trace_state.is_empty() {
            metadata.insert(TRACESTATE, ascii(TRACESTATE, &self.trace_state)?);
        }
        if let Some(session) = self.session {
            metadata.insert(SESSION, ascii(SESSION, &format!("{session:032x}"))?);
        }
        let mut pass = ascii(PASS, self.pass.as_str())?;
        pass.set_sensitive(true);
        metadata.insert(PASS, pass);
        if let Some(timeout) = self.timeout {
            request.set_timeout(timeout);
        }
        Ok(())
    }

    /// Reads the context from a request's metadata.
    pub fn extract(metadata: &MetadataMap) -> Result<CallContext, ContextError> {
        let text = |name: &'static str| {
            let value = metadata.get(name).ok_or(ContextError::Missing(name))?;
            value
                .to_str()
                .map_err(|_not_ascii| ContextError::Malformed(name))
        };
        Ok(CallContext {
            call_id: text(CALL_ID)?
                .parse()
                .map_err(|_bad| ContextError::Malformed(CALL_ID))?,
            session: match metadata.get(SESSION) {
                None => None,
                Some(_) => Some(
                    u128::from_str_radix(text(SESSION)?, 16)
                        .map_err(|_bad| ContextError::Malformed(SESSION))?,
                ),
            },
            trace: TraceContext::parse(text(TRACEPARENT)?)
                .ok_or(ContextError::Malformed(TRACEPARENT))?,
            trace_state: match metadata.get(TRACESTATE) {
                None => String::new(),
                // The specification requires that a malformed one is treated as absent.
                Some(_) => trace::state(text(TRACESTATE).ok()).header(),
            },
            pass: PassToken::new(text(PASS)?),
            timeout: match metadata.get(GRPC_TIMEOUT) {
                None => None,
                Some(_) => Some(
                    grpc_timeout(text(GRPC_TIMEOUT)?)
                        .ok_or(ContextError::Malformed(GRPC_TIMEOUT))?,
                ),
            },
        })
    }
}

fn ascii(name: &'static str, text: &str) -> Result<AsciiMetadataValue, ContextError> {
    text.parse()
        .map_err(|_not_ascii| ContextError::Malformed(name))
}

/// Parses `grpc-timeout`: at most eight digits and a unit (gRPC over HTTP/2, "Requests").
fn grpc_timeout(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let digits = text.strip_suffix(unit)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        'H' => Duration::from_secs(count * 3600),
        'M' => Duration::from_secs(count * 60),
        'S' => Duration::from_secs(count),
        'm' => Duration::from_millis(count),
        'u' => Duration::from_micros(count),
        'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_survives_the_round_trip() {
        let sent = CallContext {
            call_id: Uuid::new_v4(),
            session: Some(7),
            trace: TraceContext::start(),
            trace_state: "rojo=00f067aa0ba902b7".to_owned(),
            pass: PassToken::new("a.b.c"),
            timeout: Some(Duration::from_millis(1500)),
        };
        let mut request = tonic::Request::new(());
        sent.attach(&mut request).unwrap();
        let got = CallContext::extract(request.metadata()).unwrap();
        assert_eq!(got.call_id, sent.call_id);
        assert_eq!(got.session, sent.session);
        assert_eq!(got.trace, sent.trace);
        assert_eq!(got.trace_state, sent.trace_state);
        assert_eq!(got.pass.as_str(), "a.b.c");
        assert_eq!(got.timeout, sent.timeout);
    }

    #[test]
    fn timeouts_are_parsed_in_every_unit() {
        assert_eq!(grpc_timeout("2S"), Some(Duration::from_secs(2)));
        assert_eq!(grpc_timeout("1500m"), Some(Duration::from_millis(1500)));
        for bad in ["", "S", "1", "1x", "123456789S", "-1S", "é"] {
            assert_eq!(grpc_timeout(bad), None, "{bad}");
        }
    }
}
