//! Connections that open with TLS.
//!
//! What a reader would get wrong: the handshake is made as the connection is first read or
//! written, not as it is accepted. So it keeps no other waiting, and has the time that the opening
//! of a connection has.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use archway_proto::chain::Chain;
use axum::serve::Listener as Accept;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tonic::transport::server::Connected;

use super::Tls;

/// Accepts connections that open with TLS.
pub(in crate::server) struct Secured<L> {
    listener: L,
    acceptor: TlsAcceptor,
    told: Arc<AtomicBool>,
}

impl<L> Secured<L> {
    pub(in crate::server) fn new(listener: L, tls: &Tls) -> Self {
        Secured {
            listener,
            acceptor: tls.acceptor.clone(),
            told: Arc::default(),
        }
    }
}

impl<L: Accept> Accept for Secured<L> {
    type Io = SecuredIo<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (socket, address) = self.listener.accept().await;
        let io = SecuredIo {
            stage: Stage::Opening(Box::new(self.acceptor.accept(socket))),
            told: Arc::clone(&self.told),
        };
        (io, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that opens with TLS.
pub(in crate::server) struct SecuredIo<S> {
    stage: Stage<S>,
    /// Whether the log has it that gateways fail to.
    told: Arc<AtomicBool>,
}

enum Stage<S> {
    Opening(Box<tokio_rustls::Accept<S>>),
    Open(Box<TlsStream<S>>),
    Failed,
}

impl<S: AsyncRead + AsyncWrite + Unpin> SecuredIo<S> {
    fn open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut TlsStream<S>>>> {
        if let Stage::Opening(accept) = &mut self.stage {
            match ready!(Pin::new(accept.as_mut()).poll(cx)) {
                Ok(stream) => {
                    self.told.store(false, Ordering::Relaxed);
                    self.stage = Stage::Open(Box::new(stream));
                }
                Err(error) => {
                    self.stage = Stage::Failed;
                    if !self.told.swap(true, Ordering::Relaxed) {
                        let error = Chain(&error).to_string();
                        tracing::warn!(
                            error,
                            "a connection did not open with TLS: gateways need --worker-ca with our authority"
                        );
                    }
                    return Poll::Ready(Err(error));
                }
            }
        }
        match &mut self.stage {
            Stage::Open(stream) => Poll::Ready(Ok(Pin::new(stream.as_mut()))),
            Stage::Opening(_) | Stage::Failed => {
                Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for SecuredIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.open(cx))?.poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for SecuredIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.open(cx))?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.open(cx))?.poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stage {
            Stage::Open(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
            // Nothing was taken yet.
            Stage::Opening(_) | Stage::Failed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stage {
            Stage::Open(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            Stage::Opening(accept) => match accept.get_mut() {
                Some(socket) => Pin::new(socket).poll_shutdown(cx),
                None => Poll::Ready(Ok(())),
            },
            Stage::Failed => Poll::Ready(Ok(())),
        }
    }
}

impl<S> Connected for SecuredIo<S> {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}
