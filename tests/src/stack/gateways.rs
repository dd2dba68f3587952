//! The gateways of a stack: replicas that share database, root secret and pass key, and nothing else. A
//! gateway can be restarted at its old address, as in a rolling update. Its sockets stay bound meanwhile,
//! or another test might be given their ports.

use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
};

use archway_gateway::{
    AdminAddress, Gateway, GatewayConfig,
    secrets::RootSecret,
    store::{StoreConfig, Stores},
};
use archway_proto::pass::PassMinter;
use tokio::{task::JoinHandle, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{PATIENCE, Stack};

/// What all replicas share.
pub(super) struct Shared {
    pub(super) config: GatewayConfig,
    pub(super) database_url: String,
    pub(super) secret: Arc<RootSecret>,
    pub(super) minter: PassMinter,
}

/// All gateways of a stack, in the order of their start.
pub(super) struct Gateways {
    shared: Shared,
    running: Vec<Running>,
}

/// One gateway. Dropping it ends it.
struct Running {
    service: TcpListener,
    admin: TcpListener,
    stop: DropGuard,
    serving: JoinHandle<()>,
}

impl Gateways {
    /// Starts `count` gateways, each on ports of its own.
    pub(super) async fn start(shared: Shared, count: usize) -> Gateways {
        let mut running = Vec::with_capacity(count);
        for _ in 0..count {
            let service = TcpListener::bind("127.0.0.1:0").unwrap();
            let admin = TcpListener::bind("127.0.0.1:0").unwrap();
            running.push(shared.serve(service, admin).await);
        }
        Gateways { shared, running }
    }

    /// The MCP address of each.
    pub(super) fn services(&self) -> Vec<SocketAddr> {
        let sockets = self.running.iter().map(|gateway| &gateway.service);
        sockets.map(|it| it.local_addr().unwrap()).collect()
    }

    /// The root secret of all of them.
    pub(super) fn secret(&self) -> &RootSecret {
        &self.shared.secret
    }

    /// The admin address of each.
    pub(super) fn admins(&self) -> Vec<SocketAddr> {
        let sockets = self.running.iter().map(|gateway| &gateway.admin);
        sockets.map(|it| it.local_addr().unwrap()).collect()
    }

    /// Stops a gateway gracefully, and closes its sockets.
    pub(super) async fn stop(&mut self, index: usize) {
        self.running.remove(index).stop().await;
    }

    /// Stops a gateway gracefully and starts a new one at the same addresses, with empty caches.
    pub(super) async fn restart(&mut self, index: usize) {
        let (service, admin) = self.running.remove(index).stop().await;
        let new = self.shared.serve(service, admin).await;
        self.running.insert(index, new);
    }
}

impl Running {
    /// Stops the gateway. Returns its sockets.
    async fn stop(self) -> (TcpListener, TcpListener) {
        drop(self.stop);
        timeout(PATIENCE, self.serving)
            .await
            .expect("the gateway ends in time")
            .unwrap();
        (self.service, self.admin)
    }
}

impl Stack {
    /// Stops a gateway gracefully. Those after it move up.
    pub async fn stop(&mut self, gateway: usize) {
        self.gateways.stop(gateway).await;
    }

    /// Stops a gateway gracefully and starts a new one at the same addresses, with empty caches.
    pub async fn restart(&mut self, gateway: usize) {
        self.gateways.restart(gateway).await;
    }
}

impl Shared {
    /// Starts a gateway on these sockets and waits until it lists a worker's tools.
    async fn serve(&self, service: TcpListener, admin: TcpListener) -> Running {
        let stores = Stores::new(&StoreConfig {
            database_url: self.database_url.clone().into(),
            database_connections: 4,
        });
        let (secret, minter) = (self.secret.clone(), self.minter.clone());
        let mut gateway = Gateway::new(&self.config, stores.unwrap(), secret, minter).unwrap();
        // The page reads what gateways say about themselves from the database.
        if self.config.console.console {
            gateway = gateway.with_admin_address(AdminAddress {
                host: "test".to_owned(),
                address: admin.local_addr().unwrap(),
            });
        }
        let stop = CancellationToken::new();
        let (clients, probes) = (shared(&service), shared(&admin));
        let running = Running {
            service,
            admin,
            stop: stop.clone().drop_guard(),
            serving: tokio::spawn({
                let gateway = gateway.clone();
                async move { gateway.serve(clients, probes, stop).await.unwrap() }
            }),
        };
        assert!(
            gateway.ready(PATIENCE).await,
            "the gateway sees the worker's tools"
        );
        running
    }
}

/// A duplicate of a socket. The original stays bound when this one is closed.
fn shared(socket: &TcpListener) -> tokio::net::TcpListener {
    socket.set_nonblocking(true).unwrap();
    tokio::net::TcpListener::from_std(socket.try_clone().unwrap()).unwrap()
}
