//! Projects whose last runs failed, and when they may run again.

use std::collections::HashMap;

use archway_proto::chain::Chain;
use archway_store::ProjectKey;
use tokio::time::{Duration, Instant};

use super::project_entry::Work;
use super::run::RunError;

/// Back-off after a failed run: first and longest.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// The back-offs of all projects.
#[derive(Default)]
pub(super) struct Backoffs {
    runs: HashMap<ProjectKey, Backoff>,
    /// Of runs for vectors alone.
    vectors: HashMap<ProjectKey, Backoff>,
}

/// A back-off after consecutive failures.
#[derive(Clone, Copy)]
struct Backoff {
    until: Instant,
    failures: u32,
}

impl Backoffs {
    /// Whether a run for this work may start.
    pub(super) fn may_run(&self, project_key: ProjectKey, work: Work) -> bool {
        let now = Instant::now();
        let is_over = |backoff: &Backoff| backoff.until <= now;
        let may = |backoffs: &HashMap<ProjectKey, Backoff>| {
            backoffs.get(&project_key).is_none_or(is_over)
        };
        may(&self.runs) && (work == Work::Documents || may(&self.vectors))
    }

    /// Forgets projects that are gone.
    pub(super) fn retain(&mut self, is_there: impl Fn(ProjectKey) -> bool) {
        self.runs.retain(|key, _| is_there(*key));
        self.vectors.retain(|key, _| is_there(*key));
    }

    /// Records a completed run.
    pub(super) fn run_completed(&mut self, project_key: ProjectKey) {
        self.runs.remove(&project_key);
        self.vectors.remove(&project_key);
    }

    /// Records a failed run.
    pub(super) fn run_failed(&mut self, project_key: ProjectKey, error: &RunError) {
        match error {
            RunError::LeaseHeld => self.back_off(project_key, BACKOFF.0, 0),
            RunError::NoVectors(_) | RunError::TextUnreadable => {
                self.vectors_failed(project_key, error);
            }
            error => self.back_off_longer(project_key, &Chain(error)),
        }
    }

    /// Backs off, longer with each consecutive failure; the first is logged.
    pub(super) fn back_off_longer(
        &mut self,
        project_key: ProjectKey,
        error: &dyn std::fmt::Display,
    ) {
        let failures = self.runs.get(&project_key).map_or(0, |last| last.failures);
        if failures == 0 {
            tracing::warn!(project = %project_key.project, %error, "could not complete the index of a project");
        }
        self.back_off(project_key, backoff(failures), failures.saturating_add(1));
    }

    /// Backs off from making vectors, longer with each consecutive failure; the first is logged. New
    /// documents are indexed meanwhile.
    fn vectors_failed(&mut self, project_key: ProjectKey, error: &RunError) {
        self.runs.remove(&project_key);
        let requested_wait = match error {
            RunError::NoVectors(error) => error.retry_after(),
            _ => None,
        };
        let failures = self.vectors.get(&project_key);
        let failures = failures.map_or(0, |last| last.failures);
        // A rate limit or an open circuit is logged once elsewhere, not for each project.
        if failures == 0 && requested_wait.is_none() {
            tracing::warn!(project = %project_key.project, error = %Chain(error), "a project has no vectors yet");
        }
        let wait = backoff(failures).max(requested_wait.unwrap_or_default());
        let backoff = Backoff {
            until: Instant::now() + wait.min(BACKOFF.1),
            failures: failures.saturating_add(1),
        };
        self.vectors.insert(project_key, backoff);
    }

    fn back_off(&mut self, project_key: ProjectKey, wait: Duration, failures: u32) {
        let until = Instant::now() + wait;
        self.runs.insert(project_key, Backoff { until, failures });
    }
}

/// The back-off after this many earlier failures in a row.
fn backoff(failures: u32) -> Duration {
    let (first, most) = BACKOFF;
    first.saturating_mul(1 << failures.min(5)).min(most)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::embed::EmbedError;

    fn project_key() -> ProjectKey {
        ProjectKey {
            tenant: Uuid::from_u128(1),
            project: Uuid::from_u128(1),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn back_offs_grow_with_failures_in_a_row_up_to_a_minute() {
        let (key, mut backoffs) = (project_key(), Backoffs::default());
        let mut waits = Vec::new();
        for _ in 0..8 {
            backoffs.run_failed(key, &RunError::LeaseLost);
            waits.push((backoffs.runs[&key].until - Instant::now()).as_secs());
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60, 60]);
        assert!(!backoffs.may_run(key, Work::Documents));
        tokio::time::advance(BACKOFF.1).await;
        assert!(backoffs.may_run(key, Work::Documents));
        backoffs.run_failed(key, &RunError::LeaseLost);
        backoffs.run_completed(key);
        assert!(backoffs.may_run(key, Work::Documents));
    }

    #[tokio::test(start_paused = true)]
    async fn missing_vectors_delay_no_words_and_are_retried_ever_later() {
        let (key, mut backoffs) = (project_key(), Backoffs::default());
        let busy = |seconds| {
            let retry_after = Duration::from_secs(seconds);
            RunError::NoVectors(EmbedError::Paused { retry_after })
        };
        let errors = [
            busy(1),
            busy(20),
            busy(1),
            RunError::TextUnreadable,
            busy(1),
            busy(300),
        ];
        let mut waits = Vec::new();
        for error in errors {
            backoffs.run_failed(key, &error);
            assert!(
                backoffs.may_run(key, Work::Documents),
                "new documents are indexed"
            );
            assert!(!backoffs.may_run(key, Work::Vectors));
            waits.push((backoffs.vectors[&key].until - Instant::now()).as_secs());
        }
        assert_eq!(waits, [2, 20, 8, 16, 32, 60]);
        tokio::time::advance(BACKOFF.1).await;
        assert!(backoffs.may_run(key, Work::Vectors));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_held_elsewhere_is_no_failure() {
        let (key, mut backoffs) = (project_key(), Backoffs::default());
        for _ in 0..8 {
            backoffs.run_failed(key, &RunError::LeaseHeld);
            assert_eq!(backoffs.runs[&key].until - Instant::now(), BACKOFF.0);
        }
        backoffs.retain(|_| false);
        assert!(backoffs.may_run(key, Work::Documents));
    }
}
