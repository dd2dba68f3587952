//! Whether the store is there: a plain state machine, which knows nothing of Redis.
//!
//! There is a line to the store, or there is none, and then nobody waits for one: lines are made
//! off the path, one at a time, and none within a second after the last failure. A line is tried once
//! a second, so that a store that went away is known to be before anybody calls. The first try or
//! call that finds something wrong breaks the line; those that still wait on it learn it at once.

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

/// How long the store is left alone after a failure.
const REST: Duration = Duration::from_secs(1);
/// How often a line is tried.
const TRY: Duration = Duration::from_secs(1);

/// The way to the store, while there is one.
pub(super) struct Presence<W> {
    line: RwLock<Option<Arc<Line<W>>>>,
    /// What is done while it is away, as metrics call it.
    mode: &'static str,
    metrics: Arc<Metrics>,
}

/// A way to the store that was good when it was made.
pub(super) struct Line<W> {
    pub(super) way: W,
    broken: CancellationToken,
    failure: OnceLock<StoreFailure>,
}

impl<W> Presence<W> {
    /// Away, until [`Presence::keep`] finds otherwise.
    pub(super) fn new(mode: &'static str, metrics: Arc<Metrics>) -> Self {
        metrics.limit_store().up(mode, false);
        Presence {
            line: RwLock::new(None),
            mode,
            metrics,
        }
    }

    /// The line to the store, if there is one.
    pub(super) fn line(&self) -> Option<Arc<Line<W>>> {
        let line = self.line.read().clone();
        line.filter(|line| !line.broken.is_cancelled())
    }

    /// Makes a line by `connect` whenever there is none, and tries it by `test` while there is one;
    /// the log is told `meanwhile` when there is none any more. Runs until it is dropped.
    pub(super) async fn keep<C, T>(
        &self,
        connect: impl Fn() -> C,
        test: impl Fn(Arc<Line<W>>) -> T,
        meanwhile: impl Fn() -> String,
    ) where
        C: Future<Output = Result<W, StoreFailure>>,
        T: Future<Output = Result<(), StoreFailure>>,
    {
        let mut absence = AbsenceLog::new();
        loop {
            match connect().await {
                Ok(way) => {
                    tracing::info!("the store of limits answers: limits are shared");
                    absence.present();
                    let line = Arc::new(Line::new(way));
                    self.hold(&line, &test).await;
                    if let Some(failure) = line.failure.get() {
                        self.tell(failure, absence.missing(), &meanwhile);
                    }
                }
                Err(failure) => self.tell(&failure, absence.missing(), &meanwhile),
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// Offers the line until somebody finds it broken.
    async fn hold<T>(&self, line: &Arc<Line<W>>, test: &impl Fn(Arc<Line<W>>) -> T)
    where
        T: Future<Output = Result<(), StoreFailure>>,
    {
        *self.line.write() = Some(line.clone());
        self.metrics.limit_store().up(self.mode, true);
        line.unless_broken(async {
            loop {
                tokio::time::sleep(TRY).await;
                if let Err(failure) = test(line.clone()).await {
                    line.fail(failure);
                }
            }
        })
        .await;
        *self.line.write() = None;
        self.metrics.limit_store().up(self.mode, false);
    }

    /// Counts the failure. What is new of it is written to the log, with what passes until the store
    /// is there.
    fn tell(
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

impl<W> Line<W> {
    fn new(way: W) -> Self {
        Line {
            way,
            broken: CancellationToken::new(),
            failure: OnceLock::new(),
        }
    }

    /// Breaks the line. Only the first failure is kept: others follow from it.
    pub(super) fn fail(&self, failure: StoreFailure) {
        let _first = self.failure.set(failure);
        self.broken.cancel();
    }

    /// How it was found to be broken, as a word; nothing while it is not.
    pub(super) fn failure(&self) -> &'static str {
        self.failure.get().map_or("", StoreFailure::reason)
    }

    /// What `answer` says; nothing if the line breaks first.
    pub(super) async fn unless_broken<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        self.broken.run_until_cancelled(answer).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use tokio::time::{Instant, advance};

    use super::*;

    /// A store that is there or not, and counts who asks.
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

    fn start(there: bool) -> (Arc<Store>, Arc<Presence<usize>>, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::new());
        let presence = Arc::new(Presence::new("closed", metrics.clone()));
        let store = Arc::new(Store::default());
        *store.there.lock() = there;
        tokio::spawn({
            let (store, presence) = (store.clone(), presence.clone());
            async move {
                presence
                    .keep(|| store.connect(), |_| store.test(), String::new)
                    .await
            }
        });
        (store, presence, metrics)
    }

    async fn settle() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_away_is_asked_once_a_second_and_by_nobody_on_the_path() {
        let (store, presence, _) = start(false);
        let begun = Instant::now();
        for second in 1..=5 {
            settle().await;
            for _ in 0..100 {
                assert!(presence.line().is_none());
            }
            assert_eq!(store.asked.load(Ordering::Relaxed), second);
            advance(REST).await;
        }
        assert_eq!(begun.elapsed(), REST * 5, "nobody waited");
        *store.there.lock() = true;
        advance(REST).await;
        settle().await;
        assert!(presence.line().is_some(), "it is found when it is back");
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_line_is_nobodys_at_once_and_a_new_one_is_made_a_second_later() {
        let (store, presence, metrics) = start(true);
        settle().await;
        let line = presence.line().unwrap();
        line.fail(StoreFailure::Timeout);
        line.fail(StoreFailure::Nonsense);
        assert!(presence.line().is_none());
        settle().await;
        advance(REST - Duration::from_millis(1)).await;
        settle().await;
        assert_eq!(store.asked.load(Ordering::Relaxed), 1);
        assert!(presence.line().is_none());
        advance(Duration::from_millis(1)).await;
        settle().await;
        assert_eq!(presence.line().unwrap().way, 1);
        let text = metrics.text().unwrap();
        let one = r#"limit_store_failures_total{reason="timeout"} 1"#;
        assert!(text.contains(one) && !text.contains("garbage"), "{text}");
        assert!(
            text.contains(r#"limit_store_up{mode="closed"} 1"#),
            "{text}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_went_away_is_known_to_be_before_anybody_calls() {
        let (store, presence, _) = start(true);
        settle().await;
        advance(TRY).await;
        settle().await;
        assert!(presence.line().is_some());
        store.silent.store(true, Ordering::Relaxed);
        advance(TRY).await;
        settle().await;
        assert!(presence.line().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_on_a_line_that_breaks_learns_it_at_once() {
        let (_store, presence, _) = start(true);
        settle().await;
        let line = presence.line().unwrap();
        let begun = Instant::now();
        let waiting = line.unless_broken(std::future::pending::<()>());
        let breaking = async {
            advance(Duration::from_millis(30)).await;
            line.fail(StoreFailure::Timeout);
        };
        let (heard, ()) = tokio::join!(waiting, breaking);
        assert!(heard.is_none());
        assert_eq!(begun.elapsed(), Duration::from_millis(30));
    }
}
