//! Verifies that an answer is complete: afterwards, the collection still has the identity that each
//! project was uploaded to, and as many of its chunks as were recorded.
//!
//! Checking after the search suffices, since lost chunks stay lost until a run has uploaded all
//! again: chunks present afterwards were present before. The id is read for each answer. The server
//! counts by visiting each chunk, so a project is counted for each answer only while that is
//! cheaper than the search; a larger one every few seconds.

use archway_store::Shelf;
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
/// How many of those are cached.
const MOST_PROJECTS: u64 = 10_000;
/// Concurrent counts for one answer.
const CONCURRENT_COUNTS: usize = 4;

/// Large projects, in one edition each, that were recently counted.
pub(super) struct RecentCounts(Cache<(Shelf, i64), ()>);

impl RecentCounts {
    pub(super) fn new() -> Self {
        let counted = Cache::builder().time_to_live(COUNT_LIFETIME);
        RecentCounts(counted.max_capacity(MOST_PROJECTS).build())
    }

    /// Whether the project has to be counted for this answer.
    fn is_due(&self, shelf: Shelf, project: &SearchedProject) -> bool {
        match project.chunks {
            0 => false,
            1..=ALWAYS_COUNTED => true,
            _ => !self.0.contains_key(&(shelf, project.edition)),
        }
    }

    /// A count found all chunks. Recorded only now: an answer that is given while a first count is in
    /// flight must not rely on it.
    fn insert(&self, shelf: Shelf, project: &SearchedProject) {
        if project.chunks > ALWAYS_COUNTED {
            self.0.insert((shelf, project.edition), ());
        }
    }

    /// A count failed, or found too few chunks.
    fn remove(&self, shelf: Shelf, project: &SearchedProject) {
        self.0.invalidate(&(shelf, project.edition));
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
        let shelf = Shelf {
            tenant,
            project: project.project,
        };
        if !self.recent_counts.is_due(shelf, project) {
            return Ok(true);
        }
        let counted = self.count_chunks(shelf, context).await;
        match counted {
            Ok(counted) if counted >= project.chunks => self.recent_counts.insert(shelf, project),
            _ => self.recent_counts.remove(shelf, project),
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
        let shelf = Shelf {
            tenant: Uuid::nil(),
            project: Uuid::nil(),
        };
        let asked = |edition, chunks| SearchedProject {
            project: shelf.project,
            edition,
            store_id: Uuid::nil(),
            chunks,
        };
        let is_due = |project: &SearchedProject| [(); 2].map(|()| counted.is_due(shelf, project));
        assert_eq!(is_due(&asked(1, 0)), [false, false], "nothing to lose");
        assert_eq!(is_due(&asked(1, ALWAYS_COUNTED)), [true, true]);
        let large = asked(1, ALWAYS_COUNTED + 1);
        assert_eq!(is_due(&large), [true, true], "no count has ended");
        counted.insert(shelf, &large);
        assert_eq!(is_due(&large), [false, false]);
        let newer = asked(2, ALWAYS_COUNTED + 1);
        assert_eq!(is_due(&newer), [true, true], "another edition");
        counted.remove(shelf, &large);
        assert_eq!(is_due(&large), [true, true]);
        counted.insert(shelf, &asked(1, ALWAYS_COUNTED));
        assert_eq!(is_due(&asked(1, ALWAYS_COUNTED)), [true, true]);
    }
}
