//! The proof that an answer is whole: after it was given, the collection still is the one that each
//! project was brought to, and has as many chunks of it as were noted.
//!
//! It comes after the answer, since a loss stays until a run has brought all home again: what is
//! there afterwards was there meanwhile. The id is looked at for each answer. The server counts by
//! looking at each chunk, so a project is counted for each answer only as long as that costs less
//! than the search did; a larger one every few seconds.

use archway_store::Shelf;
use futures::{StreamExt, TryStreamExt, stream};
use moka::sync::Cache;
use tokio::time::Duration;
use uuid::Uuid;

use super::{QdrantHome, failure::Asking};
use crate::vector_store::{Asked, HomeError};

/// Chunks up to which a project is counted for each answer.
const CHEAP: u64 = 10_000;
/// How long a count of a larger one counts.
const COUNTED: Duration = Duration::from_secs(5);
/// How many of those are remembered.
const MOST_PROJECTS: u64 = 10_000;
/// Counts of one answer that are under way together.
const TOGETHER: usize = 4;

/// Which large projects were counted lately, in which edition.
pub(super) struct Counted(Cache<(Shelf, i64), ()>);

impl Counted {
    pub(super) fn new() -> Self {
        let counted = Cache::builder().time_to_live(COUNTED);
        Counted(counted.max_capacity(MOST_PROJECTS).build())
    }

    /// Whether a project has to be counted for this answer.
    fn is_due(&self, shelf: Shelf, asked: &Asked) -> bool {
        match asked.chunks {
            0 => false,
            1..=CHEAP => true,
            _ => !self.0.contains_key(&(shelf, asked.edition)),
        }
    }

    /// A count found all chunks. Noted only now: an answer that is given while a first count is under
    /// way must not rely on it.
    fn proved(&self, shelf: Shelf, asked: &Asked) {
        if asked.chunks > CHEAP {
            self.0.insert((shelf, asked.edition), ());
        }
    }

    /// A count failed, or too few were there.
    fn forget(&self, shelf: Shelf, asked: &Asked) {
        self.0.invalidate(&(shelf, asked.edition));
    }
}

/// Of all that was asked, nothing is known to be there.
pub(super) fn everybody(asked: &[Asked]) -> HomeError {
    HomeError::Lost {
        projects: asked.iter().map(|asked| asked.project).collect(),
    }
}

impl QdrantHome {
    /// Proves that all chunks of these projects are there.
    pub(super) async fn prove(
        &self,
        tenant: Uuid,
        asked: &[Asked],
        asking: Asking,
    ) -> Result<(), HomeError> {
        let counts = asked
            .iter()
            .map(|each| self.is_all_there(tenant, each, asking));
        let counts: Vec<_> = counts.collect();
        let counts = stream::iter(counts).buffered(TOGETHER).try_collect();
        let id = self.collection.id(&self.line, asking);
        let (id, counts): (Option<Uuid>, Vec<bool>) = tokio::try_join!(id, counts)?;
        let lost = asked.iter().zip(counts);
        let lost = lost.filter(|(asked, is_there)| !is_there || Some(asked.home) != id);
        let projects: Vec<Uuid> = lost.map(|(asked, _)| asked.project).collect();
        if projects.is_empty() {
            return Ok(());
        }
        self.collection.forget();
        Err(HomeError::Lost { projects })
    }

    /// Whether a project has as many chunks as were noted, where that is to be counted now.
    async fn is_all_there(
        &self,
        tenant: Uuid,
        asked: &Asked,
        asking: Asking,
    ) -> Result<bool, HomeError> {
        let project = asked.project;
        let shelf = Shelf { tenant, project };
        if !self.counted.is_due(shelf, asked) {
            return Ok(true);
        }
        let counted = self.chunks(shelf, asking).await;
        match counted {
            Ok(counted) if counted >= asked.chunks => self.counted.proved(shelf, asked),
            _ => self.counted.forget(shelf, asked),
        }
        Ok(counted? >= asked.chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_project_is_counted_for_each_answer_and_a_large_one_now_and_then() {
        let counted = Counted::new();
        let shelf = Shelf {
            tenant: Uuid::nil(),
            project: Uuid::nil(),
        };
        let asked = |edition, chunks| Asked {
            project: shelf.project,
            edition,
            home: Uuid::nil(),
            chunks,
        };
        let is_due = |asked: &Asked| [(); 2].map(|()| counted.is_due(shelf, asked));
        assert_eq!(is_due(&asked(1, 0)), [false, false], "nothing can be gone");
        assert_eq!(is_due(&asked(1, CHEAP)), [true, true]);
        let large = asked(1, CHEAP + 1);
        assert_eq!(is_due(&large), [true, true], "no count has ended");
        counted.proved(shelf, &large);
        assert_eq!(is_due(&large), [false, false]);
        let newer = asked(2, CHEAP + 1);
        assert_eq!(is_due(&newer), [true, true], "another edition");
        counted.forget(shelf, &large);
        assert_eq!(is_due(&large), [true, true]);
        counted.proved(shelf, &asked(1, CHEAP));
        assert_eq!(is_due(&asked(1, CHEAP)), [true, true]);
    }
}
