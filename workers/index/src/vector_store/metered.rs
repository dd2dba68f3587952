//! Metrics and logs of a store's answers. The indexer counts each project's chunks every few
//! seconds, so an outage is noticed even while there are no searches and no index runs.
//!
//! An outage is logged once, not for each search.

use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_store::{Blob, ProjectKey};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use super::{
    Candidates, IndexedText, NearestQuery, ProjectMemory, SearchedProject, VectorStore,
    VectorStoreError,
};
use crate::metrics::IndexMetrics;

/// A store that alternates between success and failure is logged at most this often.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Counts the answers of another store.
pub struct MeteredStore {
    store: Arc<dyn VectorStore>,
    metrics: IndexMetrics,
    outages: Mutex<OutageLog>,
}

/// Logs outages, by the outcomes of searches and counts. Uploads and removals fail with their run,
/// which logs the failure itself.
#[derive(Default)]
struct OutageLog {
    /// An outage was logged and has not ended.
    is_away: bool,
    /// When an outage was last logged.
    last_logged: Option<Instant>,
}

impl MeteredStore {
    /// Counts the answers of `store` in `metrics`.
    pub fn new(store: Arc<dyn VectorStore>, metrics: IndexMetrics) -> MeteredStore {
        MeteredStore {
            store,
            metrics,
            outages: Mutex::default(),
        }
    }

    fn request(&self, operation: &'static str, deadline: Option<Instant>) -> MeteredRequest {
        MeteredRequest {
            metrics: self.metrics.clone(),
            operation,
            deadline,
            outcome: None,
        }
    }
}

impl OutageLog {
    fn observe<T>(&mut self, answer: &Result<T, VectorStoreError>) {
        match answer {
            // It answered, even if not with a result.
            Ok(_) | Err(VectorStoreError::Lost { .. } | VectorStoreError::TooLarge { .. }) => {
                if self.is_away {
                    tracing::info!("the index store answers again");
                }
                self.is_away = false;
            }
            Err(error) => {
                let now = Instant::now();
                let is_muted = self.is_away
                    || self
                        .last_logged
                        .is_some_and(|last| now < last + LOG_INTERVAL);
                if !is_muted {
                    tracing::warn!(error = %Chain(error), "the index store can't be reached");
                    self.is_away = true;
                    self.last_logged = Some(now);
                }
            }
        }
    }
}

impl VectorStore for MeteredStore {
    fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, VectorStoreError>> {
        self.store.identity()
    }

    fn prepare(&self) -> BoxFuture<'_, Result<Uuid, VectorStoreError>> {
        self.store.prepare()
    }

    fn upsert<'a>(
        &'a self,
        project_key: ProjectKey,
        texts: &'a [IndexedText],
    ) -> BoxFuture<'a, Result<(), VectorStoreError>> {
        let request = self.request("upsert", None);
        let answer = self.store.upsert(project_key, texts);
        async move { request.finish(answer.await) }.boxed()
    }

    fn remove<'a>(
        &'a self,
        project_key: ProjectKey,
        blobs: &'a [Blob],
    ) -> BoxFuture<'a, Result<(), VectorStoreError>> {
        let request = self.request("remove", None);
        let answer = self.store.remove(project_key, blobs);
        async move { request.finish(answer.await) }.boxed()
    }

    fn nearest<'a>(
        &'a self,
        tenant: Uuid,
        projects: &'a [SearchedProject],
        query: &'a NearestQuery,
    ) -> BoxFuture<'a, Result<Candidates, VectorStoreError>> {
        let request = self.request("search", Some(query.deadline));
        let answer = self.store.nearest(tenant, projects, query);
        async move {
            let answer = answer.await;
            self.outages.lock().observe(&answer);
            request.finish(answer)
        }
        .boxed()
    }

    fn project_memory(&self) -> Option<ProjectMemory> {
        self.store.project_memory()
    }

    fn count(&self, project_key: ProjectKey) -> BoxFuture<'_, Result<u64, VectorStoreError>> {
        let request = self.request("count", None);
        let answer = self.store.count(project_key);
        async move {
            let answer = answer.await;
            self.outages.lock().observe(&answer);
            request.finish(answer)
        }
        .boxed()
    }
}

/// Counts a request when dropped: the caller may cancel it, or give up at its deadline.
struct MeteredRequest {
    metrics: IndexMetrics,
    operation: &'static str,
    /// When the answer is no longer needed.
    deadline: Option<Instant>,
    outcome: Option<&'static str>,
}

impl MeteredRequest {
    fn finish<T>(mut self, answer: Result<T, VectorStoreError>) -> Result<T, VectorStoreError> {
        self.outcome = Some(match &answer {
            Ok(_) => "answered",
            Err(VectorStoreError::Unavailable { .. }) => "away",
            Err(VectorStoreError::Refused { .. }) => "refused",
            Err(VectorStoreError::Mismatch(_)) => "mismatch",
            Err(VectorStoreError::Lost { .. }) => "lost",
            Err(VectorStoreError::Late(_)) => "late",
            Err(VectorStoreError::TooLarge { .. }) => "too_large",
        });
        answer
    }
}

impl Drop for MeteredRequest {
    fn drop(&mut self) {
        let is_late = self.deadline.is_some_and(|until| until <= Instant::now());
        let given_up = if is_late { "late" } else { "cancelled" };
        let outcome = self.outcome.unwrap_or(given_up);
        self.metrics.store_request(self.operation, outcome);
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

    /// Never answers a search, and fails to count.
    struct Unresponsive;

    impl VectorStore for Unresponsive {
        fn identity(&self) -> BoxFuture<'_, Result<Option<Uuid>, VectorStoreError>> {
            ready(Ok(Some(Uuid::nil()))).boxed()
        }

        fn prepare(&self) -> BoxFuture<'_, Result<Uuid, VectorStoreError>> {
            ready(Ok(Uuid::nil())).boxed()
        }

        fn upsert<'a>(
            &'a self,
            _: ProjectKey,
            _: &'a [IndexedText],
        ) -> BoxFuture<'a, Result<(), VectorStoreError>> {
            ready(Ok(())).boxed()
        }

        fn remove<'a>(
            &'a self,
            _: ProjectKey,
            _: &'a [Blob],
        ) -> BoxFuture<'a, Result<(), VectorStoreError>> {
            ready(Ok(())).boxed()
        }

        fn nearest<'a>(
            &'a self,
            _: Uuid,
            _: &'a [SearchedProject],
            _: &'a NearestQuery,
        ) -> BoxFuture<'a, Result<Candidates, VectorStoreError>> {
            pending().boxed()
        }

        fn project_memory(&self) -> Option<ProjectMemory> {
            None
        }

        fn count(&self, _: ProjectKey) -> BoxFuture<'_, Result<u64, VectorStoreError>> {
            let source = "connection refused".into();
            let what = "counting";
            ready(Err(VectorStoreError::Unavailable { what, source })).boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn outages_timeouts_and_cancellations_are_counted() {
        let mut registry = Registry::default();
        let metrics = IndexMetrics::registered(&mut registry);
        let store = MeteredStore::new(Arc::new(Unresponsive), metrics);
        let project_key = ProjectKey {
            tenant: Uuid::nil(),
            project: Uuid::nil(),
        };
        let query = NearestQuery {
            dense: None,
            terms: Vec::new(),
            filter: Filter::default(),
            limit: 1,
            required: None,
            deadline: Instant::now() + Duration::from_secs(2),
        };
        for seconds in [1, 3] {
            let search = store.nearest(project_key.tenant, &[], &query);
            let answer = timeout(Duration::from_secs(seconds), search).await;
            assert!(answer.is_err());
        }
        assert!(store.count(project_key).await.is_err());
        assert!(store.remove(project_key, &[]).await.is_ok());
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
    async fn an_outage_is_logged_once_and_not_for_each_request() {
        let log = Log::default();
        // With only one subscriber, the first thread to reach an event decides for all threads.
        let _second = tracing::Dispatch::new(Log::default());
        let _logged = tracing::subscriber::set_default(log.clone());
        let mut outages = OutageLog::default();
        let away = || Err::<(), _>(VectorStoreError::Late("searching"));
        let lines = |what: &str| log.text().matches(what).count();
        for _ in 0..300 {
            outages.observe(&away());
        }
        assert_eq!(lines("the index store can't be reached"), 1);
        // A store that alternates is logged at intervals.
        for _ in 0..300 {
            outages.observe(&Ok(()));
            outages.observe(&away());
        }
        assert_eq!(lines("the index store can't be reached"), 1);
        assert_eq!(lines("the index store answers again"), 1);
        tokio::time::advance(LOG_INTERVAL).await;
        outages.observe(&away());
        assert_eq!(lines("the index store can't be reached"), 2);
    }
}
