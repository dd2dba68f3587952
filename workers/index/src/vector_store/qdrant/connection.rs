//! The connection to Qdrant: opened by the first request, and reopened whenever it breaks.
//!
//! Uses the gRPC stubs of `qdrant-client` over a channel of its own. That crate's client has one
//! timeout for all requests, accepts answers of any size, and detects a silent server only by
//! them. Here, each request carries its own deadline, which also stops the server's work on it.

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
    failure::{Failure, RequestContext, is_away, is_broken, is_late},
    search_permits::{Admission, SearchPermit, SearchPermits},
    server::QdrantServer,
};

/// A server that is silent for this long counts as unavailable; shorter timeouts blame the caller.
const SILENT_AFTER: Duration = Duration::from_secs(1);
/// How long a search waits for a sign of life.
const SIGN_OF_LIFE_WAIT: Duration = Duration::from_millis(100);

/// The connection and its health.
pub(super) struct Connection {
    channel: Channel,
    key: Option<MetadataValue<Ascii>>,
    breaker: CircuitBreaker,
    permits: Arc<SearchPermits>,
}

/// Adds the API key to each request.
#[derive(Clone)]
pub(super) struct ApiKey(Option<MetadataValue<Ascii>>);

impl Interceptor for ApiKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("api-key", key.clone());
        }
        Ok(request)
    }
}

type Service = InterceptedService<Channel, ApiKey>;

/// Qdrant's gRPC services, for one request.
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

impl Connection {
    /// Prepares the channel, which connects on the first request. Needs a Tokio runtime.
    pub(super) fn new(server: &QdrantServer) -> Self {
        Connection {
            channel: server.endpoint.connect_lazy(),
            key: server.key.clone(),
            breaker: circuit_breaker(),
            permits: Arc::default(),
        }
    }

    /// Waits for permission to search. Fails soon if the server is silent and enough searches
    /// already wait for it.
    pub(super) async fn search_permit(self: &Arc<Self>) -> Result<SearchPermit, Failure> {
        let until = Instant::now() + SIGN_OF_LIFE_WAIT;
        loop {
            let changed = self.permits.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.breaker.is_refusing() {
                return Err(Failure::NotSent);
            }
            match self.permits.enter(Instant::now()) {
                Admission::Permit(permit) => return Ok(permit),
                Admission::CheckHealth => {
                    let connection = Arc::clone(self);
                    // Spawned, since it must outlive the caller: all who wait depend on it.
                    tokio::spawn(async move {
                        let context = RequestContext {
                            operation: "checking the server's health",
                            deadline: Instant::now() + SILENT_AFTER,
                        };
                        drop(connection.health(context).await);
                        connection.permits.check_ended();
                    });
                }
                Admission::Wait => {}
            }
            let changed = timeout_at(until, changed).await;
            changed.map_err(|_elapsed| Failure::NotSent)?;
        }
    }

    /// Queries the server's health. A server that does not answer within 1 s is unreachable.
    pub(super) async fn health(
        &self,
        context: RequestContext,
    ) -> Result<HealthCheckReply, Failure> {
        let deadline = context.deadline.min(Instant::now() + SILENT_AFTER);
        let context = RequestContext {
            deadline,
            ..context
        };
        self.send_rated(
            context,
            HealthCheckRequest {},
            |to, request| async move { to.server().health_check(request).await },
            Outcome::Outage,
        )
        .await
    }

    /// Sends a request, unless the circuit is open.
    pub(super) async fn send<Q, A, F>(
        &self,
        context: RequestContext,
        message: Q,
        send: impl FnOnce(Services, Request<Q>) -> F,
    ) -> Result<A, Failure>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        // The request may be too expensive for the server. Only several in a row mean an outage.
        self.send_rated(context, message, send, Outcome::Failure)
            .await
    }

    /// `late` rates a request that gets no answer within [`SILENT_AFTER`].
    async fn send_rated<Q, A, F>(
        &self,
        context: RequestContext,
        message: Q,
        send: impl FnOnce(Services, Request<Q>) -> F,
        late: Outcome,
    ) -> Result<A, Failure>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let permit = self.breaker.admit().map_err(|_open| Failure::NotSent)?;
        let begun = Instant::now();
        let service = InterceptedService::new(self.channel.clone(), ApiKey(self.key.clone()));
        let mut request = Request::new(message);
        request.set_timeout(context.deadline.saturating_duration_since(begun));
        let span = span::<Q>();
        let answer = timeout_at(context.deadline, send(Services(service), request)).await;
        let answer = match answer {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) if is_late(&status, context) => Err(Failure::Late),
            Ok(Err(status)) => Err(Failure::Status(status)),
            Err(_elapsed) => Err(Failure::Late),
        };
        match &answer {
            Ok(_) => {}
            Err(Failure::Status(status)) => span.fail(status_name(status.code())),
            Err(Failure::Late | Failure::NotSent) => span.fail("timeout"),
        }
        let outcome = match &answer {
            Err(Failure::Status(status)) if is_broken(status) => Outcome::Outage,
            Err(Failure::Status(status)) if is_away(status.code()) => Outcome::Failure,
            Err(Failure::Late) if begun.elapsed() >= SILENT_AFTER => late,
            // The caller's deadline was too short to blame the server.
            Err(Failure::Late | Failure::NotSent) => return answer,
            Err(Failure::Status(_)) | Ok(_) => {
                self.permits.answered(Instant::now());
                Outcome::Success
            }
        };
        permit.settle(outcome);
        answer
    }
}

/// The span of a request: its type, and nothing of its content.
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
