//! Keeps one connection to the store up: a plain state machine that knows nothing of Redis.
//!
//! Callers get the live connection or none, and never wait for one: connections are made in the
//! background, one at a time, and none within a second of the last failure. A live connection is
//! probed once a second, so that an outage is known before a call meets it. The first probe or call
//! that fails breaks the connection, and every call that still waits on it returns at once.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use archway_proto::chain::Chain;
use parking_lot::RwLock;
use tokio_util::sync::CancellationToken;

use super::failure::StoreFailure;
use crate::{
    absence_log::{AbsenceLog, Severity},
    metrics::Metrics,
};

/// Pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// Interval of the probe of a live connection.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The connection to the store, while there is one.
pub(super) struct Reconnecting<W> {
    live: RwLock<Option<Arc<LiveConnection<W>>>>,
    /// The configured mode during an outage, as metrics label it.
    mode: &'static str,
    metrics: Arc<Metrics>,
}

/// A connection that worked when it was made.
pub(super) struct LiveConnection<W> {
    pub(super) connection: W,
    broken: CancellationToken,
    failure: OnceLock<StoreFailure>,
}

impl<W> Reconnecting<W> {
    /// Down, until [`Reconnecting::run`] connects.
    pub(super) fn new(mode: &'static str, metrics: Arc<Metrics>) -> Self {
        metrics.limit_store().up(mode, false);
        Reconnecting {
            live: RwLock::new(None),
            mode,
            metrics,
        }
    }

    /// The live connection, if there is one.
    pub(super) fn live(&self) -> Option<Arc<LiveConnection<W>>> {
        let live = self.live.read().clone();
        live.filter(|live| !live.broken.is_cancelled())
    }

    /// Connects whenever there is no connection, and probes the one there is. `meanwhile` is logged
    /// when an outage begins. Runs until dropped.
    pub(super) async fn run<C, T>(
        &self,
        connect: impl Fn() -> C,
        test: impl Fn(Arc<LiveConnection<W>>) -> T,
        meanwhile: impl Fn() -> String,
    ) where
        C: Future<Output = Result<W, StoreFailure>>,
        T: Future<Output = Result<(), StoreFailure>>,
    {
        let mut absence = AbsenceLog::new();
        loop {
            match connect().await {
                Ok(connection) => {
                    tracing::info!("the store of limits answers: limits are shared");
                    absence.present();
                    let live = Arc::new(LiveConnection::new(connection));
                    self.publish(&live, &test).await;
                    if let Some(failure) = live.failure.get() {
                        self.report(failure, absence.missing(), &meanwhile);
                    }
                }
                Err(failure) => self.report(&failure, absence.missing(), &meanwhile),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Publishes the connection until a probe or a call breaks it.
    async fn publish<T>(
        &self,
        live: &Arc<LiveConnection<W>>,
        test: &impl Fn(Arc<LiveConnection<W>>) -> T,
    ) where
        T: Future<Output = Result<(), StoreFailure>>,
    {
        *self.live.write() = Some(live.clone());
        self.metrics.limit_store().up(self.mode, true);
        live.unless_broken(async {
            loop {
                tokio::time::sleep(PROBE_INTERVAL).await;
                if let Err(failure) = test(live.clone()).await {
                    live.fail(failure);
                }
            }
        })
        .await;
        *self.live.write() = None;
        self.metrics.limit_store().up(self.mode, false);
    }

    /// Counts the failure. The first of an outage is logged, with what passes meanwhile.
    fn report(
        &self,
        failure: &StoreFailure,
        severity: Option<Severity>,
        meanwhile: &impl Fn() -> String,
    ) {
        let reason = failure.reason();
        self.metrics.limit_store().failed(reason);
        match severity {
            Some(Severity::Warning) => tracing::warn!(
                reason,
                error = %Chain(failure),
                "the store of limits is away: {}",
                meanwhile()
            ),
            Some(Severity::Note) => tracing::info!(
                reason,
                error = %Chain(failure),
                "the store of limits is not there yet: {}",
                meanwhile()
            ),
            None => {}
        }
    }
}

impl<W> LiveConnection<W> {
    fn new(connection: W) -> Self {
        LiveConnection {
            connection,
            broken: CancellationToken::new(),
            failure: OnceLock::new(),
        }
    }

    /// Breaks the connection. Only the first failure is kept; later ones follow from it.
    pub(super) fn fail(&self, failure: StoreFailure) {
        let _first = self.failure.set(failure);
        self.broken.cancel();
    }

    /// The label of the failure that broke it; empty while it is live.
    pub(super) fn failure(&self) -> &'static str {
        self.failure.get().map_or("", StoreFailure::reason)
    }

    /// The result of `answer`; `None` if the connection breaks first.
    pub(super) async fn unless_broken<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        self.broken.run_until_cancelled(answer).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use tokio::time::{Instant, advance};

    use super::*;

    /// A store that is up or down, and counts connection attempts.
    #[derive(Default)]
    struct Store {
        there: parking_lot::Mutex<bool>,
        asked: AtomicUsize,
        silent: AtomicBool,
    }

    impl Store {
        async fn connect(&self) -> Result<usize, StoreFailure> {
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            let there = self.there.lock().then_some(number);
            there.ok_or(StoreFailure::Timeout)
        }

        async fn test(&self) -> Result<(), StoreFailure> {
            let silent = self.silent.load(Ordering::Relaxed);
            (!silent).then_some(()).ok_or(StoreFailure::Timeout)
        }
    }

    fn start(there: bool) -> (Arc<Store>, Arc<Reconnecting<usize>>, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::new());
        let connection = Arc::new(Reconnecting::new("closed", metrics.clone()));
        let store = Arc::new(Store::default());
        *store.there.lock() = there;
        tokio::spawn({
            let (store, connection) = (store.clone(), connection.clone());
            async move {
                connection
                    .run(|| store.connect(), |_| store.test(), String::new)
                    .await
            }
        });
        (store, connection, metrics)
    }

    async fn settle() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_down_is_tried_once_a_second_off_the_call_path() {
        let (store, connection, _) = start(false);
        let begun = Instant::now();
        for second in 1..=5 {
            settle().await;
            for _ in 0..100 {
                assert!(connection.live().is_none());
            }
            assert_eq!(store.asked.load(Ordering::Relaxed), second);
            advance(PAUSE).await;
        }
        assert_eq!(begun.elapsed(), PAUSE * 5, "nobody waited");
        *store.there.lock() = true;
        advance(PAUSE).await;
        settle().await;
        assert!(
            connection.live().is_some(),
            "it reconnects once the store is back"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_connection_is_replaced_after_a_second() {
        let (store, connection, metrics) = start(true);
        settle().await;
        let live = connection.live().unwrap();
        live.fail(StoreFailure::Timeout);
        live.fail(StoreFailure::UnexpectedAnswer);
        assert!(connection.live().is_none());
        settle().await;
        advance(PAUSE - Duration::from_millis(1)).await;
        settle().await;
        assert_eq!(store.asked.load(Ordering::Relaxed), 1);
        assert!(connection.live().is_none());
        advance(Duration::from_millis(1)).await;
        settle().await;
        assert_eq!(connection.live().unwrap().connection, 1);
        let text = metrics.text().unwrap();
        let one = r#"limit_store_failures_total{reason="timeout"} 1"#;
        assert!(text.contains(one) && !text.contains("garbage"), "{text}");
        assert!(
            text.contains(r#"limit_store_up{mode="closed"} 1"#),
            "{text}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_probe_finds_an_outage_before_a_call_does() {
        let (store, connection, _) = start(true);
        settle().await;
        advance(PROBE_INTERVAL).await;
        settle().await;
        assert!(connection.live().is_some());
        store.silent.store(true, Ordering::Relaxed);
        advance(PROBE_INTERVAL).await;
        settle().await;
        assert!(connection.live().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_break_wakes_every_call_that_waits_on_the_connection() {
        let (_store, connection, _) = start(true);
        settle().await;
        let live = connection.live().unwrap();
        let begun = Instant::now();
        let waiting = live.unless_broken(std::future::pending::<()>());
        let breaking = async {
            advance(Duration::from_millis(30)).await;
            live.fail(StoreFailure::Timeout);
        };
        let (heard, ()) = tokio::join!(waiting, breaking);
        assert!(heard.is_none());
        assert_eq!(begun.elapsed(), Duration::from_millis(30));
    }
}
