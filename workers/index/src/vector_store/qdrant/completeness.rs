//! Verifies that an answer is complete: afterwards, the collection still has the identity that each
//! project was uploaded to, and as many of its chunks as were recorded.
//!
//! Checking after the search suffices, since lost chunks stay lost until a run has uploaded all
//! again: chunks that are present now were present during the search. The id is read for each answer. The server
//! counts by visiting each chunk, so a project is counted for each answer only while that is
//! cheaper than the search; a larger one every few seconds.

use std::collections::HashMap;

use archway_store::ProjectKey;
use moka::sync::Cache;
use qdrant_client::qdrant::{FacetHit, facet_value::Variant};
use tokio::time::Duration;
use uuid::Uuid;

use super::{QdrantStore, failure::RequestContext, point::project_key_text, requests::Scope};
use crate::vector_store::{SearchedProject, VectorStoreError};

/// Projects of up to this many chunks are counted for each answer.
const ALWAYS_COUNTED: u64 = 10_000;
/// How long the count of a larger project is valid.
const COUNT_LIFETIME: Duration = Duration::from_secs(5);
/// Maximum number of cached counts.
const MAX_COUNTS: u64 = 10_000;

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
        let key = |each: &SearchedProject| ProjectKey {
            tenant,
            project: each.project,
        };
        let is_due = |each: &&SearchedProject| self.recent_counts.is_due(key(each), each);
        let due: Vec<&SearchedProject> = projects.iter().filter(is_due).collect();
        let counts = self.count_each(tenant, &due, context);
        let id = self.collection.id(&self.connection, context);
        let answer = tokio::try_join!(id, counts);
        if answer.is_err() {
            due.iter()
                .for_each(|each| self.recent_counts.remove(key(each), each));
        }
        let (id, counts) = answer?;
        let mut lost: Vec<Uuid> = Vec::new();
        for (each, counted) in due.into_iter().zip(counts) {
            match counted >= each.chunks {
                true => self.recent_counts.insert(key(each), each),
                false => {
                    self.recent_counts.remove(key(each), each);
                    lost.push(each.project);
                }
            }
        }
        let is_elsewhere = |each: &&SearchedProject| Some(each.store_id) != id;
        let elsewhere = projects
            .iter()
            .filter(is_elsewhere)
            .map(|each| each.project);
        lost.extend(elsewhere);
        lost.sort_unstable();
        lost.dedup();
        if lost.is_empty() {
            return Ok(());
        }
        self.collection.invalidate();
        Err(VectorStoreError::Lost { projects: lost })
    }

    /// How many chunks each of these projects has, by one request.
    async fn count_each(
        &self,
        tenant: Uuid,
        projects: &[&SearchedProject],
        context: RequestContext,
    ) -> Result<Vec<u64>, VectorStoreError> {
        let keys = projects.iter().map(|each| ProjectKey {
            tenant,
            project: each.project,
        });
        let keys: Vec<ProjectKey> = keys.collect();
        match *keys {
            [] => return Ok(Vec::new()),
            // Counting is cheaper than grouping.
            [key] => return Ok(vec![self.count_chunks(key, context).await?]),
            _ => {}
        }
        let ids: Vec<Uuid> = keys.iter().map(|key| key.project).collect();
        let message =
            Scope::projects(tenant, &ids).count_by_project(&self.collection.name, ids.len());
        let answer = self.send(context, message, |to, request| async move {
            to.points().facet(request).await
        });
        let groups = answer.await?.map_or_else(Vec::new, |answer| answer.hits);
        let counts: HashMap<String, u64> = groups.into_iter().filter_map(group).collect();
        let count = |key: &ProjectKey| counts.get(&project_key_text(*key)).copied().unwrap_or(0);
        Ok(keys.iter().map(count).collect())
    }
}

/// The project key and the number of chunks of a group.
fn group(hit: FacetHit) -> Option<(String, u64)> {
    match hit.value?.variant? {
        Variant::StringValue(key) => Some((key, hit.count)),
        _ => None,
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
