//! The way to the workers, the last stop of a call: a pool, a worker of it, a pass, a deadline.
//!
//! Pools are sets of workers that mount the same repositories (`pool`); who they are is found by
//! name (`discovery`), how they stand by their health service (`health`), which of them a call
//! goes to by its project (`choice`), and what becomes of it when they fail in `errand`. The
//! gateway's own call, for the catalogue, is in `tools`.
//!
//! The deadline travels as `grpc-timeout`, so the worker gives up by itself; a local timeout, a
//! little longer, covers a worker that doesn't. Dropping the stream of a call cancels it at the
//! worker. Whatever goes wrong here comes back as a [`Failure`] that an agent can act on; the
//! reason goes to the log, since it may name hosts.

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
    breaker::CallPermit,
    caller::{Principal, SessionKey},
    dns::{self, Resolver},
    metrics::UpstreamMetrics,
    unread::Asker,
};
use choice::Affinity;
use deadly::Deadly;
use errand::{Errand, Suspects};
use patience::Patience;
use pool::{Pool, Surroundings};
use secured::Authority;

pub use config::{UpstreamConfig, UpstreamError};
pub(crate) use failures::{internal, is_refusal, unavailable, unread};
#[cfg(test)]
pub(crate) use health::LONGEST_RETRY;
pub(crate) use replica::ReplicaStatus;
pub use secured::AuthorityError;
#[cfg(test)]
pub(crate) use standing::State;
pub(crate) use stream::{CallStream, Said, Step};

mod config;
mod discovery;
mod pool;
mod choice;
mod replica;
mod standing;
mod secured;
mod health;
mod errand;
mod attempt;
mod ending;
mod budget;
mod deadly;
mod stream;
mod valve;
mod resets;
mod patience;
mod tools;
mod failures;

/// How much longer than the worker the gateway waits, so that the worker's own answer wins.
const PATIENCE: Duration = Duration::from_millis(250);
const LONGEST_DEADLINE: Duration = Duration::from_secs(30);
/// Passes kept; each is good for seconds.
const MOST_PASSES: u64 = 20_000;
/// How often the operator is told of a pool that tenants have and this gateway has not.
const TOLD_AGAIN: Duration = Duration::from_secs(600);
/// Such pools that are remembered as told.
const MOST_TOLD: u64 = 1_000;

/// A caller's call, on its way to a worker.
pub(crate) struct Outgoing<'a> {
    pub(crate) who: &'a Principal,
    pub(crate) method: Method,
    /// One JSON object.
    pub(crate) params: Bytes,
    /// The project it is about, as far as it says so.
    pub(crate) project: Option<&'a str>,
    /// Whether doing it twice is the same as doing it once.
    pub(crate) idempotent: bool,
    /// Whether it may be sent to another worker when one was lost with it.
    pub(crate) repeatable: bool,
    /// The session it belongs to.
    pub(crate) session: SessionKey,
    pub(crate) trace: TraceContext,
    /// When its caller gets an answer, whatever it is.
    pub(crate) until: Instant,
    /// Who gets room for what the worker says.
    pub(crate) asker: Asker,
}

/// The workers of every pool that is configured.
pub(crate) struct Upstream {
    pools: BTreeMap<String, Arc<Pool>>,
    default_pool: String,
    deadline: Duration,
    minter: PassMinter,
    passes: moka::sync::Cache<u64, PassToken>,
    deadly: Arc<Mutex<Deadly>>,
    told: moka::sync::Cache<String, ()>,
    metrics: UpstreamMetrics,
    lost: Arc<Notify>,
    end: CancellationToken,
    _tasks: DropGuard,
}

impl Upstream {
    /// Connects to the workers and goes on to look for them, in the background and as long as this
    /// lives: they may come later. Call it within a runtime.
    pub(crate) fn new(
        config: &UpstreamConfig,
        minter: PassMinter,
        metrics: &UpstreamMetrics,
    ) -> Result<Self, UpstreamError> {
        Upstream::with_resolver(config, minter, metrics, &dns::system())
    }

    /// With another way to find the addresses of hosts than the system's.
    pub(crate) fn with_resolver(
        config: &UpstreamConfig,
        minter: PassMinter,
        metrics: &UpstreamMetrics,
        resolver: &Resolver,
    ) -> Result<Self, UpstreamError> {
        let places = config.places()?;
        let authority = config.worker_ca.as_deref().map(|path| {
            let read = Authority::read(path);
            read.map_err(|source| UpstreamError::Authority {
                path: path.to_owned(),
                source,
            })
        });
        let authority = authority.transpose()?.map(Arc::new);
        let around = Surroundings {
            metrics: metrics.clone(),
            lost: Arc::new(Notify::new()),
            deadly: Arc::default(),
            dropped: CancellationToken::new(),
            authority,
        };
        let pools = places.into_iter().map(|(name, places)| {
            let pool = Arc::new(Pool::new(&name, around.clone()));
            discovery::begin(&pool, places, resolver);
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
            deadly: around.deadly,
            told: moka::sync::Cache::builder()
                .max_capacity(MOST_TOLD)
                .time_to_live(TOLD_AGAIN)
                .build(),
            metrics: metrics.clone(),
            lost: around.lost,
            end: CancellationToken::new(),
            _tasks: around.dropped.drop_guard(),
        })
    }

    /// By when a call that was received at this moment is answered.
    pub(crate) fn until(&self, received: Instant) -> Instant {
        received + self.deadline
    }

    /// Refuses a call that ended two workers. Asked before the breaker is: it says nothing about
    /// the workers that are there, and one agent's call must not close their tools to all.
    pub(crate) fn judge(&self, call: &Outgoing<'_>) -> Result<(), Failure> {
        let suspects = self.suspects(Some(call.who.tenant_id()));
        let left = suspects.refused(call.method, &call.params);
        left.map_or(Ok(()), |left| {
            self.pool_of(call.who)?.metrics().deadly_refused();
            Err(failures::deadly(call.trace, left))
        })
    }

    /// Starts a caller's call of a worker's method, which passed [`Upstream::judge`] and has a `place`.
    pub(crate) async fn call(
        &self,
        call: Outgoing<'_>,
        place: CallPermit,
    ) -> Result<CallStream, Failure> {
        let pool = self.pool_of(call.who)?;
        let pass = self.pass(call.who);
        let pass = pass.map_err(|error| internal(call.trace, &error))?;
        let tenant = call.who.tenant_id();
        CallStream::begin(Box::new(Errand {
            pool: Arc::clone(pool),
            affinity: Affinity::of(tenant, call.project),
            method: call.method,
            params: call.params,
            context: context(call.trace, pass, Some(call.session)),
            idempotent: call.idempotent,
            repeatable: call.repeatable,
            until: call.until,
            patience: self.patience(call.until),
            suspects: self.suspects(Some(tenant)),
            asker: Some(call.asker),
            place: Some(place),
            tried: Vec::new(),
            repeated: false,
        }))
        .await
    }

    /// Every worker that is known, for the operator.
    pub(crate) fn replicas(&self) -> Vec<ReplicaStatus> {
        self.pools.values().flat_map(|pool| pool.status()).collect()
    }

    /// Answers the calls that still run, and all to come, with `unavailable`: the gateway ends.
    pub(crate) fn end_calls(&self) {
        self.end.cancel();
    }

    /// Waits until a worker is lost.
    pub(crate) async fn lost(&self) {
        self.lost.notified().await;
    }

    /// The pool of the caller's tenant. To the agent one that is not configured here is a pool
    /// without workers; the operator is told, once in a while.
    fn pool_of(&self, who: &Principal) -> Result<&Arc<Pool>, Failure> {
        self.pools.get(who.pool()).ok_or_else(|| {
            self.metrics.unknown_pool();
            let told = self.told.entry(who.pool().to_owned()).or_insert(());
            if told.is_fresh() {
                tracing::warn!(
                    pool = who.pool(), tenant.id = %who.tenant_id(),
                    "a tenant's pool has no workers here: name them with --worker POOL=URL"
                );
            }
            unavailable()
        })
    }

    /// A pass for the caller and its pool: minted once per reading of its record, used for 10 s.
    fn pass(&self, who: &Principal) -> Result<PassToken, Arc<PassError>> {
        self.passes
            .try_get_with(who.edition(), || self.minter.mint(&who.pass(who.pool())))
    }

    fn patience(&self, until: Instant) -> Patience {
        Patience {
            until: until + PATIENCE,
            end: self.end.clone(),
        }
    }

    fn suspects(&self, tenant: Option<Uuid>) -> Suspects {
        Suspects {
            deadly: Arc::clone(&self.deadly),
            tenant,
        }
    }
}

#[cfg(test)]
impl Upstream {
    /// Looks for workers now, not in 5 s.
    pub(crate) fn look_again(&self) {
        self.pools.values().for_each(|pool| pool.hasten());
    }

    /// Spends all retries.
    pub(crate) fn spend_budgets(&self) {
        for pool in self.pools.values() {
            while pool.budget().lock().spend() {}
        }
    }
}

fn context(trace: TraceContext, pass: PassToken, session: Option<SessionKey>) -> CallContext {
    CallContext {
        call_id: Uuid::new_v4(),
        session: session.map(SessionKey::as_number),
        trace,
        trace_state: String::new(),
        pass,
        timeout: None,
    }
}
