//! One gateway's connection: the timer of its opening, and its end if it resets calls too fast.
//!
//! What a reader would get wrong: HTTP/2's keepalive, which ends connections of dead gateways,
//! starts after the preface. Until then only the timer here ends a silent connection, and each
//! connection holds a permit.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::{OwnedSemaphorePermit, watch},
    time::{Sleep, sleep},
};
use tonic::transport::server::Connected;

use super::resets::Resets;

/// How long a connection may take to send the preface.
pub(super) const OPENING_TIMEOUT: Duration = Duration::from_secs(10);
/// The length of the preface of every HTTP/2 connection (RFC 9113, 3.4).
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
/// How long the peer has to read why its connection ends. If the socket were closed while bytes are
/// unread, TCP would discard the reason.
const LINGER: Duration = Duration::from_secs(1);

/// A gateway's connection. Dropping it releases its permit.
pub(super) struct Connection<S> {
    socket: S,
    /// Set until the preface was read.
    opening: Option<Opening>,
    resets: Resets,
    /// Set after too many resets: until then the connection is read and its bytes are discarded.
    ending: Option<Pin<Box<Sleep>>>,
    /// The number of open connections.
    open: watch::Sender<usize>,
    _permit: OwnedSemaphorePermit,
}

struct Opening {
    missing: usize,
    timer: Pin<Box<Sleep>>,
}

impl<S> Connection<S> {
    pub(super) fn new(socket: S, permit: OwnedSemaphorePermit, open: watch::Sender<usize>) -> Self {
        open.send_modify(|open| *open += 1);
        let opening = Opening {
            missing: PREFACE,
            timer: Box::pin(sleep(OPENING_TIMEOUT)),
        };
        Connection {
            socket,
            opening: Some(opening),
            resets: Resets::after(PREFACE),
            ending: None,
            open,
            _permit: permit,
        }
    }

    fn received(&mut self, bytes: usize) {
        if let Some(opening) = &mut self.opening {
            opening.missing = opening.missing.saturating_sub(bytes);
            if opening.missing == 0 {
                self.opening = None;
            }
        }
    }

    /// Returns the result of an operation on the socket, or an error if it is pending when the
    /// opening timer fires. Writes count too: the server writes first, and with TLS a write waits
    /// for reads.
    fn in_time<T>(
        &mut self,
        done: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        match (&mut self.opening, done) {
            (Some(opening), Poll::Pending) => {
                ready!(opening.timer.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            (_, done) => done,
        }
    }
}

impl<S: AsyncWrite + Unpin> Connection<S> {
    /// Sends the reason for which the connection ends, unless a frame is half written: a peer that
    /// does not read would not read the reason either.
    fn end(&mut self, cx: &mut Context<'_>) {
        tracing::warn!("closing a connection that resets calls too fast");
        if self.resets.may_send() {
            let go_away = self.resets.go_away();
            let written = Pin::new(&mut self.socket).poll_write(cx, &go_away);
            let flushed =
                written.is_ready() && Pin::new(&mut self.socket).poll_flush(cx).is_ready();
            tracing::debug!(flushed, "sent GOAWAY");
        }
        self.ending = Some(Box::pin(sleep(LINGER)));
        // The socket must be read from now on, also if the last operation was a write.
        cx.waker().wake_by_ref();
    }
}

impl<S: AsyncRead + Unpin> Connection<S> {
    /// Reads and discards bytes until the peer closes the connection or the timer fires.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let over = || Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        if let Some(ending) = &mut self.ending
            && ending.as_mut().poll(cx).is_ready()
        {
            return over();
        }
        let mut unread = [0; 4096];
        let mut buffer = ReadBuf::new(&mut unread);
        ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buffer))?;
        if buffer.filled().is_empty() {
            return over();
        }
        // One read per wake-up, so that other connections get their turn.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<S> Drop for Connection<S> {
    fn drop(&mut self) {
        self.open.send_modify(|open| *open -= 1);
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ending.is_some() {
            return self.linger(cx);
        }
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.socket).poll_read(cx, buffer);
        let bytes = buffer.filled().get(before..).unwrap_or_default();
        self.received(bytes.len());
        if !self.resets.allow(bytes) {
            buffer.set_filled(before);
            self.end(cx);
            return self.linger(cx);
        }
        self.in_time(done, cx)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.ending.is_some() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let done = Pin::new(&mut self.socket).poll_write(cx, bytes);
        if let Poll::Ready(Ok(written)) = &done {
            let sent = bytes.get(..*written).unwrap_or_default();
            if !self.resets.allow_sent(sent) {
                self.end(cx);
            }
        }
        self.in_time(done, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.ending.is_some() {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let done = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        if let Poll::Ready(Ok(written)) = &done {
            let mut written = *written;
            let mut is_allowed = true;
            for slice in slices {
                let sent = slice.get(..written.min(slice.len())).unwrap_or_default();
                is_allowed &= self.resets.allow_sent(sent);
                written -= sent.len();
            }
            if !is_allowed {
                self.end(cx);
            }
        }
        self.in_time(done, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.socket).poll_flush(cx);
        self.in_time(done, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

impl<S: Connected> Connected for Connection<S> {
    type ConnectInfo = S::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.socket.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        sync::Semaphore,
        time::{Instant, timeout},
    };

    use super::*;

    async fn connected() -> (Connection<DuplexStream>, DuplexStream) {
        let (server_side, gateway_side) = duplex(64);
        let permit = Arc::new(Semaphore::new(1)).acquire_owned().await;
        let open = watch::Sender::new(0);
        (
            Connection::new(server_side, permit.unwrap(), open),
            gateway_side,
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_preface_is_not_whole_ends_after_10_seconds() {
        let (mut connection, mut gateway) = connected().await;
        gateway.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
        let started = Instant::now();
        let read = connection.read_to_end(&mut Vec::new()).await;
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed().as_secs(), OPENING_TIMEOUT.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_sent_the_preface_may_be_silent() {
        let (mut connection, mut gateway) = connected().await;
        for piece in [&b"PRI * HTTP/2.0"[..], b"\r\n\r\nSM\r\n\r\n"] {
            gateway.write_all(piece).await.unwrap();
            connection.read_buf(&mut Vec::new()).await.unwrap();
        }
        let silence = timeout(10 * OPENING_TIMEOUT, connection.read_u8()).await;
        assert!(silence.is_err(), "{silence:?}");
    }
}
