//! How an attempt ended without its answer, as its status shows. Whether a call may be retried
//! depends on nothing else.
//!
//! What a reader would get wrong: the status code does not tell. tonic uses `Unavailable`,
//! `Cancelled`, `Internal` and `Unknown` for broken connections, and a worker may send each of them
//! itself. The chain of causes does tell: only a status that was made locally has one.

use std::{error::Error, io};

use archway_proto::context::NOT_BEGUN;
use tonic::{Code, Status};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    /// No connection to the worker: nothing was started.
    NotConnected,
    /// The worker did not start the call, and said so.
    NotBegun,
    /// The connection broke; the outcome is unknown.
    ConnectionLost,
    /// The worker reset this stream only.
    StreamReset,
    /// The deadline sent with the call passed before the worker began to answer.
    TimedOut,
    /// The worker answered with a status of its own.
    Answered,
}

impl AttemptEnd {
    pub(super) fn of(status: &Status) -> Self {
        if status.metadata().contains_key(NOT_BEGUN) {
            return AttemptEnd::NotBegun;
        }
        let causes = std::iter::successors(status.source(), |cause| (*cause).source());
        causes
            .filter_map(of_cause)
            // The innermost cause is closest to the wire: h2's within hyper's within tonic's.
            .reduce(|outer, inner| {
                if outer == AttemptEnd::ConnectionLost {
                    inner
                } else {
                    outer
                }
            })
            .unwrap_or(AttemptEnd::Answered)
    }
}

/// Whether the worker rejected the pass and started nothing: its keys, its pool or its clock differ
/// from this gateway's.
pub(super) fn is_pass_rejected(status: &Status) -> bool {
    status.code() == Code::Unauthenticated && AttemptEnd::of(status) == AttemptEnd::NotBegun
}

fn of_cause(cause: &(dyn Error + 'static)) -> Option<AttemptEnd> {
    if cause.is::<tonic::ConnectError>() {
        return Some(AttemptEnd::NotConnected);
    }
    if cause.is::<tonic::TimeoutExpired>() {
        // tonic's channel enforces the `grpc-timeout` that it sends.
        return Some(AttemptEnd::TimedOut);
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        // "Canceled" requests were still queued for the connection.
        return Some(match error.is_canceled() {
            true => AttemptEnd::NotBegun,
            false => AttemptEnd::ConnectionLost,
        });
    }
    if let Some(error) = cause.downcast_ref::<h2::Error>() {
        return Some(of_h2(error));
    }
    cause
        .is::<io::Error>()
        .then_some(AttemptEnd::ConnectionLost)
}

fn of_h2(error: &h2::Error) -> AttemptEnd {
    let refused = error.reason() == Some(h2::Reason::REFUSED_STREAM);
    if error.is_remote() && (error.is_go_away() || refused) {
        // A GOAWAY reaches only streams beyond the last one that the sender accepted (RFC 9113,
        // 6.8). Streams before it end with the connection, as a read error.
        return AttemptEnd::NotBegun;
    }
    if error.is_reset() {
        AttemptEnd::StreamReset
    } else {
        AttemptEnd::ConnectionLost
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    #[test]
    fn a_status_from_the_worker_is_an_answer() {
        for status in [
            Status::unavailable("x"),
            Status::internal("x"),
            Status::cancelled("x"),
        ] {
            assert_eq!(AttemptEnd::of(&status), AttemptEnd::Answered);
        }
        let mut not_begun = Status::unavailable("x");
        not_begun
            .metadata_mut()
            .insert(NOT_BEGUN, "1".parse().unwrap());
        assert_eq!(AttemptEnd::of(&not_begun), AttemptEnd::NotBegun);
    }

    /// How a server treats a request.
    #[derive(Clone, Copy)]
    enum ServerBehavior {
        Reset(h2::Reason),
        /// Shuts down cleanly without accepting this request.
        GoAway,
        Break,
    }

    /// The status of a request that is treated this way, over real HTTP/2.
    async fn status_of(behavior: ServerBehavior) -> Status {
        let (near, far) = duplex(64 * 1024);
        tokio::spawn(async move {
            let mut connection = h2::server::handshake(far).await.unwrap();
            if let ServerBehavior::GoAway = behavior {
                connection.abrupt_shutdown(h2::Reason::NO_ERROR);
            }
            while let Some(Ok((_request, mut respond))) = connection.accept().await {
                match behavior {
                    ServerBehavior::Reset(reason) => respond.send_reset(reason),
                    ServerBehavior::GoAway => {}
                    ServerBehavior::Break => return,
                }
            }
        });
        let (client, connection) = h2::client::handshake(near).await.unwrap();
        let mut client = client.ready().await.unwrap();
        let request = http::Request::get("http://worker/").body(()).unwrap();
        let (answer, _body) = client.send_request(request, true).unwrap();
        // The client reads only from here on: the request was already sent.
        tokio::spawn(connection);
        Status::from_error(Box::new(answer.await.unwrap_err()))
    }

    #[tokio::test]
    async fn streams_that_never_began_are_told_from_broken_ones() {
        for (behavior, ending) in [
            (
                ServerBehavior::Reset(h2::Reason::REFUSED_STREAM),
                AttemptEnd::NotBegun,
            ),
            (ServerBehavior::GoAway, AttemptEnd::NotBegun),
            (
                ServerBehavior::Reset(h2::Reason::CANCEL),
                AttemptEnd::StreamReset,
            ),
            (
                ServerBehavior::Reset(h2::Reason::INTERNAL_ERROR),
                AttemptEnd::StreamReset,
            ),
            (ServerBehavior::Break, AttemptEnd::ConnectionLost),
        ] {
            let status = status_of(behavior).await;
            assert_eq!(AttemptEnd::of(&status), ending, "{status:?}");
        }
    }
}
