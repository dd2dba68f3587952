//! Detects chunks that the vector store lost.
//!
//! A Qdrant that lost its disk gets a new, empty collection with a new id. All chunks uploaded to the
//! old one are lost, which marks all projects at once. Parts are lost with a shard, or by restoring
//! a backup: the store then has fewer chunks of a project than recorded, and all its texts are
//! uploaded again. More chunks than recorded are no loss: an interrupted run uploaded them, and the
//! next run uploads them again.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_store::MountedProject;
use archway_store::ProjectKey;
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use crate::indexer::IndexerParts;
use crate::indexer::project_table::ProjectTable;

/// How often the chunks of an idle project are counted.
const COUNT_INTERVAL: Duration = Duration::from_secs(20);
/// Projects counted per scan. Each project is counted less often if there are more than fit into
/// [`COUNT_INTERVAL`].
const COUNTS_PER_SCAN: usize = 8;

/// Not less than any project.
const LAST_KEY: ProjectKey = ProjectKey {
    tenant: Uuid::max(),
    project: Uuid::max(),
};

/// Whether the store has fewer chunks of a project than recorded. If it cannot count, nothing is
/// considered lost: runs proceed, and the next turn counts again. The number was `recorded` before:
/// chunks uploaded meanwhile are counted before they are recorded.
pub(super) async fn is_lost(parts: &IndexerParts, project_key: ProjectKey, recorded: u64) -> bool {
    if recorded == 0 {
        return false;
    }
    match parts.vector_store.count(project_key).await {
        Ok(counted) => counted < recorded,
        Err(error) => {
            tracing::debug!(project = %project_key.project, error = %Chain(&error), "could not count chunks");
            false
        }
    }
}

/// Marks indexes that were uploaded to another store than the present one: all their chunks are lost.
/// If the store does not answer, nothing is considered lost.
pub(super) async fn mark_lost_indexes(
    parts: &IndexerParts,
    table: &mut ProjectTable,
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
    let elsewhere =
        |row: &&Arc<MountedProject>| row.indexed.is_some() && Some(row.store_id) != store_id;
    let gone: Vec<ProjectKey> = table
        .rows()
        .filter(elsewhere)
        .map(|row| row.project_key)
        .collect();
    for project_key in gone {
        table.mark_outdated(project_key);
        let ProjectKey { tenant, project } = project_key;
        lost.entry(tenant).or_default().push(project);
    }
    let mut marked = 0;
    for (tenant, projects) in lost {
        let store = parts.stores.tenant(tenant);
        match store
            .mark_lost_outside(store_id, &projects, &parts.made_by)
            .await
        {
            Ok(indexes) => marked += indexes,
            // The next scan tries again, and searches verify their answers.
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
    /// When each project is due.
    due: HashMap<ProjectKey, Instant>,
    order: BTreeSet<(Instant, ProjectKey)>,
}

impl CountTurns {
    /// Replaces the projects. New ones are due now.
    pub(super) fn set_projects(&mut self, projects: impl Iterator<Item = ProjectKey>) {
        let now = Instant::now();
        let mut old = mem::take(&mut self.due);
        let due = |key| (key, old.remove(&key).unwrap_or(now));
        self.due = projects.map(due).collect();
        self.order = self.due.iter().map(|(key, due)| (*due, *key)).collect();
    }

    /// Takes the projects to count in this scan, and plans their next turn.
    pub(super) fn begin(&mut self) -> Vec<ProjectKey> {
        let now = Instant::now();
        let due = self.order.range(..=(now, LAST_KEY)).take(COUNTS_PER_SCAN);
        let due: Vec<(Instant, ProjectKey)> = due.copied().collect();
        for (had, project_key) in &due {
            self.order.remove(&(*had, *project_key));
            let next = now + COUNT_INTERVAL;
            self.order.insert((next, *project_key));
            self.due.insert(*project_key, next);
        }
        due.into_iter()
            .map(|(_, project_key)| project_key)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn project_key(number: u128) -> ProjectKey {
        ProjectKey {
            tenant: Uuid::from_u128(1),
            project: Uuid::from_u128(number),
        }
    }

    fn project_keys(count: u128) -> impl Iterator<Item = ProjectKey> {
        (0..count).map(project_key)
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
        let mut turns = CountTurns::default();
        turns.set_projects(project_keys(20));
        let scans = [(); 4].map(|()| turns.begin().len());
        assert_eq!(scans, [8, 8, 4, 0]);
        tokio::time::advance(COUNT_INTERVAL).await;
        assert_eq!(turns.begin().len(), 8);
    }

    /// More projects than can be counted within [`COUNT_INTERVAL`]: the first are due again before the
    /// last were counted once.
    #[tokio::test(start_paused = true)]
    async fn rounds_over_400_projects_take_50_scans_in_a_stable_order() {
        let mut turns = CountTurns::default();
        let mut rounds = [Vec::new(), Vec::new()];
        for round in &mut rounds {
            for _scan in 0..50 {
                turns.set_projects(project_keys(400));
                round.extend(turns.begin());
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
    async fn projects_that_have_waited_longest_come_first() {
        let mut turns = CountTurns::default();
        turns.set_projects(project_keys(2));
        let first = turns.begin();
        tokio::time::advance(Duration::from_secs(5)).await;
        turns.set_projects(project_keys(4));
        let late = turns.begin();
        assert_eq!(late, [project_key(2), project_key(3)], "they are new");
        tokio::time::advance(COUNT_INTERVAL).await;
        assert_eq!(turns.begin(), [first, late].concat());
    }

    #[tokio::test(start_paused = true)]
    async fn a_removed_project_is_forgotten() {
        let mut turns = CountTurns::default();
        turns.set_projects(project_keys(5));
        assert_eq!(turns.begin().len(), 5);
        turns.set_projects(project_keys(2));
        assert_eq!((turns.due.len(), turns.order.len()), (2, 2));
    }
}
