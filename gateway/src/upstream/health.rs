//! How a worker stands, from its own mouth: `grpc.health.v1.Health`, watched as long as it is of
//! the pool.
//!
//! The watch shares the connection of the calls, so it also keeps that open, and hears of its end
//! when there are no calls to notice. A worker that doesn't know the service counts as ready.

use std::{sync::Arc, time::Duration};

use archway_proto::{context::INSTANCE, v1::worker_server::SERVICE_NAME};
use tokio::time::{sleep, timeout};
use tonic::{Code, Status, Streaming};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
    health_client::HealthClient,
};

use super::{pool::Pool, replica::Replica, standing::State};

const FIRST_RETRY: Duration = Duration::from_millis(100);
pub(crate) const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// How long a worker may take to say its first word. After that the connection's keep-alive
/// tells whether it is there.
const FIRST_WORD: Duration = Duration::from_secs(3);
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
        // It is asked now: a doubt was about what it said before.
        replica.forget_doubt();
        let epoch = replica.standing.epoch();
        let mut heard = false;
        tokio::select! {
            () = listen(pool, replica, epoch, &mut heard) => {}
            // A call found out first: this connection is of no use, and asked at once again.
            () = replica.doubted() => {}
        }
        if heard {
            pause = FIRST_RETRY;
        }
        if replica.state() == State::Ready {
            continue;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_RETRY);
    }
}

/// Hears what the worker says until its connection ends; `heard` once it said anything.
async fn listen(pool: &Pool, replica: &Replica, epoch: u64, heard: &mut bool) {
    let said = |state| pool.hear(replica, epoch, state);
    let first = timeout(FIRST_WORD, ask(replica)).await;
    *heard = matches!(&first, Ok(first) if is_word(first));
    let mut words = match first {
        Ok(Ok(first)) => {
            pool.meet(replica, first.instance.as_deref());
            said(first.state);
            first.words
        }
        Ok(Err(_)) if *heard => {
            said(State::Ready);
            return sleep(LONGEST_RETRY).await;
        }
        Ok(Err(_)) | Err(_) => {
            // Lost, if it was ready in this epoch; else nothing that wasn't known.
            pool.lose(replica, epoch);
            return said(State::Away);
        }
    };
    while let Ok(Some(word)) = words.message().await {
        said(state(&word));
    }
    // Also of one that said that it ends: whoever is there next lives another life.
    pool.lose(replica, epoch);
}

/// What a worker says first, and the words that follow.
struct First {
    /// Which process it is, if it says so.
    instance: Option<String>,
    state: State,
    words: Streaming<HealthCheckResponse>,
}

/// Whether the worker said this itself: that it doesn't know the service is a word, too.
fn is_word(first: &Result<First, Status>) -> bool {
    match first {
        Ok(_) => true,
        Err(status) => status.code() == Code::Unimplemented,
    }
}

async fn ask(replica: &Replica) -> Result<First, Status> {
    let mut client =
        HealthClient::new(replica.channel()).max_decoding_message_size(LARGEST_MESSAGE);
    let request = HealthCheckRequest {
        service: SERVICE_NAME.to_owned(),
    };
    let answer = client.watch(request).await?;
    let instance = answer.metadata().get(INSTANCE);
    let instance = instance.and_then(|instance| instance.to_str().ok());
    let instance = instance.map(str::to_owned);
    let mut words = answer.into_inner();
    let first = words.message().await?;
    let first = first.ok_or_else(|| Status::unavailable("it ended without a word"))?;
    Ok(First {
        instance,
        state: state(&first),
        words,
    })
}

fn state(word: &HealthCheckResponse) -> State {
    match word.status() {
        ServingStatus::Serving => State::Ready,
        ServingStatus::NotServing | ServingStatus::Unknown | ServingStatus::ServiceUnknown => {
            State::Draining
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
    use crate::upstream::pool::tests::alone;

    #[tokio::test]
    async fn the_end_of_a_worker_that_said_so_is_the_end_of_its_life() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let worker = HealthReporter::new();
        let ending = ServingStatus::NotServing;
        worker.set_service_status(SERVICE_NAME, ending).await;
        let service = HealthService::from_health_reporter(worker.clone());
        let server = Server::builder().add_service(HealthServer::new(service));
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));

        let (pool, replica) = alone(&address);
        let epoch = replica.standing.epoch();
        let mut heard = false;
        let end = async {
            while replica.state() != State::Draining {
                sleep(Duration::from_millis(5)).await;
            }
            // As workers do: the watch ends, and calls on the connection go on.
            worker.clone().clear_service_status(SERVICE_NAME).await;
        };
        let over = async { tokio::join!(listen(&pool, &replica, epoch, &mut heard), end) };
        timeout(Duration::from_secs(20), over).await.unwrap();
        assert_eq!(replica.state(), State::Away);
        assert_ne!(replica.standing.epoch(), epoch);
        assert!(replica.announced(epoch));
    }
}
