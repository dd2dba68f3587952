//! Caches the vectors of queries that a service made: agents repeat a query, page by page.
//!
//! Tenant and project are part of the key, although a vector depends only on the text: response
//! times must not reveal one tenant's queries to another.

use std::{sync::Arc, time::Duration};

use moka::{policy::EvictionPolicy, sync::Cache};

use archway_store::ProjectKey;

/// Short, since a service may replace its model under the same name.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Memory for all entries, in bytes.
const MAX_BYTES: u64 = 8 << 20;
/// Least weight of an entry, so that there are at most 8192.
const MIN_WEIGHT: usize = 1 << 10;

/// A cache of query vectors.
pub(super) struct QueryCache {
    cache: Cache<(ProjectKey, Box<str>), Arc<[f32]>>,
}

impl QueryCache {
    /// An empty cache.
    pub(super) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(MAX_BYTES)
            // Recent queries are the likeliest to be repeated.
            .eviction_policy(EvictionPolicy::lru())
            .weigher(|(_, text): &(ProjectKey, Box<str>), vector: &Arc<[f32]>| weight(text, vector))
            .time_to_live(LIFETIME)
            .build();
        QueryCache { cache }
    }

    /// The vector of an earlier query of this project.
    pub(super) fn get(&self, project_key: ProjectKey, text: &str) -> Option<Arc<[f32]>> {
        self.cache.get(&(project_key, Box::from(text)))
    }

    /// Caches a vector.
    pub(super) fn insert(
        &self,
        project_key: ProjectKey,
        text: &str,
        vector: Vec<f32>,
    ) -> Arc<[f32]> {
        let vector: Arc<[f32]> = vector.into();
        self.cache
            .insert((project_key, Box::from(text)), vector.clone());
        vector
    }
}

fn weight(text: &str, vector: &[f32]) -> u32 {
    let bytes = text.len() + size_of_val(vector) + size_of::<ProjectKey>();
    u32::try_from(bytes.max(MIN_WEIGHT)).unwrap_or(u32::MAX)
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
        let (queries, own) = (QueryCache::new(), project_key());
        queries.insert(own, "where is main", vec![1.0]);
        assert_eq!(
            queries.get(own, "where is main").as_deref(),
            Some(&[1.0][..])
        );
        let neighbour = ProjectKey {
            project: Uuid::new_v4(),
            ..own
        };
        let stranger = ProjectKey {
            tenant: Uuid::new_v4(),
            ..own
        };
        assert!(queries.get(neighbour, "where is main").is_none());
        assert!(queries.get(stranger, "where is main").is_none());
        assert!(queries.get(own, "where is Main").is_none());
    }

    #[test]
    fn a_flood_of_queries_stays_within_the_memory_limit() {
        let (queries, own) = (QueryCache::new(), project_key());
        for number in 0..20_000 {
            queries.insert(own, &number.to_string(), vec![0.0; 4]);
        }
        queries.cache.run_pending_tasks();
        assert!((1..=8192).contains(&queries.cache.entry_count()));
        for number in 0..2_000 {
            queries.insert(own, &number.to_string(), vec![0.0; 4096]);
        }
        queries.cache.run_pending_tasks();
        assert!((1..=512).contains(&queries.cache.entry_count()));
    }
}
