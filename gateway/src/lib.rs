//! Archway's gateway: HTTP and MCP on one side, gRPC to the workers on the other.
//!
//! A [`Gateway`] holds nothing but caches between two requests, so any replica can serve any
//! request. The tenant comes from the credential and from nothing else.

use std::{sync::Arc, time::Duration};

use archway_proto::pass::PassMinter;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use admin::{Admin, Console};
use audit::{Audit, Writer};
use auth::Auth;
use breaker::Breaker;
use catalog::{Catalog, CatalogCache};
use changes::ChangeListener;
use cursor::Cursors;
use extra_metrics::ExtraMetrics;
use limits::Limits;
use mcp::{Calls, Mcp};
use metrics::Metrics;
use sampling::Sampler;
use secrets::RootSecret;
use server::{Port, StackParts, guard::Guard};
use session::Sessions;
use store::Stores;
use upstream::Upstream;

pub use admin::{AdminAddress, ConsoleConfig, ConsoleError, ConsoleTokenError};
pub use auth::{
    AuthConfig, Identity, IssuerProblem, IssuersError, KeyId, KeyText, LoginConfigError,
};
pub use breaker::BreakerConfig;
pub use config::{GatewayConfig, GatewayConfigError};
pub use limits::{LimitsConfig, LimitsError, WhenDown};
pub use sampling::SamplingConfig;
pub use server::{MOST_CLIENTS, guard::GuardConfig};
pub use upstream::{UpstreamConfig, UpstreamError, WorkerCaError};

// Above the path: configuration, administration and probes.
mod config;
mod admin;
mod extra_metrics;
mod changes;

// The path, in the order in which a request passes it.
mod server;
mod auth;
mod mcp;
mod session;
mod limits;
mod catalog;
mod cursor;
mod breaker;
mod upstream;
mod unread;

// Below the path: what its stops are built on.
pub mod audit;
pub mod store;
pub mod secrets;
pub mod slug;
mod dns;
mod absence_log;
mod sampling;
mod metrics;
mod recent;
mod caller;
mod fair_permits;
pub mod terms;
mod error;

#[cfg(test)]
mod path_tests;

/// How long calls in flight may run once shutdown begins. Orchestrators kill a process after 30 s
/// by default; the rest is for reporting the calls that were ended.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(25);

/// A gateway, ready to serve. Clones share everything.
#[derive(Clone)]
pub struct Gateway {
    parts: Arc<Parts>,
    drain_limit: Duration,
    most_connections: u32,
    extra_metrics: Option<ExtraMetrics>,
    admin_address: Option<AdminAddress>,
}

struct Parts {
    stack: server::Stack,
    admin: Arc<Admin>,
    catalog_cache: CatalogCache,
    changes: ChangeListener,
    /// Writes the audit trail; used by `serve` alone.
    records: tokio::sync::Mutex<Writer>,
}

impl Gateway {
    /// Builds a gateway and starts discovering its workers; Postgres and workers may start later.
    /// Must be called within a runtime.
    pub fn new(
        config: &GatewayConfig,
        stores: Stores,
        secret: Arc<RootSecret>,
        minter: PassMinter,
    ) -> Result<Self, GatewayConfigError> {
        let metrics = Arc::new(Metrics::new().by_tenant(config.tenant_metrics));
        let upstream = Arc::new(Upstream::new(&config.upstream, minter, metrics.upstream())?);
        let breaker = Arc::new(Breaker::new(config.breaker, metrics.breaker.clone()));
        let catalog = Arc::new(Catalog::new());
        let catalog_cache = CatalogCache::new(stores.clone(), config.upstream.pool.clone());
        let sessions = Arc::new(Sessions::new(secret.clone(), stores.clone()));
        let limits = Arc::new(Limits::new(&config.limits, metrics.clone())?);
        let root = secret.clone();
        let trail = metrics.audit().clone();
        let (audit, records) = Audit::new(stores.clone(), secret.clone(), config.name(), trail);
        let auth = Auth::new(&config.auth, stores.clone(), secret, metrics.clone())?;
        let changes = ChangeListener::new(&stores, &auth, &sessions, &metrics);
        let calls = Calls {
            catalog: catalog.clone(),
            breaker: breaker.clone(),
            upstream: upstream.clone(),
            cursors: Cursors::new(root.clone()),
            audit: audit.clone(),
            metrics: metrics.clone(),
            sampler: Sampler::new(&config.sampling),
        };
        let stack = server::stack(StackParts {
            guard: Arc::new(Guard::new(&config.guard)),
            auth,
            mcp: Arc::new(Mcp::new(sessions, limits.clone(), calls)),
            metrics: metrics.clone(),
        });
        let admin = Arc::new(Admin {
            name: config.name(),
            console: Console::new(&config.console, &config.guard, root, &metrics)?,
            audit,
            catalog,
            limits,
            breaker,
            upstream,
            stores,
            metrics,
            grace: config.auth.key_grace,
            draining: CancellationToken::new(),
        });
        Ok(Gateway::of(Parts {
            stack,
            admin,
            catalog_cache,
            changes,
            records: records.into(),
        }))
    }

    fn of(parts: Parts) -> Self {
        Gateway {
            drain_limit: DRAIN_LIMIT,
            most_connections: MOST_CLIENTS,
            extra_metrics: None,
            admin_address: None,
            parts: Arc::new(parts),
        }
    }

    /// Replaces [`DRAIN_LIMIT`] for calls in flight at shutdown.
    #[must_use]
    pub fn with_drain_limit(mut self, limit: Duration) -> Self {
        self.drain_limit = limit;
        self
    }

    /// Accepts fewer client connections than [`MOST_CLIENTS`], at least 1. Further connections wait
    /// in the listener's backlog until one ends.
    #[must_use]
    pub fn with_most_connections(mut self, most: u32) -> Self {
        self.most_connections = most.clamp(1, MOST_CLIENTS);
        self
    }

    /// Adds what `write` returns to `/metrics` of the admin port: a whole `OpenMetrics` exposition
    /// of another component in this process. Its metric names must differ from the gateway's.
    #[must_use]
    pub fn with_extra_metrics(
        mut self,
        write: impl Fn() -> Result<String, std::fmt::Error> + Send + Sync + 'static,
    ) -> Self {
        self.extra_metrics = Some(ExtraMetrics::new(write));
        self
    }

    /// Publishes the address of the admin port in Postgres, so that `archway status` finds it.
    #[must_use]
    pub fn with_admin_address(mut self, address: AdminAddress) -> Self {
        self.admin_address = Some(address);
        self
    }

    /// Reports "not ready" to probes while the gateway keeps serving, so that load balancers stop
    /// sending requests before the listener closes.
    pub fn announce_end(&self) {
        self.parts.admin.draining.cancel();
    }

    /// Serves `/mcp` on `listener` and probes on `admin` until `shutdown` is cancelled. Then waits
    /// for calls in flight, ends those that exceed the drain limit with a failure, and returns.
    /// Probes are answered until the end.
    pub async fn serve(
        &self,
        listener: TcpListener,
        admin: TcpListener,
        shutdown: CancellationToken,
    ) -> std::io::Result<()> {
        let Parts {
            stack,
            admin: parts,
            ..
        } = &*self.parts;
        let clients = Port {
            listener,
            stack: stack.clone(),
            max_connections: self.most_connections,
            idle: server::CLIENTS_IDLE,
            open: parts.metrics.connections().clone(),
            ended: parts.metrics.unread().ended.clone(),
        };
        let mut admin = admin::port(admin, parts.clone());
        if let Some(extra_metrics) = &self.extra_metrics {
            admin.stack = extra_metrics.join_into(admin.stack);
        }
        let drained = CancellationToken::new();
        let serving = async {
            server::serve(clients, shutdown.clone()).await;
            drained.cancel();
        };
        tokio::join!(
            serving,
            server::serve(admin, drained.clone()),
            // On the heap: every future that awaits `serve` contains all of it.
            Box::pin(self.background(&shutdown, &drained)),
            self.drain(&shutdown, &drained),
        );
        Ok(())
    }

    /// What runs beside the listeners, until the drain is over.
    async fn background(&self, shutdown: &CancellationToken, drained: &CancellationToken) {
        let Parts {
            admin: parts,
            catalog_cache,
            changes,
            records,
            ..
        } = &*self.parts;
        tokio::join!(
            parts.catalog.run(&parts.upstream, shutdown),
            parts.limits.run(&parts.stores, drained),
            catalog_cache.run(&parts.catalog, shutdown),
            // Revocations during the drain take effect.
            changes.run(drained),
            // Calls that end during the drain are recorded.
            async { records.lock().await.run(drained).await },
            drained.run_until_cancelled(admin::name_busiest(parts)),
            Console::run(parts.console.as_ref(), drained),
            async {
                if let Some(address) = &self.admin_address {
                    address.run(parts, drained).await;
                }
            },
        );
    }

    /// Ends the calls that still run when the drain limit is over.
    async fn drain(&self, shutdown: &CancellationToken, drained: &CancellationToken) {
        shutdown.cancelled().await;
        self.announce_end();
        tokio::select! {
            () = drained.cancelled() => {}
            () = tokio::time::sleep(self.drain_limit) => {
                // First, so that circuits count none of these ends as a fault.
                self.parts.admin.breaker.shut_down();
                self.parts.admin.upstream.end_calls();
            }
        }
    }

    /// Waits until the catalogue was fetched from a worker and change notifications arrive from
    /// Postgres. Returns whether both happened within `patience`.
    pub async fn ready(&self, patience: Duration) -> bool {
        let Admin {
            catalog, stores, ..
        } = &*self.parts.admin;
        let both = async { tokio::join!(catalog.fetched(), stores.health().first_heard()) };
        tokio::time::timeout(patience, both).await.is_ok()
    }
}
