//! The audit trail: one record per call of who asked for what and what became of it, chained so
//! that changes are detected.
//!
//! Runs beside the call path. A call reserves a queue slot before it runs, so it is recorded
//! whatever happens, even if its client disconnects. One writer chains the records, one chain per
//! tenant, and writes them to Postgres. While the queue is more than half full, refusals are only
//! counted, grouped by kind (`overflow`). While it is full, a call waits 100 ms for a slot. What
//! got no slot is a record of its own: the number of missing records.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::sync::mpsc::{self, OwnedPermit};

use crate::{
    caller::Principal,
    metrics::{AuditMetrics, CallSize, Outcome},
    recent::{CallTimings, RecentCall},
    secrets::RootSecret,
    store::Stores,
};
use overflow::OverflowCounts;
use record::Record;

pub(crate) use record::{AnswerFacts, AuditRequest};
pub(crate) use writer::Writer;

pub mod chain;
mod record;
mod overflow;
pub mod verify;
mod writer;

/// Slots: running calls plus records that wait to be written.
const QUEUE: usize = 16_384;
/// How long a call waits for a slot.
const SLOT_TIMEOUT: Duration = Duration::from_millis(100);

/// The sending end of the queue.
pub(crate) struct Audit {
    queue: mpsc::Sender<Record>,
    overflow: Arc<OverflowCounts>,
    secret: Arc<RootSecret>,
    metrics: AuditMetrics,
}

impl Audit {
    /// Creates the queue and its writer. `gateway` is this gateway's name in the records.
    pub(crate) fn new(
        stores: Stores,
        secret: Arc<RootSecret>,
        gateway: String,
        metrics: AuditMetrics,
    ) -> (Arc<Self>, Writer) {
        let (audit, incoming) = Audit::of_size(QUEUE, secret, metrics);
        let writer = Writer::new(&audit, incoming, stores, gateway);
        (audit, writer)
    }

    fn of_size(
        size: usize,
        secret: Arc<RootSecret>,
        metrics: AuditMetrics,
    ) -> (Arc<Self>, mpsc::Receiver<Record>) {
        let (queue, incoming) = mpsc::channel(size);
        let audit = Audit {
            queue,
            overflow: Arc::default(),
            secret,
            metrics,
        };
        (Arc::new(audit), incoming)
    }

    /// Opens the record of a call that is about to run. Waits up to 100 ms for a slot; without one
    /// the call runs anyway and is counted as missing.
    pub(crate) async fn open(&self, who: &Principal, request: AuditRequest) -> OpenRecord {
        let queue = self.queue.clone();
        let slot = match queue.try_reserve_owned() {
            Ok(slot) => Some(slot),
            Err(_full) => {
                let slot = self.queue.clone().reserve_owned();
                let slot = tokio::time::timeout(SLOT_TIMEOUT, slot).await;
                slot.ok().and_then(Result::ok)
            }
        };
        self.opened(who, request, slot)
    }

    /// Opens the record of a call that is refused already. Never waits.
    pub(crate) fn open_refused(&self, who: &Principal, request: AuditRequest) -> OpenRecord {
        let slot = self.queue.clone().try_reserve_owned().ok();
        self.opened(who, request, slot)
    }

    fn opened(
        &self,
        who: &Principal,
        request: AuditRequest,
        slot: Option<OwnedPermit<Record>>,
    ) -> OpenRecord {
        OpenRecord {
            slot,
            who: who.clone(),
            request,
            is_half_full: self.queue.capacity() < self.queue.max_capacity() / 2,
            overflow: self.overflow.clone(),
            metrics: self.metrics.clone(),
        }
    }

    /// Updates the gauge of the queue. Called when metrics are read, because the writer may be
    /// waiting for Postgres.
    pub(crate) fn observe(&self) {
        let taken = self.queue.max_capacity() - self.queue.capacity();
        self.metrics.waiting(taken);
    }

    /// The MAC that a record holds instead of the arguments. A holder of the root secret who knows
    /// the arguments can confirm them; nobody can recover them from it.
    pub(crate) fn digest(&self, arguments: &[u8]) -> [u8; 32] {
        self.secret.digest_arguments(arguments)
    }
}

/// The record of a call that has not ended.
pub(crate) struct OpenRecord {
    slot: Option<OwnedPermit<Record>>,
    who: Principal,
    request: AuditRequest,
    /// Whether the queue was more than half full when the call began.
    is_half_full: bool,
    overflow: Arc<OverflowCounts>,
    metrics: AuditMetrics,
}

impl OpenRecord {
    /// The request as known so far, to add details to.
    pub(crate) fn request_mut(&mut self) -> &mut AuditRequest {
        &mut self.request
    }

    /// The slug of the caller's tenant.
    pub(crate) fn tenant(&self) -> &str {
        self.who.tenant()
    }

    /// The same call for metrics by tenant.
    pub(crate) fn size(&self, outcome: Outcome, took: Duration, facts: &AnswerFacts) -> CallSize {
        CallSize {
            outcome,
            took,
            units: self.request.units,
            bytes: facts.bytes,
        }
    }

    /// The same call for the operator's list of recent calls.
    pub(crate) fn recent(
        &self,
        what: &Arc<str>,
        outcome: Outcome,
        took: Duration,
        timings: CallTimings,
    ) -> RecentCall {
        RecentCall {
            ended: SystemTime::now(),
            who: self.who.clone(),
            what: what.clone(),
            project: self.request.project().map(Into::into),
            outcome: outcome.name(),
            took,
            timings,
            trace: self.request.trace_id(),
        }
    }

    /// Records how the call ended.
    pub(crate) fn end(self, outcome: Outcome, took: Duration, facts: AnswerFacts) {
        let is_refusal = outcome.is_refusal();
        let record = Record {
            at: SystemTime::now(),
            who: self.who,
            request: self.request,
            outcome,
            took,
            facts,
        };
        match self.slot {
            Some(_) if is_refusal && self.is_half_full => self.overflow.refused(&record),
            Some(slot) => _ = slot.send(record),
            None if is_refusal => self.overflow.refused(&record),
            None => {
                self.metrics.missing.inc();
                self.overflow.missing(record.who.tenant_id(), 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use archway_proto::{catalog::Scope, context::TraceContext, fault::Fault};
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{caller::SessionKey, metrics::Metrics};

    const SLOTS: usize = 4;

    struct Fixture {
        audit: Arc<Audit>,
        incoming: mpsc::Receiver<Record>,
        who: Principal,
    }

    fn fixture() -> Fixture {
        let line = RootSecret::generate_line().unwrap();
        let secret = Arc::new(RootSecret::parse(&line).unwrap());
        let metrics = Metrics::new().audit().clone();
        let (audit, incoming) = Audit::of_size(SLOTS, secret, metrics);
        Fixture {
            audit,
            incoming,
            who: Principal::for_tests(&[Scope::ToolsRead], None),
        }
    }

    impl Fixture {
        fn asked(&self) -> AuditRequest {
            let session = SessionKey::for_tests(7);
            AuditRequest::new("tools/call", session, TraceContext::start())
        }

        async fn call(&self, outcome: Outcome) {
            let open = self.audit.open(&self.who, self.asked()).await;
            open.end(outcome, Duration::ZERO, AnswerFacts::default());
        }

        fn counted(&self) -> Vec<String> {
            let counted = self.audit.overflow.take();
            let body = counted.iter().map(|it| serde_json::to_string(&it.body()));
            body.collect::<Result<_, _>>().unwrap()
        }

        fn recorded(&mut self) -> usize {
            let mut all = Vec::new();
            while let Ok(record) = self.incoming.try_recv() {
                all.push(record);
            }
            all.len()
        }
    }

    const LIMITED: Outcome = Outcome::Failed(Fault::RateLimited);

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_100_ms_for_a_slot_and_then_counts_as_missing() {
        let mut fixture = fixture();
        for _ in 0..SLOTS {
            fixture.call(Outcome::Ok).await;
        }
        let begun = Instant::now();
        fixture.call(Outcome::Ok).await;
        assert_eq!(begun.elapsed(), SLOT_TIMEOUT);
        assert_eq!(fixture.counted(), [r#"{"kind":"gap","missing":1}"#]);
        assert_eq!(fixture.recorded(), SLOTS);
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_gauge_is_current_even_if_nothing_is_written() {
        let metrics = Metrics::new();
        let fixture = fixture();
        let audit = Audit {
            queue: fixture.audit.queue.clone(),
            overflow: Arc::default(),
            secret: fixture.audit.secret.clone(),
            metrics: metrics.audit().clone(),
        };
        for waiting in 0..=SLOTS {
            audit.observe();
            let text = metrics.text().unwrap();
            let line = format!("audit_records_waiting {waiting}\n");
            assert!(text.contains(&line), "{text}");
            fixture.call(Outcome::Ok).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_give_way_to_calls_before_the_queue_is_full() {
        let mut fixture = fixture();
        for _ in 0..SLOTS {
            fixture.call(LIMITED).await;
        }
        // The first two refusals found more than half of the slots free.
        let counted = fixture.counted();
        assert_eq!(counted.len(), 1);
        assert!(
            counted[0].contains(r#""outcome":"rate_limited","count":2"#),
            "{counted:?}"
        );
        assert_eq!(fixture.recorded(), SLOTS - 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_with_a_slot_is_recorded_even_if_the_queue_fills_up() {
        let mut fixture = fixture();
        let early = fixture.audit.open(&fixture.who, fixture.asked()).await;
        for _ in 1..SLOTS {
            fixture.call(Outcome::Ok).await;
        }
        early.end(Outcome::Cancelled, Duration::ZERO, AnswerFacts::default());
        assert_eq!(fixture.recorded(), SLOTS);
        assert_eq!(fixture.counted(), Vec::<String>::new());
    }

    #[tokio::test(start_paused = true)]
    async fn a_gateway_shuts_down_even_if_records_cannot_be_written() {
        let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
        let line = RootSecret::generate_line().unwrap();
        let secret = Arc::new(RootSecret::parse(&line).unwrap());
        let metrics = Metrics::new().audit().clone();
        let stores = Stores::with_options(nowhere, 1);
        let (audit, mut writer) = Audit::new(stores, secret, "test".into(), metrics);
        let fixture = Fixture { audit, ..fixture() };
        fixture.call(Outcome::Ok).await;
        let end = CancellationToken::new();
        let ending = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            end.cancel();
        };
        let both = async { tokio::join!(writer.run(&end), ending) };
        let begun = Instant::now();
        both.await;
        assert_eq!(begun.elapsed().as_secs(), 12);
    }

    #[test]
    fn paths_beyond_the_bound_are_only_counted() {
        let fixture = fixture();
        let mut request = fixture.asked();
        request.of_project(Some("site"));
        let record = Record {
            at: SystemTime::UNIX_EPOCH,
            who: fixture.who.clone(),
            request,
            outcome: Outcome::Ok,
            took: Duration::from_millis(2),
            facts: AnswerFacts {
                files: vec!["x".repeat(4000); 5],
                more_files: 2,
                ..AnswerFacts::default()
            },
        };
        let body = serde_json::to_value(record.body()).unwrap();
        assert_eq!(body["files"].as_array().unwrap().len(), 2);
        assert_eq!(body["more_files"], 5);
        assert!(body.to_string().len() < 16 * 1024);
    }
}
