//! One run: fetches a leased mirror while the lease is renewed, and records how it ended.

use std::path::Path;

use archway_proto::chain::Chain;
use archway_proto::trace::Span;
use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanBuilder, SpanKind};
use parking_lot::Mutex;
use tokio::time::{Duration, Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Runner;
use crate::credentials::{Credential, HttpsCredential, SshCredential};
use crate::failure::{SyncFailure, SyncState};
use crate::git::{Progress, RunBounds, Transport};
use crate::mirror::{MirrorSource, Synced};
use crate::remote::{Protocol, RemoteUrl};
use crate::schedule;
use crate::ssh::{PROGRAM_PATH, SshAgent, SshError, SshPrograms, known_hosts_option};
use crate::store::{LEASE, LeasedMirror};
use crate::volume::Volume;

/// How often a lease is renewed.
const RENEWAL: Duration = Duration::from_secs(5);
/// A run ends when its lease was not renewed for so long: it must not outlive it.
const UNRENEWED: Duration = LEASE.saturating_sub(Duration::from_secs(15));

/// How a run ended.
enum Ended {
    Done(Result<Synced, SyncFailure>),
    /// Another process may have the lease: this one writes nothing more.
    LeaseLost,
    /// This process ends.
    Stopped,
}

/// Runs a leased mirror.
pub(super) async fn run(runner: &Runner, mirror: &LeasedMirror, stop: &CancellationToken) {
    let begun = Instant::now();
    runner.metrics.begun();
    let span = Span::of_new_trace(|| describe(mirror));
    let (cancel, progress) = (stop.child_token(), Mutex::new(Progress::default()));
    let ended = tokio::select! {
        done = sync(runner, mirror, &cancel, &progress) => match stop.is_cancelled() {
            true => Ended::Stopped,
            false => Ended::Done(done),
        },
        () = until_lost(runner, mirror, &progress) => Ended::LeaseLost,
    };
    let (state, changed) = match &ended {
        Ended::Done(Ok(synced)) if synced.ref_gone => (SyncState::RefGone, synced.changed),
        Ended::Done(Ok(synced)) => (SyncState::Ok, synced.changed),
        Ended::Done(Err(failure)) => (failure.state, false),
        Ended::LeaseLost | Ended::Stopped => (SyncState::BackingOff, false),
    };
    runner.metrics.ended(state, changed, begun.elapsed());
    span.set("archway.sync.state", state.name());
    if state != SyncState::Ok {
        span.fail(state.name());
    }
    drop(span);
    record(runner, mirror, ended).await;
}

/// A trace is one run.
fn describe(mirror: &LeasedMirror) -> SpanBuilder {
    let name = match mirror.is_first {
        true => "git clone",
        false => "git fetch",
    };
    let project = KeyValue::new("project.id", mirror.project_id.to_string());
    let tenant = KeyValue::new("tenant.id", mirror.tenant_id.to_string());
    SpanBuilder::from_name(name)
        .with_kind(SpanKind::Client)
        .with_attributes([project, tenant])
}

async fn record(runner: &Runner, mirror: &LeasedMirror, ended: Ended) {
    let random = f64::from(uuid::Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
    let (tenant, project) = (&mirror.tenant, &mirror.project);
    let recorded = match &ended {
        Ended::Done(Ok(synced)) => {
            // What a first clone brings is no activity.
            let quiet = match synced.changed && !mirror.is_first {
                true => Duration::ZERO,
                false => mirror.quiet,
            };
            let next = schedule::after_success(quiet, mirror.is_listed, random);
            runner.store.record(mirror, synced, next).await
        }
        Ended::Done(Err(failure)) => {
            tracing::info!(tenant, project, %failure, "a repository could not be mirrored");
            let next = schedule::after_failure(failure.state, mirror.attempts + 1, random);
            let bytes = bytes(runner, mirror).await;
            runner
                .store
                .record_failure(mirror, failure, bytes, next)
                .await
        }
        Ended::LeaseLost => {
            tracing::warn!(
                tenant,
                project,
                "the lease of a mirror was lost; its run was ended"
            );
            return;
        }
        Ended::Stopped => {
            let bytes = bytes(runner, mirror).await;
            runner.store.release(mirror, bytes).await
        }
    };
    if let Err(error) = recorded {
        tracing::warn!(tenant, project, error = %Chain(&error), "a run was not recorded; it is repeated");
    }
}

/// The size of a mirror after a run that brought nothing: what the run itself took room for is gone.
async fn bytes(runner: &Runner, mirror: &LeasedMirror) -> Option<u64> {
    let (mirrors, mirror) = (runner.mirrors.clone(), mirror.clone());
    let size = move || mirrors.bytes(&mirror.tenant, &mirror.project, mirror.project_id);
    tokio::task::spawn_blocking(size).await.ok().flatten()
}

async fn sync(
    runner: &Runner,
    mirror: &LeasedMirror,
    cancel: &CancellationToken,
    progress: &Mutex<Progress>,
) -> Result<Synced, SyncFailure> {
    let remote = RemoteUrl::parse(&mirror.url, &runner.config.protocols());
    let remote = remote.map_err(|error| SyncFailure::new(SyncState::Failed, error.to_string()))?;
    let is_new = !runner
        .mirrors
        .has(&mirror.tenant, &mirror.project, mirror.project_id);
    if is_new {
        check_room(&runner.volume, runner.config.volume_percent)?;
    }
    let bounds = RunBounds {
        limits: runner.config.limits(is_new, &runner.volume),
        cancel,
        progress: &|now| *progress.lock() = now,
    };
    let mut synced = transfer(runner, mirror, &remote, &bounds).await;
    if let (Err(failure), Some(settings)) = (&synced, &mirror.app)
        && failure.state == SyncState::CredentialRefused
    {
        // A host may revoke an App's token before its end.
        runner.apps.forget(&mirror.tenant, settings);
        synced = transfer(runner, mirror, &remote, &bounds).await;
    }
    if is_new && synced.is_ok() {
        let (tenant, project) = (&mirror.tenant, &mirror.project);
        tracing::info!(tenant, project, "a repository was cloned");
    }
    synced
}

/// Clones or fetches once.
async fn transfer(
    runner: &Runner,
    mirror: &LeasedMirror,
    remote: &RemoteUrl,
    bounds: &RunBounds<'_>,
) -> Result<Synced, SyncFailure> {
    let access = Access::of(runner, mirror, remote).await?;
    let source = MirrorSource {
        tenant: &mirror.tenant,
        project: &mirror.project,
        project_id: mirror.project_id,
        reference: mirror.reference.as_deref(),
        transport: Transport {
            remote,
            https: access.https.as_ref(),
            ssh: access
                .ssh
                .as_ref()
                .map(|(agent, option)| (agent, option.as_str())),
            ca_file: mirror.ca_file.as_deref().map(Path::new),
            https_proxy: mirror.https_proxy.as_deref(),
        },
    };
    runner.mirrors.sync(&source, bounds).await
}

/// What a run presents to the remote.
#[derive(Default)]
struct Access {
    https: Option<HttpsCredential>,
    ssh: Option<(SshAgent, String)>,
}

impl Access {
    async fn of(
        runner: &Runner,
        mirror: &LeasedMirror,
        remote: &RemoteUrl,
    ) -> Result<Access, SyncFailure> {
        if let Some(settings) = &mirror.app {
            let token = runner.apps.token(&mirror.tenant, settings).await?;
            return Ok(Access {
                https: Some(HttpsCredential::of_token(token)),
                ssh: None,
            });
        }
        let Some(name) = &mirror.credential else {
            return match remote.protocol() {
                Protocol::Ssh => Err(SyncFailure::new(
                    SyncState::CredentialMissing,
                    "ssh needs a key: name a file of --credentials by `credential`",
                )),
                _ => Ok(Access::default()),
            };
        };
        let refused = |error: SshError| SyncFailure::new(SyncState::Failed, error.to_string());
        let credentials = &runner.credentials;
        Ok(
            match credentials.read(&mirror.tenant, name, remote.protocol())? {
                Credential::Https(https) => Access {
                    https: Some(https),
                    ssh: None,
                },
                Credential::Ssh(SshCredential { key, known_hosts }) => {
                    let programs = SshPrograms::find(PROGRAM_PATH).map_err(refused)?;
                    let programs = programs.with_helper(runner.config.helper.clone());
                    let option = known_hosts_option(&known_hosts).map_err(refused)?;
                    let folder = std::env::temp_dir();
                    let agent = SshAgent::start(&programs, &key, &folder);
                    Access {
                        https: None,
                        ssh: Some((agent.await.map_err(refused)?, option)),
                    }
                }
            },
        )
    }
}

/// Refuses a clone on a volume that is nearly full.
fn check_room(volume: &Volume, percent: u8) -> Result<(), SyncFailure> {
    match volume.used() {
        Some(used) if used * 100.0 > f64::from(percent) => Err(SyncFailure::new(
            SyncState::NoSpace,
            format!("the volume is more than {percent} % full: nothing new is cloned"),
        )),
        Some(_) | None => Ok(()),
    }
}

/// Renews the lease. Returns once it is lost.
async fn until_lost(runner: &Runner, mirror: &LeasedMirror, progress: &Mutex<Progress>) {
    let mut renewed = Instant::now();
    loop {
        tokio::time::sleep(RENEWAL).await;
        let Progress { percent, bytes } = *progress.lock();
        let begun = Instant::now();
        let left = UNRENEWED.saturating_sub(renewed.elapsed());
        match timeout(left, runner.store.renew(mirror, percent, bytes)).await {
            // The lease is good from some moment after the question.
            Ok(Ok(true)) => renewed = begun,
            Ok(Ok(false)) | Err(_) => return,
            Ok(Err(_)) => {}
        }
    }
}
