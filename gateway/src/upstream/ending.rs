//! How a try of a call ended without its answer, as far as its status tells: what may be done
//! again depends on nothing else.
//!
//! What a reader would get wrong: the code of a status does not tell. tonic gives `Unavailable`,
//! `Cancelled`, `Internal` and `Unknown` to connections that broke, and a worker may send each of
//! them itself. The chain of causes does: only a status that was made here has one.

use std::{error::Error, io};

use archway_proto::context::NOT_BEGUN;
use tonic::{Code, Status};

/// How a try ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// No connection to its worker could be had: nothing was begun.
    Unreached,
    /// Its worker did not take it up, and said so: nothing was begun.
    TurnedAway,
    /// Its connection broke, and what became of it is unknown.
    Lost,
    /// Its worker gave it up, and nothing but it.
    Reset,
    /// The deadline that travels with it passed before its worker began to answer.
    Late,
    /// Its worker answered: with a status of its own.
    Answered,
}

impl Ending {
    pub(super) fn of(status: &Status) -> Self {
        if status.metadata().contains_key(NOT_BEGUN) {
            return Ending::TurnedAway;
        }
        let causes = std::iter::successors(status.source(), |cause| (*cause).source());
        causes
            .filter_map(of_cause)
            // The last word is nearest to the wire: h2's within hyper's within tonic's.
            .reduce(|outer, inner| if outer == Ending::Lost { inner } else { outer })
            .unwrap_or(Ending::Answered)
    }
}

/// Whether the worker did not believe the pass, and began nothing: it has other keys than this
/// gateway, another pool, or another time.
pub(super) fn is_disbelief(status: &Status) -> bool {
    status.code() == Code::Unauthenticated && Ending::of(status) == Ending::TurnedAway
}

fn of_cause(cause: &(dyn Error + 'static)) -> Option<Ending> {
    if cause.is::<tonic::ConnectError>() {
        return Some(Ending::Unreached);
    }
    if cause.is::<tonic::TimeoutExpired>() {
        // tonic's channel reads the `grpc-timeout` that it sends.
        return Some(Ending::Late);
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        // "Canceled" are requests that still waited for their turn on the connection.
        return Some(match error.is_canceled() {
            true => Ending::TurnedAway,
            false => Ending::Lost,
        });
    }
    if let Some(error) = cause.downcast_ref::<h2::Error>() {
        return Some(of_h2(error));
    }
    cause.is::<io::Error>().then_some(Ending::Lost)
}

fn of_h2(error: &h2::Error) -> Ending {
    let refused = error.reason() == Some(h2::Reason::REFUSED_STREAM);
    if error.is_remote() && (error.is_go_away() || refused) {
        // A GOAWAY reaches only streams beyond the last that its sender took up (RFC 9113, 6.8);
        // those before it end with the connection, as an error of reading.
        return Ending::TurnedAway;
    }
    if error.is_reset() {
        Ending::Reset
    } else {
        Ending::Lost
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    #[test]
    fn what_a_worker_says_itself_is_an_answer() {
        for status in [
            Status::unavailable("x"),
            Status::internal("x"),
            Status::cancelled("x"),
        ] {
            assert_eq!(Ending::of(&status), Ending::Answered);
        }
        let mut turned_away = Status::unavailable("x");
        turned_away
            .metadata_mut()
            .insert(NOT_BEGUN, "1".parse().unwrap());
        assert_eq!(Ending::of(&turned_away), Ending::TurnedAway);
    }

    /// What a server does with a request.
    #[derive(Clone, Copy)]
    enum Treatment {
        Reset(h2::Reason),
        /// It ends in good order, without this one.
        GoAway,
        Break,
    }

    /// The status of a request that is treated like this, over real HTTP/2.
    async fn status_of(treatment: Treatment) -> Status {
        let (near, far) = duplex(64 * 1024);
        tokio::spawn(async move {
            let mut connection = h2::server::handshake(far).await.unwrap();
            if let Treatment::GoAway = treatment {
                connection.abrupt_shutdown(h2::Reason::NO_ERROR);
            }
            while let Some(Ok((_request, mut respond))) = connection.accept().await {
                match treatment {
                    Treatment::Reset(reason) => respond.send_reset(reason),
                    Treatment::GoAway => {}
                    Treatment::Break => return,
                }
            }
        });
        let (client, connection) = h2::client::handshake(near).await.unwrap();
        let mut client = client.ready().await.unwrap();
        let request = http::Request::get("http://worker/").body(()).unwrap();
        let (answer, _body) = client.send_request(request, true).unwrap();
        // Only now does the client hear anything: the request is on its way already.
        tokio::spawn(connection);
        Status::from_error(Box::new(answer.await.unwrap_err()))
    }

    #[tokio::test]
    async fn what_was_not_taken_up_is_told_from_what_broke() {
        for (treatment, ending) in [
            (
                Treatment::Reset(h2::Reason::REFUSED_STREAM),
                Ending::TurnedAway,
            ),
            (Treatment::GoAway, Ending::TurnedAway),
            (Treatment::Reset(h2::Reason::CANCEL), Ending::Reset),
            (Treatment::Reset(h2::Reason::INTERNAL_ERROR), Ending::Reset),
            (Treatment::Break, Ending::Lost),
        ] {
            let status = status_of(treatment).await;
            assert_eq!(Ending::of(&status), ending, "{status:?}");
        }
    }
}
