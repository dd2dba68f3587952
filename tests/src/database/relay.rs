//! What stands between gateways and Postgres where a test wants it: it passes everything on, until it
//! swallows all that is said to those who listen for changes, as a network does that drops packets.
//!
//! Nobody's connection ends by it, and nobody is told.

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

/// What whoever listens begins with.
const LISTEN: &[u8] = b"LISTEN ";

/// A relay; it ends with this value.
#[derive(Debug)]
pub(super) struct Relay {
    folder: TempDir,
    deaf: Arc<AtomicBool>,
    serving: JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Relay {
    /// In front of this socket, under the same name in a folder of its own.
    pub(super) fn start(socket: PathBuf) -> Relay {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join(socket.file_name().unwrap());
        let listener = UnixListener::bind(own).unwrap();
        let deaf = Arc::new(AtomicBool::new(false));
        let serving = tokio::spawn(accept(listener, socket, deaf.clone()));
        Relay {
            folder,
            deaf,
            serving,
        }
    }

    /// The folder of its socket.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether those who listen hear nothing from now on.
    pub(super) fn be_deaf(&self, deaf: bool) {
        self.deaf.store(deaf, Ordering::Release);
    }
}

async fn accept(listener: UnixListener, socket: PathBuf, deaf: Arc<AtomicBool>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = UnixStream::connect(&socket).await else {
            continue;
        };
        let listens = Arc::new(AtomicBool::new(false));
        let ((from_client, to_client), (from_server, to_server)) =
            (client.into_split(), server.into_split());
        tokio::spawn(ask(from_client, to_server, listens.clone()));
        tokio::spawn(answer(from_server, to_client, listens, deaf.clone()));
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
    deaf: Arc<AtomicBool>,
) -> io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        if !(listens.load(Ordering::Acquire) && deaf.load(Ordering::Acquire)) {
            to.write_all(&piece[..length]).await?;
        }
    }
}
