//! Spans that ended and wait to be exported: so many, and no more.

use std::time::Duration;

use archway_proto::trace::{COUNTS, Lost};
use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::mpsc;

/// Spans that wait, at most: OpenTelemetry's own default. Each takes about a KiB.
pub(super) const MOST_WAITING: usize = 2048;

/// Takes spans without ever waiting.
#[derive(Debug)]
pub(super) struct Queue(mpsc::Sender<SpanData>);

impl Queue {
    /// A queue, and its other end.
    pub(super) fn new() -> (Queue, mpsc::Receiver<SpanData>) {
        let (queue, spans) = mpsc::channel(MOST_WAITING);
        (Queue(queue), spans)
    }
}

impl SpanProcessor for Queue {
    fn on_start(&self, _span: &mut Span, _cx: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.0.try_send(span).is_err() {
            COUNTS.lost(Lost::QueueFull, 1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    /// Whoever has the other end sends what is left.
    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}
