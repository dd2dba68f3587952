//! Detects chunks that the vector store lost.
//!
//! A Qdrant that lost its disk gets a new, empty collection with a new id. All chunks uploaded to the
//! old one are lost, which marks all projects at once. Parts are lost with a shard, or by restoring
//! a backup: the store then has fewer chunks of a project than recorded, and all its texts are
//! uploaded again. More chunks than recorded are no loss: an interrupted run uploaded them, and the
//! next run uploads them again.

use std::collections::{HashMap, HashSet};
use std::mem;

use archway_proto::chain::Chain;
use archway_store::MountedProject;
use archway_store::ProjectKey;
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use crate::indexer::IndexerParts;
use crate::indexer::run::RunError;

/// How often the chunks of an idle project are counted.
const COUNT_INTERVAL: Duration = Duration::from_secs(20);
/// Projects counted per scan. Each project is counted less often if there are more than fit into
/// [`COUNT_INTERVAL`].
const COUNTS_PER_SCAN: usize = 8;

/// Whether the store has fewer chunks of a project than recorded. If it cannot count, nothing is
/// considered lost: runs proceed, and the next turn counts again.
///
/// # Errors
/// If Postgres does not answer.
pub(super) async fn is_lost(
    parts: &IndexerParts,
    project_key: ProjectKey,
    index: i64,
) -> Result<bool, RunError> {
    // The record first: chunks uploaded meanwhile are counted before they are recorded.
    let (recorded, _) = parts
        .stores
        .tenant(project_key.tenant)
        .size_of_index(index)
        .await?;
    let Ok(recorded @ 1..) = u64::try_from(recorded) else {
        return Ok(false);
    };
    match parts.vector_store.count(project_key).await {
        Ok(counted) => Ok(counted < recorded),
        Err(error) => {
            tracing::debug!(project = %project_key.project, error = %Chain(&error), "could not count chunks");
            Ok(false)
        }
    }
}

/// Marks indexes that were uploaded to another store than the present one: all their chunks are lost.
/// If the store does not answer, nothing is considered lost.
pub(super) async fn mark_lost_indexes(
    parts: &IndexerParts,
    mounted: &mut [MountedProject],
    presence: &mut StorePresence,
) {
    let store_id = match parts.vector_store.identity().await {
        Ok(store_id) if presence.is_confirmed(store_id) => store_id,
        Ok(_) => return,
        Err(error) => {
            tracing::debug!(error = %Chain(&error), "could not read the store's identity");
            return;
        }
    };
    let mut lost: HashMap<Uuid, Vec<Uuid>> = HashMap::new();
    for project in mounted {
        if project.indexed.is_some() && Some(project.store_id) != store_id {
            project.indexed = None;
            let ProjectKey { tenant, project } = project.project_key;
            lost.entry(tenant).or_default().push(project);
        }
    }
    let mut marked = 0;
    for (tenant, projects) in lost {
        let store = parts.stores.tenant(tenant);
        match store
            .mark_lost_outside(store_id, &projects, &parts.made_by)
            .await
        {
            Ok(indexes) => marked += indexes,
            // The run starts all the same, and searches verify their answers.
            Err(error) => {
                tracing::debug!(%tenant, error = %Chain(&error), "could not mark lost indexes");
            }
        }
    }
    if marked > 0 {
        tracing::warn!(
            indexes = marked,
            "all chunks of these indexes are gone from their store; rebuilding them"
        );
    }
}

/// Remembers whether the store was missing at its last answer.
#[derive(Default)]
pub(super) struct StorePresence {
    was_missing: bool,
}

impl StorePresence {
    /// Whether to believe the answer: a missing store has to be reported twice in a row. A single report
    /// may be a mistake, of a proxy or a starting node, and would cost all indexes. Meanwhile, searches
    /// verify their answers.
    fn is_confirmed(&mut self, store_id: Option<Uuid>) -> bool {
        let was_missing = mem::replace(&mut self.was_missing, store_id.is_none());
        store_id.is_some() || was_missing
    }
}

/// When projects are counted: each scan counts those that have waited longest. So a round over all
/// projects takes one scan for each [`COUNTS_PER_SCAN`] of them.
#[derive(Default)]
pub(super) struct CountTurns {
    /// When a project was last counted.
    last_counted: HashMap<ProjectKey, Instant>,
}

impl CountTurns {
    /// Picks the projects to count in this scan, and records that they were: first those that were never
    /// counted, then those that have waited longest.
    pub(super) fn begin(&mut self, projects: &HashSet<ProjectKey>) -> Vec<ProjectKey> {
        self.last_counted
            .retain(|project_key, _| projects.contains(project_key));
        let now = Instant::now();
        let due = projects
            .iter()
            .map(|project_key| (self.last_counted.get(project_key), *project_key));
        let due = due.filter(|(had, _)| had.is_none_or(|had| *had + COUNT_INTERVAL <= now));
        let mut due: Vec<(Option<Instant>, ProjectKey)> = due
            .map(|(had, project_key)| (had.copied(), project_key))
            .collect();
        due.sort_unstable();
        due.truncate(COUNTS_PER_SCAN);
        let counted: Vec<ProjectKey> = due
            .into_iter()
            .map(|(_, project_key)| project_key)
            .collect();
        self.last_counted
            .extend(counted.iter().map(|project_key| (*project_key, now)));
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project_key(number: u128) -> ProjectKey {
        ProjectKey {
            tenant: Uuid::from_u128(1),
            project: Uuid::from_u128(number),
        }
    }

    fn project_keys(count: u128) -> HashSet<ProjectKey> {
        (0..count).map(project_key).collect()
    }

    #[test]
    fn a_missing_store_is_believed_when_reported_twice_in_a_row() {
        let (mut presence, some) = (StorePresence::default(), Some(Uuid::from_u128(1)));
        let answers = [None, some, None, None, None, some];
        let confirmed = answers.map(|store_id| presence.is_confirmed(store_id));
        assert_eq!(confirmed, [false, true, false, true, true, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn each_project_is_counted_and_then_not_for_a_while() {
        let (mut turns, projects) = (CountTurns::default(), project_keys(20));
        let scans = [(); 4].map(|()| turns.begin(&projects).len());
        assert_eq!(scans, [8, 8, 4, 0]);
        tokio::time::advance(COUNT_INTERVAL).await;
        assert_eq!(turns.begin(&projects).len(), 8);
    }

    /// More projects than can be counted within [`COUNT_INTERVAL`]: the first are due again before the
    /// last were counted once.
    #[tokio::test(start_paused = true)]
    async fn rounds_over_400_projects_take_50_scans_in_a_stable_order() {
        let (mut turns, projects) = (CountTurns::default(), project_keys(400));
        let mut rounds = [Vec::new(), Vec::new()];
        for round in &mut rounds {
            for _scan in 0..50 {
                round.extend(turns.begin(&projects));
                tokio::time::advance(Duration::from_secs(2)).await;
            }
            let counted: HashSet<ProjectKey> = round.iter().copied().collect();
            assert_eq!((round.len(), counted.len()), (400, 400));
        }
        let [first, second] = rounds;
        for (scan, (before, again)) in first.chunks(8).zip(second.chunks(8)).enumerate() {
            assert_eq!(before, again, "scan {scan}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn uncounted_projects_come_first_then_the_longest_wait() {
        let mut turns = CountTurns::default();
        let two = project_keys(2);
        let first: Vec<ProjectKey> = turns.begin(&two);
        tokio::time::advance(Duration::from_secs(5)).await;
        let late: Vec<ProjectKey> = turns.begin(&project_keys(4));
        tokio::time::advance(COUNT_INTERVAL).await;
        let all = turns.begin(&project_keys(6));
        assert_eq!(all[..2], [project_key(4), project_key(5)], "never counted");
        assert_eq!(all[2..4], first, "25 s ago");
        assert_eq!(all[4..], late, "20 s ago");
    }

    #[tokio::test(start_paused = true)]
    async fn a_removed_project_is_forgotten() {
        let mut turns = CountTurns::default();
        assert_eq!(turns.begin(&project_keys(5)).len(), 5);
        turns.begin(&project_keys(2));
        assert_eq!(turns.last_counted.len(), 2);
    }
}
