//! Connections that open with TLS.
//!
//! What a reader would get wrong: the handshake happens when the connection is first read or
//! written, not when it is accepted. So a slow handshake delays no other connection, and the
//! opening timer of the connection bounds it.

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
pub(in crate::server) struct TlsListener<L> {
    listener: L,
    acceptor: TlsAcceptor,
    logged: Arc<AtomicBool>,
}

impl<L> TlsListener<L> {
    pub(in crate::server) fn new(listener: L, tls: &Tls) -> Self {
        TlsListener {
            listener,
            acceptor: tls.acceptor.clone(),
            logged: Arc::default(),
        }
    }
}

impl<L: Accept> Accept for TlsListener<L> {
    type Io = TlsConnection<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (socket, address) = self.listener.accept().await;
        let io = TlsConnection {
            stage: Stage::Opening(Box::new(self.acceptor.accept(socket))),
            logged: Arc::clone(&self.logged),
        };
        (io, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that opens with TLS.
pub(in crate::server) struct TlsConnection<S> {
    stage: Stage<S>,
    /// Whether a failed handshake was logged since the last one that succeeded.
    logged: Arc<AtomicBool>,
}

enum Stage<S> {
    Opening(Box<tokio_rustls::Accept<S>>),
    Open(Box<TlsStream<S>>),
    Failed,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsConnection<S> {
    fn open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut TlsStream<S>>>> {
        if let Stage::Opening(accept) = &mut self.stage {
            match ready!(Pin::new(accept.as_mut()).poll(cx)) {
                Ok(stream) => {
                    self.logged.store(false, Ordering::Relaxed);
                    self.stage = Stage::Open(Box::new(stream));
                }
                Err(error) => {
                    self.stage = Stage::Failed;
                    if !self.logged.swap(true, Ordering::Relaxed) {
                        let error = Chain(&error).to_string();
                        tracing::warn!(
                            error,
                            "a connection did not open with TLS: gateways need --worker-ca with this certificate's authority"
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

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsConnection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.open(cx))?.poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsConnection<S> {
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
            // Nothing was written yet.
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

impl<S> Connected for TlsConnection<S> {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}
