//! Gateways for the tests beside this file, put together without Postgres.

use std::{net::SocketAddr, sync::Arc};

use archway_proto::{catalog::Scope, pass::PassMinter};
use secrecy::ExposeSecret;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    auth::{Auth, AuthConfig, key::KeyText},
    catalog::Catalog,
    cursor::Cursors,
    limits::{Limits, LimitsConfig},
    mcp::{Calls, Mcp},
    metrics::Metrics,
    secrets::RootSecret,
    server::{self, Port, Stack, Stops, guard::Guard},
    session::Sessions,
    store::Stores,
    upstream::{Upstream, UpstreamConfig},
};

/// A stack whose worker is nowhere: for what is answered before one is needed.
pub(super) async fn build_lonely_stack() -> (Stack, String, Arc<Metrics>) {
    build_lonely_stack_with(Catalog::new()).await
}

/// The same with the tools of a worker that was there once.
pub(super) async fn build_lonely_stack_with(catalog: Catalog) -> (Stack, String, Arc<Metrics>) {
    let config = UpstreamConfig {
        workers: vec!["http://127.0.0.1:1".into()],
        pool: "shared".into(),
        call_deadline: 10,
    };
    let upstream = Upstream::new(&config, PassMinter::generate().unwrap()).unwrap();
    build_stack(Arc::new(catalog), Arc::new(upstream)).await
}

/// A stack that knows one key, which may read: the key's text comes with it.
pub(super) async fn build_stack(
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
    let key = KeyText::generate().unwrap();
    auth.know_for_tests(&key, &[Scope::ToolsRead]).await;
    let stack = server::stack(Stops {
        guard: Arc::new(Guard::new(&Default::default())),
        auth: Arc::new(auth),
        mcp: Arc::new(Mcp::new(
            Arc::new(Sessions::new(secret.clone(), stores)),
            Arc::new(Limits::new(&LimitsConfig::default(), metrics.clone()).unwrap()),
            Calls {
                catalog,
                upstream,
                cursors: Cursors::new(secret),
                metrics: metrics.clone(),
            },
        )),
        metrics: metrics.clone(),
    });
    (stack, key.text().expose_secret().to_owned(), metrics)
}

/// Serves the stack to `places` connections at a time; where.
pub(super) async fn serve(
    stack: Stack,
    metrics: &Metrics,
    places: u32,
    shutdown: CancellationToken,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let port = Port {
        listener,
        stack,
        places,
        idle: server::CLIENTS_IDLE,
        open: metrics.connections().clone(),
    };
    tokio::spawn(server::serve(port, shutdown));
    address
}
