//! From a span that ended to the collector: OpenTelemetry's batch processor and exporter, with every
//! span counted as exported or lost.
//!
//! The SDK counts neither, and reports no span that its full queue drops. So the processor here
//! admits spans only while the SDK's queue has room for them, and the exporter here sees the
//! outcome of every batch. Memory is bounded by the queue, however long the collector is away.

use std::{
    cell::Cell,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use archway_proto::trace::{COUNTS, Lost};
use archway_resilience::Outage;
use opentelemetry::Context;
use opentelemetry_otlp::SpanExporter as OtlpExporter;
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    trace::{BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor},
};
use tokio::{runtime::Handle, task_local, time::timeout};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, filter_fn},
    layer::{self},
    registry::LookupSpan,
};

use super::collector::variable;

/// Spans that wait or are being exported, unless `OTEL_BSP_MAX_QUEUE_SIZE` says otherwise: the
/// specification's default. Each takes about 1 KiB.
const QUEUE_SIZE: usize = 2048;
/// The exporter's events. One of them reports the spans that the collector rejected.
const EXPORTER_TARGET: &str = "opentelemetry-otlp";

task_local! {
    /// Spans of the current batch that the collector rejected (OTLP "partial success").
    static REJECTED: Cell<u64>;
}

/// Offers spans to OpenTelemetry's batch processor and counts those that find its queue full.
#[derive(Debug)]
pub(super) struct CountingProcessor {
    batches: BatchSpanProcessor,
    /// Spans that are queued or in a batch under way.
    waiting: Arc<AtomicUsize>,
    queue_size: usize,
}

impl CountingProcessor {
    /// Exports through `exporter`, each batch within `deadline`, retries included. Call it within a
    /// runtime, which runs the exports.
    pub(super) fn new(exporter: OtlpExporter, deadline: Duration) -> Self {
        let waiting = Arc::<AtomicUsize>::default();
        let exporter = CountingExporter {
            exporter: Arc::new(exporter),
            deadline,
            runtime: Handle::current(),
            waiting: waiting.clone(),
            outage: Outage::default(),
        };
        let queue_size = variable("OTEL_BSP_MAX_QUEUE_SIZE");
        CountingProcessor {
            // Its settings are the variables `OTEL_BSP_…`.
            batches: BatchSpanProcessor::builder(exporter).build(),
            waiting,
            queue_size: queue_size
                .and_then(|size| size.parse().ok())
                .unwrap_or(QUEUE_SIZE),
        }
    }
}

impl SpanProcessor for CountingProcessor {
    fn on_start(&self, _span: &mut Span, _cx: &Context) {}

    /// Never waits.
    fn on_end(&self, span: SpanData) {
        let admit = |waiting| (waiting < self.queue_size).then_some(waiting + 1);
        let admitted = self
            .waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, admit);
        match admitted {
            Ok(_waiting) => self.batches.on_end(span),
            Err(_full) => COUNTS.lost(Lost::QueueFull, 1),
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Exports a batch and counts what became of it.
struct CountingExporter {
    exporter: Arc<OtlpExporter>,
    deadline: Duration,
    /// The SDK polls exports on a thread without a runtime, which tonic and reqwest need.
    runtime: Handle,
    waiting: Arc<AtomicUsize>,
    outage: Outage,
}

impl SpanExporter for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let exporter = self.exporter.clone();
        let deadline = self.deadline;
        let export = REJECTED.scope(Cell::default(), async move {
            let result = timeout(deadline, exporter.export(batch)).await;
            let result = result.unwrap_or(Err(OTelSdkError::Timeout(deadline)));
            (result, REJECTED.with(Cell::get))
        });
        let (result, rejected) = match self.runtime.spawn(export).await {
            Ok(outcome) => outcome,
            // The runtime ends, and the process with it.
            Err(_stopped) => (Err(OTelSdkError::AlreadyShutdown), 0),
        };
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
        self.count(spans as u64, rejected, &result);
        result
    }

    fn set_resource(&mut self, resource: &Resource) {
        // Shared only while a batch is under way, and the SDK sets the resource before any.
        if let Some(exporter) = Arc::get_mut(&mut self.exporter) {
            exporter.set_resource(resource);
        }
    }
}

impl CountingExporter {
    fn count(&self, spans: u64, rejected: u64, result: &OTelSdkResult) {
        let rejected = match result {
            Ok(()) => rejected.min(spans),
            Err(_) => spans,
        };
        COUNTS.exported(spans - rejected);
        COUNTS.lost(Lost::NotTaken, rejected);
        match result {
            // The exporter's errors hold a status, never a header or the collector's own text.
            Err(error) if self.outage.failed() => {
                tracing::warn!(%error, "the trace collector accepts no spans");
            }
            Ok(()) if self.outage.ended() => {
                tracing::info!("the trace collector accepts spans again");
            }
            _ => {}
        }
    }
}

impl fmt::Debug for CountingExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountingExporter").finish_non_exhaustive()
    }
}

/// Adds up the spans that the collector rejected. The exporter says so in an event alone.
pub(crate) fn rejections<S>() -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let rejected = filter_fn(|about: &Metadata<'_>| {
        about.target() == EXPORTER_TARGET && *about.level() == Level::WARN
    });
    Rejections.with_filter(rejected.with_max_level_hint(LevelFilter::WARN))
}

struct Rejections;

impl<S: Subscriber> Layer<S> for Rejections {
    fn on_event(&self, event: &Event<'_>, _cx: layer::Context<'_, S>) {
        event.record(&mut RejectedSpans);
    }
}

/// Reads the field `rejected_spans` of an event.
struct RejectedSpans;

impl Visit for RejectedSpans {
    fn record_i64(&mut self, field: &Field, value: i64) {
        if field.name() == "rejected_spans" {
            let rejected = u64::try_from(value).unwrap_or_default();
            // Outside of an export there is no counter.
            REJECTED.try_with(|sum| sum.set(sum.get() + rejected)).ok();
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn fmt::Debug) {}
}
