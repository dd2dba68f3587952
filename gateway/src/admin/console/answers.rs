//! What pages ask Postgres: each query with a deadline, and few at a time.

use std::{sync::Arc, time::Duration};

use archway_proto::chain::Chain as CauseChain;
use tokio::time::Instant;

use super::Console;
use crate::store::{
    IndexOverview, LimitsOverview, StoreError, Stores,
    console::{HourCalls, ProcessRow, QuotaRow, SyncOverview},
};

/// How long Postgres' answers for the overview are reused.
const REUSE: Duration = Duration::from_secs(2);
/// How long a page waits for Postgres. Without an answer it shows the rest.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// Queries of all pages that run at a time.
pub(super) const MOST_QUERIES: usize = 2;
/// The share of its limit by the month from which on a tenant is on the overview.
const NEAR_QUOTA: f64 = 0.8;

/// What Postgres reports for the overview; `None` where it gave no answer.
pub(super) struct Answers {
    pub(super) indexes: Option<IndexOverview>,
    pub(super) limits: Option<LimitsOverview>,
    pub(super) hours: Option<Vec<HourCalls>>,
    pub(super) processes: Option<Vec<ProcessRow>>,
    pub(super) syncs: Option<SyncOverview>,
    pub(super) quotas: Option<Vec<QuotaRow>>,
}

impl Console {
    /// Postgres' answers for the overview, at most two seconds old.
    pub(super) async fn answers(&self, stores: &Stores) -> Arc<Answers> {
        let mut cached = self.overview.lock().await;
        if let Some((read, answers)) = &*cached
            && read.elapsed() < REUSE
        {
            return answers.clone();
        }
        let (indexes, limits, hours, processes, syncs, quotas) = tokio::join!(
            self.answered(stores.index_overview()),
            self.answered(stores.limits_overview()),
            self.answered(stores.console_hours()),
            self.answered(stores.console_processes()),
            self.answered(stores.console_syncs()),
            self.answered(stores.console_quotas(NEAR_QUOTA)),
        );
        let answers = Arc::new(Answers {
            indexes,
            limits,
            hours,
            processes,
            syncs,
            quotas,
        });
        *cached = Some((Instant::now(), answers.clone()));
        answers
    }

    /// The answer, if its turn comes and it arrives in time.
    pub(super) async fn answered<T>(
        &self,
        query: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        let answer = async {
            // Never closed.
            let _turn = self.queries.acquire().await.ok()?;
            Some(query.await)
        };
        match tokio::time::timeout(QUERY_TIMEOUT, answer).await {
            Ok(Some(Ok(answer))) => Some(answer),
            Ok(Some(Err(error))) => {
                tracing::warn!(error = %CauseChain(&error), "a query for the operator's page failed");
                None
            }
            Ok(None) => None,
            Err(_elapsed) => {
                tracing::warn!("a query for the operator's page was not answered in time");
                None
            }
        }
    }
}
