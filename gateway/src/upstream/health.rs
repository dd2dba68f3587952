//! A worker's state, as it reports it itself through `grpc.health.v1.Health`, watched as long as it
//! is in the pool.
//!
//! The watch shares the connection of the calls, so it also keeps that connection open and notices
//! its end when there are no calls. A worker without the health service counts as ready.

use std::{sync::Arc, time::Duration};

use archway_proto::{chain::Chain, context::INSTANCE, v1::worker_server::SERVICE_NAME};
use tokio::time::{sleep, timeout};
use tonic::{Code, Status, Streaming};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
    health_client::HealthClient,
};

use super::{pool::Pool, replica::Replica, worker_state::WorkerState};

const FIRST_RETRY: Duration = Duration::from_millis(100);
pub(crate) const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// How long a worker may take for its first report. Afterwards the connection's keep-alive detects
/// a worker that is gone.
const FIRST_REPORT_TIMEOUT: Duration = Duration::from_secs(3);
/// A message of the health service has a few bytes.
const LARGEST_MESSAGE: usize = 1024;

/// Watches a worker until it leaves its pool.
pub(super) async fn watch(pool: Arc<Pool>, replica: Arc<Replica>) {
    tokio::select! {
        () = replica.retired() => {}
        () = keep_watching(&pool, &replica) => {}
    }
}

async fn keep_watching(pool: &Pool, replica: &Replica) {
    let mut pause = FIRST_RETRY;
    loop {
        // It is asked now: earlier requests for a check were about its previous state.
        replica.clear_check_requests();
        let epoch = replica.state_cell.epoch();
        let mut heard = false;
        tokio::select! {
            () = listen(pool, replica, epoch, &mut heard) => {}
            // A call found out first: drop this watch and ask again at once.
            () = replica.check_requested() => {}
        }
        if heard {
            pause = FIRST_RETRY;
        }
        if replica.state() == WorkerState::Ready {
            continue;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_RETRY);
    }
}

/// Reads the worker's reports until the connection ends. Sets `heard` once the worker itself
/// answered.
async fn listen(pool: &Pool, replica: &Replica, epoch: u64, heard: &mut bool) {
    let report_state = |state| pool.report_state(replica, epoch, state);
    let first = timeout(FIRST_REPORT_TIMEOUT, ask(replica)).await;
    *heard = matches!(&first, Ok(first) if is_answer(first));
    let mut reports = match first {
        Ok(Ok(first)) => {
            pool.identify(replica, first.instance.as_deref());
            report_state(first.state);
            first.reports
        }
        Ok(Err(_)) if *heard => {
            report_state(WorkerState::Ready);
            return sleep(LONGEST_RETRY).await;
        }
        failed => {
            // Lost, if it was ready in this epoch; otherwise this is no change.
            pool.record_loss(replica, epoch);
            // A frozen process still accepts connections; one that ended refuses them.
            let late = format_args!("no report within {FIRST_REPORT_TIMEOUT:?}");
            match &failed {
                Ok(Err(status)) => replica.log_absence(pool.name(), &Chain(status)),
                _ => replica.log_absence(pool.name(), &late),
            }
            return report_state(WorkerState::Away);
        }
    };
    while let Ok(Some(report)) = reports.message().await {
        report_state(state(&report));
    }
    // Also of a worker that announced its shutdown: the next process gets a new epoch.
    pool.record_loss(replica, epoch);
}

/// A worker's first report, and the stream of further ones.
struct FirstReport {
    /// The process's instance id, if the worker sends one.
    instance: Option<String>,
    state: WorkerState,
    reports: Streaming<HealthCheckResponse>,
}

/// Whether the worker itself answered. `Unimplemented` is an answer, too.
fn is_answer(first: &Result<FirstReport, Status>) -> bool {
    match first {
        Ok(_) => true,
        Err(status) => status.code() == Code::Unimplemented,
    }
}

async fn ask(replica: &Replica) -> Result<FirstReport, Status> {
    let mut client =
        HealthClient::new(replica.channel()).max_decoding_message_size(LARGEST_MESSAGE);
    let request = HealthCheckRequest {
        service: SERVICE_NAME.to_owned(),
    };
    let answer = client.watch(request).await?;
    let instance = answer.metadata().get(INSTANCE);
    let instance = instance.and_then(|instance| instance.to_str().ok());
    let instance = instance.map(str::to_owned);
    let mut reports = answer.into_inner();
    let first = reports.message().await?;
    let first =
        first.ok_or_else(|| Status::unavailable("the health stream ended without a report"))?;
    Ok(FirstReport {
        instance,
        state: state(&first),
        reports,
    })
}

fn state(report: &HealthCheckResponse) -> WorkerState {
    match report.status() {
        ServingStatus::Serving => WorkerState::Ready,
        ServingStatus::NotServing | ServingStatus::Unknown | ServingStatus::ServiceUnknown => {
            WorkerState::Draining
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{net::TcpListener, time::sleep};
    use tonic::transport::{Server, server::TcpIncoming};
    use tonic_health::{
        ServingStatus,
        pb::health_server::HealthServer,
        server::{HealthReporter, HealthService},
    };

    use super::*;
    use crate::upstream::pool::tests::pool_and_replica;

    #[tokio::test]
    async fn the_end_of_a_draining_worker_begins_a_new_epoch() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let worker = HealthReporter::new();
        let ending = ServingStatus::NotServing;
        worker.set_service_status(SERVICE_NAME, ending).await;
        let service = HealthService::from_health_reporter(worker.clone());
        let server = Server::builder().add_service(HealthServer::new(service));
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));

        let (pool, replica) = pool_and_replica(&address);
        let epoch = replica.state_cell.epoch();
        let mut heard = false;
        let end = async {
            while replica.state() != WorkerState::Draining {
                sleep(Duration::from_millis(5)).await;
            }
            // As workers do: the watch ends, and calls on the connection continue.
            worker.clone().clear_service_status(SERVICE_NAME).await;
        };
        let over = async { tokio::join!(listen(&pool, &replica, epoch, &mut heard), end) };
        timeout(Duration::from_secs(20), over).await.unwrap();
        assert_eq!(replica.state(), WorkerState::Away);
        assert_ne!(replica.state_cell.epoch(), epoch);
        assert!(replica.announced_shutdown(epoch));
    }
}
