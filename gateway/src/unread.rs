//! Unread answers: a bound on the bytes held for clients that have not read their answers yet.
//!
//! A large answer reserves space before the worker's result is read and the answer is written.
//! Space is bounded per connection, per tenant and in total. A tenant gets at most a quarter of the
//! total, so its unread answers never keep another tenant's from being written. An answer without
//! space waits, and then fails. Small answers need no reservation: the limits and the number of
//! streams bound them.
//!
//! What a reader would get wrong: an answer larger than a bound reserves all of it, and so goes
//! alone.

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

/// Bytes in total. With large bodies (256 MiB) and everything else it fits into the chart's 512
/// MiB.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// Bytes of one tenant's answers.
const MAX_BYTES_PER_TENANT: usize = MAX_BYTES / 4;
/// Bytes of answers on one connection, per tenant.
const MAX_BYTES_PER_CONNECTION: usize = 8 * 1024 * 1024;
/// Bytes per permit of the semaphores.
const UNIT_BYTES: usize = 1024;
/// The largest answer in bytes that needs no reservation.
pub(crate) const SMALL_ANSWER: usize = 8 * 1024;
/// Answers of one tenant that wait for space. A few frames of each are already read. Each holds one
/// of the tenant's 64 bulkhead permits; the others stay available for calls with small answers.
const MAX_WAITING_PER_TENANT: usize = 16;
/// The same for all tenants.
const MAX_WAITING: usize = 16 * MAX_WAITING_PER_TENANT;
/// How long an answer waits for space.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);

/// All space, and the tenants that hold some.
pub(crate) struct UnreadAnswers {
    space: Arc<Semaphore>,
    /// Answers that wait for any other answer to be read.
    contending: AtomicUsize,
    waiting: AtomicUsize,
    /// Contains a tenant while it holds space or waits for some.
    tenants: Mutex<HashMap<Uuid, Arc<TenantSpace>>>,
    metrics: UnreadMetrics,
}

/// The space of one tenant.
struct TenantSpace {
    space: Arc<Semaphore>,
    /// Its answers that hold space or wait for some.
    answers: AtomicUsize,
    waiting: AtomicUsize,
    /// Its answers that wait for its other answers to be read.
    contending: AtomicUsize,
}

/// The space of one connection, separate for each tenant on it: a proxy may carry several, and one
/// tenant's unread answers must not block another's.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionSpace(Arc<Mutex<HashMap<Uuid, Arc<Semaphore>>>>);

/// Reserves space for the answers to a request.
#[derive(Clone)]
pub(crate) struct AnswerOwner {
    pub(crate) unread: Arc<UnreadAnswers>,
    pub(crate) tenant: Uuid,
    pub(crate) connection: ConnectionSpace,
}

/// No space became available in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoSpace;

/// The space reserved for one answer, released on drop.
pub(crate) struct Reservation {
    bytes: usize,
    // Drop order: an answer is counted until its space is released.
    of_all: OwnedSemaphorePermit,
    of_tenant: OwnedSemaphorePermit,
    of_connection: OwnedSemaphorePermit,
    answer: TenantAnswer,
}

/// An answer of a tenant that holds space or waits for some.
struct TenantAnswer {
    unread: Arc<UnreadAnswers>,
    id: Uuid,
    tenant: Arc<TenantSpace>,
}

impl ConnectionSpace {
    /// The space of a tenant. Removes tenants without unread answers.
    fn of(&self, tenant: Uuid) -> Arc<Semaphore> {
        let mut tenants = self.0.lock();
        tenants.retain(|other, space| *other == tenant || Arc::strong_count(space) > 1);
        let space = tenants
            .entry(tenant)
            .or_insert_with(|| Arc::new(Semaphore::new(MAX_BYTES_PER_CONNECTION / UNIT_BYTES)));
        space.clone()
    }
}

impl UnreadAnswers {
    pub(crate) fn new(metrics: UnreadMetrics) -> Self {
        UnreadAnswers {
            space: Arc::new(Semaphore::new(MAX_BYTES / UNIT_BYTES)),
            contending: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            tenants: Mutex::default(),
            metrics,
        }
    }

    fn answer(self: &Arc<Self>, id: Uuid) -> TenantAnswer {
        let mut tenants = self.tenants.lock();
        let tenant = tenants.entry(id).or_insert_with(|| {
            Arc::new(TenantSpace {
                space: Arc::new(Semaphore::new(MAX_BYTES_PER_TENANT / UNIT_BYTES)),
                answers: AtomicUsize::new(0),
                waiting: AtomicUsize::new(0),
                contending: AtomicUsize::new(0),
            })
        });
        tenant.answers.fetch_add(1, Ordering::Relaxed);
        TenantAnswer {
            unread: self.clone(),
            id,
            tenant: tenant.clone(),
        }
    }
}

impl AnswerOwner {
    /// Reserves space for an answer of at most this many bytes, waiting until `until` at the
    /// latest.
    pub(crate) async fn reserve(
        &self,
        bytes: usize,
        until: Instant,
    ) -> Result<Reservation, NoSpace> {
        let reservation = self.wait(bytes, until).await;
        if reservation.is_none() {
            self.unread.metrics.refused.inc();
        }
        reservation.ok_or(NoSpace)
    }

    async fn wait(&self, bytes: usize, until: Instant) -> Option<Reservation> {
        let answer = self.unread.answer(self.tenant);
        let tenant = answer.tenant.clone();
        let mut taking = Box::pin(self.take(answer, bytes));
        if let Some(taken) = poll_immediate(&mut taking).await {
            return taken;
        }
        let _of_tenant = one_more(&tenant.waiting, MAX_WAITING_PER_TENANT)?;
        let _of_all = one_more(&self.unread.waiting, MAX_WAITING)?;
        let _waiting = GaugeGuard::one_of(&self.unread.metrics.waiting);
        let until = until.min(Instant::now() + PATIENCE);
        timeout_at(until, taking).await.ok()?
    }

    async fn take(&self, answer: TenantAnswer, bytes: usize) -> Option<Reservation> {
        // The tenant's own space first: an answer that waits for its tenant's own answers holds no
        // shared space.
        let connection = self.connection.of(self.tenant);
        let of_connection = connection.acquire_many_owned(units(bytes, MAX_BYTES_PER_CONNECTION));
        let of_connection = of_connection.await.ok()?;
        let (tenant, all) = (answer.tenant.clone(), self.unread.space.clone());
        let of_tenant = tenant.space.clone();
        let of_tenant = of_tenant.acquire_many_owned(units(bytes, MAX_BYTES_PER_TENANT));
        let of_tenant = counting_contention(&tenant.contending, of_tenant)
            .await
            .ok()?;
        let of_all = all.acquire_many_owned(units(bytes, MAX_BYTES_PER_TENANT));
        let of_all = counting_contention(&self.unread.contending, of_all)
            .await
            .ok()?;
        self.unread.metrics.bytes.inc_by(gauged(bytes));
        Some(Reservation {
            bytes,
            of_all,
            of_tenant,
            of_connection,
            answer,
        })
    }
}

impl Reservation {
    /// Releases everything above this many bytes, once the size of the answer is known.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let Some(less) = self.bytes.checked_sub(bytes) else {
            return;
        };
        self.bytes = bytes;
        self.answer.unread.metrics.bytes.dec_by(gauged(less));
        for (permit, most) in [
            (&mut self.of_all, MAX_BYTES_PER_TENANT),
            (&mut self.of_tenant, MAX_BYTES_PER_TENANT),
            (&mut self.of_connection, MAX_BYTES_PER_CONNECTION),
        ] {
            let kept = units(bytes, most) as usize;
            drop(permit.split(permit.num_permits().saturating_sub(kept)));
        }
    }

    /// Whether other answers, of this tenant or of any, wait for space.
    pub(crate) fn is_contended(&self) -> bool {
        let TenantAnswer { unread, tenant, .. } = &self.answer;
        let contending = |who: &AtomicUsize| who.load(Ordering::Relaxed) > 0;
        contending(&tenant.contending) || contending(&unread.contending)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let metrics = &self.answer.unread.metrics;
        metrics.bytes.dec_by(gauged(self.bytes));
    }
}

impl Drop for TenantAnswer {
    fn drop(&mut self) {
        let mut tenants = self.unread.tenants.lock();
        if self.tenant.answers.fetch_sub(1, Ordering::Relaxed) == 1 {
            tenants.remove(&self.id);
        }
    }
}

/// Permits for this many bytes, limited to those for `most` bytes.
fn units(bytes: usize, most: usize) -> u32 {
    u32::try_from(bytes.min(most).div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

fn gauged(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Counts one until it is dropped.
struct CountGuard<'a>(&'a AtomicUsize);

impl<'a> CountGuard<'a> {
    fn count(counter: &'a AtomicUsize) -> (Self, usize) {
        let before = counter.fetch_add(1, Ordering::Relaxed);
        (CountGuard(counter), before)
    }
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts one more, unless there are `most` already.
fn one_more(counter: &AtomicUsize, most: usize) -> Option<CountGuard<'_>> {
    let (one, before) = CountGuard::count(counter);
    (before < most).then_some(one)
}

/// Awaits `taking`, and counts as contending while that has to wait.
async fn counting_contention<T>(counter: &AtomicUsize, taking: impl Future<Output = T>) -> T {
    let mut taking = pin!(taking);
    if let Some(taken) = poll_immediate(&mut taking).await {
        return taken;
    }
    let _pressing = CountGuard::count(counter);
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

    fn owner(unread: &Arc<UnreadAnswers>, tenant: u128) -> AnswerOwner {
        AnswerOwner {
            unread: unread.clone(),
            tenant: Uuid::from_u128(tenant),
            connection: ConnectionSpace::default(),
        }
    }

    fn late() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    /// All the space of a tenant, over connections of its own.
    async fn all_of(unread: &Arc<UnreadAnswers>, tenant: u128) -> Vec<Reservation> {
        let mut reservations = Vec::new();
        for _ in 0..MAX_BYTES_PER_TENANT / MAX_BYTES_PER_CONNECTION {
            let reservation = owner(unread, tenant)
                .reserve(MAX_BYTES_PER_CONNECTION, late())
                .await;
            reservations.push(reservation.ok().unwrap());
            yield_now().await;
        }
        reservations
    }

    fn is_empty(unread: &UnreadAnswers) -> bool {
        unread.tenants.lock().is_empty()
            && unread.space.available_permits() == MAX_BYTES / UNIT_BYTES
            && unread.metrics.bytes.get() == 0
            && unread.metrics.waiting.get() == 0
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_gets_a_quarter_of_all_space_and_delays_no_other() {
        let unread = unread();
        let mut first = all_of(&unread, 1).await;
        let one = owner(&unread, 1);
        let mut more = Box::pin(one.reserve(MIB, late()));
        assert!(poll_immediate(&mut more).await.is_none());
        assert!(first[0].is_contended());
        let mut others = Vec::new();
        for tenant in 2..5 {
            others.extend(all_of(&unread, tenant).await);
        }
        assert!(!others[0].is_contended(), "the first tenant's own matter");
        // All space is reserved: the next tenant waits for any answer.
        let five = owner(&unread, 5);
        let mut fifth = Box::pin(five.reserve(MIB, late()));
        assert!(poll_immediate(&mut fifth).await.is_none());
        assert!(others[0].is_contended());
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
    async fn a_connection_holds_8_mib_and_delays_no_other_of_its_tenant() {
        let unread = unread();
        let owner = owner(&unread, 1);
        let mut full = owner
            .reserve(MAX_BYTES_PER_CONNECTION, late())
            .await
            .ok()
            .unwrap();
        let mut more = Box::pin(owner.reserve(MIB, late()));
        assert!(poll_immediate(&mut more).await.is_none());
        assert!(!full.is_contended(), "its client reads what it has first");
        assert!(self::owner(&unread, 1).reserve(MIB, late()).await.is_ok());
        full.shrink(7 * MIB);
        let more = poll_immediate(&mut more).await.unwrap();
        assert!(more.is_ok());
        assert_eq!(unread.metrics.bytes.get(), gauged(8 * MIB));
        drop((more, full));
        assert!(is_empty(&unread));
    }

    #[tokio::test(start_paused = true)]
    async fn tenants_on_one_connection_do_not_wait_for_each_other() {
        let unread = unread();
        let first = owner(&unread, 1);
        let full = first
            .reserve(MAX_BYTES_PER_CONNECTION, late())
            .await
            .ok()
            .unwrap();
        let second = AnswerOwner {
            tenant: Uuid::from_u128(2),
            ..first.clone()
        };
        let own = second.reserve(MAX_BYTES_PER_CONNECTION, late()).await;
        assert!(own.is_ok());
        drop((full, own));
        let third = AnswerOwner {
            tenant: Uuid::from_u128(3),
            ..first.clone()
        };
        assert!(third.reserve(1, late()).await.is_ok());
        assert_eq!(
            first.connection.0.lock().len(),
            1,
            "the others are forgotten"
        );
        assert!(is_empty(&unread));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_larger_than_a_bound_reserves_all_of_it() {
        let unread = unread();
        let owner = owner(&unread, 1);
        let large = owner
            .reserve(3 * MAX_BYTES_PER_TENANT, late())
            .await
            .ok()
            .unwrap();
        let mut more = Box::pin(owner.reserve(1, late()));
        assert!(poll_immediate(&mut more).await.is_none());
        drop(large);
        assert!(poll_immediate(&mut more).await.unwrap().is_ok());
        drop(more);
        assert!(is_empty(&unread));
    }

    #[tokio::test(start_paused = true)]
    async fn without_space_an_answer_times_out_and_one_too_many_fails_at_once() {
        let unread = unread();
        let reservations = all_of(&unread, 1).await;
        let one = owner(&unread, 1);
        let began = Instant::now();
        let askers = (0..MAX_WAITING_PER_TENANT).map(|_| owner(&unread, 1));
        let askers: Vec<AnswerOwner> = askers.collect();
        let waiting = askers.iter().map(|owner| owner.reserve(MIB, late()));
        let mut waiting = Box::pin(join_all(waiting));
        assert!(poll_immediate(&mut waiting).await.is_none());
        assert_eq!(unread.metrics.waiting.get(), MAX_WAITING_PER_TENANT as i64);
        assert!(one.reserve(MIB, late()).await.is_err());
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(waiting.await.iter().all(Result::is_err));
        assert_eq!(began.elapsed(), PATIENCE);
        assert_eq!(
            unread.metrics.refused.get(),
            MAX_WAITING_PER_TENANT as u64 + 1
        );
        // No answer waits beyond the deadline of its call.
        let until = Instant::now() + Duration::from_secs(1);
        assert!(one.reserve(MIB, until).await.is_err());
        assert_eq!(Instant::now(), until);
        drop(reservations);
        assert!(is_empty(&unread));
    }
}
