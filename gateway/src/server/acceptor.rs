//! The next connection of a listener.
//!
//! Acceptor fails when the process is out of file descriptors, and then again at once, for as
//! long as it is: so it pauses, and says so in the log only now and then. What went wrong with one
//! connection says nothing of the next, which waits for none.

use std::{io, net::IpAddr, time::Duration};

use rustix::{
    io::Errno,
    net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size},
};
#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, sleep},
};

/// Between two attempts: some file descriptors will be free in a moment.
const PAUSE: Duration = Duration::from_millis(50);
/// What the kernel takes in of a connection before it is read, in bytes (it adds as much again for
/// itself). By default that grows to megabytes: a client whose body nobody wants could still fill
/// them, over each of its connections.
const RECEIVE_BUFFER: usize = 128 * 1024;
/// The same of what goes out: a client that reads nothing could have megabytes be kept for it.
const SEND_BUFFER: usize = 128 * 1024;
/// Above this many bytes that the network has not taken yet, the kernel takes no more. So a client that
/// reads slowly is seen to read, and one that reads nothing has little kept for it.
#[cfg(target_os = "linux")]
const MAX_UNSENT: u32 = 32 * 1024;
/// How long bytes may wait for a client that acknowledges or takes none of them. Then the kernel drops
/// the connection and the bytes, also after the gateway closed it.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(30);
/// Between two lines in the log.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A listener, and what went wrong with it.
pub(super) struct Acceptor {
    listener: TcpListener,
    failures: AcceptErrors,
}

impl Acceptor {
    pub(super) fn new(listener: TcpListener) -> Self {
        Acceptor {
            listener,
            failures: AcceptErrors::default(),
        }
    }

    /// The next connection, and whose it is.
    pub(super) async fn next(&mut self) -> (TcpStream, IpAddr) {
        loop {
            let accepted = self.listener.accept().await;
            match accepted.map(|(socket, address)| (prepared(socket), address)) {
                Ok((Ok(socket), address)) => return (socket, address.ip()),
                Ok((Err(error), _)) => tracing::debug!(%error, "connection not taken"),
                Err(error) if is_of_one_connection(&error) => {
                    tracing::debug!(%error, "connection ended before it was accepted");
                }
                Err(error) => {
                    if let Some(count) = self.failures.count() {
                        tracing::warn!(%error, count, "connections not accepted");
                    }
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

/// The socket as it is served. It fails if the connection has ended meanwhile.
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

/// Whether accepting failed for the one connection that was next, which is gone with that: what
/// accept(2) says of it, and says to go on after. All else may be there the next time, too.
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

/// AcceptErrors since they were last told of.
#[derive(Default)]
struct AcceptErrors {
    untold: u64,
    told: Option<Instant>,
}

impl AcceptErrors {
    /// Counts one; how many to tell of, if it is time to.
    fn count(&mut self) -> Option<u64> {
        self.untold += 1;
        if self.told.is_some_and(|told| told.elapsed() < LOG_INTERVAL) {
            return None;
        }
        self.told = Some(Instant::now());
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_fail_again_pauses() {
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
        // Nor does it go on at once where nobody knows why it failed.
        assert!(!is_of_one_connection(&io::Error::other("unknown")));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_failure_is_told_and_then_every_10_seconds_how_many() {
        let mut failures = AcceptErrors::default();
        assert_eq!(failures.count(), Some(1));
        for _ in 0..199 {
            tokio::time::advance(PAUSE).await;
            assert_eq!(failures.count(), None);
        }
        tokio::time::advance(PAUSE).await;
        assert_eq!(failures.count(), Some(200));
        assert_eq!(failures.count(), None);
    }
}
