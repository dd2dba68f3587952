//! One call and its attempts: at most three, each on another worker, all within the call's
//! deadline.
//!
//! A call that no worker started goes to the next worker, whatever it does. A call whose worker was
//! lost is repeated once if its tool allows (it is idempotent, or the worker deduplicates by the
//! call id that all attempts share), if nothing of it reached the client yet, and if the pool's
//! retry budget allows. A deadline or an answer ends the call: neither is retried.

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
    CallGuard,
    affinity::Affinity,
    attempt_end::{AttemptEnd, is_pass_rejected},
    attempt_span::AttemptSpan,
    call_deadline::CallDeadline,
    crashing_calls::{CallDigest, CrashingCalls},
    failures::{
        WriteOutcome, crashing_call, deadline_exceeded, from_status, given_up_by_worker, internal,
        interrupted, unavailable, with_write_outcome,
    },
    pool::Pool,
    replica::{InFlight, Replica},
    valve::Valve,
};
use crate::unread::AnswerOwner;

/// Attempts of one call.
const MOST_TRIES: usize = 3;

/// A call and its attempts so far.
pub(super) struct RetriedCall {
    pub(super) pool: Arc<Pool>,
    pub(super) affinity: Affinity,
    pub(super) method: Method,
    /// One JSON object.
    pub(super) params: Bytes,
    /// Its timeout is set for each attempt.
    pub(super) context: CallContext,
    /// Whether the call is idempotent.
    pub(super) idempotent: bool,
    /// Whether it may be repeated under the same id after its worker was lost.
    pub(super) repeatable: bool,
    /// The deadline sent to workers.
    pub(super) until: Instant,
    pub(super) deadline: CallDeadline,
    pub(super) crash_guard: CrashGuard,
    /// The account that reserves memory for the worker's answer. `None` for the gateway's own
    /// calls, which need no reservation.
    pub(super) owner: Option<AnswerOwner>,
    /// The call's bulkhead permit, which each attempt holds until its stream has ended.
    pub(super) bulkhead_permit: Option<CallGuard>,
    pub(super) tried: Vec<Arc<Replica>>,
    /// Whether it was repeated after its worker was lost.
    pub(super) repeated: bool,
}

/// One caller's view of the table of crashing calls.
pub(super) struct CrashGuard {
    pub(super) crashing_calls: Arc<Mutex<CrashingCalls>>,
    /// `None` for the gateway's own calls, which are never refused.
    pub(super) tenant: Option<Uuid>,
}

impl CrashGuard {
    /// How long a call is still refused because it crashed two workers, if it is.
    pub(super) fn refused(&self, method: Method, params: &[u8]) -> Option<Duration> {
        if self.crashing_calls.lock().is_empty() {
            return None;
        }
        let digest = self.digest(method, params)?;
        self.crashing_calls.lock().refused(digest, Instant::now())
    }

    fn digest(&self, method: Method, params: &[u8]) -> Option<CallDigest> {
        Some(CallDigest::of(self.tenant?, method.name(), params))
    }
}

/// An attempt that a worker has started.
pub(super) struct RunningAttempt {
    pub(super) events: Streaming<CallEvent>,
    /// Holds the worker's large messages until memory is reserved for them.
    pub(super) valve: Option<Valve>,
    pub(super) flight: InFlight,
    pub(super) span: AttemptSpan,
}

impl RetriedCall {
    /// Makes the first attempt, and further ones until a worker starts the call.
    pub(super) async fn begin(&mut self) -> Result<RunningAttempt, Failure> {
        self.pool.budget().lock().earn();
        self.start().await
    }

    /// Makes attempts until a worker starts the call.
    pub(super) async fn start(&mut self) -> Result<RunningAttempt, Failure> {
        loop {
            let chosen = self.pool.choose(self.affinity, &self.tried);
            let flight =
                chosen.ok_or_else(|| self.given_up(unavailable(), WriteOutcome::NotWritten))?;
            self.tried.push(Arc::clone(&flight.replica));
            let mut span = AttemptSpan::begin(flight.replica.address());
            let mut request = self.request(&span)?;
            let valve = self.owner.is_some().then(Valve::default);
            if let Some(valve) = &valve {
                request.extensions_mut().insert(valve.clone());
            }
            if let Some(permit) = &self.bulkhead_permit {
                request.extensions_mut().insert(permit.clone());
            }
            let mut worker = flight.client();
            let answered = self.deadline.wait(worker.call(request)).await;
            let answered = answered.inspect_err(|failure| span.given_up(failure));
            match answered.map_err(|failure| self.given_up(failure, WriteOutcome::Unknown))? {
                Ok(response) => {
                    return Ok(RunningAttempt {
                        events: response.into_inner(),
                        valve,
                        flight,
                        span,
                    });
                }
                Err(status) => {
                    span.failed(&status);
                    self.after_end(&flight, &status, true)?;
                }
            }
        }
    }

    /// Decides after an attempt ended with this status. `Ok` means that the next worker gets the
    /// call. `repeatable` is false once something of the call reached the client.
    pub(super) fn after_end(
        &mut self,
        flight: &InFlight,
        status: &Status,
        repeatable: bool,
    ) -> Result<(), Failure> {
        if is_pass_rejected(status) {
            // Deprioritizes the worker. The caller reads of it only if all workers reject the pass.
            self.pool.deprioritize(&flight.replica);
            return self.try_next(|| from_status(self.context.trace, status));
        }
        let end = AttemptEnd::of(status);
        tracing::debug!(
            trace.id = %self.context.trace.trace_id(), ?end,
            error = %archway_proto::chain::Chain(status), "attempt ended without a result"
        );
        match end {
            AttemptEnd::NotConnected => {
                self.pool.record_loss(&flight.replica, flight.epoch);
                self.try_next(|| self.given_up(unavailable(), WriteOutcome::NotWritten))
            }
            AttemptEnd::NotBegun => {
                flight.replica.request_check();
                self.try_next(|| self.given_up(unavailable(), WriteOutcome::NotWritten))
            }
            AttemptEnd::ConnectionLost => {
                self.pool.record_loss(&flight.replica, flight.epoch);
                self.count_crash(flight)?;
                self.repeat("connection_lost", repeatable)
            }
            AttemptEnd::StreamReset => self.repeat("stream_reset", repeatable),
            AttemptEnd::TimedOut => Err(self.given_up(deadline_exceeded(), WriteOutcome::Unknown)),
            AttemptEnd::Answered => {
                let failure = from_status(self.context.trace, status);
                Err(self.given_up(failure, WriteOutcome::Unknown))
            }
        }
    }

    /// The call was answered, so it crashes no workers.
    pub(super) fn answered(&self) {
        if let Some(digest) = self.digest() {
            let mut crashing_calls = self.crash_guard.crashing_calls.lock();
            crashing_calls.answered(digest, Instant::now());
        }
    }

    /// The failure of a call that is not retried. For a write it says whether the write may have
    /// happened.
    pub(super) fn given_up(&self, failure: Failure, outcome: WriteOutcome) -> Failure {
        // With other codes the worker did not accept the write.
        let unanswered = matches!(
            failure.code,
            Fault::Unavailable | Fault::DeadlineExceeded | Fault::InternalError
        );
        if self.idempotent || !unanswered {
            return failure;
        }
        // The last attempt wrote nothing, but the one before may have.
        let outcome = if self.repeated {
            WriteOutcome::Unknown
        } else {
            outcome
        };
        with_write_outcome(failure, outcome)
    }

    /// The worker's result as the client gets it. If it says that the worker gave up a write, it is
    /// extended by: the write may have happened.
    pub(super) fn client_result(&self, result: Bytes) -> Bytes {
        if self.idempotent {
            return result;
        }
        match given_up_by_worker(&result, self.repeated) {
            Some(failure) => {
                let extended = with_write_outcome(failure, WriteOutcome::Unknown).to_result();
                extended.to_string().into()
            }
            None => result,
        }
    }

    /// Nothing was started: tries the next worker, if there is one.
    fn try_next(&self, otherwise: impl FnOnce() -> Failure) -> Result<(), Failure> {
        if !self.may_continue() {
            return Err(otherwise());
        }
        self.pool.metrics().retried("not_begun");
        Ok(())
    }

    /// Repeats a call that was started, if that is allowed.
    fn repeat(&mut self, reason: &'static str, repeatable: bool) -> Result<(), Failure> {
        let given_up = || self.given_up(interrupted(), WriteOutcome::Unknown);
        if !repeatable || !self.repeatable || self.repeated || !self.may_continue() {
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

    fn may_continue(&self) -> bool {
        self.tried.len() < MOST_TRIES
            && Instant::now() < self.until
            && self.pool.has_other(&self.tried)
    }

    /// Counts the loss of a worker against the call, unless the worker had announced its shutdown.
    /// Fails if it was the second loss.
    fn count_crash(&self, flight: &InFlight) -> Result<(), Failure> {
        let is_crash = !flight.replica.announced_shutdown(flight.epoch);
        let Some(digest) = self.digest().filter(|_| is_crash) else {
            return Ok(());
        };
        let now = Instant::now();
        let mut crashing_calls = self.crash_guard.crashing_calls.lock();
        let lost = crashing_calls.lost(digest, flight.epoch, now);
        drop(crashing_calls);
        if !lost {
            return Ok(());
        }
        let tenant = self.crash_guard.tenant.map(tracing::field::display);
        tracing::error!(
            trace.id = %self.context.trace.trace_id(), tenant.id = tenant,
            "a call was in flight at two lost connections: it is refused for ten minutes, or until \
             one of these workers comes back as the same process"
        );
        self.pool.metrics().crashing_call_refused();
        let left = self.crash_guard.refused(self.method, &self.params);
        let failure = crashing_call(self.context.trace, left.unwrap_or_default());
        Err(self.given_up(failure, WriteOutcome::Unknown))
    }

    fn digest(&self) -> Option<CallDigest> {
        self.crash_guard.digest(self.method, &self.params)
    }

    fn request(&mut self, span: &AttemptSpan) -> Result<tonic::Request<CallRequest>, Failure> {
        self.context.timeout = Some(self.until.saturating_duration_since(Instant::now()));
        let mut request = tonic::Request::new(CallRequest {
            method: self.method.name().to_owned(),
            params: self.params.clone(),
        });
        let attached = span.propagate(&self.context).attach(&mut request);
        attached.map_err(|error| internal(self.context.trace, &error))?;
        Ok(request)
    }
}
