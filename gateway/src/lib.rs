//! Archway's front door: HTTP and MCP on one side, gRPC to the workers on the other.
//!
//! A [`Gateway`] keeps nothing between two requests but caches: any request may go to any replica.
//! The tenant comes from the credential and from nothing else.

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

pub use admin::{AdminAddress, ConsoleConfig};
pub use auth::{AuthConfig, Identity, IssuerProblem, IssuersError, KeyId, KeyText};
pub use breaker::BreakerConfig;
pub use config::{GatewayConfig, GatewayConfigError};
pub use limits::{LimitsConfig, LimitsError, WhenDown};
pub use sampling::SamplingConfig;
pub use server::{MOST_CLIENTS, guard::GuardConfig};
pub use upstream::{UpstreamConfig, UpstreamError, WorkerCaError};

// Above the path: how a gateway is set up, and what administrators and probes ask.
mod config;
mod admin;
mod extra_metrics;
mod changes;

// The path, in the order a request meets it.
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

// Below the path: what its stops stand on.
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
mod outage;
pub mod terms;
mod error;

#[cfg(test)]
mod path_tests;

/// How long calls in flight may go on once the gateway ends: within the 30 s that orchestrators
/// give a process by default, with time to tell the rest.
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
    /// Of the audit trail; only `serve` asks for it.
    records: tokio::sync::Mutex<Writer>,
}

impl Gateway {
    /// Puts a gateway together, and begins to look for its workers; Postgres and they may come
    /// later. Call it within a runtime.
    pub fn new(
        config: &GatewayConfig,
        stores: Stores,
        secret: Arc<RootSecret>,
        minter: PassMinter,
    ) -> Result<Self, GatewayConfigError> {
        let metrics = Arc::new(Metrics::new());
        let upstream = Arc::new(Upstream::new(&config.upstream, minter, metrics.upstream())?);
        let breaker = Arc::new(Breaker::new(config.breaker, metrics.breaker.clone()));
        let catalog = Arc::new(Catalog::new());
        let catalog_cache = CatalogCache::new(stores.clone(), config.upstream.pool.clone());
        let sessions = Arc::new(Sessions::new(secret.clone(), stores.clone()));
        let limits = Arc::new(Limits::new(&config.limits, metrics.clone())?);
        let cursors = Cursors::new(secret.clone());
        let trail = metrics.audit().clone();
        let (audit, records) = Audit::new(stores.clone(), secret.clone(), config.name(), trail);
        let auth = Auth::new(&config.auth, stores.clone(), secret, metrics.clone())?;
        let changes = ChangeListener::new(&stores, &auth, &sessions, &metrics);
        let stack = server::stack(StackParts {
            guard: Arc::new(Guard::new(&config.guard)),
            auth,
            mcp: Arc::new(Mcp::new(
                sessions,
                limits.clone(),
                Calls {
                    catalog: catalog.clone(),
                    breaker: breaker.clone(),
                    upstream: upstream.clone(),
                    cursors,
                    audit: audit.clone(),
                    metrics: metrics.clone(),
                    sampler: Sampler::new(&config.sampling),
                },
            )),
            metrics: metrics.clone(),
        });
        let admin = Arc::new(Admin {
            name: config.name(),
            console: (config.console.console).then(|| Console::new(&config.guard, &metrics)),
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

    /// Gives calls in flight another time than [`DRAIN_LIMIT`] once the gateway ends.
    #[must_use]
    pub fn with_drain_limit(mut self, limit: Duration) -> Self {
        self.drain_limit = limit;
        self
    }

    /// Takes fewer connections from clients at a time than [`MOST_CLIENTS`]: at least 1. More wait
    /// until one ends.
    #[must_use]
    pub fn with_most_connections(mut self, most: u32) -> Self {
        self.most_connections = most.clamp(1, MOST_CLIENTS);
        self
    }

    /// Tells on the admin port's `/metrics` what `write` writes, too: a whole exposition of
    /// `OpenMetrics`, by other names than ours, of what runs in the same process.
    #[must_use]
    pub fn with_extra_metrics(
        mut self,
        write: impl Fn() -> Result<String, std::fmt::Error> + Send + Sync + 'static,
    ) -> Self {
        self.extra_metrics = Some(ExtraMetrics::new(write));
        self
    }

    /// Tells Postgres where the admin port can be reached, so that `archway status` finds it.
    #[must_use]
    pub fn with_admin_address(mut self, address: AdminAddress) -> Self {
        self.admin_address = Some(address);
        self
    }

    /// Tells probes that the gateway is about to end, while it goes on serving: so that load
    /// balancers turn away before the listener is closed.
    pub fn announce_end(&self) {
        self.parts.admin.draining.cancel();
    }

    /// Serves `/mcp` on `listener` and the probes on `admin` until `shutdown` is cancelled. Then
    /// it lets the calls in flight finish, tells those that don't within the drain limit that
    /// they were ended, and returns; the probes are answered until then.
    pub async fn serve(
        &self,
        listener: TcpListener,
        admin: TcpListener,
        shutdown: CancellationToken,
    ) -> std::io::Result<()> {
        let Parts {
            stack,
            admin: parts,
            catalog_cache,
            changes,
            records,
        } = &*self.parts;
        let clients = Port {
            listener,
            stack: stack.clone(),
            places: self.most_connections,
            idle: server::CLIENTS_IDLE,
            open: parts.metrics.connections().clone(),
            ended: parts.metrics.unread().ended.clone(),
        };
        let mut admin = admin::port(admin, parts.clone());
        if let Some(extra_metrics) = &self.extra_metrics {
            admin.stack = extra_metrics.joined(admin.stack);
        }
        let drained = CancellationToken::new();
        let serving = async {
            server::serve(clients, shutdown.clone()).await;
            drained.cancel();
        };
        let keeping = async {
            tokio::join!(
                parts.catalog.keep(&parts.upstream, &shutdown),
                parts.limits.run(&drained),
                catalog_cache.keep(&parts.catalog, &shutdown),
                // What is revoked during the drain is revoked.
                changes.run(&drained),
                // What is done during the drain is recorded.
                async { records.lock().await.run(&drained).await },
                async {
                    if let Some(address) = &self.admin_address {
                        address.run(&parts.name, &parts.stores, &drained).await;
                    }
                },
            )
        };
        tokio::join!(
            serving,
            server::serve(admin, drained.clone()),
            // On the heap: whoever awaits this holds all of it.
            Box::pin(keeping),
            self.drain(&shutdown, &drained),
        );
        Ok(())
    }

    /// Ends the calls that `shutdown` leaves running, once their time is up.
    async fn drain(&self, shutdown: &CancellationToken, drained: &CancellationToken) {
        shutdown.cancelled().await;
        self.announce_end();
        tokio::select! {
            () = drained.cancelled() => {}
            () = tokio::time::sleep(self.drain_limit) => {
                // First: what ends now is nobody's fault.
                self.parts.admin.breaker.shut_down();
                self.parts.admin.upstream.end_calls();
            }
        }
    }

    /// Waits until the catalogue was fetched from a worker and Postgres tells of changes, at most
    /// `patience`; whether both came to be.
    pub async fn ready(&self, patience: Duration) -> bool {
        let Admin {
            catalog, stores, ..
        } = &*self.parts.admin;
        let both = async { tokio::join!(catalog.fetched(), stores.health().first_heard()) };
        tokio::time::timeout(patience, both).await.is_ok()
    }
}
