//! The connection to Qdrant: made when it is first needed, and again whenever it broke.
//!
//! The services that `qdrant-client` generates are used over a channel of ours, since its own
//! client has one time limit for all requests, takes answers of any size, and notices only by
//! them that a server went silent. Each request here says itself until when it is of use, to the
//! server too, which then stops working on it.

use std::{any::type_name, sync::Arc, time::Duration};

use archway_proto::trace::{Span, status_name};
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
    crowd::{Crowd, Entry, Place},
    failure::{Asking, Failure, is_away, is_broken, is_late},
    pause::Pause,
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
    pause: Pause,
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
            pause: Pause::default(),
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
            let now = Instant::now();
            if self.pause.is_on(now) {
                return Err(Failure::Paused);
            }
            match self.crowd.enter(now) {
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

    /// Asks whether the server is there, for a second at most: one that does not say so is away.
    pub(super) async fn health(&self, asking: Asking) -> Result<HealthCheckReply, Failure> {
        let begun = Instant::now();
        let asking = Asking {
            until: asking.until.min(begun + PATIENCE),
            ..asking
        };
        let answer = self.ask(asking, HealthCheckRequest {}, |to, request| async move {
            to.server().health_check(request).await
        });
        let answer = answer.await;
        let now = Instant::now();
        if matches!(answer, Err(Failure::Late)) && now >= begun + PATIENCE {
            self.pause.begin(now);
        }
        answer
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
            Some(Failure::Said(_)) | None => {
                self.pause.end();
                self.crowd.heard(now);
            }
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
