//! One worker of a pool: its connection, how it stands, and the calls it has.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use archway_proto::{MAX_MESSAGE_BYTES, v1::worker_client::WorkerClient};
use futures::FutureExt;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Error};

pub(super) use address::Address;

use super::{
    choice::WorkerHash,
    resets::Resets,
    secured::Authority,
    standing::{Standing, State},
    valve::ValvedChannel,
};
use crate::absence_log::{AbsenceLog, Severity};

mod address;

/// Lost connections that are remembered of one worker until it is heard of again.
const MOST_LOSSES: usize = 8;

/// One worker.
#[derive(Debug)]
pub(super) struct Replica {
    place: Address,
    hash: WorkerHash,
    channel: Channel,
    resets: Resets,
    pub(super) standing: Standing,
    /// The life of its connection in which it said that it ends; none is 0.
    announced: AtomicU64,
    in_flight: AtomicUsize,
    process: Mutex<Process>,
    /// What the log has to tell of its absence.
    absence: Mutex<AbsenceLog>,
    /// Until when it counts as away, whatever it says of itself.
    aside: Mutex<Option<Instant>>,
    /// Has its watch ask anew.
    doubted: Notify,
    /// Cancelled when it left its pool.
    gone: CancellationToken,
}

/// One worker, for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplicaStatus {
    pub(crate) pool: String,
    /// `http://ip:port` or `unix:/path`.
    pub(crate) address: String,
    pub(crate) state: State,
    /// Calls it has of this gateway.
    pub(crate) in_flight: usize,
}

impl Replica {
    /// A worker that nobody called yet: by TLS, if it is known who vouches for workers. `gone` is
    /// cancelled when it leaves its pool, at the latest.
    pub(super) fn new(
        address: &Address,
        authority: Option<&Arc<Authority>>,
        gone: CancellationToken,
    ) -> Result<Self, Error> {
        Ok(Replica {
            channel: address.channel(authority)?,
            resets: Resets::new(),
            hash: WorkerHash::of(&address.text),
            place: address.clone(),
            standing: Standing::new(),
            announced: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            process: Mutex::default(),
            absence: Mutex::new(AbsenceLog::new()),
            aside: Mutex::default(),
            doubted: Notify::new(),
            gone,
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.place.text
    }

    /// Whether a worker at this address is this one.
    pub(super) fn is_at(&self, address: &Address, by_tls: bool) -> bool {
        self.place.identity(by_tls) == address.identity(by_tls)
    }

    pub(super) fn hash(&self) -> WorkerHash {
        self.hash
    }

    /// The connection that calls and the watch share.
    pub(super) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// How it stands for calls: away, too, while it is set aside.
    pub(super) fn state(&self) -> State {
        if self.is_aside() {
            return State::Away;
        }
        self.standing.state()
    }

    fn is_aside(&self) -> bool {
        self.aside
            .lock()
            .is_some_and(|until| Instant::now() < until)
    }

    /// Has it count as away until then, unless it does already. Whether that is news.
    pub(super) fn set_aside(&self, until: Instant) -> bool {
        let mut aside = self.aside.lock();
        let is_news = aside.is_none_or(|before| before <= Instant::now());
        if is_news {
            *aside = Some(until);
        }
        is_news
    }

    /// How many calls it has.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// It said in this epoch how it stands. How it stood before, if that is news.
    pub(super) fn hear(&self, epoch: u64, said: State) -> Option<State> {
        let before = self.standing.hear(epoch, said)?;
        if matches!(said, State::Ready | State::Draining) {
            self.absence.lock().present();
        }
        match said {
            State::Draining => self.announced.store(epoch, Ordering::Relaxed),
            // It goes on after all.
            State::Ready if self.announced(epoch) => self.announced.store(0, Ordering::Relaxed),
            State::Ready | State::Starting | State::Away => {}
        }
        Some(before)
    }

    /// Whether it said in this epoch that it ends: then no call ended it.
    pub(super) fn announced(&self, epoch: u64) -> bool {
        self.announced.load(Ordering::Relaxed) == epoch
    }

    /// The connection of this epoch was lost, and with it maybe the process behind it. How the
    /// worker stood before, if that is news.
    pub(super) fn lose(&self, epoch: u64) -> Option<State> {
        let before = self.standing.lose(epoch);
        // Also of one that was away already: where it is frozen, its kernel still connects, and
        // calls that are tried are lost, too.
        if before.is_some() || self.standing.epoch() == epoch {
            self.process.lock().note_loss(epoch);
        }
        if before.is_some() {
            // Whoever is told of the loss tells of it.
            self.absence.lock().missing();
        }
        before
    }

    /// Writes to the log that it can't be reached, where that is new: not yet, or no longer. Asked
    /// after each try, since any may be the one after which it is warned of.
    pub(super) fn tell_of_absence(&self, pool: &str) {
        let (worker, severity) = (self.address(), self.absence.lock().missing());
        match severity {
            Some(Severity::Note) => tracing::info!(pool, worker, "worker can't be reached yet"),
            Some(Severity::Warning) => tracing::warn!(pool, worker, "worker can't be reached"),
            None => {}
        }
    }

    /// The process that answers now says who it is. The epochs of connections that were lost
    /// without its end, if it was there before.
    pub(super) fn met(&self, instance: Option<&str>) -> Vec<u64> {
        let mut process = self.process.lock();
        let lost = std::mem::take(&mut process.lost);
        if instance.is_some() && process.instance.as_deref() == instance {
            return lost;
        }
        process.instance = instance.map(str::to_owned);
        Vec::new()
    }

    /// Something is wrong with its connection: its watch asks at once.
    pub(super) fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// Whatever it was doubted for is over.
    pub(super) fn forget_doubt(&self) {
        self.doubted.notified().now_or_never();
    }

    /// Waits until it is doubted.
    pub(super) async fn doubted(&self) {
        self.doubted.notified().await;
    }

    /// It leaves its pool: nobody watches it any longer. Calls it has go on.
    pub(super) fn retire(&self) {
        self.gone.cancel();
    }

    /// Waits until it leaves its pool.
    pub(super) async fn retired(&self) {
        self.gone.cancelled().await;
    }
}

/// The process behind a worker's address, by its own word.
#[derive(Debug, Default)]
struct Process {
    instance: Option<String>,
    /// Connections to it that were lost since it was heard of.
    lost: Vec<u64>,
}

impl Process {
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

/// A call on its worker. Counted there until it is dropped.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) replica: Arc<Replica>,
    /// The life of the connection in which it began.
    pub(super) epoch: u64,
}

impl Flight {
    pub(super) fn on(replica: Arc<Replica>) -> Self {
        replica.in_flight.fetch_add(1, Ordering::Relaxed);
        Flight {
            epoch: replica.standing.epoch(),
            replica,
        }
    }

    pub(super) fn client(&self) -> WorkerClient<ValvedChannel> {
        let channel = ValvedChannel {
            channel: self.replica.channel(),
            resets: self.replica.resets.clone(),
        };
        WorkerClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }
}

impl Drop for Flight {
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
    async fn who_is_set_aside_is_back_when_it_was_said_however_often_it_refuses_meanwhile() {
        let address = Address {
            text: "http://127.0.0.1:1".to_owned(),
            origin: None,
        };
        let replica = Replica::new(&address, None, CancellationToken::new()).unwrap();
        let half = Duration::from_secs(15);
        assert!(replica.set_aside(Instant::now() + 2 * half), "news");
        advance(half).await;
        assert!(!replica.set_aside(Instant::now() + 2 * half));
        assert_eq!(replica.state(), State::Away);
        // Those who count were told of this moment.
        advance(half).await;
        assert_eq!(replica.state(), State::Starting);
        assert!(replica.set_aside(Instant::now() + 2 * half), "news again");
    }
}
