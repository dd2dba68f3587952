//! A relay between gateways and Postgres. It forwards all bytes, until it drops whatever Postgres sends
//! to listeners, as a lossy network does.
//!
//! It closes no connection and reports nothing.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinHandle,
};

/// The statement by which a connection becomes a listener.
const LISTEN: &[u8] = b"LISTEN ";

/// A running relay. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Relay {
    folder: TempDir,
    dropping: Arc<AtomicBool>,
    serving: JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Relay {
    /// Starts a relay to this socket. Its own socket has the same name, in a new folder.
    pub(super) fn start(socket: PathBuf) -> Relay {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join(socket.file_name().unwrap());
        let listener = UnixListener::bind(own).unwrap();
        let dropping = Arc::new(AtomicBool::new(false));
        let serving = tokio::spawn(accept(listener, socket, dropping.clone()));
        Relay {
            folder,
            dropping,
            serving,
        }
    }

    /// The folder of its socket.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether it drops what Postgres sends to listeners.
    pub(super) fn drop_notifications(&self, dropping: bool) {
        self.dropping.store(dropping, Ordering::Release);
    }
}

async fn accept(listener: UnixListener, socket: PathBuf, dropping: Arc<AtomicBool>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = UnixStream::connect(&socket).await else {
            continue;
        };
        let listens = Arc::new(AtomicBool::new(false));
        let ((from_client, to_client), (from_server, to_server)) =
            (client.into_split(), server.into_split());
        tokio::spawn(ask(from_client, to_server, listens.clone()));
        tokio::spawn(answer(from_server, to_client, listens, dropping.clone()));
    }
}

async fn ask(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    listens: Arc<AtomicBool>,
) -> io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        if piece[..length].windows(LISTEN.len()).any(|it| it == LISTEN) {
            listens.store(true, Ordering::Release);
        }
        to.write_all(&piece[..length]).await?;
    }
}

async fn answer(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    listens: Arc<AtomicBool>,
    dropping: Arc<AtomicBool>,
) -> io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        if !(listens.load(Ordering::Acquire) && dropping.load(Ordering::Acquire)) {
            to.write_all(&piece[..length]).await?;
        }
    }
}
