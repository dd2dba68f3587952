//! The connection to Qdrant: made when it is first needed, and again whenever it broke.
//!
//! The services that `qdrant-client` generates are used over a channel of ours, since its own
//! client has one time limit for all requests, takes answers of any size, and notices only by
//! them that a server went silent. Each request here says itself until when it is of use, to the
//! server too, which then stops working on it.

use std::{any::type_name, time::Duration};

use archway_proto::trace::{Span, status_name};
use opentelemetry::{
    KeyValue,
    trace::{SpanBuilder, SpanKind},
};
use qdrant_client::qdrant::{
    collections_client::CollectionsClient, points_client::PointsClient, qdrant_client::QdrantClient,
};
use tokio::time::{Instant, timeout_at};
use tonic::{
    Code, Request, Response, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::Channel,
};

use super::{pause::Pause, server::QdrantServer};
use crate::index::home::HomeError;

/// Who did not answer for so long is away; with less time, the caller was in a hurry.
const PATIENCE: Duration = Duration::from_secs(1);

/// The connection, and whether it is of use now.
pub(super) struct Line {
    channel: Channel,
    key: Option<MetadataValue<Ascii>>,
    pause: Pause,
}

/// Says the key with each request.
#[derive(Clone)]
pub(super) struct Key(Option<MetadataValue<Ascii>>);

impl Interceptor for Key {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("api-key", key.clone());
        }
        Ok(request)
    }
}

type Service = InterceptedService<Channel, Key>;

/// The services of Qdrant, for one request.
pub(super) struct Services(Service);

impl Services {
    pub(super) fn points(self) -> PointsClient<Service> {
        PointsClient::new(self.0)
    }

    pub(super) fn collections(self) -> CollectionsClient<Service> {
        CollectionsClient::new(self.0)
    }

    pub(super) fn server(self) -> QdrantClient<Service> {
        QdrantClient::new(self.0)
    }
}

/// What is asked, in the words of an error, and until when an answer is of use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) what: &'static str,
    pub(super) until: Instant,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server said so, or the way to it.
    Said(Status),
    /// It did not answer in time.
    Late,
    /// It was away a moment ago, and was not asked.
    Paused,
}

/// What an error is caused by, where the server was not asked.
#[derive(Debug, thiserror::Error)]
#[error("it was away less than a second ago, and is asked again after that")]
struct WasAway;

impl Line {
    /// A way to the server. Connects to nothing yet; wants a runtime, on which the connection then
    /// is.
    pub(super) fn new(server: &QdrantServer) -> Self {
        Line {
            channel: server.endpoint.connect_lazy(),
            key: server.key.clone(),
            pause: Pause::default(),
        }
    }

    /// Asks, unless the server was away a moment ago.
    pub(super) async fn ask<Q, A, F>(
        &self,
        asking: Asking,
        message: Q,
        send: impl FnOnce(Services, Request<Q>) -> F,
    ) -> Result<A, Failure>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let begun = Instant::now();
        if !self.pause.admits(begun) {
            return Err(Failure::Paused);
        }
        let service = InterceptedService::new(self.channel.clone(), Key(self.key.clone()));
        let mut request = Request::new(message);
        request.set_timeout(asking.until.saturating_duration_since(begun));
        let span = span::<Q>();
        let answer = timeout_at(asking.until, send(Services(service), request)).await;
        let answer = match answer {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) if is_late(&status, asking) => Err(Failure::Late),
            Ok(Err(status)) => Err(Failure::Said(status)),
            Err(_elapsed) => Err(Failure::Late),
        };
        self.remember(begun, answer.as_ref().err());
        match &answer {
            Ok(_) => {}
            Err(Failure::Said(status)) => span.fail(status_name(status.code())),
            Err(Failure::Late | Failure::Paused) => span.fail("timeout"),
        }
        answer
    }

    /// Whether the server is there, by what became of a request. One that was too much for it may be
    /// the doing of who asked, and holds up no other; several after one another are the server's.
    fn remember(&self, begun: Instant, failure: Option<&Failure>) {
        let now = Instant::now();
        match failure {
            Some(Failure::Said(status)) if is_broken(status) => self.pause.begin(now),
            Some(Failure::Said(status)) if is_away(status.code()) => self.pause.doubt(now),
            Some(Failure::Late) if now - begun >= PATIENCE => self.pause.doubt(now),
            Some(Failure::Late | Failure::Paused) => {}
            Some(Failure::Said(_)) | None => self.pause.end(),
        }
    }
}

impl Failure {
    /// As callers are told.
    pub(super) fn of(self, what: &'static str) -> HomeError {
        match self {
            Failure::Late => HomeError::Late(what),
            Failure::Paused => HomeError::Away {
                what,
                source: Box::new(WasAway),
            },
            Failure::Said(status) if is_away(status.code()) => HomeError::Away {
                what,
                source: Box::new(status),
            },
            Failure::Said(status) => HomeError::Refused {
                what,
                source: Box::new(status),
            },
        }
    }

    /// Whether what was asked for is not there.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Failure::Said(status) if status.code() == Code::NotFound)
    }

    /// Whether the server could not do it now.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Failure::Said(status) => is_away(status.code()),
            Failure::Late | Failure::Paused => true,
        }
    }
}

/// What is recorded of a request, where anything is: which it is, and nothing of what it holds.
fn span<Q>() -> Span {
    Span::child(|| {
        let request = type_name::<Q>().rsplit("::").next().unwrap_or_default();
        SpanBuilder::from_name(request)
            .with_kind(SpanKind::Client)
            .with_attributes([
                KeyValue::new("db.system.name", "qdrant"),
                KeyValue::new("db.operation.name", request),
            ])
    })
}

/// Whether the time was up, by either side's clock. Tonic's own says it in the words for a call that
/// was given up.
fn is_late(status: &Status, asking: Asking) -> bool {
    match status.code() {
        Code::DeadlineExceeded => true,
        Code::Cancelled => Instant::now() >= asking.until,
        _ => false,
    }
}

/// Whether the way to the server broke, or it says itself that nobody can ask it.
fn is_broken(status: &Status) -> bool {
    status.code() == Code::Unavailable || std::error::Error::source(status).is_some()
}

/// Whether a code says that the server can't now, rather than won't.
fn is_away(code: Code) -> bool {
    match code {
        Code::Unavailable
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::Internal
        | Code::DataLoss
        | Code::Cancelled
        | Code::Unknown => true,
        Code::Ok
        | Code::DeadlineExceeded
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Unauthenticated => false,
    }
}
