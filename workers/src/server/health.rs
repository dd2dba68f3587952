//! What gateways are told of how this worker stands: `grpc.health.v1.Health`, for the worker's
//! service and for the whole.
//!
//! The order of an end: the word goes out (`NOT_SERVING`), calls are still taken for a second so
//! that it can arrive, then the listener is closed and the watches end. The second counts from the
//! word, so a `--drain-delay` of a second or more has waited for it already.

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

/// How long calls are taken after gateways were told of the end: what the word may take to them.
const NOTICE: Duration = Duration::from_secs(1);
/// A question of the health service has a few bytes.
const LARGEST_MESSAGE: usize = 1024;
/// The service by its name, and all there is by none (gRPC Health Checking Protocol).
const SERVICES: [&str; 2] = ["", SERVICE_NAME];

/// The worker's word on itself.
pub(super) struct Health {
    reporter: HealthReporter,
    /// Cancelled when the end is announced, which may be before it comes.
    announced: CancellationToken,
    stop: CancellationToken,
}

impl Health {
    /// Serving until one of them is cancelled.
    pub(super) fn until(announced: CancellationToken, stop: CancellationToken) -> Self {
        Health {
            reporter: HealthReporter::new(),
            announced,
            stop,
        }
    }

    /// The service that gateways ask: from now on the worker serves.
    pub(super) async fn service(&self) -> HealthServer<HealthService> {
        self.say(ServingStatus::Serving).await;
        let service = HealthService::from_health_reporter(self.reporter.clone());
        HealthServer::new(service).max_decoding_message_size(LARGEST_MESSAGE)
    }

    /// Waits for the end, and says it. Returns after `stop`, once `gateways`, the number of
    /// connections, is 0 or those that are left had time to hear it.
    pub(super) async fn end_noticed(&self, mut gateways: watch::Receiver<usize>) {
        tokio::select! {
            () = self.announced.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
        self.say(ServingStatus::NotServing).await;
        let noticed = Instant::now() + NOTICE;
        self.stop.cancelled().await;
        // Late, or nobody is there: both are reasons to go on.
        let gone = gateways.wait_for(|open| *open == 0);
        timeout_at(noticed, gone).await.map(drop).ok();
        // A watch that went on would hold its connection to the end of the drain.
        for service in SERVICES {
            self.reporter.clone().clear_service_status(service).await;
        }
    }

    async fn say(&self, status: ServingStatus) {
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

    struct Ending {
        health: Health,
        announced: CancellationToken,
        stop: CancellationToken,
        gateways: watch::Sender<usize>,
    }

    impl Ending {
        async fn begin() -> Self {
            let (announced, stop) = (CancellationToken::new(), CancellationToken::new());
            let health = Health::until(announced.clone(), stop.clone());
            health.say(ServingStatus::Serving).await;
            Ending {
                health,
                announced,
                stop,
                gateways: watch::Sender::new(1),
            }
        }

        /// What a gateway hears, as far as it was said.
        async fn watched(&self) -> impl FnMut() -> Option<Option<i32>> {
            let service = HealthService::from_health_reporter(self.health.reporter.clone());
            let asked = Request::new(HealthCheckRequest {
                service: SERVICE_NAME.to_owned(),
            });
            let mut words = service.watch(asked).await.unwrap().into_inner();
            move || {
                let next = words.next().now_or_never()?;
                Some(next.map(|word| word.unwrap().status))
            }
        }
    }

    const SERVING: Option<Option<i32>> = Some(Some(1));
    const NOT_SERVING: Option<Option<i32>> = Some(Some(2));
    const OVER: Option<Option<i32>> = Some(None);

    #[tokio::test(start_paused = true)]
    async fn the_end_is_said_a_second_before_the_listener_closes() {
        let ending = Ending::begin().await;
        let mut heard = ending.watched().await;
        assert_eq!(heard(), SERVING);
        let begun = Instant::now();
        let over = async {
            ending.health.end_noticed(ending.gateways.subscribe()).await;
            begun.elapsed()
        };
        let hearing = async {
            ending.stop.cancel();
            tokio::time::sleep(NOTICE / 2).await;
            heard()
        };
        let (took, said) = tokio::join!(over, hearing);
        assert_eq!((took, said), (NOTICE, NOT_SERVING));
        assert_eq!(heard(), OVER, "the watch would hold its connection");
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_that_was_announced_long_before_waits_no_longer() {
        let ending = Ending::begin().await;
        let mut heard = ending.watched().await;
        heard();
        ending.announced.cancel();
        let over = ending.health.end_noticed(ending.gateways.subscribe());
        let stopping = async {
            tokio::time::sleep(2 * NOTICE).await;
            assert_eq!(heard(), NOT_SERVING);
            ending.stop.cancel();
            Instant::now()
        };
        let ((), stopped) = tokio::join!(over, stopping);
        assert_eq!(stopped, Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_waited_for_who_is_not_there() {
        let ending = Ending::begin().await;
        ending.gateways.send_replace(0);
        let begun = Instant::now();
        ending.stop.cancel();
        ending.health.end_noticed(ending.gateways.subscribe()).await;
        assert_eq!(begun, Instant::now());
    }
}
