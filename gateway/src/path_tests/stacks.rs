//! Gateways for the other tests of this folder, built without Postgres.

use std::{net::SocketAddr, sync::Arc};

use archway_proto::{catalog::Scope, pass::PassMinter};
use secrecy::ExposeSecret;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    audit::Audit,
    auth::{Auth, AuthConfig, KeyText},
    breaker::{Breaker, BreakerConfig},
    caller::Principal,
    catalog::Catalog,
    cursor::Cursors,
    limits::{Limits, LimitsConfig},
    mcp::{Calls, Mcp},
    metrics::Metrics,
    sampling::{Sampler, SamplingConfig},
    secrets::RootSecret,
    server::{self, Port, Stack, StackParts, guard::Guard},
    session::Sessions,
    store::Stores,
    upstream::{Upstream, UpstreamConfig},
};

/// A stack with an unreachable worker, for requests that are answered before one is needed.
pub(super) async fn build_workerless_stack() -> (Stack, String, Arc<Metrics>) {
    build_workerless_stack_with(Catalog::new()).await
}

/// The same with the tools of a worker that was reachable once.
pub(super) async fn build_workerless_stack_with(catalog: Catalog) -> (Stack, String, Arc<Metrics>) {
    let who = Principal::for_tests(&[Scope::ToolsRead], None);
    build_stack_for(who, Arc::new(catalog), nowhere()).await
}

/// The same without tools, for this caller.
pub(super) async fn build_workerless_stack_for(who: Principal) -> (Stack, String, Arc<Metrics>) {
    build_stack_for(who, Arc::new(Catalog::new()), nowhere()).await
}

/// An upstream whose worker does not exist.
fn nowhere() -> Arc<Upstream> {
    let config = UpstreamConfig {
        workers: vec!["http://127.0.0.1:1".into()],
        pool: "shared".into(),
        worker_ca: None,
        call_deadline: 10,
    };
    let minter = PassMinter::generate().unwrap();
    Arc::new(Upstream::new(&config, minter, Metrics::new().upstream()).unwrap())
}

/// A stack with one known key with read scope. Returns the key's text as well.
pub(super) async fn build_stack(
    catalog: Arc<Catalog>,
    upstream: Arc<Upstream>,
) -> (Stack, String, Arc<Metrics>) {
    let who = Principal::for_tests(&[Scope::ToolsRead], None);
    build_stack_for(who, catalog, upstream).await
}

/// A stack with one known key of this caller.
async fn build_stack_for(
    who: Principal,
    catalog: Arc<Catalog>,
    upstream: Arc<Upstream>,
) -> (Stack, String, Arc<Metrics>) {
    let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
    let secret = Arc::new(secret);
    let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
    let metrics = Arc::new(Metrics::new());
    let stores = Stores::with_options(nowhere, 1);
    let auth = Auth::new(
        &AuthConfig::default(),
        stores.clone(),
        secret.clone(),
        metrics.clone(),
    );
    let auth = auth.unwrap();
    let key = KeyText::generate().unwrap();
    auth.insert_as_for_tests(&key, who).await;
    let stack = server::stack(StackParts {
        guard: Arc::new(Guard::new(&Default::default())),
        auth,
        mcp: Arc::new(Mcp::new(
            Arc::new(Sessions::new(secret.clone(), stores.clone())),
            Arc::new(Limits::new(&LimitsConfig::default(), metrics.clone()).unwrap()),
            Calls {
                catalog,
                breaker: Arc::new(Breaker::new(
                    BreakerConfig::default(),
                    metrics.breaker.clone(),
                )),
                upstream,
                cursors: Cursors::new(secret.clone()),
                audit: unwritten(stores.clone(), secret, &metrics),
                metrics: metrics.clone(),
                sampler: Sampler::new(&SamplingConfig::NONE),
            },
        )),
        metrics: metrics.clone(),
    });
    (stack, key.text().expose_secret().to_owned(), metrics)
}

/// An audit trail that is never written.
fn unwritten(stores: Stores, secret: Arc<RootSecret>, metrics: &Metrics) -> Arc<Audit> {
    let name = "test".to_owned();
    let (audit, _nobody_writes) = Audit::new(stores, secret, name, metrics.audit().clone());
    audit
}

/// Serves the stack to at most `max_connections` at a time. Returns the address.
pub(super) async fn serve(
    stack: Stack,
    metrics: &Metrics,
    max_connections: u32,
    shutdown: CancellationToken,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let port = Port {
        listener,
        stack,
        max_connections,
        idle: server::CLIENTS_IDLE,
        open: metrics.connections().clone(),
        ended: metrics.unread().ended.clone(),
    };
    tokio::spawn(server::serve(port, shutdown));
    address
}
