//! A TCP proxy in front of a worker, whose connections a test can break, freeze and refuse.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

/// One life of a worker: its end breaks every connection, and the next life begins at once.
#[derive(Clone, Default)]
pub(super) struct WorkerLife(Arc<Mutex<CancellationToken>>);

impl WorkerLife {
    pub(super) fn end(&self) {
        std::mem::take(&mut *self.0.lock()).cancel();
    }

    fn current(&self) -> CancellationToken {
        self.0.lock().clone()
    }
}

/// A proxy with an address of its own.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    pub(super) life: WorkerLife,
    behind: SocketAddr,
    frozen: CancellationToken,
    open: Mutex<CancellationToken>,
}

impl Proxy {
    /// A proxy that accepts connections for `behind`.
    pub(super) async fn before(behind: SocketAddr, life: WorkerLife) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let door = Proxy {
            address: listener.local_addr().unwrap(),
            life,
            behind,
            frozen: CancellationToken::new(),
            open: Mutex::default(),
        };
        door.accept(listener);
        door
    }

    /// Breaks every connection and refuses new ones.
    pub(super) fn close(&self) {
        self.open.lock().cancel();
        self.life.end();
    }

    /// Accepts connections again.
    pub(super) async fn open(&self) {
        *self.open.lock() = CancellationToken::new();
        self.accept(TcpListener::bind(self.address).await.unwrap());
    }

    /// Stops forwarding without closing any connection.
    pub(super) fn freeze(&self) {
        self.frozen.cancel();
    }

    fn accept(&self, listener: TcpListener) {
        let (life, behind, frozen) = (self.life.clone(), self.behind, self.frozen.clone());
        let closed = self.open.lock().clone();
        let accepting = async move {
            while let Ok((socket, _)) = listener.accept().await {
                let passing = pass(socket, behind, frozen.clone());
                let ended = life.current().cancelled_owned();
                tokio::spawn(async move {
                    tokio::select! {
                        () = ended => {}
                        () = passing => {}
                    }
                });
            }
        };
        tokio::spawn(async move {
            tokio::select! {
                () = closed.cancelled() => {}
                () = accepting => {}
            }
        });
    }
}

async fn pass(mut outer: TcpStream, behind: SocketAddr, frozen: CancellationToken) {
    let Ok(mut inner) = TcpStream::connect(behind).await else {
        return;
    };
    tokio::select! {
        _ended = copy_bidirectional(&mut outer, &mut inner) => {}
        () = frozen.cancelled() => std::future::pending().await,
    }
}
