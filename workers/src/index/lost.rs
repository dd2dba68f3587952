//! Whether a home still has what it was given.
//!
//! A Qdrant that lost its disk gets a new collection, which is empty; rows go with a backup that is
//! put back. What was noted tells: with fewer chunks at home than that, all of the project is
//! brought there again. More of them are no loss: they came with a run that ended before it noted
//! them, and the next one brings them once more.

use std::collections::{HashMap, HashSet};

use archway_proto::chain::Chain;
use tokio::time::{Duration, Instant};

use super::home::Shelf;
use super::indexer::Tools;
use super::run::RunError;

/// How often the chunks of a project are counted that nothing else is done about.
const EVERY: Duration = Duration::from_secs(20);
/// How many projects are counted in one look: the others in the next ones.
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

/// When projects are counted.
#[derive(Default)]
pub(super) struct Turns {
    next: HashMap<Shelf, Instant>,
    taken: usize,
}

impl Turns {
    /// A look begins, at these projects.
    pub(super) fn begin(&mut self, there: &HashSet<Shelf>) {
        self.next.retain(|shelf, _| there.contains(shelf));
        self.taken = 0;
    }

    /// Whether it is a project's turn, which it then had.
    pub(super) fn take(&mut self, shelf: Shelf) -> bool {
        let now = Instant::now();
        let is_due = self.next.get(&shelf).is_none_or(|next| *next <= now);
        if !is_due || self.taken >= AT_ONCE {
            return false;
        }
        self.taken += 1;
        self.next.insert(shelf, now + EVERY);
        true
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn shelves(count: u128) -> HashSet<Shelf> {
        let shelf = |number| Shelf {
            tenant: Uuid::from_u128(1),
            project: Uuid::from_u128(number),
        };
        (0..count).map(shelf).collect()
    }

    /// How many projects have their turn in one look.
    fn look(turns: &mut Turns, there: &HashSet<Shelf>) -> usize {
        turns.begin(there);
        there.iter().filter(|shelf| turns.take(**shelf)).count()
    }

    #[tokio::test(start_paused = true)]
    async fn each_project_has_its_turn_and_then_not_for_a_while() {
        let (mut turns, there) = (Turns::default(), shelves(20));
        let looks = [(); 4].map(|()| look(&mut turns, &there));
        assert_eq!(looks, [8, 8, 4, 0]);
        tokio::time::advance(EVERY).await;
        assert_eq!(look(&mut turns, &there), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn a_project_that_is_gone_is_forgotten() {
        let mut turns = Turns::default();
        assert_eq!(look(&mut turns, &shelves(5)), 5);
        turns.begin(&shelves(2));
        assert_eq!(turns.next.len(), 2);
    }
}
