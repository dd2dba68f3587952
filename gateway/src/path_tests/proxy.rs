//! A door in front of a worker: what goes through it can be broken, frozen, and shut out.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

/// The life of a worker: its end breaks every connection, and the next begins at once.
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

/// A door at an address of its own.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    pub(super) life: WorkerLife,
    behind: SocketAddr,
    frozen: CancellationToken,
    open: Mutex<CancellationToken>,
}

impl Proxy {
    /// An open door before what listens behind it.
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

    /// Breaks every connection, and lets no other in.
    pub(super) fn close(&self) {
        self.open.lock().cancel();
        self.life.end();
    }

    /// Lets in again.
    pub(super) async fn open(&self) {
        *self.open.lock() = CancellationToken::new();
        self.accept(TcpListener::bind(self.address).await.unwrap());
    }

    /// Nothing passes from now on, and no connection ends.
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
