//! Room for answers: how many bytes of them are held for clients that have not taken them yet.
//!
//! Large answers need room before a worker's result is read and the answer is written. There is so
//! much for each connection, for each tenant and in all. A tenant has a quarter of all of it, so
//! one tenant's unread answers never keep another's from being written. Who finds no room waits for
//! a while, and is then refused. Small answers need none: the limits and the number of streams
//! bound them.
//!
//! What a reader would get wrong: an answer larger than a bound takes all of it, and so goes alone.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::poll_immediate;
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};
use uuid::Uuid;

use crate::metrics::{GaugeGuard, UnreadMetrics};

/// Bytes in all. With large bodies (256 MiB) and the rest this fits into the chart's 512 MiB.
const IN_ALL: usize = 128 * 1024 * 1024;
/// Bytes of one tenant's answers.
const OF_TENANT: usize = IN_ALL / 4;
/// Bytes of answers on one connection.
const OF_CONNECTION: usize = 8 * 1024 * 1024;
/// A unit of room, in bytes.
const UNIT: usize = 1024;
/// The largest answer that needs no room, in bytes.
pub(crate) const SMALL_ANSWER: usize = 8 * 1024;
/// Answers of one tenant that wait for room. A few frames of each are read already. Each holds one of the
/// tenant's 64 places in the bulkhead: the others stay free for calls with small answers.
const MOST_WAITING_OF_TENANT: usize = 16;
/// The same of all tenants.
const MOST_WAITING: usize = 16 * MOST_WAITING_OF_TENANT;
/// How long an answer waits for room.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);

/// All room, and who has some of it.
pub(crate) struct UnreadAnswers {
    room: Arc<Semaphore>,
    /// Answers that wait for anybody's answer to be taken.
    pressing: AtomicUsize,
    waiting: AtomicUsize,
    /// A tenant is here while it has room or waits for some.
    tenants: Mutex<HashMap<Uuid, Arc<Tenant>>>,
    metrics: UnreadMetrics,
}

/// One tenant's room.
struct Tenant {
    room: Arc<Semaphore>,
    /// Its answers that have room or wait for some.
    answers: AtomicUsize,
    waiting: AtomicUsize,
    /// Its answers that wait for others of it to be taken.
    pressing: AtomicUsize,
}

/// The room of one connection, for each tenant on it: a proxy may carry several, and none waits for
/// what another leaves unread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionRoom(Arc<Mutex<HashMap<Uuid, Arc<Semaphore>>>>);

/// Who asks for room.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) unread: Arc<UnreadAnswers>,
    pub(crate) tenant: Uuid,
    pub(crate) connection: ConnectionRoom,
}

/// There is no room, and there was none for as long as one waits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// Room for one answer, given back when it is dropped.
pub(crate) struct Room {
    bytes: usize,
    // In this order: an answer is counted until its room is free.
    of_all: OwnedSemaphorePermit,
    of_tenant: OwnedSemaphorePermit,
    of_connection: OwnedSemaphorePermit,
    answer: Answer,
}

/// One of those of a tenant that have room or wait for some.
struct Answer {
    unread: Arc<UnreadAnswers>,
    id: Uuid,
    tenant: Arc<Tenant>,
}

impl ConnectionRoom {
    /// A tenant's room. Tenants without unread answers are forgotten.
    fn of(&self, tenant: Uuid) -> Arc<Semaphore> {
        let mut tenants = self.0.lock();
        tenants.retain(|other, room| *other == tenant || Arc::strong_count(room) > 1);
        let room = tenants
            .entry(tenant)
            .or_insert_with(|| Arc::new(Semaphore::new(OF_CONNECTION / UNIT)));
        room.clone()
    }
}

impl UnreadAnswers {
    pub(crate) fn new(metrics: UnreadMetrics) -> Self {
        UnreadAnswers {
            room: Arc::new(Semaphore::new(IN_ALL / UNIT)),
            pressing: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            tenants: Mutex::default(),
            metrics,
        }
    }

    fn answer(self: &Arc<Self>, id: Uuid) -> Answer {
        let mut tenants = self.tenants.lock();
        let tenant = tenants.entry(id).or_insert_with(|| {
            Arc::new(Tenant {
                room: Arc::new(Semaphore::new(OF_TENANT / UNIT)),
                answers: AtomicUsize::new(0),
                waiting: AtomicUsize::new(0),
                pressing: AtomicUsize::new(0),
            })
        });
        tenant.answers.fetch_add(1, Ordering::Relaxed);
        Answer {
            unread: self.clone(),
            id,
            tenant: tenant.clone(),
        }
    }
}

impl Asker {
    /// Room for an answer of at most so many bytes, before `until`.
    pub(crate) async fn room(&self, bytes: usize, until: Instant) -> Result<Room, NoRoom> {
        let room = self.wait(bytes, until).await;
        if room.is_none() {
            self.unread.metrics.refused.inc();
        }
        room.ok_or(NoRoom)
    }

    async fn wait(&self, bytes: usize, until: Instant) -> Option<Room> {
        let answer = self.unread.answer(self.tenant);
        let tenant = answer.tenant.clone();
        let mut taking = Box::pin(self.take(answer, bytes));
        if let Some(taken) = poll_immediate(&mut taking).await {
            return taken;
        }
        let _of_tenant = one_more(&tenant.waiting, MOST_WAITING_OF_TENANT)?;
        let _of_all = one_more(&self.unread.waiting, MOST_WAITING)?;
        let _waiting = GaugeGuard::one_of(&self.unread.metrics.waiting);
        let until = until.min(Instant::now() + PATIENCE);
        timeout_at(until, taking).await.ok()?
    }

    async fn take(&self, answer: Answer, bytes: usize) -> Option<Room> {
        // The own first: who waits for its own answers to be taken keeps none of the others' room.
        let connection = self.connection.of(self.tenant);
        let of_connection = connection.acquire_many_owned(units(bytes, OF_CONNECTION));
        let of_connection = of_connection.await.ok()?;
        let (tenant, all) = (answer.tenant.clone(), self.unread.room.clone());
        let of_tenant = tenant.room.clone();
        let of_tenant = of_tenant.acquire_many_owned(units(bytes, OF_TENANT));
        let of_tenant = press(&tenant.pressing, of_tenant).await.ok()?;
        let of_all = all.acquire_many_owned(units(bytes, OF_TENANT));
        let of_all = press(&self.unread.pressing, of_all).await.ok()?;
        self.unread.metrics.bytes.inc_by(gauged(bytes));
        Some(Room {
            bytes,
            of_all,
            of_tenant,
            of_connection,
            answer,
        })
    }
}

impl Room {
    /// Gives back what is more than so many bytes: the answer turned out to be as large.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let Some(less) = self.bytes.checked_sub(bytes) else {
            return;
        };
        self.bytes = bytes;
        self.answer.unread.metrics.bytes.dec_by(gauged(less));
        for (permit, most) in [
            (&mut self.of_all, OF_TENANT),
            (&mut self.of_tenant, OF_TENANT),
            (&mut self.of_connection, OF_CONNECTION),
        ] {
            let kept = units(bytes, most) as usize;
            drop(permit.split(permit.num_permits().saturating_sub(kept)));
        }
    }

    /// Whether others wait for this room, or some like it, of this tenant or in all.
    pub(crate) fn is_pressed(&self) -> bool {
        let Answer { unread, tenant, .. } = &self.answer;
        let pressing = |who: &AtomicUsize| who.load(Ordering::Relaxed) > 0;
        pressing(&tenant.pressing) || pressing(&unread.pressing)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let metrics = &self.answer.unread.metrics;
        metrics.bytes.dec_by(gauged(self.bytes));
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut tenants = self.unread.tenants.lock();
        if self.tenant.answers.fetch_sub(1, Ordering::Relaxed) == 1 {
            tenants.remove(&self.id);
        }
    }
}

/// Units of room for so many bytes, where there are `most` at all.
fn units(bytes: usize, most: usize) -> u32 {
    u32::try_from(bytes.min(most).div_ceil(UNIT)).unwrap_or(u32::MAX)
}

fn gauged(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// One of those that are counted, until it is dropped.
struct OneOf<'a>(&'a AtomicUsize);

impl<'a> OneOf<'a> {
    fn count(counter: &'a AtomicUsize) -> (Self, usize) {
        let before = counter.fetch_add(1, Ordering::Relaxed);
        (OneOf(counter), before)
    }
}

impl Drop for OneOf<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One more, unless there are `most`.
fn one_more(counter: &AtomicUsize, most: usize) -> Option<OneOf<'_>> {
    let (one, before) = OneOf::count(counter);
    (before < most).then_some(one)
}

/// What `taking` gives; it counts as pressing while it has to be waited for.
async fn press<T>(counter: &AtomicUsize, taking: impl Future<Output = T>) -> T {
    let mut taking = pin!(taking);
    if let Some(taken) = poll_immediate(&mut taking).await {
        return taken;
    }
    let _pressing = OneOf::count(counter);
    taking.await
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio::task::yield_now;

    use super::*;
    use crate::metrics::Metrics;

    const MIB: usize = 1024 * 1024;

    fn unread() -> Arc<UnreadAnswers> {
        Arc::new(UnreadAnswers::new(Metrics::new().unread().clone()))
    }

    fn asker(unread: &Arc<UnreadAnswers>, tenant: u128) -> Asker {
        Asker {
            unread: unread.clone(),
            tenant: Uuid::from_u128(tenant),
            connection: ConnectionRoom::default(),
        }
    }

    fn late() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    /// All the room that a tenant may have, over connections of its own.
    async fn all_of(unread: &Arc<UnreadAnswers>, tenant: u128) -> Vec<Room> {
        let mut rooms = Vec::new();
        for _ in 0..OF_TENANT / OF_CONNECTION {
            let room = asker(unread, tenant).room(OF_CONNECTION, late()).await;
            rooms.push(room.ok().unwrap());
            yield_now().await;
        }
        rooms
    }

    fn is_empty(unread: &UnreadAnswers) -> bool {
        unread.tenants.lock().is_empty()
            && unread.room.available_permits() == IN_ALL / UNIT
            && unread.metrics.bytes.get() == 0
            && unread.metrics.waiting.get() == 0
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_has_a_quarter_of_all_room_and_no_other_waits_for_it() {
        let unread = unread();
        let mut first = all_of(&unread, 1).await;
        let one = asker(&unread, 1);
        let mut more = Box::pin(one.room(MIB, late()));
        assert!(poll_immediate(&mut more).await.is_none());
        assert!(first[0].is_pressed());
        let mut others = Vec::new();
        for tenant in 2..5 {
            others.extend(all_of(&unread, tenant).await);
        }
        assert!(!others[0].is_pressed(), "the first tenant's own matter");
        // All of it is taken: the next tenant waits for anybody.
        let five = asker(&unread, 5);
        let mut fifth = Box::pin(five.room(MIB, late()));
        assert!(poll_immediate(&mut fifth).await.is_none());
        assert!(others[0].is_pressed());
        others.pop();
        let fifth = poll_immediate(&mut fifth).await.unwrap();
        assert!(poll_immediate(&mut more).await.is_none());
        first.pop();
        let more = poll_immediate(&mut more).await.unwrap();
        assert!(fifth.is_ok() && more.is_ok());
        drop((fifth, more, first, others));
        assert!(is_empty(&unread));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_has_room_for_8_mib_and_the_tenants_others_do_not_wait_for_it() {
        let unread = unread();
        let asker = asker(&unread, 1);
        let mut full = asker.room(OF_CONNECTION, late()).await.ok().unwrap();
        let mut more = Box::pin(asker.room(MIB, late()));
        assert!(poll_immediate(&mut more).await.is_none());
        assert!(!full.is_pressed(), "its client reads what it has first");
        assert!(self::asker(&unread, 1).room(MIB, late()).await.is_ok());
        full.shrink(7 * MIB);
        let more = poll_immediate(&mut more).await.unwrap();
        assert!(more.is_ok());
        assert_eq!(unread.metrics.bytes.get(), gauged(8 * MIB));
        drop((more, full));
        assert!(is_empty(&unread));
    }

    #[tokio::test(start_paused = true)]
    async fn of_tenants_on_one_connection_none_waits_for_what_another_leaves_unread() {
        let unread = unread();
        let first = asker(&unread, 1);
        let full = first.room(OF_CONNECTION, late()).await.ok().unwrap();
        let second = Asker {
            tenant: Uuid::from_u128(2),
            ..first.clone()
        };
        let own = second.room(OF_CONNECTION, late()).await;
        assert!(own.is_ok());
        drop((full, own));
        let third = Asker {
            tenant: Uuid::from_u128(3),
            ..first.clone()
        };
        assert!(third.room(1, late()).await.is_ok());
        assert_eq!(
            first.connection.0.lock().len(),
            1,
            "the others are forgotten"
        );
        assert!(is_empty(&unread));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_larger_than_a_bound_goes_alone() {
        let unread = unread();
        let asker = asker(&unread, 1);
        let large = asker.room(3 * OF_TENANT, late()).await.ok().unwrap();
        let mut more = Box::pin(asker.room(1, late()));
        assert!(poll_immediate(&mut more).await.is_none());
        drop(large);
        assert!(poll_immediate(&mut more).await.unwrap().is_ok());
        drop(more);
        assert!(is_empty(&unread));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_permit_a_body_times_out_and_one_too_many_fails_at_once() {
        let unread = unread();
        let rooms = all_of(&unread, 1).await;
        let one = asker(&unread, 1);
        let began = Instant::now();
        let askers = (0..MOST_WAITING_OF_TENANT).map(|_| asker(&unread, 1));
        let askers: Vec<Asker> = askers.collect();
        let waiting = askers.iter().map(|asker| asker.room(MIB, late()));
        let mut waiting = Box::pin(join_all(waiting));
        assert!(poll_immediate(&mut waiting).await.is_none());
        assert_eq!(unread.metrics.waiting.get(), MOST_WAITING_OF_TENANT as i64);
        assert!(one.room(MIB, late()).await.is_err());
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(waiting.await.iter().all(Result::is_err));
        assert_eq!(began.elapsed(), PATIENCE);
        assert_eq!(
            unread.metrics.refused.get(),
            MOST_WAITING_OF_TENANT as u64 + 1
        );
        // Nor does anybody wait past the time that its call has.
        let until = Instant::now() + Duration::from_secs(1);
        assert!(one.room(MIB, until).await.is_err());
        assert_eq!(Instant::now(), until);
        drop(rooms);
        assert!(is_empty(&unread));
    }
}
