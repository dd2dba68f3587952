//! Bulkheads: each tenant has its own permits for calls in flight, so one tenant's calls never make
//! another wait.
//!
//! A call that finds no free permit joins a queue of the same length, first come, first served. It
//! waits for at most half of its remaining time: a call that starts later could not finish. While
//! the queue does not move, new calls are refused at once instead of waiting in vain.
//!
//! What a reader would get wrong: a permit is passed on under the lock, so it may reach a call that
//! gives up at this very moment. Dropping the [`BulkheadPermit`] returns it in that case too.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};
use uuid::Uuid;

use super::report::CallsReport;

/// Why a call got no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BulkheadRefusal {
    /// The queue is full.
    Full,
    /// The oldest queued call has waited for longer than a new one could.
    Stalled,
    /// The call waited for half of its time.
    Waited,
}

impl BulkheadRefusal {
    /// The label in metrics.
    pub(super) fn reason(self) -> &'static str {
        match self {
            BulkheadRefusal::Full => "full",
            BulkheadRefusal::Stalled => "stalled",
            BulkheadRefusal::Waited => "waited",
        }
    }
}

/// The bulkheads of all tenants.
pub(super) struct Bulkhead {
    /// Permits of each tenant, and the length of its queue.
    most: usize,
    /// Holds a tenant only while it has a call in flight or queued, so its size is bounded by open
    /// requests.
    tenants: Mutex<HashMap<Uuid, TenantCalls>>,
}

/// A call's permit, returned on drop. While it is still awaited: the ticket in the queue.
pub(super) struct BulkheadPermit {
    bulkhead: Arc<Bulkhead>,
    tenant: Uuid,
    /// Set while the permit is awaited.
    ticket: Option<u64>,
}

/// One tenant's calls.
#[derive(Default)]
struct TenantCalls {
    in_flight: usize,
    queue: VecDeque<Waiter>,
    /// The number of the next ticket.
    tickets: u64,
    /// Since when the queue has not moved: the arrival of the oldest call that was not served, even
    /// if that call gave up since.
    stalled_since: Option<Instant>,
}

struct Waiter {
    ticket: u64,
    since: Instant,
    ready: oneshot::Sender<()>,
}

impl Bulkhead {
    /// `most` permits for each tenant.
    pub(super) fn new(most: usize) -> Self {
        Bulkhead {
            most,
            tenants: Mutex::default(),
        }
    }

    /// Permits of each tenant.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Waits for a permit for a call that has `left` time to be answered.
    pub(super) async fn enter(
        self: &Arc<Self>,
        tenant: Uuid,
        left: Duration,
    ) -> Result<BulkheadPermit, BulkheadRefusal> {
        let longest_wait = left / 2;
        let (mut permit, ready) = self.acquire_or_queue(tenant, longest_wait)?;
        if let Some(ready) = ready {
            match timeout(longest_wait, ready).await {
                Ok(_passed_on) => permit.ticket = None,
                Err(_elapsed) => return Err(BulkheadRefusal::Waited),
            }
        }
        Ok(permit)
    }

    /// Calls in flight and queued, of all tenants.
    pub(super) fn calls(&self) -> CallsReport {
        let tenants = self.tenants.lock();
        CallsReport {
            in_flight: tenants.values().map(|queue_of| queue_of.in_flight).sum(),
            queued: tenants.values().map(|queue_of| queue_of.queue.len()).sum(),
        }
    }

    /// A permit, or a ticket in the queue and the channel that signals its turn.
    fn acquire_or_queue(
        self: &Arc<Self>,
        tenant: Uuid,
        longest_wait: Duration,
    ) -> Result<(BulkheadPermit, Option<oneshot::Receiver<()>>), BulkheadRefusal> {
        let now = Instant::now();
        let mut tenants = self.tenants.lock();
        let queue_of = tenants.entry(tenant).or_default();
        let permit = |ticket| BulkheadPermit {
            bulkhead: self.clone(),
            tenant,
            ticket,
        };
        if queue_of.in_flight < self.most {
            queue_of.in_flight += 1;
            return Ok((permit(None), None));
        }
        if queue_of.queue.len() >= self.most {
            return Err(BulkheadRefusal::Full);
        }
        if queue_of
            .stalled_since
            .is_some_and(|since| now >= since + longest_wait)
        {
            return Err(BulkheadRefusal::Stalled);
        }
        let (ticket, ready) = queue_of.wait(now);
        Ok((permit(Some(ticket)), Some(ready)))
    }

    /// Returns a permit: passes it to the oldest queued call.
    fn give_back(&self, tenant: Uuid) {
        let mut tenants = self.tenants.lock();
        let Some(queue_of) = tenants.get_mut(&tenant) else {
            return;
        };
        if queue_of.pass_on() {
            return;
        }
        queue_of.in_flight -= 1;
        if queue_of.in_flight == 0 {
            tenants.remove(&tenant);
        }
    }

    /// Gives up a ticket: leaves the queue, or returns the permit that the ticket already got.
    fn leave(&self, tenant: Uuid, ticket: u64) {
        let mut tenants = self.tenants.lock();
        let queue = tenants.get_mut(&tenant).map(|queue_of| &mut queue_of.queue);
        let queued = queue.and_then(|queue| {
            let at = queue.iter().position(|waiter| waiter.ticket == ticket)?;
            queue.remove(at)
        });
        drop(tenants);
        if queued.is_none() {
            self.give_back(tenant);
        }
    }
}

impl TenantCalls {
    fn wait(&mut self, now: Instant) -> (u64, oneshot::Receiver<()>) {
        let (ready, receiver) = oneshot::channel();
        let ticket = self.tickets;
        self.tickets += 1;
        self.stalled_since.get_or_insert(now);
        self.queue.push_back(Waiter {
            ticket,
            since: now,
            ready,
        });
        (ticket, receiver)
    }

    /// Passes a permit to the oldest queued call. False if the queue is empty.
    fn pass_on(&mut self) -> bool {
        let next = self.queue.pop_front();
        self.stalled_since = self.queue.front().map(|waiter| waiter.since);
        // A waiter that gave up still holds its ticket, and returns the permit when that drops.
        next.is_some_and(|waiter| {
            waiter.ready.send(()).ok();
            true
        })
    }
}

impl Drop for BulkheadPermit {
    fn drop(&mut self) {
        match self.ticket {
            Some(ticket) => self.bulkhead.leave(self.tenant, ticket),
            None => self.bulkhead.give_back(self.tenant),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::future::{join_all, poll_immediate};

    use super::*;

    const ACME: Uuid = Uuid::from_u128(1);
    const ZETA: Uuid = Uuid::from_u128(2);
    const TEN: Duration = Duration::from_secs(10);
    const SECOND: Duration = Duration::from_secs(1);

    fn calls(in_flight: usize, queued: usize) -> CallsReport {
        CallsReport { in_flight, queued }
    }

    async fn full(most: usize) -> (Arc<Bulkhead>, Vec<BulkheadPermit>) {
        let bulkhead = Arc::new(Bulkhead::new(most));
        let entering = (0..most).map(|_| bulkhead.enter(ACME, TEN));
        let permits = join_all(entering).await.into_iter();
        let permits = permits.collect::<Result<_, _>>();
        (bulkhead, permits.unwrap_or_else(|why| panic!("{why:?}")))
    }

    fn refusal(outcome: Result<BulkheadPermit, BulkheadRefusal>) -> BulkheadRefusal {
        outcome.err().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_tenant_is_refused_and_no_other_tenant_is() {
        let (bulkhead, permits) = full(64).await;
        let mut waiting: Vec<_> = (0..64)
            .map(|_| Box::pin(bulkhead.enter(ACME, TEN)))
            .collect();
        for waiter in &mut waiting {
            assert!(poll_immediate(waiter).await.is_none());
        }
        assert_eq!(bulkhead.calls(), calls(64, 64));
        assert_eq!(
            refusal(bulkhead.enter(ACME, TEN).await),
            BulkheadRefusal::Full
        );
        let other = bulkhead.enter(ZETA, TEN).await;
        assert!(other.is_ok());
        drop((permits, waiting, other));
        assert_eq!(bulkhead.calls(), calls(0, 0));
        assert!(
            bulkhead.tenants.lock().is_empty(),
            "idle tenants are forgotten"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_first_come_first_served() {
        let (bulkhead, mut permits) = full(4).await;
        let mut waiting: Vec<_> = (0..3)
            .map(|_| Box::pin(bulkhead.enter(ACME, TEN)))
            .collect();
        for waiter in &mut waiting {
            assert!(poll_immediate(waiter).await.is_none());
        }
        for served in 0..3 {
            permits.pop();
            // A permit that was passed on is taken: a new call cannot overtake.
            let mut late = Box::pin(bulkhead.enter(ACME, TEN));
            assert!(poll_immediate(&mut late).await.is_none());
            for next in &mut waiting[served + 1..] {
                assert!(poll_immediate(next).await.is_none());
            }
            let permit = poll_immediate(&mut waiting[served]).await.unwrap();
            permits.push(permit.ok().unwrap());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_half_of_its_time_at_most() {
        let (bulkhead, _places) = full(1).await;
        let start = Instant::now();
        assert_eq!(
            refusal(bulkhead.enter(ACME, TEN).await),
            BulkheadRefusal::Waited
        );
        assert_eq!(start.elapsed().as_secs(), 5);
        assert_eq!(bulkhead.calls(), calls(1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn new_calls_are_refused_at_once_while_the_queue_is_stalled() {
        let (bulkhead, mut permits) = full(2).await;
        let patient = bulkhead.clone();
        let patient = tokio::spawn(async move { patient.enter(ACME, 4 * TEN).await });
        tokio::time::sleep(6 * SECOND).await;
        let start = Instant::now();
        assert_eq!(
            refusal(bulkhead.enter(ACME, TEN).await),
            BulkheadRefusal::Stalled
        );
        assert_eq!(start.elapsed(), Duration::ZERO);
        // Also after the oldest call gave up: nothing has moved.
        tokio::time::sleep(20 * SECOND).await;
        assert_eq!(refusal(patient.await.unwrap()), BulkheadRefusal::Waited);
        assert_eq!(
            refusal(bulkhead.enter(ACME, TEN).await),
            BulkheadRefusal::Stalled
        );
        // It moves: first a free permit, then a queue.
        permits.pop();
        let _last = bulkhead.enter(ACME, TEN).await.ok().unwrap();
        let mut waiting = Box::pin(bulkhead.enter(ACME, TEN));
        assert!(poll_immediate(&mut waiting).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_gives_up_in_the_queue_loses_no_permit() {
        let (bulkhead, mut permits) = full(1).await;
        let mut leaving = Box::pin(bulkhead.enter(ACME, TEN));
        let mut passed = Box::pin(bulkhead.enter(ACME, TEN));
        let mut last = Box::pin(bulkhead.enter(ACME, TEN));
        assert!(poll_immediate(&mut leaving).await.is_none());
        drop(leaving);
        assert!(poll_immediate(&mut passed).await.is_none());
        permits.pop();
        // Gets a permit that it never polls for.
        let mut next = Box::pin(bulkhead.enter(ACME, TEN));
        assert!(poll_immediate(&mut next).await.is_none());
        drop(passed);
        let next = poll_immediate(&mut next).await.unwrap();
        assert!(poll_immediate(&mut last).await.is_none());
        drop(next);
        let _last = poll_immediate(&mut last).await.unwrap();
        assert_eq!(bulkhead.calls(), calls(1, 0));
    }
}
