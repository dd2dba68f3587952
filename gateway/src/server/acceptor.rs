//! Accepts the connections of a listener.
//!
//! When the process runs out of file descriptors, accept fails and keeps failing. The acceptor then
//! pauses between attempts and rate-limits its log line. An error that concerns a single connection
//! does not delay the next one.

use std::{io, net::IpAddr, time::Duration};

use archway_resilience::LogLimit;
use rustix::{
    io::Errno,
    net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size},
};
#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};

/// Delay between two attempts: some file descriptors will be free in a moment.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes that the kernel buffers of a connection before the gateway reads them (the kernel adds as
/// much again for itself). The default grows to megabytes, which a client could fill on each of its
/// connections with a body that the gateway never reads.
const RECEIVE_BUFFER: usize = 128 * 1024;
/// The same for outgoing bytes: a client that reads nothing could otherwise pin megabytes.
const SEND_BUFFER: usize = 128 * 1024;
/// The kernel accepts no more once this many bytes are unsent. So the gateway can tell a slow
/// reader from one that reads nothing, and the latter pins little memory.
#[cfg(target_os = "linux")]
const MAX_UNSENT: u32 = 32 * 1024;
/// How long bytes may stay unacknowledged. After that the kernel drops the connection and the
/// bytes, even if the gateway has already closed it.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(30);
/// Minimum interval between two log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A listener, and the log lines about its accept errors.
pub(super) struct Acceptor {
    listener: TcpListener,
    log_limit: LogLimit,
}

impl Acceptor {
    pub(super) fn new(listener: TcpListener) -> Self {
        Acceptor {
            listener,
            log_limit: LogLimit::every(LOG_INTERVAL),
        }
    }

    /// The next connection, and the peer's address.
    pub(super) async fn next(&mut self) -> (TcpStream, IpAddr) {
        loop {
            let accepted = self.listener.accept().await;
            match accepted.map(|(socket, address)| (prepared(socket), address)) {
                Ok((Ok(socket), address)) => return (socket, address.ip()),
                Ok((Err(error), _)) => tracing::debug!(%error, "socket options could not be set"),
                Err(error) if is_of_one_connection(&error) => {
                    tracing::debug!(%error, "connection ended before it was accepted");
                }
                Err(error) => {
                    if let Some(suppressed) = self.log_limit.allow() {
                        let count = suppressed + 1;
                        tracing::warn!(%error, count, "connections not accepted");
                    }
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Sets the options of an accepted socket. Fails if the connection has ended meanwhile.
fn prepared(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_nodelay(true)?;
    set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
    set_socket_send_buffer_size(&socket, SEND_BUFFER)?;
    #[cfg(target_os = "linux")]
    {
        let options = SockRef::from(&socket);
        options.set_tcp_notsent_lowat(MAX_UNSENT)?;
        options.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIMEOUT))?;
    }
    Ok(socket)
}

/// Whether the error concerns only the connection that was next in the backlog: accept(2) lists
/// these errors and says to continue after them. Any other error may also hit the next attempt.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::CONNABORTED
                | Errno::CONNRESET
                | Errno::INTR
                | Errno::PERM
                | Errno::PROTO
                | Errno::NOPROTOOPT
                | Errno::OPNOTSUPP
                | Errno::NETDOWN
                | Errno::NETUNREACH
                | Errno::HOSTDOWN
                | Errno::HOSTUNREACH
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_that_would_recur_pause_accepting() {
        for own in [
            Errno::CONNABORTED,
            Errno::PROTO,
            Errno::PERM,
            Errno::NETDOWN,
        ] {
            assert!(is_of_one_connection(&own.into()), "{own}");
        }
        for out_of in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert!(!is_of_one_connection(&out_of.into()), "{out_of}");
        }
        // An unknown cause pauses, too.
        assert!(!is_of_one_connection(&io::Error::other("unknown")));
    }
}
