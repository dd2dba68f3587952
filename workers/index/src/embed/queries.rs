//! What a service made of queries, kept for a while: an agent asks the same again, page by page.
//!
//! Tenant and project are part of the key, though a vector depends on the text alone: how fast an
//! answer comes must not tell one tenant what another asked.

use std::{sync::Arc, time::Duration};

use moka::{policy::EvictionPolicy, sync::Cache};

use archway_store::Shelf;

/// Vectors may change when the service's model does, under the same name.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// What all may hold together, in bytes.
const MOST_BYTES: u64 = 8 << 20;
/// What one counts for at least, so that there are never more than 8192.
const LEAST_BYTES: usize = 1 << 10;

/// Vectors of queries.
pub(super) struct Queries {
    kept: Cache<(Shelf, Box<str>), Arc<[f32]>>,
}

impl Queries {
    /// None yet.
    pub(super) fn new() -> Self {
        let kept = Cache::builder()
            .max_capacity(MOST_BYTES)
            // What was asked last is what may be asked again.
            .eviction_policy(EvictionPolicy::lru())
            .weigher(|(_, text): &(Shelf, Box<str>), vector: &Arc<[f32]>| weight(text, vector))
            .time_to_live(LIFETIME)
            .build();
        Queries { kept }
    }

    /// The vector of a query that this project was asked before.
    pub(super) fn get(&self, shelf: Shelf, text: &str) -> Option<Arc<[f32]>> {
        self.kept.get(&(shelf, Box::from(text)))
    }

    /// Keeps a vector.
    pub(super) fn keep(&self, shelf: Shelf, text: &str, vector: Vec<f32>) -> Arc<[f32]> {
        let vector: Arc<[f32]> = vector.into();
        self.kept.insert((shelf, Box::from(text)), vector.clone());
        vector
    }
}

fn weight(text: &str, vector: &[f32]) -> u32 {
    let bytes = text.len() + size_of_val(vector) + size_of::<Shelf>();
    u32::try_from(bytes.max(LEAST_BYTES)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn shelf() -> Shelf {
        Shelf {
            tenant: Uuid::new_v4(),
            project: Uuid::new_v4(),
        }
    }

    #[test]
    fn what_one_project_asked_is_not_kept_for_another() {
        let (queries, ours) = (Queries::new(), shelf());
        queries.keep(ours, "where is main", vec![1.0]);
        assert_eq!(
            queries.get(ours, "where is main").as_deref(),
            Some(&[1.0][..])
        );
        let neighbour = Shelf {
            project: Uuid::new_v4(),
            ..ours
        };
        let stranger = Shelf {
            tenant: Uuid::new_v4(),
            ..ours
        };
        assert!(queries.get(neighbour, "where is main").is_none());
        assert!(queries.get(stranger, "where is main").is_none());
        assert!(queries.get(ours, "where is Main").is_none());
    }

    #[test]
    fn no_flood_of_queries_fills_the_memory() {
        let (queries, ours) = (Queries::new(), shelf());
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
