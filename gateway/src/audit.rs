//! Evidence: who asked for what and what became of it, a record a call, which nobody changes unseen.
//!
//! Beside the path. A call takes its place in the queue before it is made, so whatever becomes of it,
//! its client's going away included, is recorded. One writer makes chains of the records, one for each
//! tenant, and brings them to Postgres. While the queue is half full refusals are counted together
//! (`tally`); while it is full calls wait 100 ms for a place; and what it could not take is a record
//! itself: how many are missing.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::sync::mpsc::{self, OwnedPermit};

use crate::{
    caller::Principal,
    metrics::{AuditMetrics, Outcome},
    recent::{Marks, RecentCall},
    secrets::RootSecret,
    store::Stores,
};
use record::Record;
use tally::Tally;

pub(crate) use record::{Asked, Facts};
pub(crate) use writer::Writer;

pub mod chain;
mod record;
mod tally;
pub mod verify;
mod writer;

/// Calls that are being made and records that wait to be written, together.
const QUEUE: usize = 16_384;
/// How long a call waits for a place.
const PATIENCE: Duration = Duration::from_millis(100);

/// The queue's end that calls hold.
pub(crate) struct Audit {
    queue: mpsc::Sender<Record>,
    tally: Arc<Tally>,
    secret: Arc<RootSecret>,
    metrics: AuditMetrics,
}

impl Audit {
    /// A queue, and who writes what comes through it. `gateway` is what the records call this gateway.
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
            tally: Arc::default(),
            secret,
            metrics,
        };
        (Arc::new(audit), incoming)
    }

    /// A place for the record of a call that is about to be made. Waits for one at most 100 ms: then
    /// the call is made without, and counted as missing.
    pub(crate) async fn open(&self, who: &Principal, asked: Asked) -> Open {
        let queue = self.queue.clone();
        let place = match queue.try_reserve_owned() {
            Ok(place) => Some(place),
            Err(_full) => {
                let place = self.queue.clone().reserve_owned();
                let place = tokio::time::timeout(PATIENCE, place).await;
                place.ok().and_then(Result::ok)
            }
        };
        self.opened(who, asked, place)
    }

    /// The same for what is refused already: it waits for nothing.
    pub(crate) fn open_now(&self, who: &Principal, asked: Asked) -> Open {
        let place = self.queue.clone().try_reserve_owned().ok();
        self.opened(who, asked, place)
    }

    fn opened(&self, who: &Principal, asked: Asked, place: Option<OwnedPermit<Record>>) -> Open {
        Open {
            place,
            who: who.clone(),
            asked,
            is_crowded: self.queue.capacity() < self.queue.max_capacity() / 2,
            tally: self.tally.clone(),
            metrics: self.metrics.clone(),
        }
    }

    /// Has metrics tell how full the queue is. Asked for when they are read: the writer, which waits for
    /// Postgres, could not say so.
    pub(crate) fn observe(&self) {
        let taken = self.queue.max_capacity() - self.queue.capacity();
        self.metrics.waiting(taken);
    }

    /// What stands for arguments in a record: their MAC, so that who knows them can tell that it was
    /// they, and nobody else what they were.
    pub(crate) fn digest(&self, arguments: &[u8]) -> [u8; 32] {
        self.secret.digest_arguments(arguments)
    }
}

/// The record of a call that has not ended.
pub(crate) struct Open {
    place: Option<OwnedPermit<Record>>,
    who: Principal,
    asked: Asked,
    /// Whether there was little room when it began.
    is_crowded: bool,
    tally: Arc<Tally>,
    metrics: AuditMetrics,
}

impl Open {
    /// What is asked, to be told more exactly.
    pub(crate) fn asked(&mut self) -> &mut Asked {
        &mut self.asked
    }

    /// The same for who operates the gateway.
    pub(crate) fn recent(
        &self,
        what: &Arc<str>,
        outcome: Outcome,
        took: Duration,
        marks: Marks,
    ) -> RecentCall {
        RecentCall {
            ended: SystemTime::now(),
            who: self.who.clone(),
            what: what.clone(),
            project: self.asked.project().map(Into::into),
            outcome: outcome.name(),
            took,
            marks,
            trace: self.asked.trace_id(),
        }
    }

    /// Records how it ended.
    pub(crate) fn end(self, outcome: Outcome, took: Duration, facts: Facts) {
        let is_refusal = outcome.is_refusal();
        let record = Record {
            at: SystemTime::now(),
            who: self.who,
            asked: self.asked,
            outcome,
            took,
            facts,
        };
        match self.place {
            Some(_) if is_refusal && self.is_crowded => self.tally.refused(&record),
            Some(place) => _ = place.send(record),
            None if is_refusal => self.tally.refused(&record),
            None => {
                self.metrics.missing.inc();
                self.tally.lost(record.who.tenant_id(), 1);
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

    const PLACES: usize = 4;

    struct Scene {
        audit: Arc<Audit>,
        incoming: mpsc::Receiver<Record>,
        who: Principal,
    }

    fn scene() -> Scene {
        let line = RootSecret::generate_line().unwrap();
        let secret = Arc::new(RootSecret::parse(&line).unwrap());
        let metrics = Metrics::new().audit().clone();
        let (audit, incoming) = Audit::of_size(PLACES, secret, metrics);
        Scene {
            audit,
            incoming,
            who: Principal::for_tests(&[Scope::ToolsRead], None),
        }
    }

    impl Scene {
        fn asked(&self) -> Asked {
            let session = SessionKey::for_tests(7);
            Asked::new("tools/call", session, TraceContext::start())
        }

        async fn call(&self, outcome: Outcome) {
            let open = self.audit.open(&self.who, self.asked()).await;
            open.end(outcome, Duration::ZERO, Facts::default());
        }

        fn counted(&self) -> Vec<String> {
            let counted = self.audit.tally.take();
            let told = counted.iter().map(|it| serde_json::to_string(&it.told()));
            told.collect::<Result<_, _>>().unwrap()
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
    async fn a_call_waits_a_tenth_of_a_second_for_a_place_and_is_then_counted_as_missing() {
        let mut scene = scene();
        for _ in 0..PLACES {
            scene.call(Outcome::Ok).await;
        }
        let begun = Instant::now();
        scene.call(Outcome::Ok).await;
        assert_eq!(begun.elapsed(), PATIENCE);
        assert_eq!(scene.counted(), [r#"{"kind":"gap","missing":1}"#]);
        assert_eq!(scene.recorded(), PLACES);
    }

    #[tokio::test(start_paused = true)]
    async fn metrics_tell_how_full_the_queue_is_though_nothing_is_written() {
        let metrics = Metrics::new();
        let scene = scene();
        let audit = Audit {
            queue: scene.audit.queue.clone(),
            tally: Arc::default(),
            secret: scene.audit.secret.clone(),
            metrics: metrics.audit().clone(),
        };
        for waiting in 0..=PLACES {
            audit.observe();
            let text = metrics.text().unwrap();
            let line = format!("audit_records_waiting {waiting}\n");
            assert!(text.contains(&line), "{text}");
            scene.call(Outcome::Ok).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_make_room_for_calls_before_there_is_none() {
        let mut scene = scene();
        for _ in 0..PLACES {
            scene.call(LIMITED).await;
        }
        // Two had more than half of the places left.
        let counted = scene.counted();
        assert_eq!(counted.len(), 1);
        assert!(
            counted[0].contains(r#""outcome":"rate_limited","count":2"#),
            "{counted:?}"
        );
        assert_eq!(scene.recorded(), PLACES - 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_has_a_place_is_recorded_though_all_others_are_taken_meanwhile() {
        let mut scene = scene();
        let early = scene.audit.open(&scene.who, scene.asked()).await;
        for _ in 1..PLACES {
            scene.call(Outcome::Ok).await;
        }
        early.end(Outcome::Cancelled, Duration::ZERO, Facts::default());
        assert_eq!(scene.recorded(), PLACES);
        assert_eq!(scene.counted(), Vec::<String>::new());
    }

    #[tokio::test(start_paused = true)]
    async fn a_gateway_ends_though_what_it_did_can_not_be_written() {
        let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
        let line = RootSecret::generate_line().unwrap();
        let secret = Arc::new(RootSecret::parse(&line).unwrap());
        let metrics = Metrics::new().audit().clone();
        let stores = Stores::with_options(nowhere, 1);
        let (audit, mut writer) = Audit::new(stores, secret, "test".into(), metrics);
        let scene = Scene { audit, ..scene() };
        scene.call(Outcome::Ok).await;
        let end = CancellationToken::new();
        let ending = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            end.cancel();
        };
        let both = async { tokio::join!(writer.keep(&end), ending) };
        let begun = Instant::now();
        both.await;
        assert_eq!(begun.elapsed().as_secs(), 12);
    }

    #[test]
    fn paths_beyond_their_room_are_counted() {
        let scene = scene();
        let mut asked = scene.asked();
        asked.of_project(Some("site"));
        let record = Record {
            at: SystemTime::UNIX_EPOCH,
            who: scene.who.clone(),
            asked,
            outcome: Outcome::Ok,
            took: Duration::from_millis(2),
            facts: Facts {
                files: vec!["x".repeat(4000); 5],
                more_files: 2,
                ..Facts::default()
            },
        };
        let told = serde_json::to_value(record.told()).unwrap();
        assert_eq!(told["files"].as_array().unwrap().len(), 2);
        assert_eq!(told["more_files"], 5);
        assert!(told.to_string().len() < 16 * 1024);
    }
}
