//! The views that this process holds, and how they come to be.
//!
//! A view is read by a task of its own, which outlives the call that began it: a project that takes
//! longer to read than any call may wait is there for the next one. Of a project one view is read at
//! a time; what all tenants read at once has a bound, in number and in bytes.

use std::sync::Arc;

use archway_proto::trace;
use archway_store::Shelf;
use archway_store::Stores;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Duration, timeout};

use super::turns::Turns;
use super::view::View;
use super::{Room, away, blocking, ended};
use crate::vector_store::HomeError;

/// How many projects are held, however small they are.
const MAX_PROJECTS: u64 = 10_000;
/// How long a project is held that nobody asks about.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// How many projects are read at once, and how many of one tenant.
const READS: (usize, usize) = (4, 2);
/// How long reading one may take.
const READ_TIME: Duration = Duration::from_secs(5 * 60);

/// All views of a process.
pub(super) struct Views {
    stores: Stores,
    /// Home, model and form: rows that another one made are not ours.
    made_by: String,
    room: Room,
    held: Cache<Shelf, Arc<View>>,
    /// Held while a project is read, so that calls that come together read once.
    reading: Cache<Shelf, Arc<Mutex<()>>>,
    turns: Turns,
    /// KiB of rows that may be read now, as many as may be held.
    reads: Semaphore,
}

impl Views {
    /// None yet, of the rows that `made_by` names.
    pub(super) fn new(stores: Stores, made_by: String, room: Room) -> Views {
        let taken = room.taken.clone();
        let held = Cache::builder()
            .weigher(|_, view: &Arc<View>| kib(view.bytes()))
            .max_capacity(kib(room.bytes).into())
            .eviction_listener(move |_, view, _| {
                taken.dec_by(counted(&view));
            })
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE);
        Views {
            stores,
            made_by,
            held: held.build(),
            reading: Cache::new(MAX_PROJECTS),
            turns: Turns::new(READS.0, READS.1),
            reads: Semaphore::new(kib(room.bytes) as usize),
            room,
        }
    }

    /// All of a project, in this edition or a later one.
    pub(super) async fn of(
        self: &Arc<Self>,
        shelf: Shelf,
        edition: i64,
    ) -> Result<Arc<View>, HomeError> {
        if let Some(view) = self.held(shelf, edition) {
            return Ok(view);
        }
        let alone = self.reading.get_with(shelf, Arc::default);
        let alone = alone.lock_owned().await;
        if let Some(view) = self.held(shelf, edition) {
            return Ok(view);
        }
        let turn = self.turns.take(shelf.tenant).await.map_err(ended)?;
        let views = Arc::clone(self);
        let reading = tokio::spawn(trace::apart(async move {
            let _until_it_is_there = (alone, turn);
            let read = timeout(READ_TIME, views.renew(shelf, edition)).await;
            read.unwrap_or(Err(HomeError::Late("reading the index of a project")))
        }));
        reading.await.map_err(ended)?
    }

    fn held(&self, shelf: Shelf, edition: i64) -> Option<Arc<View>> {
        let held = self.held.get(&shelf);
        held.filter(|view| view.edition() >= edition)
    }

    /// Reads what rows there are that the view of before has not, without those that went.
    async fn renew(&self, shelf: Shelf, edition: i64) -> Result<Arc<View>, HomeError> {
        let store = self.stores.tenant(shelf.tenant);
        let there = store.blobs_of_pieces(shelf.project, &self.made_by).await;
        let there = there.map_err(away)?;
        self.may_be(there.iter().map(|(_, bytes)| bytes).sum())?;
        let mut draft = View::draft(self.held.get(&shelf), &there);
        let needed = kib(draft.bytes());
        let _room = self.reads.acquire_many(needed).await.map_err(ended)?;
        for blobs in draft.lacking() {
            let rows = store.pieces(shelf.project, &self.made_by, &blobs).await;
            let rows = rows.map_err(away)?;
            draft = blocking(move || draft.with(rows)).await?;
        }
        let view = Arc::new(blocking(move || draft.finish(edition)).await?);
        // Rows are smaller than what is made of them.
        self.may_be(view.bytes())?;
        self.room.taken.inc_by(counted(&view));
        self.held.insert(shelf, Arc::clone(&view));
        Ok(view)
    }

    /// Refuses a project that would take more than all may together.
    fn may_be(&self, needed: usize) -> Result<(), HomeError> {
        let allowed = self.room.bytes;
        match needed > allowed {
            true => Err(HomeError::TooLarge { needed, allowed }),
            false => Ok(()),
        }
    }
}

/// What a view takes, in bytes, as gauges count.
fn counted(view: &View) -> i64 {
    i64::try_from(view.bytes()).unwrap_or(i64::MAX)
}

/// At least one, so that small projects have a bound, too.
fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10).max(1)).unwrap_or(u32::MAX)
}
