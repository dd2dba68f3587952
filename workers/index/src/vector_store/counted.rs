//! A home whose answers are counted: one that is away is known though nobody searches and nothing is
//! indexed, since the indexer counts each project's chunks again and again.
//!
//! That it can't be asked is logged once until it answers again, not for each search.

use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_store::{Blob, Shelf};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use super::{Asked, Candidates, Home, HomeError, Question, Text};
use crate::metrics::IndexMetrics;

/// A home that answers and fails by turns is logged no more often.
const QUIET: Duration = Duration::from_secs(10);

/// Counts what another home answers.
pub struct CountedHome {
    home: Arc<dyn Home>,
    metrics: IndexMetrics,
    told: Mutex<Told>,
}

/// What the log was told of the home. Runs tell of their own failures: here it is told of searches,
/// and of counts, which fail for nobody.
#[derive(Default)]
struct Told {
    /// That it can't be asked, and nothing since.
    is_away: bool,
    /// When that was told last.
    when: Option<Instant>,
}

impl CountedHome {
    /// Counts what `home` answers in `metrics`.
    pub fn new(home: Arc<dyn Home>, metrics: IndexMetrics) -> CountedHome {
        CountedHome {
            home,
            metrics,
            told: Mutex::default(),
        }
    }

    fn ask(&self, operation: &'static str, deadline: Option<Instant>) -> Request {
        Request {
            metrics: self.metrics.clone(),
            operation,
            deadline,
            outcome: None,
        }
    }
}

impl Told {
    fn tell<T>(&mut self, answer: &Result<T, HomeError>) {
        match answer {
            // It answered, though not as was hoped for.
            Ok(_) | Err(HomeError::Lost { .. } | HomeError::TooLarge { .. }) => {
                if self.is_away {
                    tracing::info!("the index answers again");
                }
                self.is_away = false;
            }
            Err(error) => {
                let now = Instant::now();
                let is_told = self.is_away || self.when.is_some_and(|when| now < when + QUIET);
                if !is_told {
                    tracing::warn!(error = %Chain(error), "the index can't be asked");
                    self.is_away = true;
                    self.when = Some(now);
                }
            }
        }
    }
}

impl Home for CountedHome {
    fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, HomeError>> {
        self.home.identity()
    }

    fn prepare(&self) -> BoxFuture<'_, Result<Uuid, HomeError>> {
        self.home.prepare()
    }

    fn upsert<'a>(
        &'a self,
        shelf: Shelf,
        texts: &'a [Text],
    ) -> BoxFuture<'a, Result<(), HomeError>> {
        let request = self.ask("upsert", None);
        let answer = self.home.upsert(shelf, texts);
        async move { request.settle(answer.await) }.boxed()
    }

    fn remove<'a>(
        &'a self,
        shelf: Shelf,
        blobs: &'a [Blob],
    ) -> BoxFuture<'a, Result<(), HomeError>> {
        let request = self.ask("remove", None);
        let answer = self.home.remove(shelf, blobs);
        async move { request.settle(answer.await) }.boxed()
    }

    fn nearest<'a>(
        &'a self,
        tenant: Uuid,
        projects: &'a [Asked],
        question: &'a Question,
    ) -> BoxFuture<'a, Result<Candidates, HomeError>> {
        let request = self.ask("search", Some(question.deadline));
        let answer = self.home.nearest(tenant, projects, question);
        async move {
            let answer = answer.await;
            self.told.lock().tell(&answer);
            request.settle(answer)
        }
        .boxed()
    }

    fn count(&self, shelf: Shelf) -> BoxFuture<'_, Result<u64, HomeError>> {
        let request = self.ask("count", None);
        let answer = self.home.count(shelf);
        async move {
            let answer = answer.await;
            self.told.lock().tell(&answer);
            request.settle(answer)
        }
        .boxed()
    }
}

/// A request that is counted when it is dropped: who asks may go away, or give it up as late.
struct Request {
    metrics: IndexMetrics,
    operation: &'static str,
    /// Until when an answer was of use.
    deadline: Option<Instant>,
    outcome: Option<&'static str>,
}

impl Request {
    fn settle<T>(mut self, answer: Result<T, HomeError>) -> Result<T, HomeError> {
        self.outcome = Some(match &answer {
            Ok(_) => "answered",
            Err(HomeError::Away { .. }) => "away",
            Err(HomeError::Refused { .. }) => "refused",
            Err(HomeError::Mismatch(_)) => "mismatch",
            Err(HomeError::Lost { .. }) => "lost",
            Err(HomeError::Late(_)) => "late",
            Err(HomeError::TooLarge { .. }) => "too_large",
        });
        answer
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let is_late = self.deadline.is_some_and(|until| until <= Instant::now());
        let given_up = if is_late { "late" } else { "cancelled" };
        let outcome = self.outcome.unwrap_or(given_up);
        self.metrics.store_asked(self.operation, outcome);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use prometheus_client::{encoding::text::encode, registry::Registry};
    use tokio::time::{Duration, timeout};

    use super::*;
    use crate::openai::testing::Log;
    use crate::vector_store::Filter;

    /// Never answers a search, and counts only to fail.
    struct Hangs;

    impl Home for Hangs {
        fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, HomeError>> {
            ready(Ok(Some(Uuid::nil()))).boxed()
        }

        fn prepare(&self) -> BoxFuture<'_, Result<Uuid, HomeError>> {
            ready(Ok(Uuid::nil())).boxed()
        }

        fn upsert<'a>(&'a self, _: Shelf, _: &'a [Text]) -> BoxFuture<'a, Result<(), HomeError>> {
            ready(Ok(())).boxed()
        }

        fn remove<'a>(&'a self, _: Shelf, _: &'a [Blob]) -> BoxFuture<'a, Result<(), HomeError>> {
            ready(Ok(())).boxed()
        }

        fn nearest<'a>(
            &'a self,
            _: Uuid,
            _: &'a [Asked],
            _: &'a Question,
        ) -> BoxFuture<'a, Result<Candidates, HomeError>> {
            pending().boxed()
        }

        fn count(&self, _: Shelf) -> BoxFuture<'_, Result<u64, HomeError>> {
            let source = "connection refused".into();
            let what = "counting";
            ready(Err(HomeError::Away { what, source })).boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_home_that_is_away_or_late_is_counted_as_that() {
        let mut registry = Registry::default();
        let metrics = IndexMetrics::registered(&mut registry);
        let home = CountedHome::new(Arc::new(Hangs), metrics);
        let shelf = Shelf {
            tenant: Uuid::nil(),
            project: Uuid::nil(),
        };
        let question = Question {
            dense: None,
            terms: Vec::new(),
            filter: Filter::default(),
            most: 1,
            deadline: Instant::now() + Duration::from_secs(2),
        };
        for seconds in [1, 3] {
            let search = home.nearest(shelf.tenant, &[], &question);
            let answer = timeout(Duration::from_secs(seconds), search).await;
            assert!(answer.is_err());
        }
        assert!(home.count(shelf).await.is_err());
        assert!(home.remove(shelf, &[]).await.is_ok());
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for (operation, outcome) in [
            ("search", "cancelled"),
            ("search", "late"),
            ("count", "away"),
            ("remove", "answered"),
        ] {
            let labels = format!(r#"{{operation="{operation}",outcome="{outcome}"}} 1"#);
            let line = format!("index_store_requests_total{labels}");
            assert!(text.contains(&line), "{line} in {text}");
        }
    }
    #[tokio::test(start_paused = true)]
    async fn that_a_home_is_away_is_logged_once_and_not_for_each_request() {
        let log = Log::default();
        // While there is but one subscriber, the first thread that meets an event decides for all.
        let _second = tracing::Dispatch::new(Log::default());
        let _logged = tracing::subscriber::set_default(log.clone());
        let mut told = Told::default();
        let away = || Err::<(), _>(HomeError::Late("searching"));
        let lines = |what: &str| log.text().matches(what).count();
        for _ in 0..300 {
            told.tell(&away());
        }
        assert_eq!(lines("the index can't be asked"), 1);
        // One that answers by turns is told now and then.
        for _ in 0..300 {
            told.tell(&Ok(()));
            told.tell(&away());
        }
        assert_eq!(lines("the index can't be asked"), 1);
        assert_eq!(lines("the index answers again"), 1);
        tokio::time::advance(QUIET).await;
        told.tell(&away());
        assert_eq!(lines("the index can't be asked"), 2);
    }
}
