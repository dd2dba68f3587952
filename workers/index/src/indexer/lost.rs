//! Whether a home still has what it was given.
//!
//! A Qdrant that lost its disk gets a new collection, which is empty and has another id: all that was
//! brought to the first is lost, which is marked at once for all projects. A part is lost with a
//! shard, or with a backup that is put back. What was noted tells: with fewer chunks at home than
//! that, all of the project is brought there again. More of them are no loss: they came with a run that ended before it noted
//! them, and the next one brings them once more.

use std::collections::{HashMap, HashSet};
use std::mem;

use archway_proto::chain::Chain;
use archway_store::Mounted;
use archway_store::Shelf;
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use crate::indexer::Tools;
use crate::indexer::run::RunError;

/// How often the chunks of a project are counted that nothing else is done about.
const EVERY: Duration = Duration::from_secs(20);
/// How many projects are counted in one look: the others in the next ones. With more than fit into
/// [`EVERY`] each is counted less often.
const AT_ONCE: usize = 8;

/// Whether chunks are gone that are noted to be at home. A home that does not count lost none: a run
/// goes on without the number, and the next turn asks again.
///
/// # Errors
/// If Postgres gives no answer.
pub(super) async fn is_lost(with: &Tools, shelf: Shelf, index: i64) -> Result<bool, RunError> {
    // First what is noted: what comes home meanwhile is counted, and noted later.
    let (noted, _) = with
        .stores
        .tenant(shelf.tenant)
        .size_of_index(index)
        .await?;
    let Ok(noted @ 1..) = u64::try_from(noted) else {
        return Ok(false);
    };
    match with.home.count(shelf).await {
        Ok(counted) => Ok(counted < noted),
        Err(error) => {
            tracing::debug!(project = %shelf.project, error = %Chain(&error), "chunks were not counted");
            Ok(false)
        }
    }
}

/// Marks the index of each of these projects as not whole that was brought to another store than the
/// home has now: all of it is lost. A home that gives no answer lost nothing.
pub(super) async fn mark(with: &Tools, mounted: &mut [Mounted], seen: &mut Seen) {
    let home = match with.home.identity().await {
        Ok(home) if seen.is_sure(home) => home,
        Ok(_) => return,
        Err(error) => {
            tracing::debug!(error = %Chain(&error), "which store there is, was not told");
            return;
        }
    };
    let mut lost: HashMap<Uuid, Vec<Uuid>> = HashMap::new();
    for project in mounted {
        if project.indexed.is_some() && Some(project.home) != home {
            project.indexed = None;
            let Shelf { tenant, project } = project.shelf;
            lost.entry(tenant).or_default().push(project);
        }
    }
    let mut marked = 0;
    for (tenant, projects) in lost {
        let store = with.stores.tenant(tenant);
        match store.mark_lost_but_in(home, &projects, &with.made_by).await {
            Ok(indexes) => marked += indexes,
            // Its projects are indexed anew all the same, and no search takes them for whole.
            Err(error) => {
                tracing::debug!(%tenant, error = %Chain(&error), "lost indexes were not marked");
            }
        }
    }
    if marked > 0 {
        tracing::warn!(
            indexes = marked,
            "all that was kept of these indexes is gone from their store: they are made anew"
        );
    }
}

/// What was seen of the home when it last answered.
#[derive(Default)]
pub(super) struct Seen {
    is_none: bool,
}

impl Seen {
    /// Whether it is so: that there is no store counts when it is told twice in a row. Once may be a
    /// mistake, of a proxy or of a node that starts, and would cost all indexes. Searches prove
    /// meanwhile that nothing is lost.
    fn is_sure(&mut self, home: Option<Uuid>) -> bool {
        let was_none = mem::replace(&mut self.is_none, home.is_none());
        home.is_some() || was_none
    }
}

/// When projects are counted: in each look those that have waited longest, so that as many looks as
/// there are projects for one count them all.
#[derive(Default)]
pub(super) struct Turns {
    /// When a project last had its turn.
    had: HashMap<Shelf, Instant>,
}

impl Turns {
    /// A look begins, at these projects: whose turn it is, which they then had. Those that never had
    /// one come first, then those that have waited longest.
    pub(super) fn begin(&mut self, there: &HashSet<Shelf>) -> Vec<Shelf> {
        self.had.retain(|shelf, _| there.contains(shelf));
        let now = Instant::now();
        let due = there.iter().map(|shelf| (self.had.get(shelf), *shelf));
        let due = due.filter(|(had, _)| had.is_none_or(|had| *had + EVERY <= now));
        let mut due: Vec<(Option<Instant>, Shelf)> =
            due.map(|(had, shelf)| (had.copied(), shelf)).collect();
        due.sort_unstable();
        due.truncate(AT_ONCE);
        let turns: Vec<Shelf> = due.into_iter().map(|(_, shelf)| shelf).collect();
        self.had.extend(turns.iter().map(|shelf| (*shelf, now)));
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf(number: u128) -> Shelf {
        Shelf {
            tenant: Uuid::from_u128(1),
            project: Uuid::from_u128(number),
        }
    }

    fn shelves(count: u128) -> HashSet<Shelf> {
        (0..count).map(shelf).collect()
    }

    #[test]
    fn that_there_is_no_store_counts_when_it_is_told_twice_in_a_row() {
        let (mut seen, some) = (Seen::default(), Some(Uuid::from_u128(1)));
        let told = [None, some, None, None, None, some];
        let sure = told.map(|home| seen.is_sure(home));
        assert_eq!(sure, [false, true, false, true, true, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn each_project_has_its_turn_and_then_not_for_a_while() {
        let (mut turns, there) = (Turns::default(), shelves(20));
        let looks = [(); 4].map(|()| turns.begin(&there).len());
        assert_eq!(looks, [8, 8, 4, 0]);
        tokio::time::advance(EVERY).await;
        assert_eq!(turns.begin(&there).len(), 8);
    }

    /// More projects than can be counted in [`EVERY`]: the first are due again before the last were
    /// counted once.
    #[tokio::test(start_paused = true)]
    async fn all_of_400_projects_are_counted_in_50_looks_and_then_in_the_same_order_again() {
        let (mut turns, there) = (Turns::default(), shelves(400));
        let mut rounds = [Vec::new(), Vec::new()];
        for round in &mut rounds {
            for _look in 0..50 {
                round.extend(turns.begin(&there));
                tokio::time::advance(Duration::from_secs(2)).await;
            }
            let counted: HashSet<Shelf> = round.iter().copied().collect();
            assert_eq!((round.len(), counted.len()), (400, 400));
        }
        let [first, second] = rounds;
        for (look, (before, again)) in first.chunks(8).zip(second.chunks(8)).enumerate() {
            assert_eq!(before, again, "look {look}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn within_a_look_the_longest_wait_comes_first_and_who_was_never_counted_before_all() {
        let mut turns = Turns::default();
        let two = shelves(2);
        let first: Vec<Shelf> = turns.begin(&two);
        tokio::time::advance(Duration::from_secs(5)).await;
        let late: Vec<Shelf> = turns.begin(&shelves(4));
        tokio::time::advance(EVERY).await;
        let all = turns.begin(&shelves(6));
        assert_eq!(all[..2], [shelf(4), shelf(5)], "never counted");
        assert_eq!(all[2..4], first, "25 s ago");
        assert_eq!(all[4..], late, "20 s ago");
    }

    #[tokio::test(start_paused = true)]
    async fn a_project_that_is_gone_is_forgotten() {
        let mut turns = Turns::default();
        assert_eq!(turns.begin(&shelves(5)).len(), 5);
        turns.begin(&shelves(2));
        assert_eq!(turns.had.len(), 2);
    }
}
