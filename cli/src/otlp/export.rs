//! From the queue to the collector: a batch at a time, each within its time.
//!
//! A batch that was not taken is tried twice more, if the collector may take it later; meanwhile the
//! queue fills, and then spans are given up where they end. So no more is kept than the queue and
//! one batch, however long the collector is away.

use std::time::Duration;

use archway_proto::trace::{COUNTS, Lost, status_name};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, trace_service_client::TraceServiceClient,
};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::trace::SpanData;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use super::collector::Collector;

/// Spans of one export, at most.
const BATCH: usize = 512;
/// How long the first span of a batch waits for others.
const GATHER: Duration = Duration::from_secs(1);
/// What the collector may take for one batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Before a batch is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];

/// Sends spans until it is told to stop, and then what is left.
pub(super) struct Export {
    client: TraceServiceClient<Channel>,
    headers: MetadataMap,
    resource: ResourceAttributesWithSchema,
    spans: mpsc::Receiver<SpanData>,
    stop: CancellationToken,
    /// Whether the last batch was not taken: it is logged once.
    is_away: bool,
}

impl Export {
    /// Connects when there is something to send; wants a runtime.
    pub(super) fn new(
        collector: Collector,
        spans: mpsc::Receiver<SpanData>,
        stop: CancellationToken,
    ) -> Self {
        Export {
            resource: collector.resource().into(),
            client: TraceServiceClient::new(collector.endpoint.connect_lazy()),
            headers: collector.headers,
            spans,
            stop,
            is_away: false,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            let batch = self.gather().await;
            if batch.is_empty() {
                return;
            }
            self.send(batch).await;
        }
    }

    /// The next batch. Empty once it is told to stop and nothing is left.
    async fn gather(&mut self) -> Vec<SpanData> {
        let mut batch = Vec::new();
        let stop = self.stop.clone();
        tokio::select! {
            biased;
            _some = self.spans.recv_many(&mut batch, BATCH) => {}
            () = stop.cancelled() => return batch,
        }
        let until = Instant::now() + GATHER;
        while batch.len() < BATCH && !stop.is_cancelled() {
            let room = BATCH - batch.len();
            tokio::select! {
                more = timeout_at(until, self.spans.recv_many(&mut batch, room)) => {
                    if !matches!(more, Ok(1..)) {
                        break;
                    }
                }
                () = stop.cancelled() => break,
            }
        }
        batch
    }

    /// Has the collector take a batch, or gives it up.
    async fn send(&mut self, batch: Vec<SpanData>) {
        let spans = batch.len() as u64;
        let message = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(batch, &self.resource),
        };
        let mut pauses = PAUSES.into_iter();
        loop {
            let failure = match self.export(message.clone()).await {
                Ok(refused) => {
                    let refused = refused.min(spans);
                    COUNTS.exported(spans - refused);
                    COUNTS.lost(Lost::NotTaken, refused);
                    return self.told(None);
                }
                Err(failure) => failure,
            };
            let code = failure.code();
            self.told(Some(code));
            let pause = pauses.next().filter(|_| may_come(code));
            let waited = match pause {
                Some(pause) => {
                    self.stop
                        .run_until_cancelled(tokio::time::sleep(pause))
                        .await
                }
                None => None,
            };
            if waited.is_none() {
                return COUNTS.lost(Lost::NotTaken, spans);
            }
        }
    }

    /// How many spans the collector refused of those that it took.
    async fn export(&mut self, message: ExportTraceServiceRequest) -> Result<u64, Status> {
        let mut request = Request::new(message);
        *request.metadata_mut() = self.headers.clone();
        request.set_timeout(EXPORT_TIMEOUT);
        let answer = timeout(EXPORT_TIMEOUT, self.client.export(request)).await;
        let answer = answer.map_err(|_elapsed| Status::deadline_exceeded("no answer in time"))?;
        let partial = answer?.into_inner().partial_success;
        let refused = partial.map_or(0, |partial| partial.rejected_spans);
        Ok(u64::try_from(refused).unwrap_or_default())
    }

    /// Logs that the collector is away, or back. Its own words may hold anything.
    fn told(&mut self, failure: Option<Code>) {
        match failure {
            Some(code) if !self.is_away => {
                let status = status_name(code);
                tracing::warn!(status, "the collector of traces takes no spans");
            }
            None if self.is_away => tracing::info!("the collector of traces takes spans again"),
            _ => {}
        }
        self.is_away = failure.is_some();
    }
}

/// Whether what ended so may be taken later (OTLP, "Failures").
fn may_come(code: Code) -> bool {
    match code {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => true,
        Code::Ok
        | Code::Unknown
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Unimplemented
        | Code::Internal
        | Code::Unauthenticated => false,
    }
}
