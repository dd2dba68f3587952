//! Reports this worker's health to gateways by `grpc.health.v1.Health`, for the worker's service
//! and for the whole server.
//!
//! Graceful shutdown has this order: `NOT_SERVING` is sent, calls are accepted for 1 s more so that
//! it can arrive, then the listener closes and the watches end. The second counts from the moment
//! `NOT_SERVING` was sent, so a `--drain-delay` of 1 s or more has already waited for it.

use std::time::Duration;

use archway_proto::v1::worker_server::SERVICE_NAME;
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};

/// How long calls are accepted after `NOT_SERVING` was sent: the time the message may take to
/// arrive.
const NOTICE: Duration = Duration::from_secs(1);
/// Maximum size of a request to the health service in bytes. A real one has a few.
const LARGEST_MESSAGE: usize = 1024;
/// The whole server, which has the empty name, and the service (gRPC Health Checking Protocol).
const SERVICES: [&str; 2] = ["", SERVICE_NAME];

/// The health that the worker reports.
pub(super) struct Health {
    reporter: HealthReporter,
    /// Cancelled when shutdown is announced, which may be before it begins.
    announced: CancellationToken,
    stop: CancellationToken,
}

impl Health {
    /// Reports `SERVING` until one of the tokens is cancelled.
    pub(super) fn until(announced: CancellationToken, stop: CancellationToken) -> Self {
        Health {
            reporter: HealthReporter::new(),
            announced,
            stop,
        }
    }

    /// Returns the health service, and reports `SERVING` from now on.
    pub(super) async fn service(&self) -> HealthServer<HealthService> {
        self.set_status(ServingStatus::Serving).await;
        let service = HealthService::from_health_reporter(self.reporter.clone());
        HealthServer::new(service).max_decoding_message_size(LARGEST_MESSAGE)
    }

    /// Waits for shutdown and reports it. Returns after `stop`, once `gateways`, the number of
    /// connections, is 0 or those that are left had time to notice.
    pub(super) async fn shutdown_noticed(&self, mut gateways: watch::Receiver<usize>) {
        tokio::select! {
            () = self.announced.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
        self.set_status(ServingStatus::NotServing).await;
        let noticed = Instant::now() + NOTICE;
        self.stop.cancelled().await;
        // A timeout and the last closed connection are both reasons to continue.
        let gone = gateways.wait_for(|open| *open == 0);
        timeout_at(noticed, gone).await.map(drop).ok();
        // A watch that stayed open would hold its connection until the drain ends.
        for service in SERVICES {
            self.reporter.clone().clear_service_status(service).await;
        }
    }

    async fn set_status(&self, status: ServingStatus) {
        for service in SERVICES {
            self.reporter.set_service_status(service, status).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};
    use tonic::Request;
    use tonic_health::pb::{HealthCheckRequest, health_server::Health as _};

    use super::*;

    struct HealthFixture {
        health: Health,
        announced: CancellationToken,
        stop: CancellationToken,
        gateways: watch::Sender<usize>,
    }

    impl HealthFixture {
        async fn begin() -> Self {
            let (announced, stop) = (CancellationToken::new(), CancellationToken::new());
            let health = Health::until(announced.clone(), stop.clone());
            health.set_status(ServingStatus::Serving).await;
            HealthFixture {
                health,
                announced,
                stop,
                gateways: watch::Sender::new(1),
            }
        }

        /// A watch as a gateway holds it. Each call returns the next message, if there is one.
        async fn watch(&self) -> impl FnMut() -> Option<Option<i32>> {
            let service = HealthService::from_health_reporter(self.health.reporter.clone());
            let request = Request::new(HealthCheckRequest {
                service: SERVICE_NAME.to_owned(),
            });
            let mut messages = service.watch(request).await.unwrap().into_inner();
            move || {
                let next = messages.next().now_or_never()?;
                Some(next.map(|word| word.unwrap().status))
            }
        }
    }

    const SERVING: Option<Option<i32>> = Some(Some(1));
    const NOT_SERVING: Option<Option<i32>> = Some(Some(2));
    const CLOSED: Option<Option<i32>> = Some(None);

    #[tokio::test(start_paused = true)]
    async fn not_serving_is_reported_a_second_before_the_listener_closes() {
        let ending = HealthFixture::begin().await;
        let mut next_status = ending.watch().await;
        assert_eq!(next_status(), SERVING);
        let begun = Instant::now();
        let over = async {
            ending
                .health
                .shutdown_noticed(ending.gateways.subscribe())
                .await;
            begun.elapsed()
        };
        let stopping = async {
            ending.stop.cancel();
            tokio::time::sleep(NOTICE / 2).await;
            next_status()
        };
        let (took, status) = tokio::join!(over, stopping);
        assert_eq!((took, status), (NOTICE, NOT_SERVING));
        assert_eq!(next_status(), CLOSED, "the watch would hold its connection");
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_announced_long_before_does_not_wait_again() {
        let ending = HealthFixture::begin().await;
        let mut next_status = ending.watch().await;
        next_status();
        ending.announced.cancel();
        let over = ending.health.shutdown_noticed(ending.gateways.subscribe());
        let stopping = async {
            tokio::time::sleep(2 * NOTICE).await;
            assert_eq!(next_status(), NOT_SERVING);
            ending.stop.cancel();
            Instant::now()
        };
        let ((), stopped) = tokio::join!(over, stopping);
        assert_eq!(stopped, Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_without_connected_gateways_does_not_wait() {
        let ending = HealthFixture::begin().await;
        ending.gateways.send_replace(0);
        let begun = Instant::now();
        ending.stop.cancel();
        ending
            .health
            .shutdown_noticed(ending.gateways.subscribe())
            .await;
        assert_eq!(begun, Instant::now());
    }
}
