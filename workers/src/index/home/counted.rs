//! A home whose answers are counted: one that is away is known though nobody searches and nothing is
//! indexed, since the indexer counts each project's chunks again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use archway_proto::chain::Chain;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Asked, Blob, Candidates, Home, HomeError, Question, Shelf, Text};
use crate::metrics::IndexMetrics;

/// Counts what another home answers.
pub(crate) struct CountedHome {
    home: Arc<dyn Home>,
    metrics: IndexMetrics,
    /// Whether the last count of chunks failed. Runs and searches tell of their own failures; a count
    /// fails for nobody, so its first failure is logged here.
    is_away: AtomicBool,
}

impl CountedHome {
    pub(crate) fn new(home: Arc<dyn Home>, metrics: IndexMetrics) -> CountedHome {
        CountedHome {
            home,
            metrics,
            is_away: AtomicBool::new(false),
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

    fn tell<T>(&self, answer: &Result<T, HomeError>) {
        let failed = answer.as_ref().err();
        let was_away = self.is_away.swap(failed.is_some(), Ordering::Relaxed);
        match failed {
            Some(error) if !was_away => {
                tracing::warn!(error = %Chain(error), "the index can't be asked");
            }
            None if was_away => tracing::info!("the index answers again"),
            Some(_) | None => {}
        }
    }
}

impl Home for CountedHome {
    fn upsert<'a>(
        &'a self,
        shelf: Shelf,
        texts: &'a [Text],
        average: f32,
    ) -> BoxFuture<'a, Result<(), HomeError>> {
        let request = self.ask("upsert", None);
        let answer = self.home.upsert(shelf, texts, average);
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
        async move { request.settle(answer.await) }.boxed()
    }

    fn count(&self, shelf: Shelf) -> BoxFuture<'_, Result<u64, HomeError>> {
        let request = self.ask("count", None);
        let answer = self.home.count(shelf);
        async move {
            let answer = answer.await;
            self.tell(&answer);
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

    use tokio::time::{Duration, timeout};

    use super::*;
    use crate::index::home::Filter;
    use crate::metrics::Metrics;

    /// Never answers a search, and counts only to fail.
    struct Hangs;

    impl Home for Hangs {
        fn upsert<'a>(
            &'a self,
            _: Shelf,
            _: &'a [Text],
            _: f32,
        ) -> BoxFuture<'a, Result<(), HomeError>> {
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
        let metrics = Metrics::new();
        let home = CountedHome::new(Arc::new(Hangs), metrics.index());
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
        let text = metrics.text().unwrap();
        for (operation, outcome) in [
            ("search", "cancelled"),
            ("search", "late"),
            ("count", "away"),
            ("remove", "answered"),
        ] {
            let labels = format!(r#"{{operation="{operation}",outcome="{outcome}"}} 1"#);
            let line = format!("archway_worker_index_store_requests_total{labels}");
            assert!(text.contains(&line), "{line} in {text}");
        }
    }
}
