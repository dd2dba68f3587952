//! Verifies that an answer is complete: afterwards, the collection still has the identity that each
//! project was uploaded to, and as many of its chunks as were recorded.
//!
//! Checking after the search suffices, since lost chunks stay lost until a run has uploaded all
//! again: chunks that are present now were present during the search. The id is read for each answer. The server
//! counts by visiting each chunk, so a project is counted for each answer only while that is
//! cheaper than the search; a larger one every few seconds.

use archway_store::ProjectKey;
use futures::{StreamExt, TryStreamExt, stream};
use moka::sync::Cache;
use tokio::time::Duration;
use uuid::Uuid;

use super::{QdrantStore, failure::RequestContext};
use crate::vector_store::{SearchedProject, VectorStoreError};

/// Projects of up to this many chunks are counted for each answer.
const ALWAYS_COUNTED: u64 = 10_000;
/// How long the count of a larger project is valid.
const COUNT_LIFETIME: Duration = Duration::from_secs(5);
/// Maximum number of cached counts.
const MAX_COUNTS: u64 = 10_000;
/// Concurrent counts for one answer.
const CONCURRENT_COUNTS: usize = 4;

/// Large projects, in one edition each, that were recently counted.
pub(super) struct RecentCounts(Cache<(ProjectKey, i64), ()>);

impl RecentCounts {
    pub(super) fn new() -> Self {
        let counted = Cache::builder().time_to_live(COUNT_LIFETIME);
        RecentCounts(counted.max_capacity(MAX_COUNTS).build())
    }

    /// Whether the project has to be counted for this answer.
    fn is_due(&self, project_key: ProjectKey, project: &SearchedProject) -> bool {
        match project.chunks {
            0 => false,
            1..=ALWAYS_COUNTED => true,
            _ => !self.0.contains_key(&(project_key, project.edition)),
        }
    }

    /// Records that a count found all chunks. Called only after the count: an answer that is given
    /// while the first count is in flight must not rely on it.
    fn insert(&self, project_key: ProjectKey, project: &SearchedProject) {
        if project.chunks > ALWAYS_COUNTED {
            self.0.insert((project_key, project.edition), ());
        }
    }

    /// Forgets a project whose count failed or found too few chunks.
    fn remove(&self, project_key: ProjectKey, project: &SearchedProject) {
        self.0.invalidate(&(project_key, project.edition));
    }
}

/// The error if the collection is missing: every project lost its chunks.
pub(super) fn all_lost(projects: &[SearchedProject]) -> VectorStoreError {
    VectorStoreError::Lost {
        projects: projects.iter().map(|each| each.project).collect(),
    }
}

impl QdrantStore {
    /// Verifies that all chunks of these projects are present.
    pub(super) async fn verify_complete(
        &self,
        tenant: Uuid,
        projects: &[SearchedProject],
        context: RequestContext,
    ) -> Result<(), VectorStoreError> {
        let counts = projects
            .iter()
            .map(|each| self.has_all_chunks(tenant, each, context));
        let counts: Vec<_> = counts.collect();
        let counts = stream::iter(counts)
            .buffered(CONCURRENT_COUNTS)
            .try_collect();
        let id = self.collection.id(&self.connection, context);
        let (id, counts): (Option<Uuid>, Vec<bool>) = tokio::try_join!(id, counts)?;
        let lost = projects.iter().zip(counts);
        let lost =
            lost.filter(|(project, is_complete)| !is_complete || Some(project.store_id) != id);
        let projects: Vec<Uuid> = lost.map(|(project, _)| project.project).collect();
        if projects.is_empty() {
            return Ok(());
        }
        self.collection.invalidate();
        Err(VectorStoreError::Lost { projects })
    }

    /// Whether the project has as many chunks as recorded, if a count is due.
    async fn has_all_chunks(
        &self,
        tenant: Uuid,
        project: &SearchedProject,
        context: RequestContext,
    ) -> Result<bool, VectorStoreError> {
        let project_key = ProjectKey {
            tenant,
            project: project.project,
        };
        if !self.recent_counts.is_due(project_key, project) {
            return Ok(true);
        }
        let counted = self.count_chunks(project_key, context).await;
        match counted {
            Ok(counted) if counted >= project.chunks => {
                self.recent_counts.insert(project_key, project)
            }
            _ => self.recent_counts.remove(project_key, project),
        }
        Ok(counted? >= project.chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_projects_are_counted_for_each_answer_large_ones_rarely() {
        let counted = RecentCounts::new();
        let project_key = ProjectKey {
            tenant: Uuid::nil(),
            project: Uuid::nil(),
        };
        let asked = |edition, chunks| SearchedProject {
            project: project_key.project,
            edition,
            store_id: Uuid::nil(),
            chunks,
        };
        let is_due =
            |project: &SearchedProject| [(); 2].map(|()| counted.is_due(project_key, project));
        assert_eq!(is_due(&asked(1, 0)), [false, false], "nothing to lose");
        assert_eq!(is_due(&asked(1, ALWAYS_COUNTED)), [true, true]);
        let large = asked(1, ALWAYS_COUNTED + 1);
        assert_eq!(is_due(&large), [true, true], "no count has ended");
        counted.insert(project_key, &large);
        assert_eq!(is_due(&large), [false, false]);
        let newer = asked(2, ALWAYS_COUNTED + 1);
        assert_eq!(is_due(&newer), [true, true], "another edition");
        counted.remove(project_key, &large);
        assert_eq!(is_due(&large), [true, true]);
        counted.insert(project_key, &asked(1, ALWAYS_COUNTED));
        assert_eq!(is_due(&asked(1, ALWAYS_COUNTED)), [true, true]);
    }
}
