//! One call and its tries: at most three, on as many workers, all within its deadline.
//!
//! A call that no worker took up goes to the next, whatever it does. One whose worker was lost is
//! done again once, if its tool allows (twice is like once, or the worker does it once under the id
//! that all tries have), no word of it was passed on, and the pool's budget allows. A deadline and
//! an answer end it: neither is ever tried again.

use std::{sync::Arc, time::Duration};

use archway_proto::{
    context::CallContext,
    failure::Failure,
    fault::Fault,
    method::Method,
    v1::{CallEvent, CallRequest},
};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;
use tonic::{Status, Streaming};
use uuid::Uuid;

use super::{
    attempt::Attempt,
    choice::Affinity,
    deadly::{Deadly, Digest},
    ending::{Ending, is_disbelief},
    failures::{
        Outcome, deadline, deadly, given_up_by_worker, internal, interrupted, of_status, of_write,
        unavailable,
    },
    patience::Patience,
    pool::Pool,
    replica::{Flight, Replica},
    valve::Valve,
};
use crate::{breaker::CallPermit, unread::Asker};

/// Tries of one call.
const MOST_TRIES: usize = 3;

/// A call, and what was tried of it so far.
pub(super) struct Errand {
    pub(super) pool: Arc<Pool>,
    pub(super) affinity: Affinity,
    pub(super) method: Method,
    /// One JSON object.
    pub(super) params: Bytes,
    /// Its timeout is set anew for each try.
    pub(super) context: CallContext,
    /// Whether doing it twice is the same as doing it once.
    pub(super) idempotent: bool,
    /// Whether it may be done again under the same id when its worker was lost.
    pub(super) repeatable: bool,
    /// What workers are told to answer by.
    pub(super) until: Instant,
    pub(super) patience: Patience,
    pub(super) suspects: Suspects,
    /// Who gets room for what the worker says. `None` for what no tenant asks: that always has.
    pub(super) asker: Option<Asker>,
    /// The call's place in the bulkhead, which each try keeps until its stream ended.
    pub(super) place: Option<CallPermit>,
    pub(super) tried: Vec<Arc<Replica>>,
    /// Whether it was done again after its worker was lost.
    pub(super) repeated: bool,
}

/// Who asks, for the table of calls that kill.
pub(super) struct Suspects {
    pub(super) deadly: Arc<Mutex<Deadly>>,
    /// `None` for what no tenant asks: it is never refused.
    pub(super) tenant: Option<Uuid>,
}

impl Suspects {
    /// How long a call is still refused because it ended two workers, if it is.
    pub(super) fn refused(&self, method: Method, params: &[u8]) -> Option<Duration> {
        if self.deadly.lock().is_empty() {
            return None;
        }
        let digest = self.digest(method, params)?;
        self.deadly.lock().refused(digest, Instant::now())
    }

    fn digest(&self, method: Method, params: &[u8]) -> Option<Digest> {
        Some(Digest::of(self.tenant?, method.name(), params))
    }
}

/// A try that is under way.
pub(super) struct Underway {
    pub(super) events: Streaming<CallEvent>,
    /// Where what its worker says waits for room.
    pub(super) valve: Option<Valve>,
    pub(super) flight: Flight,
    pub(super) attempt: Attempt,
}

impl Errand {
    /// The first try, and those after it as long as none gets under way.
    pub(super) async fn begin(&mut self) -> Result<Underway, Failure> {
        self.pool.budget().lock().earn();
        self.go().await
    }

    /// Tries until a worker takes it up.
    pub(super) async fn go(&mut self) -> Result<Underway, Failure> {
        loop {
            let chosen = self.pool.choose(self.affinity, &self.tried);
            let flight = chosen.ok_or_else(|| self.given_up(unavailable(), Outcome::NotWritten))?;
            self.tried.push(Arc::clone(&flight.replica));
            let mut attempt = Attempt::begin(flight.replica.address());
            let mut request = self.request(&attempt)?;
            let valve = self.asker.is_some().then(Valve::default);
            if let Some(valve) = &valve {
                request.extensions_mut().insert(valve.clone());
            }
            if let Some(place) = &self.place {
                request.extensions_mut().insert(place.clone());
            }
            let mut worker = flight.client();
            let answered = self.patience.wait(worker.call(request)).await;
            let answered = answered.inspect_err(|failure| attempt.given_up(failure));
            match answered.map_err(|failure| self.given_up(failure, Outcome::Unknown))? {
                Ok(response) => {
                    return Ok(Underway {
                        events: response.into_inner(),
                        valve,
                        flight,
                        attempt,
                    });
                }
                Err(status) => {
                    attempt.failed(&status);
                    self.ended(&flight, &status, true)?;
                }
            }
        }
    }

    /// A try ended with this status. `Ok` if the call is to go on with another worker; `repeatable`
    /// unless a word of it was passed on.
    pub(super) fn ended(
        &mut self,
        flight: &Flight,
        status: &Status,
        repeatable: bool,
    ) -> Result<(), Failure> {
        if is_disbelief(status) {
            // Its worker refused the pass: it is asked last for a while. Told only if all refuse.
            self.pool.set_aside(&flight.replica);
            return self.next(|| of_status(self.context.trace, status));
        }
        let ending = Ending::of(status);
        tracing::debug!(
            trace.id = %self.context.trace.trace_id(), ?ending,
            error = %archway_proto::chain::Chain(status), "try of a call ended without its result"
        );
        match ending {
            Ending::Unreached => {
                self.pool.lose(&flight.replica, flight.epoch);
                self.next(|| self.given_up(unavailable(), Outcome::NotWritten))
            }
            Ending::TurnedAway => {
                flight.replica.doubt();
                self.next(|| self.given_up(unavailable(), Outcome::NotWritten))
            }
            Ending::Lost => {
                self.pool.lose(&flight.replica, flight.epoch);
                self.suspect(flight)?;
                self.repeat("connection_lost", repeatable)
            }
            Ending::Reset => self.repeat("stream_reset", repeatable),
            Ending::Late => Err(self.given_up(deadline(), Outcome::Unknown)),
            Ending::Answered => {
                let failure = of_status(self.context.trace, status);
                Err(self.given_up(failure, Outcome::Unknown))
            }
        }
    }

    /// The call was answered: it ends no workers.
    pub(super) fn answered(&self) {
        if let Some(digest) = self.digest() {
            let mut deadly = self.suspects.deadly.lock();
            deadly.answered(digest, Instant::now());
        }
    }

    /// What is told of a call that is not tried again: of a write, whether it may have been done.
    pub(super) fn given_up(&self, failure: Failure, outcome: Outcome) -> Failure {
        // The others say that the worker did not accept it.
        let unanswered = matches!(
            failure.code,
            Fault::Unavailable | Fault::DeadlineExceeded | Fault::InternalError
        );
        if self.idempotent || !unanswered {
            return failure;
        }
        // What the last try did not write, the one before may have.
        let outcome = if self.repeated {
            Outcome::Unknown
        } else {
            outcome
        };
        of_write(failure, outcome)
    }

    /// The worker's result, as it is told: one by which it gave a write up says that it may have
    /// been done.
    pub(super) fn told(&self, result: Bytes) -> Bytes {
        if self.idempotent {
            return result;
        }
        match given_up_by_worker(&result, self.repeated) {
            Some(failure) => {
                let told = of_write(failure, Outcome::Unknown).to_result();
                told.to_string().into()
            }
            None => result,
        }
    }

    /// Nothing was begun: the next worker, if there is one.
    fn next(&self, otherwise: impl FnOnce() -> Failure) -> Result<(), Failure> {
        if !self.may_go_on() {
            return Err(otherwise());
        }
        self.pool.metrics().retried("not_begun");
        Ok(())
    }

    /// What was begun is done again, if that is allowed.
    fn repeat(&mut self, reason: &'static str, repeatable: bool) -> Result<(), Failure> {
        let given_up = || self.given_up(interrupted(), Outcome::Unknown);
        if !repeatable || !self.repeatable || self.repeated || !self.may_go_on() {
            return Err(given_up());
        }
        if !self.pool.budget().lock().spend() {
            self.pool.metrics().budget_exhausted();
            return Err(given_up());
        }
        self.repeated = true;
        self.pool.metrics().retried(reason);
        Ok(())
    }

    fn may_go_on(&self) -> bool {
        self.tried.len() < MOST_TRIES
            && Instant::now() < self.until
            && self.pool.has_other(&self.tried)
    }

    /// Counts the loss of a worker against the call, unless that was about to end: a failure if it
    /// was the second.
    fn suspect(&self, flight: &Flight) -> Result<(), Failure> {
        let digest = self.digest();
        let Some(digest) = digest.filter(|_| !flight.replica.announced(flight.epoch)) else {
            return Ok(());
        };
        let now = Instant::now();
        let lost = self.suspects.deadly.lock().lost(digest, flight.epoch, now);
        if !lost {
            return Ok(());
        }
        tracing::error!(
            trace.id = %self.context.trace.trace_id(), tenant.id = ?self.suspects.tenant,
            "a call ended two workers: it is refused for ten minutes"
        );
        self.pool.metrics().deadly_refused();
        let left = self.suspects.refused(self.method, &self.params);
        let failure = deadly(self.context.trace, left.unwrap_or_default());
        Err(self.given_up(failure, Outcome::Unknown))
    }

    fn digest(&self) -> Option<Digest> {
        self.suspects.digest(self.method, &self.params)
    }

    fn request(&mut self, attempt: &Attempt) -> Result<tonic::Request<CallRequest>, Failure> {
        self.context.timeout = Some(self.until.saturating_duration_since(Instant::now()));
        let mut request = tonic::Request::new(CallRequest {
            method: self.method.name().to_owned(),
            params: self.params.clone(),
        });
        let attached = attempt.lead(&self.context).attach(&mut request);
        attached.map_err(|error| internal(self.context.trace, &error))?;
        Ok(request)
    }
}
