//! Runs what is due: leases mirrors, as many as the bounds allow, and waits for the next.
//!
//! Several processes may do so at once: a lease in Postgres gives each mirror to one of them.

mod run;

use std::collections::HashMap;
use std::sync::Arc;

use archway_proto::chain::Chain;
use tokio::sync::Notify;
use tokio::task::{Id, JoinSet};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use crate::app_tokens::AppTokens;
use crate::config::SyncConfig;
use crate::credentials::Credentials;
use crate::metrics::SyncMetrics;
use crate::mirror::Mirrors;
use crate::remote::RemoteUrl;
use crate::schedule::LONGEST_VOUCHED;
use crate::store::{ADDED, Busy, SyncStore, SyncStoreError};
use crate::volume::Volume;

/// How often the database is asked for what is due.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often the rows of new sources are made without a notification.
const NEW_SOURCES_INTERVAL: Duration = Duration::from_secs(60);
/// Pause after the database did not answer.
const RETRY: Duration = Duration::from_secs(2);

/// Mirrors what the database names.
pub(crate) struct Runner {
    pub(crate) config: SyncConfig,
    pub(crate) volume: Arc<Volume>,
    pub(crate) store: SyncStore,
    pub(crate) mirrors: Mirrors,
    pub(crate) credentials: Credentials,
    pub(crate) apps: Arc<AppTokens>,
    pub(crate) metrics: Arc<SyncMetrics>,
}

/// What wakes the loop that runs what is due.
#[derive(Default)]
struct Wake {
    /// A source was added.
    added: Notify,
    /// A mirror or a listing was requested.
    due: Notify,
}

/// The runs of this process.
#[derive(Default)]
struct Runs {
    tasks: JoinSet<()>,
    /// The host of each, and whether it is a first clone.
    hosts: HashMap<Id, (String, bool)>,
}

/// How many runs a host has.
#[derive(Default)]
struct HostRuns {
    all: u16,
    clones: u16,
}

impl Runner {
    pub(crate) fn new(
        config: SyncConfig,
        store: SyncStore,
        apps: Arc<AppTokens>,
        metrics: Arc<SyncMetrics>,
        volume: Arc<Volume>,
    ) -> Runner {
        let repos = volume.folder();
        let git = config.git(repos).on_volume(&volume);
        Runner {
            mirrors: Mirrors::new(repos.to_owned(), git).with_clone_time(config.clone_time()),
            credentials: config.credentials(),
            config,
            volume,
            store,
            apps,
            metrics,
        }
    }

    /// Runs until `stop`. Runs of git are then ended, and their mirrors stay due.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let wake = Wake::default();
        let listening = self.listen(&wake);
        let running = Arc::clone(&self).lease_and_run(&wake, &stop);
        tokio::select! {
            () = listening => {}
            () = running => {}
        }
    }

    async fn lease_and_run(self: Arc<Self>, wake: &Wake, stop: &CancellationToken) {
        let mut runs = Runs::default();
        let mut new_sources: Option<Instant> = None;
        let mut is_away = false;
        loop {
            let is_time = new_sources.is_none_or(|last| last.elapsed() >= NEW_SOURCES_INTERVAL);
            let begun = self.begin_due(&mut runs, is_time, stop).await;
            if is_time && begun.is_ok() {
                new_sources = Some(Instant::now());
            }
            if let (Err(error), false) = (&begun, is_away) {
                tracing::warn!(error = %Chain(error), "the database does not say what is due; retrying");
            }
            is_away = begun.is_err();
            let pause = if is_away { RETRY } else { INTERVAL };
            tokio::select! {
                () = stop.cancelled() => break,
                () = wake.added.notified() => new_sources = None,
                () = wake.due.notified() => {}
                () = runs.next_end(), if !runs.tasks.is_empty() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        while runs.tasks.join_next().await.is_some() {}
        if let Err(error) = self.store.end().await {
            tracing::debug!(error = %Chain(&error), "the database does not know that this process ends");
        }
    }

    /// Begins runs until nothing is due or a bound is reached.
    async fn begin_due(
        self: &Arc<Self>,
        runs: &mut Runs,
        is_time_for_new: bool,
        stop: &CancellationToken,
    ) -> Result<(), SyncStoreError> {
        if is_time_for_new {
            self.store.add_mirrors().await?;
        }
        let most = usize::from(self.config.at_once);
        if runs.tasks.len() < most {
            self.store.vouch_for_mirrors(LONGEST_VOUCHED).await?;
        }
        while runs.tasks.len() < most && !stop.is_cancelled() {
            let busy = runs.busy(self.config.per_host, most);
            let Some(mirror) = self.store.lease(&busy).await? else {
                break;
            };
            let host = RemoteUrl::parse(&mirror.url, &self.config.protocols());
            let host = host.map(|remote| remote.host()).unwrap_or_default();
            let (runner, stop) = (Arc::clone(self), stop.clone());
            let is_first = mirror.is_first;
            runs.begin((host, is_first), async move {
                run::run(&runner, &mirror, &stop).await;
            });
        }
        Ok(())
    }

    /// Wakes up the other loop whenever a source was added or requested.
    async fn listen(&self, wake: &Wake) {
        loop {
            if let Ok(mut listener) = self.store.listen().await {
                wake.added.notify_one();
                while let Ok(Some(notification)) = listener.try_recv().await {
                    match notification.payload() {
                        ADDED => wake.added.notify_one(),
                        _ => wake.due.notify_one(),
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

impl Runs {
    /// What is too busy, of so many runs a host and in all. First clones, which may take long, never have the last
    /// place of a host or of the process: what is served already stays fresh.
    fn busy(&self, per_host: u16, most: usize) -> Busy {
        let mut counts: HashMap<&String, HostRuns> = HashMap::new();
        for (host, is_clone) in self.hosts.values() {
            let host = counts.entry(host).or_default();
            host.all += 1;
            host.clones += u16::from(*is_clone);
        }
        let of = |is_busy: &dyn Fn(&HostRuns) -> bool| {
            let hosts = counts.iter().filter(|(_, runs)| is_busy(runs));
            hosts.map(|(host, _)| (*host).clone()).collect()
        };
        let most_clones = per_host.saturating_sub(1).max(1);
        let clones: usize = counts.values().map(|host| usize::from(host.clones)).sum();
        Busy {
            hosts: of(&|runs| runs.all >= per_host),
            hosts_without_clones: of(&|runs| runs.all >= per_host || runs.clones >= most_clones),
            may_clone: clones < most.saturating_sub(1).max(1),
        }
    }

    fn begin(&mut self, kind: (String, bool), run: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(run).id();
        self.hosts.insert(id, kind);
    }

    /// Waits until one has ended, also by a panic.
    async fn next_end(&mut self) {
        if let Some(ended) = self.tasks.join_next_with_id().await {
            let id = ended.map_or_else(|panicked| panicked.id(), |(id, ())| id);
            self.hosts.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(mut hosts: Vec<String>) -> Vec<String> {
        hosts.sort();
        hosts
    }

    fn begin(runs: &mut Runs, host: &str, is_clone: bool) {
        runs.begin((host.to_owned(), is_clone), std::future::pending());
    }

    #[tokio::test]
    async fn a_run_that_panics_frees_its_host() {
        let mut runs = Runs::default();
        runs.begin(("host".to_owned(), false), async { panic!("in a test") });
        begin(&mut runs, "other", false);
        assert!(runs.busy(2, 8).hosts.is_empty());
        assert_eq!(sorted(runs.busy(1, 8).hosts), ["host", "other"]);
        runs.next_end().await;
        assert_eq!(runs.busy(1, 8).hosts, ["other"]);
    }

    #[tokio::test]
    async fn clones_never_have_the_last_place_and_fetches_leave_the_others() {
        let mut runs = Runs::default();
        for _ in 0..3 {
            begin(&mut runs, "clones", true);
            begin(&mut runs, "fetches", false);
        }
        let busy = runs.busy(4, 8);
        assert!(busy.hosts.is_empty() && busy.may_clone);
        assert_eq!(busy.hosts_without_clones, ["clones"]);
        assert!(
            !runs.busy(4, 4).may_clone,
            "three of four places have clones"
        );
        begin(&mut runs, "fetches", false);
        assert_eq!(runs.busy(4, 8).hosts, ["fetches"]);
        let one = Runs::default().busy(1, 1);
        assert!(one.may_clone && one.hosts_without_clones.is_empty());
    }
}
