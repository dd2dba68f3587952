//! The gateways of a stack: replicas that share database, root secret and pass key, and nothing
//! else. One can be stopped and started again at its old address, as in a rolling update.

use std::{net::SocketAddr, sync::Arc};

use archway_gateway::{
    Gateway, GatewayConfig,
    secrets::RootSecret,
    store::{StoreConfig, Stores},
};
use archway_proto::pass::PassMinter;
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::PATIENCE;

/// What all replicas have in common.
pub(super) struct Shared {
    pub(super) config: GatewayConfig,
    pub(super) database_url: String,
    pub(super) secret: Arc<RootSecret>,
    pub(super) minter: PassMinter,
}

/// All gateways of a stack, in the order in which they were started.
pub(super) struct Gateways {
    shared: Shared,
    running: Vec<Running>,
}

/// One gateway. It ends when this is dropped.
struct Running {
    service: SocketAddr,
    admin: SocketAddr,
    stop: DropGuard,
    serving: JoinHandle<()>,
}

impl Gateways {
    /// Starts `count` gateways, each on ports of its own.
    pub(super) async fn start(shared: Shared, count: usize) -> Gateways {
        let mut running = Vec::with_capacity(count);
        for _ in 0..count {
            let service = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let admin = TcpListener::bind("127.0.0.1:0").await.unwrap();
            running.push(shared.serve(service, admin).await);
        }
        Gateways { shared, running }
    }

    /// Where each serves MCP.
    pub(super) fn services(&self) -> Vec<SocketAddr> {
        self.running.iter().map(|gateway| gateway.service).collect()
    }

    /// Where each answers probes.
    pub(super) fn admins(&self) -> Vec<SocketAddr> {
        self.running.iter().map(|gateway| gateway.admin).collect()
    }

    /// Ends a gateway, calls in flight first, and starts a new one at the same addresses, which
    /// knows nothing of what the old one kept in memory.
    pub(super) async fn restart(&mut self, index: usize) {
        let old = self.running.remove(index);
        let (service, admin) = (old.service, old.admin);
        drop(old.stop);
        timeout(PATIENCE, old.serving)
            .await
            .expect("the old gateway ends in time")
            .unwrap();
        let service = TcpListener::bind(service).await.unwrap();
        let admin = TcpListener::bind(admin).await.unwrap();
        let new = self.shared.serve(service, admin).await;
        self.running.insert(index, new);
    }
}

impl Shared {
    /// A gateway on these ports that has seen a worker's tools.
    async fn serve(&self, service: TcpListener, admin: TcpListener) -> Running {
        let stores = Stores::new(&StoreConfig {
            database_url: self.database_url.clone().into(),
            database_connections: 4,
        });
        let (secret, minter) = (self.secret.clone(), self.minter.clone());
        let gateway = Gateway::new(&self.config, stores.unwrap(), secret, minter).unwrap();
        let stop = CancellationToken::new();
        let running = Running {
            service: service.local_addr().unwrap(),
            admin: admin.local_addr().unwrap(),
            stop: stop.clone().drop_guard(),
            serving: tokio::spawn({
                let gateway = gateway.clone();
                async move { gateway.serve(service, admin, stop).await.unwrap() }
            }),
        };
        assert!(
            gateway.ready(PATIENCE).await,
            "the gateway sees the worker's tools"
        );
        running
    }
}
