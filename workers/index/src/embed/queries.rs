//! Caches the vectors of queries that a service made: agents repeat a query, page by page.
//!
//! Tenant and project are part of the key, although a vector depends on the text alone: response
//! times must not reveal to one tenant what another searched.

use std::{sync::Arc, time::Duration};

use moka::{policy::EvictionPolicy, sync::Cache};

use archway_store::ProjectKey;

/// Short, since a service may replace its model under the same name.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Memory for all entries, in bytes.
const MOST_BYTES: u64 = 8 << 20;
/// Least weight of an entry, so that there are at most 8192.
const LEAST_BYTES: usize = 1 << 10;

/// A cache of query vectors.
pub(super) struct Queries {
    kept: Cache<(ProjectKey, Box<str>), Arc<[f32]>>,
}

impl Queries {
    /// An empty cache.
    pub(super) fn new() -> Self {
        let kept = Cache::builder()
            .max_capacity(MOST_BYTES)
            // Recent queries are the likeliest to be repeated.
            .eviction_policy(EvictionPolicy::lru())
            .weigher(|(_, text): &(ProjectKey, Box<str>), vector: &Arc<[f32]>| weight(text, vector))
            .time_to_live(LIFETIME)
            .build();
        Queries { kept }
    }

    /// The vector of an earlier query of this project.
    pub(super) fn get(&self, project_key: ProjectKey, text: &str) -> Option<Arc<[f32]>> {
        self.kept.get(&(project_key, Box::from(text)))
    }

    /// Caches a vector.
    pub(super) fn keep(&self, project_key: ProjectKey, text: &str, vector: Vec<f32>) -> Arc<[f32]> {
        let vector: Arc<[f32]> = vector.into();
        self.kept
            .insert((project_key, Box::from(text)), vector.clone());
        vector
    }
}

fn weight(text: &str, vector: &[f32]) -> u32 {
    let bytes = text.len() + size_of_val(vector) + size_of::<ProjectKey>();
    u32::try_from(bytes.max(LEAST_BYTES)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn project_key() -> ProjectKey {
        ProjectKey {
            tenant: Uuid::new_v4(),
            project: Uuid::new_v4(),
        }
    }

    #[test]
    fn a_query_of_one_project_is_not_cached_for_another() {
        let (queries, ours) = (Queries::new(), project_key());
        queries.keep(ours, "where is main", vec![1.0]);
        assert_eq!(
            queries.get(ours, "where is main").as_deref(),
            Some(&[1.0][..])
        );
        let neighbour = ProjectKey {
            project: Uuid::new_v4(),
            ..ours
        };
        let stranger = ProjectKey {
            tenant: Uuid::new_v4(),
            ..ours
        };
        assert!(queries.get(neighbour, "where is main").is_none());
        assert!(queries.get(stranger, "where is main").is_none());
        assert!(queries.get(ours, "where is Main").is_none());
    }

    #[test]
    fn a_flood_of_queries_stays_within_the_memory_limit() {
        let (queries, ours) = (Queries::new(), project_key());
        for number in 0..20_000 {
            queries.keep(ours, &number.to_string(), vec![0.0; 4]);
        }
        queries.kept.run_pending_tasks();
        assert!((1..=8192).contains(&queries.kept.entry_count()));
        for number in 0..2_000 {
            queries.keep(ours, &number.to_string(), vec![0.0; 4096]);
        }
        queries.kept.run_pending_tasks();
        assert!((1..=512).contains(&queries.kept.entry_count()));
    }
}
