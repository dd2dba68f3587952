//! Calls to the workers, the last stop of a call: a pool, a worker of it, a pass, a deadline.
//!
//! A pool is a set of workers that mount the same repositories (`pool`). `discovery` resolves their
//! addresses, `health` watches their state, `affinity` picks the worker for a call's project, and
//! `retry` decides what happens when a worker fails. `tools` holds the gateway's own call, which
//! fetches the catalog.
//!
//! The deadline travels as `grpc-timeout`, so that a worker stops by itself; a slightly longer
//! local timeout covers a worker that does not. Dropping the stream of a call cancels it at the
//! worker. Every error here becomes a [`Failure`] that an agent can act on; its cause goes to the
//! log only, since it may name hosts.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use archway_proto::{
    context::{CallContext, TraceContext},
    failure::Failure,
    method::Method,
    pass::{self, PassError, PassMinter, PassToken},
};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::{
    caller::{Principal, SessionKey},
    dns::{self, Resolver},
    metrics::UpstreamMetrics,
    unread::AnswerOwner,
};
use affinity::Affinity;
use call_deadline::CallDeadline;
use crashing_calls::CrashingCalls;
use pool::{Pool, PoolContext};
use retry::{CrashGuard, RetriedCall};
use tls::WorkerCa;

pub use config::{UpstreamConfig, UpstreamError};
pub(crate) use failures::{internal, is_refusal, unavailable, unread};
pub(crate) use guard::CallGuard;
#[cfg(test)]
pub(crate) use health::LONGEST_RETRY;
pub(crate) use replica::ReplicaStatus;
pub(crate) use stream::{CallUpdate, Step, WorkerCall};
pub use tls::WorkerCaError;
#[cfg(test)]
pub(crate) use worker_state::WorkerState;

mod config;
mod discovery;
mod pool;
mod affinity;
mod replica;
mod worker_state;
mod tls;
mod health;
mod retry;
mod attempt_span;
mod attempt_end;
mod retry_budget;
mod crashing_calls;
mod stream;
mod valve;
mod reset_pacer;
mod call_deadline;
mod guard;
mod tools;
mod failures;

/// How much longer the gateway waits than the worker, so that the worker's own answer wins.
const GRACE: Duration = Duration::from_millis(250);
const LONGEST_DEADLINE: Duration = Duration::from_secs(30);
/// Cached passes; each is valid for seconds.
const MOST_PASSES: u64 = 20_000;
/// Interval of the warning about one tenants' pool that this gateway does not have.
const WARN_INTERVAL: Duration = Duration::from_secs(600);
/// Such pools that are remembered as logged.
const MOST_WARNED: u64 = 1_000;

/// A caller's call before it is sent to a worker.
pub(crate) struct Outgoing<'a> {
    pub(crate) who: &'a Principal,
    pub(crate) method: Method,
    /// One JSON object.
    pub(crate) params: Bytes,
    /// The project that the call names, if any.
    pub(crate) project: Option<&'a str>,
    /// Whether the call is idempotent.
    pub(crate) idempotent: bool,
    /// Whether the call may be sent to another worker after its worker was lost.
    pub(crate) repeatable: bool,
    /// The session it belongs to.
    pub(crate) session: SessionKey,
    pub(crate) trace: TraceContext,
    /// When the caller gets an answer at the latest.
    pub(crate) until: Instant,
    /// The account that reserves memory for the worker's answer.
    pub(crate) owner: AnswerOwner,
}

/// The workers of every configured pool.
pub(crate) struct Upstream {
    pools: BTreeMap<String, Arc<Pool>>,
    default_pool: String,
    deadline: Duration,
    minter: PassMinter,
    passes: moka::sync::Cache<u64, PassToken>,
    crashing_calls: Arc<Mutex<CrashingCalls>>,
    warned_pools: moka::sync::Cache<String, ()>,
    metrics: UpstreamMetrics,
    lost: Arc<Notify>,
    end: CancellationToken,
    _tasks: DropGuard,
}

impl Upstream {
    /// Starts background tasks, bound to this value's lifetime, that connect to the workers and
    /// keep resolving their addresses. Workers may appear later. Call it within a runtime.
    pub(crate) fn new(
        config: &UpstreamConfig,
        minter: PassMinter,
        metrics: &UpstreamMetrics,
    ) -> Result<Self, UpstreamError> {
        Upstream::with_resolver(config, minter, metrics, &dns::system())
    }

    /// Uses another resolver than the system's.
    pub(crate) fn with_resolver(
        config: &UpstreamConfig,
        minter: PassMinter,
        metrics: &UpstreamMetrics,
        resolver: &Resolver,
    ) -> Result<Self, UpstreamError> {
        let addresses = config.addresses()?;
        let authority = config.worker_ca.as_deref().map(|path| {
            let read = WorkerCa::read(path);
            read.map_err(|source| UpstreamError::WorkerCa {
                path: path.to_owned(),
                source,
            })
        });
        let authority = authority.transpose()?.map(Arc::new);
        let context = PoolContext {
            metrics: metrics.clone(),
            lost: Arc::new(Notify::new()),
            crashing_calls: Arc::default(),
            dropped: CancellationToken::new(),
            authority,
        };
        let pools = addresses.into_iter().map(|(name, addresses)| {
            let pool = Arc::new(Pool::new(&name, context.clone()));
            discovery::begin(&pool, addresses, resolver);
            (name, pool)
        });
        Ok(Upstream {
            pools: pools.collect(),
            default_pool: config.pool.clone(),
            deadline: Duration::from_secs(config.call_deadline).min(LONGEST_DEADLINE),
            minter,
            passes: moka::sync::Cache::builder()
                .max_capacity(MOST_PASSES)
                .time_to_live(pass::REUSE)
                .build(),
            crashing_calls: context.crashing_calls,
            warned_pools: moka::sync::Cache::builder()
                .max_capacity(MOST_WARNED)
                .time_to_live(WARN_INTERVAL)
                .build(),
            metrics: metrics.clone(),
            lost: context.lost,
            end: CancellationToken::new(),
            _tasks: context.dropped.drop_guard(),
        })
    }

    /// The deadline of a call that was received at this moment.
    pub(crate) fn until(&self, received: Instant) -> Instant {
        received + self.deadline
    }

    /// Refuses a call that crashed two workers. Runs before the breaker: the crashes say nothing
    /// about the remaining workers, and one agent's call must not open their circuits for everyone.
    pub(crate) fn check_crashes(&self, call: &Outgoing<'_>) -> Result<(), Failure> {
        let crash_guard = self.crash_guard(Some(call.who.tenant_id()));
        let left = crash_guard.refused(call.method, &call.params);
        left.map_or(Ok(()), |left| {
            self.pool_of(call.who)?.metrics().crashing_call_refused();
            Err(failures::crashing_call(call.trace, left))
        })
    }

    /// Starts a caller's call, which passed [`Upstream::check_crashes`] and holds a bulkhead permit.
    pub(crate) async fn call(
        &self,
        call: Outgoing<'_>,
        permit: CallGuard,
    ) -> Result<WorkerCall, Failure> {
        let pool = self.pool_of(call.who)?;
        let pass = self.pass(call.who);
        let pass = pass.map_err(|error| internal(call.trace, &error))?;
        let tenant = call.who.tenant_id();
        WorkerCall::begin(Box::new(RetriedCall {
            pool: Arc::clone(pool),
            affinity: Affinity::of(tenant, call.project),
            method: call.method,
            params: call.params,
            context: call_context(call.trace, pass, Some(call.session)),
            idempotent: call.idempotent,
            repeatable: call.repeatable,
            until: call.until,
            deadline: self.call_deadline(call.until),
            crash_guard: self.crash_guard(Some(tenant)),
            owner: Some(call.owner),
            bulkhead_permit: Some(permit),
            tried: Vec::new(),
            repeated: false,
        }))
        .await
    }

    /// Every known worker, for operators.
    pub(crate) fn replicas(&self) -> Vec<ReplicaStatus> {
        self.pools.values().flat_map(|pool| pool.status()).collect()
    }

    /// Answers running and future calls with `unavailable`: the gateway shuts down.
    pub(crate) fn end_calls(&self) {
        self.end.cancel();
    }

    /// Waits until a worker is lost.
    pub(crate) async fn lost(&self) {
        self.lost.notified().await;
    }

    /// The pool of the caller's tenant. If it is not configured here, the agent gets the same
    /// failure as for a pool without workers, and the log warns from time to time.
    fn pool_of(&self, who: &Principal) -> Result<&Arc<Pool>, Failure> {
        self.pools.get(who.pool()).ok_or_else(|| {
            self.metrics.unknown_pool();
            let warned = self.warned_pools.entry(who.pool().to_owned()).or_insert(());
            if warned.is_fresh() {
                tracing::warn!(
                    pool = who.pool(), tenant.id = %who.tenant_id(),
                    "a tenant's pool has no workers here: name them with --worker POOL=URL"
                );
            }
            unavailable()
        })
    }

    /// A pass for the caller and its pool: minted once per version of its record, reused for 10 s.
    fn pass(&self, who: &Principal) -> Result<PassToken, Arc<PassError>> {
        self.passes
            .try_get_with(who.version(), || self.minter.mint(&who.pass(who.pool())))
    }

    fn call_deadline(&self, until: Instant) -> CallDeadline {
        CallDeadline {
            until: until + GRACE,
            end: self.end.clone(),
        }
    }

    fn crash_guard(&self, tenant: Option<Uuid>) -> CrashGuard {
        CrashGuard {
            crashing_calls: Arc::clone(&self.crashing_calls),
            tenant,
        }
    }
}

#[cfg(test)]
impl Upstream {
    /// Resolves the workers' names now instead of after 5 s.
    pub(crate) fn look_again(&self) {
        self.pools.values().for_each(|pool| pool.request_lookup());
    }

    /// Empties all retry budgets.
    pub(crate) fn spend_budgets(&self) {
        for pool in self.pools.values() {
            while pool.budget().lock().spend() {}
        }
    }
}

fn call_context(trace: TraceContext, pass: PassToken, session: Option<SessionKey>) -> CallContext {
    CallContext {
        call_id: Uuid::new_v4(),
        session: session.map(SessionKey::as_number),
        trace,
        trace_state: String::new(),
        pass,
        timeout: None,
    }
}
