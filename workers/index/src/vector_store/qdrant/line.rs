//! The connection to Qdrant: made when it is first needed, and again whenever it broke.
//!
//! The services that `qdrant-client` generates are used over a channel of ours, since its own
//! client has one time limit for all requests, takes answers of any size, and notices only by
//! them that a server went silent. Each request here says itself until when it is of use, to the
//! server too, which then stops working on it.

use std::{any::type_name, sync::Arc, time::Duration};

use archway_proto::trace::{Span, status_name};
use archway_resilience::Outcome;
use opentelemetry::{
    KeyValue,
    trace::{SpanBuilder, SpanKind},
};
use qdrant_client::qdrant::{
    HealthCheckReply, HealthCheckRequest, collections_client::CollectionsClient,
    points_client::PointsClient, qdrant_client::QdrantClient,
};
use tokio::time::{Instant, timeout_at};
use tonic::{
    Request, Response, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::Channel,
};

use super::{
    circuit::{CircuitBreaker, circuit_breaker},
    crowd::{Crowd, Entry, Place},
    failure::{Asking, Failure, is_away, is_broken, is_late},
    server::QdrantServer,
};

/// Who did not answer for so long is away; with less time, the caller was in a hurry.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a search waits for a sign of life before it is told that there is none.
const SIGN: Duration = Duration::from_millis(100);

/// The connection, and whether it is of use now.
pub(super) struct Line {
    channel: Channel,
    key: Option<MetadataValue<Ascii>>,
    breaker: CircuitBreaker,
    crowd: Arc<Crowd>,
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

impl Line {
    /// A way to the server. Connects to nothing yet; wants a runtime, on which the connection then
    /// is.
    pub(super) fn new(server: &QdrantServer) -> Self {
        Line {
            channel: server.endpoint.connect_lazy(),
            key: server.key.clone(),
            breaker: circuit_breaker(),
            crowd: Arc::default(),
        }
    }

    /// A place among the searches under way, or a refusal soon: only a few wait for a server that
    /// says nothing.
    pub(super) async fn place(self: &Arc<Self>) -> Result<Place, Failure> {
        let until = Instant::now() + SIGN;
        loop {
            let news = self.crowd.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if self.breaker.is_refusing() {
                return Err(Failure::Paused);
            }
            match self.crowd.enter(Instant::now()) {
                Entry::Place(place) => return Ok(place),
                Entry::Ask => {
                    let line = Arc::clone(self);
                    // It outlives who began it: all wait for it.
                    tokio::spawn(async move {
                        let asking = Asking {
                            what: "looking whether it is there",
                            until: Instant::now() + PATIENCE,
                        };
                        drop(line.health(asking).await);
                        line.crowd.asked();
                    });
                }
                Entry::Wait => {}
            }
            let news = timeout_at(until, news).await;
            news.map_err(|_elapsed| Failure::Paused)?;
        }
    }

    /// Queries the server's health. A server that does not answer within 1 s is unreachable.
    pub(super) async fn health(&self, asking: Asking) -> Result<HealthCheckReply, Failure> {
        let until = asking.until.min(Instant::now() + PATIENCE);
        let asking = Asking { until, ..asking };
        self.send(
            asking,
            HealthCheckRequest {},
            |to, request| async move { to.server().health_check(request).await },
            Outcome::Outage,
        )
        .await
    }

    /// Sends a request, unless the circuit is open.
    pub(super) async fn ask<Q, A, F>(
        &self,
        asking: Asking,
        message: Q,
        send: impl FnOnce(Services, Request<Q>) -> F,
    ) -> Result<A, Failure>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        // The request may be too much for the server. Only several in a row mean an outage.
        self.send(asking, message, send, Outcome::Failure).await
    }

    /// `late` rates a request that gets no answer within [`PATIENCE`].
    async fn send<Q, A, F>(
        &self,
        asking: Asking,
        message: Q,
        send: impl FnOnce(Services, Request<Q>) -> F,
        late: Outcome,
    ) -> Result<A, Failure>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let permit = self.breaker.admit().map_err(|_open| Failure::Paused)?;
        let begun = Instant::now();
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
        match &answer {
            Ok(_) => {}
            Err(Failure::Said(status)) => span.fail(status_name(status.code())),
            Err(Failure::Late | Failure::Paused) => span.fail("timeout"),
        }
        let outcome = match &answer {
            Err(Failure::Said(status)) if is_broken(status) => Outcome::Outage,
            Err(Failure::Said(status)) if is_away(status.code()) => Outcome::Failure,
            Err(Failure::Late) if begun.elapsed() >= PATIENCE => late,
            // The caller was in a hurry.
            Err(Failure::Late | Failure::Paused) => return answer,
            Err(Failure::Said(_)) | Ok(_) => {
                self.crowd.heard(Instant::now());
                Outcome::Success
            }
        };
        permit.settle(outcome);
        answer
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
