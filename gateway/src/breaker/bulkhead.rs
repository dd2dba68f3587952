//! Places for calls, so many for each tenant: what one tenant holds, no other waits for.
//!
//! Who finds no place free waits in a queue as long again, first come, first served, for at most
//! half of the time that its call has: a call that is begun later than that could not be finished.
//! While the queue stands still, newcomers are refused at once instead of waiting for nothing.
//!
//! What a reader would get wrong: a place is handed on under the lock, so it may reach a call that
//! stops waiting at this very moment. Its [`Place`] gives it back when it is dropped.

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

/// Why a call got no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    /// As many wait as may.
    Full,
    /// The oldest of those who wait has waited for longer than a newcomer could.
    Stalled,
    /// It waited for half of its time.
    Waited,
}

impl NoPlace {
    /// The reason in metrics.
    pub(super) fn reason(self) -> &'static str {
        match self {
            NoPlace::Full => "full",
            NoPlace::Stalled => "stalled",
            NoPlace::Waited => "waited",
        }
    }
}

/// The places of all tenants.
pub(super) struct Bulkhead {
    /// Places of each tenant, and how many may wait for one.
    most: usize,
    /// A tenant is here while it holds or awaits a place, so there are no more than open requests.
    lines: Mutex<HashMap<Uuid, Line>>,
}

/// A call's place, given back when it is dropped; while it is waited for, the turn in the queue.
pub(super) struct Place {
    bulkhead: Arc<Bulkhead>,
    tenant: Uuid,
    /// While it is waited for.
    ticket: Option<u64>,
}

/// One tenant's calls.
#[derive(Default)]
struct Line {
    in_flight: usize,
    queue: VecDeque<Waiter>,
    /// Numbers the tickets.
    tickets: u64,
    /// Since when the queue waits to move: when the oldest of those came who have not been served,
    /// whether they still wait or gave up.
    waits_since: Option<Instant>,
}

struct Waiter {
    ticket: u64,
    since: Instant,
    ready: oneshot::Sender<()>,
}

impl Bulkhead {
    /// `most` places for each tenant.
    pub(super) fn new(most: usize) -> Self {
        Bulkhead {
            most,
            lines: Mutex::default(),
        }
    }

    /// How many places each tenant has.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// A place for a call that has `left` to be answered.
    pub(super) async fn enter(
        self: &Arc<Self>,
        tenant: Uuid,
        left: Duration,
    ) -> Result<Place, NoPlace> {
        let patience = left / 2;
        let (mut place, ready) = self.turn(tenant, patience)?;
        if let Some(ready) = ready {
            match timeout(patience, ready).await {
                Ok(_handed_on) => place.ticket = None,
                Err(_elapsed) => return Err(NoPlace::Waited),
            }
        }
        Ok(place)
    }

    /// The calls of all tenants together.
    pub(super) fn calls(&self) -> CallsReport {
        let lines = self.lines.lock();
        CallsReport {
            in_flight: lines.values().map(|line| line.in_flight).sum(),
            queued: lines.values().map(|line| line.queue.len()).sum(),
        }
    }

    /// A place, or a turn in the queue and the word to wait for.
    fn turn(
        self: &Arc<Self>,
        tenant: Uuid,
        patience: Duration,
    ) -> Result<(Place, Option<oneshot::Receiver<()>>), NoPlace> {
        let now = Instant::now();
        let mut lines = self.lines.lock();
        let line = lines.entry(tenant).or_default();
        let place = |ticket| Place {
            bulkhead: self.clone(),
            tenant,
            ticket,
        };
        if line.in_flight < self.most {
            line.in_flight += 1;
            return Ok((place(None), None));
        }
        if line.queue.len() >= self.most {
            return Err(NoPlace::Full);
        }
        if line
            .waits_since
            .is_some_and(|since| now >= since + patience)
        {
            return Err(NoPlace::Stalled);
        }
        let (ticket, ready) = line.wait(now);
        Ok((place(Some(ticket)), Some(ready)))
    }

    /// Takes a place back, and hands it on to the oldest who waits.
    fn give_back(&self, tenant: Uuid) {
        let mut lines = self.lines.lock();
        let Some(line) = lines.get_mut(&tenant) else {
            return;
        };
        if line.hand_on() {
            return;
        }
        line.in_flight -= 1;
        if line.in_flight == 0 {
            lines.remove(&tenant);
        }
    }

    /// Takes back a ticket: out of the queue, or the place that it was handed.
    fn leave(&self, tenant: Uuid, ticket: u64) {
        let mut lines = self.lines.lock();
        let queue = lines.get_mut(&tenant).map(|line| &mut line.queue);
        let queued = queue.and_then(|queue| {
            let at = queue.iter().position(|waiter| waiter.ticket == ticket)?;
            queue.remove(at)
        });
        drop(lines);
        if queued.is_none() {
            self.give_back(tenant);
        }
    }
}

impl Line {
    fn wait(&mut self, now: Instant) -> (u64, oneshot::Receiver<()>) {
        let (ready, receiver) = oneshot::channel();
        let ticket = self.tickets;
        self.tickets += 1;
        self.waits_since.get_or_insert(now);
        self.queue.push_back(Waiter {
            ticket,
            since: now,
            ready,
        });
        (ticket, receiver)
    }

    /// Hands a place on; whether there was somebody to take it.
    fn hand_on(&mut self) -> bool {
        let next = self.queue.pop_front();
        self.waits_since = self.queue.front().map(|waiter| waiter.since);
        // Who no longer listens still holds its ticket, and gives the place back by that.
        next.is_some_and(|waiter| {
            waiter.ready.send(()).ok();
            true
        })
    }
}

impl Drop for Place {
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

    async fn full(most: usize) -> (Arc<Bulkhead>, Vec<Place>) {
        let bulkhead = Arc::new(Bulkhead::new(most));
        let entering = (0..most).map(|_| bulkhead.enter(ACME, TEN));
        let places = join_all(entering).await.into_iter();
        let places = places.collect::<Result<_, _>>();
        (bulkhead, places.unwrap_or_else(|why| panic!("{why:?}")))
    }

    fn refusal(outcome: Result<Place, NoPlace>) -> NoPlace {
        outcome.err().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_run_as_many_wait_and_one_more_is_refused_but_no_other_tenant() {
        let (bulkhead, places) = full(64).await;
        let mut waiting: Vec<_> = (0..64)
            .map(|_| Box::pin(bulkhead.enter(ACME, TEN)))
            .collect();
        for waiter in &mut waiting {
            assert!(poll_immediate(waiter).await.is_none());
        }
        assert_eq!(bulkhead.calls(), calls(64, 64));
        assert_eq!(refusal(bulkhead.enter(ACME, TEN).await), NoPlace::Full);
        let other = bulkhead.enter(ZETA, TEN).await;
        assert!(other.is_ok());
        drop((places, waiting, other));
        assert_eq!(bulkhead.calls(), calls(0, 0));
        assert!(
            bulkhead.lines.lock().is_empty(),
            "idle tenants are forgotten"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_came_first_is_served_first() {
        let (bulkhead, mut places) = full(4).await;
        let mut waiting: Vec<_> = (0..3)
            .map(|_| Box::pin(bulkhead.enter(ACME, TEN)))
            .collect();
        for waiter in &mut waiting {
            assert!(poll_immediate(waiter).await.is_none());
        }
        for served in 0..3 {
            places.pop();
            // A place on its way is taken: nobody overtakes.
            let mut late = Box::pin(bulkhead.enter(ACME, TEN));
            assert!(poll_immediate(&mut late).await.is_none());
            for next in &mut waiting[served + 1..] {
                assert!(poll_immediate(next).await.is_none());
            }
            let place = poll_immediate(&mut waiting[served]).await.unwrap();
            places.push(place.ok().unwrap());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_half_of_its_time_at_most() {
        let (bulkhead, _places) = full(1).await;
        let start = Instant::now();
        assert_eq!(refusal(bulkhead.enter(ACME, TEN).await), NoPlace::Waited);
        assert_eq!(start.elapsed().as_secs(), 5);
        assert_eq!(bulkhead.calls(), calls(1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn newcomers_are_refused_at_once_while_the_queue_stands_still() {
        let (bulkhead, mut places) = full(2).await;
        let patient = bulkhead.clone();
        let patient = tokio::spawn(async move { patient.enter(ACME, 4 * TEN).await });
        tokio::time::sleep(6 * SECOND).await;
        let start = Instant::now();
        assert_eq!(refusal(bulkhead.enter(ACME, TEN).await), NoPlace::Stalled);
        assert_eq!(start.elapsed(), Duration::ZERO);
        // Also after the oldest gave up, for nothing has moved.
        tokio::time::sleep(20 * SECOND).await;
        assert_eq!(refusal(patient.await.unwrap()), NoPlace::Waited);
        assert_eq!(refusal(bulkhead.enter(ACME, TEN).await), NoPlace::Stalled);
        // It moves: there is a place, then a queue.
        places.pop();
        let _last = bulkhead.enter(ACME, TEN).await.ok().unwrap();
        let mut waiting = Box::pin(bulkhead.enter(ACME, TEN));
        assert!(poll_immediate(&mut waiting).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_leaves_the_queue_or_gets_a_place_too_late_loses_none() {
        let (bulkhead, mut places) = full(1).await;
        let mut leaving = Box::pin(bulkhead.enter(ACME, TEN));
        let mut handed = Box::pin(bulkhead.enter(ACME, TEN));
        let mut last = Box::pin(bulkhead.enter(ACME, TEN));
        assert!(poll_immediate(&mut leaving).await.is_none());
        drop(leaving);
        assert!(poll_immediate(&mut handed).await.is_none());
        places.pop();
        // Handed a place that it never looks at.
        let mut next = Box::pin(bulkhead.enter(ACME, TEN));
        assert!(poll_immediate(&mut next).await.is_none());
        drop(handed);
        let next = poll_immediate(&mut next).await.unwrap();
        assert!(poll_immediate(&mut last).await.is_none());
        drop(next);
        let _last = poll_immediate(&mut last).await.unwrap();
        assert_eq!(bulkhead.calls(), calls(1, 0));
    }
}
