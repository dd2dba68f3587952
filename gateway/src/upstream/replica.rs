//! One worker of a pool: its connection, its state, and its calls.

use std::{
    fmt::Display,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use archway_proto::{MAX_MESSAGE_BYTES, v1::worker_client::WorkerClient};
use futures::FutureExt;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Error};

pub(super) use address::Address;

use super::{
    affinity::WorkerHash,
    reset_pacer::ResetPacer,
    tls::WorkerCa,
    valve::ValvedChannel,
    worker_state::{StateCell, WorkerState},
};
use crate::absence_log::{AbsenceLog, Severity};

mod address;

/// Lost connections of one worker that are remembered until it reports again.
const MOST_LOSSES: usize = 8;

/// One worker.
#[derive(Debug)]
pub(super) struct Replica {
    location: Address,
    hash: WorkerHash,
    channel: Channel,
    reset_pacer: ResetPacer,
    pub(super) state_cell: StateCell,
    /// The epoch in which the worker announced its shutdown; 0 for none.
    shutdown_epoch: AtomicU64,
    in_flight: AtomicUsize,
    process: Mutex<WorkerProcess>,
    /// Decides which log lines its absence gets.
    absence: Mutex<AbsenceLog>,
    /// Until when it counts as unreachable, whatever it reports.
    deprioritized_until: Mutex<Option<Instant>>,
    /// Requests a new health check.
    check_requested: Notify,
    /// Cancelled when it leaves its pool.
    gone: CancellationToken,
}

/// One worker, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplicaStatus {
    pub(crate) pool: String,
    /// `http://ip:port` or `unix:/path`.
    pub(crate) address: String,
    pub(crate) state: WorkerState,
    /// Calls of this gateway that it runs.
    pub(crate) in_flight: usize,
}

impl Replica {
    /// A worker without a connection yet: over TLS if an authority is given. `gone` is cancelled
    /// when the worker leaves its pool, at the latest.
    pub(super) fn new(
        address: &Address,
        authority: Option<&Arc<WorkerCa>>,
        gone: CancellationToken,
    ) -> Result<Self, Error> {
        Ok(Replica {
            channel: address.channel(authority)?,
            reset_pacer: ResetPacer::new(),
            hash: WorkerHash::of(&address.text),
            location: address.clone(),
            state_cell: StateCell::new(),
            shutdown_epoch: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            process: Mutex::default(),
            absence: Mutex::new(AbsenceLog::new()),
            deprioritized_until: Mutex::default(),
            check_requested: Notify::new(),
            gone,
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.location.text
    }

    /// Whether `address` leads to this worker.
    pub(super) fn is_at(&self, address: &Address, by_tls: bool) -> bool {
        self.location.identity(by_tls) == address.identity(by_tls)
    }

    pub(super) fn hash(&self) -> WorkerHash {
        self.hash
    }

    /// The connection shared by calls and the watch.
    pub(super) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// Its state for calls: unreachable while it is deprioritized.
    pub(super) fn state(&self) -> WorkerState {
        if self.is_deprioritized() {
            return WorkerState::Away;
        }
        self.state_cell.state()
    }

    fn is_deprioritized(&self) -> bool {
        self.deprioritized_until
            .lock()
            .is_some_and(|until| Instant::now() < until)
    }

    /// Counts it as unreachable until then, unless it is already. True if that is a change.
    pub(super) fn deprioritize(&self, until: Instant) -> bool {
        let mut deprioritized_until = self.deprioritized_until.lock();
        let is_change = deprioritized_until.is_none_or(|before| before <= Instant::now());
        if is_change {
            *deprioritized_until = Some(until);
        }
        is_change
    }

    /// Calls that it runs.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Records the state that it reported in this epoch. Returns the previous state if it changed.
    pub(super) fn report_state(&self, epoch: u64, reported: WorkerState) -> Option<WorkerState> {
        let before = self.state_cell.report(epoch, reported)?;
        if matches!(reported, WorkerState::Ready | WorkerState::Draining) {
            self.absence.lock().present();
        }
        match reported {
            WorkerState::Draining => self.shutdown_epoch.store(epoch, Ordering::Relaxed),
            // It takes calls again after all.
            WorkerState::Ready if self.announced_shutdown(epoch) => {
                self.shutdown_epoch.store(0, Ordering::Relaxed);
            }
            WorkerState::Ready | WorkerState::Starting | WorkerState::Away => {}
        }
        Some(before)
    }

    /// Whether it announced its shutdown in this epoch, so that no call crashed it.
    pub(super) fn announced_shutdown(&self, epoch: u64) -> bool {
        self.shutdown_epoch.load(Ordering::Relaxed) == epoch
    }

    /// Records that the connection of this epoch was lost, and perhaps the process behind it.
    /// Returns the previous state if that is a change.
    pub(super) fn record_loss(&self, epoch: u64) -> Option<WorkerState> {
        let before = self.state_cell.record_loss(epoch);
        // Also if it was unreachable already: the kernel of a frozen process still accepts
        // connections, and calls tried on them are lost, too.
        if before.is_some() || self.state_cell.epoch() == epoch {
            self.process.lock().note_loss(epoch);
        }
        if before == Some(WorkerState::Draining) {
            // It had announced its end, so the log does not warn that it is unreachable.
            self.absence.lock().missing();
        }
        before
    }

    /// Logs that it is unreachable and why, if that is new. Called after each failed attempt, since
    /// only a lasting absence is a warning.
    pub(super) fn log_absence(&self, pool: &str, cause: &dyn Display) {
        let (worker, severity) = (self.address(), self.absence.lock().missing());
        match severity {
            Some(Severity::Note) => {
                tracing::info!(pool, worker, %cause, "worker can't be reached yet");
            }
            Some(Severity::Warning) => {
                tracing::warn!(pool, worker, %cause, "worker can't be reached");
            }
            None => {}
        }
    }

    /// Records the instance id of the process that answers now. Returns the epochs lost without a
    /// crash: all of them if the same process answered before.
    pub(super) fn identify(&self, instance: Option<&str>) -> Vec<u64> {
        let mut process = self.process.lock();
        let lost = std::mem::take(&mut process.lost);
        if instance.is_some() && process.instance.as_deref() == instance {
            return lost;
        }
        process.instance = instance.map(str::to_owned);
        Vec::new()
    }

    /// Makes its watch ask again at once.
    pub(super) fn request_check(&self) {
        self.check_requested.notify_one();
    }

    /// Drops pending requests for a check.
    pub(super) fn clear_check_requests(&self) {
        self.check_requested.notified().now_or_never();
    }

    /// Waits until a check is requested.
    pub(super) async fn check_requested(&self) {
        self.check_requested.notified().await;
    }

    /// Removes it from its pool and ends its watch. Running calls continue.
    pub(super) fn retire(&self) {
        self.gone.cancel();
    }

    /// Waits until it leaves its pool.
    pub(super) async fn retired(&self) {
        self.gone.cancelled().await;
    }
}

/// The process behind a worker's address, by its own report.
#[derive(Debug, Default)]
struct WorkerProcess {
    instance: Option<String>,
    /// Epochs of connections lost since its last report.
    lost: Vec<u64>,
}

impl WorkerProcess {
    fn note_loss(&mut self, epoch: u64) {
        if self.lost.contains(&epoch) {
            return;
        }
        if self.lost.len() == MOST_LOSSES {
            self.lost.remove(0);
        }
        self.lost.push(epoch);
    }
}

/// Counts a call as in flight on its worker until dropped.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) replica: Arc<Replica>,
    /// The epoch of the connection in which the call began.
    pub(super) epoch: u64,
}

impl InFlight {
    pub(super) fn on(replica: Arc<Replica>) -> Self {
        replica.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight {
            epoch: replica.state_cell.epoch(),
            replica,
        }
    }

    pub(super) fn client(&self) -> WorkerClient<ValvedChannel> {
        let channel = ValvedChannel {
            channel: self.replica.channel(),
            pacer: self.replica.reset_pacer.clone(),
        };
        WorkerClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.replica.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn further_refusals_do_not_extend_a_deprioritization() {
        let address = Address {
            text: "http://127.0.0.1:1".to_owned(),
            origin: None,
        };
        let replica = Replica::new(&address, None, CancellationToken::new()).unwrap();
        let half = Duration::from_secs(15);
        assert!(replica.deprioritize(Instant::now() + 2 * half), "a change");
        advance(half).await;
        assert!(!replica.deprioritize(Instant::now() + 2 * half));
        assert_eq!(replica.state(), WorkerState::Away);
        // The timer of the pool counts states again at this moment.
        advance(half).await;
        assert_eq!(replica.state(), WorkerState::Starting);
        assert!(
            replica.deprioritize(Instant::now() + 2 * half),
            "a change again"
        );
    }
}
