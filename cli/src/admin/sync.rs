//! `archway sync status` and `archway sync run`: how the mirrors are, and a run now.

mod answer;

use std::time::{Duration, SystemTime};

use clap::Subcommand;
use tokio::time::Instant;
use uuid::Uuid;

use super::AdminError;
use super::connect::{Connected, Installation};
use super::print::print;
use super::progress_bar::ProgressBar;
use crate::tenants::{ConnectionRow, MirrorRow, TenantsTx};
use answer::{ListedMirror, MirrorList, OutOfUse};

/// How often a wait polls the state.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long a wait tolerates that no run begins.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// A request is served after this time at most, if the host takes it.
const LONGEST_DELAY: Duration = Duration::from_secs(20);

/// The subcommands of `archway sync`.
#[derive(Debug, Subcommand)]
pub(crate) enum SyncCommand {
    /// Show the mirrors of a tenant, or of all, and which projects connections put out of use.
    Status {
        /// The tenant's slug [default: all].
        tenant: Option<String>,
        #[command(flatten)]
        installation: Installation,
    },
    /// Have mirrors fetched, and connections listed, now: each at most once in 10 s.
    Run {
        /// The tenant's slug.
        tenant: String,
        /// The project [default: all].
        project: Option<String>,
        /// Wait until all of them have been fetched; exits with 1 if one fails.
        #[arg(long)]
        wait: bool,
        /// Believe hosts that no longer list most repositories: these go out of use at once.
        #[arg(long, conflicts_with = "project")]
        accept_removals: bool,
        #[command(flatten)]
        installation: Installation,
    },
}

/// Runs the command.
pub(crate) async fn run(command: SyncCommand) -> Result<(), AdminError> {
    match &command {
        SyncCommand::Status {
            tenant,
            installation,
        } => {
            let list = installation.read(async |tx, _| list(tx, tenant.as_deref(), None).await);
            print(&list.await?, installation.json)
        }
        SyncCommand::Run {
            tenant,
            project,
            wait,
            accept_removals,
            installation,
        } => {
            let connected = installation.connect().await?;
            let request = Request {
                tenant,
                project: project.as_deref(),
                accepts_removals: *accept_removals,
            };
            let done = request_and_wait(&connected, request, *wait).await;
            connected.close().await;
            print(&done?, installation.json)
        }
    }
}

async fn list(
    tx: &mut TenantsTx,
    tenant: Option<&str>,
    project: Option<&str>,
) -> Result<MirrorList, AdminError> {
    let tenants: Vec<(String, Uuid)> = match tenant {
        Some(slug) => vec![(slug.to_owned(), tx.find_tenant(slug).await?)],
        None => {
            let all = tx.tenants().await?.into_iter();
            all.map(|tenant| (tenant.slug, tenant.id)).collect()
        }
    };
    let (mut mirrors, mut out_of_use) = (Vec::new(), Vec::new());
    let is_chosen = |slug: &str| project.is_none_or(|project| project == slug);
    for (slug, id) in tenants {
        let rows = tx.mirrors(id).await?.into_iter();
        let chosen = rows.filter(|row| is_chosen(&row.project));
        mirrors.extend(chosen.map(|row| ListedMirror::of(&slug, row)));
        let rows = tx.out_of_use(id).await?.into_iter();
        let chosen = rows.filter(|row| is_chosen(&row.project));
        out_of_use.extend(chosen.map(|row| OutOfUse::of(&slug, row)));
    }
    Ok(MirrorList {
        tenant: tenant.map(str::to_owned),
        mirrors,
        out_of_use,
    })
}

/// Which mirrors are to be fetched.
#[derive(Clone, Copy)]
struct Request<'a> {
    tenant: &'a str,
    /// `None`: all of the tenant, and its connections are listed.
    project: Option<&'a str>,
    accepts_removals: bool,
}

/// How far the fetches of a request are.
struct Fetched {
    done: usize,
    of: usize,
    is_running: bool,
    /// As [`clones`] writes it.
    clones: String,
    /// Why connections were not listed.
    errors: Vec<String>,
}

impl Request<'_> {
    async fn make(self, connected: &Connected) -> Result<SystemTime, AdminError> {
        let made = connected.change_unless(false, async |tx, _| {
            let id = tx.find_tenant(self.tenant).await?;
            let asked = tx.request_sync(id, self.project).await?;
            if self.project.is_none() {
                tx.request_listings(id, self.accepts_removals).await?;
            }
            Ok(asked)
        });
        made.await
    }

    async fn fetched(
        self,
        connected: &Connected,
        asked: SystemTime,
    ) -> Result<Fetched, AdminError> {
        let read = connected.read(async |tx, _| {
            let id = tx.find_tenant(self.tenant).await?;
            let connections = match self.project {
                None => tx.connections(id).await?,
                Some(_) => Vec::new(),
            };
            Ok((connections, tx.mirrors(id).await?))
        });
        let (connections, mut mirrors) = read.await?;
        mirrors.retain(|row| self.project.is_none_or(|project| project == row.project));
        // A host that limits us is not asked at a request: its message says so.
        let is_limited =
            |row: &ConnectionRow| !row.is_running && row.next_at > asked + LONGEST_DELAY;
        let listed =
            |row: &&ConnectionRow| has_run(row.tried_at, row.is_running, asked) || is_limited(row);
        let fetched = |row: &&MirrorRow| has_run(row.tried_at, row.is_running, asked);
        let errors = connections.iter().filter_map(|row| {
            let message = row.message.as_ref()?;
            Some(format!("connection {}: {message}", row.name))
        });
        Ok(Fetched {
            done: connections.iter().filter(listed).count()
                + mirrors.iter().filter(fetched).count(),
            of: connections.len() + mirrors.len(),
            is_running: connections.iter().any(|row| row.is_running)
                || mirrors.iter().any(|row| row.is_running),
            errors: errors.collect(),
            clones: clones(&mirrors),
        })
    }

    /// Waits until everything was fetched. Returns why connections were not listed.
    async fn wait(
        self,
        connected: &Connected,
        asked: SystemTime,
    ) -> Result<Vec<String>, AdminError> {
        let bar = ProgressBar::new("listings and mirrors");
        let (mut since, mut done) = (Instant::now(), 0);
        loop {
            let fetched = self.fetched(connected, asked).await?;
            let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
            if fetched.done == fetched.of {
                bar.end(count(fetched.done), count(fetched.of));
                return Ok(fetched.errors);
            }
            bar.show_with(count(fetched.done), count(fetched.of), &fetched.clones);
            if fetched.done != done || fetched.is_running {
                (done, since) = (fetched.done, Instant::now());
            }
            if since.elapsed() > STALL_TIMEOUT {
                let why =
                    "no process of `archway sync` begins the run: start one, and read its log";
                return Err(AdminError::NotReady(why.to_owned()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

async fn request_and_wait(
    connected: &Connected,
    request: Request<'_>,
    wait: bool,
) -> Result<MirrorList, AdminError> {
    let asked = request.make(connected).await?;
    let mut errors = match wait {
        true => request.wait(connected, asked).await?,
        false => Vec::new(),
    };
    let list = connected.read(async |tx, _| list(tx, Some(request.tenant), request.project).await);
    let list = list.await?;
    if wait {
        errors.extend(list.failures());
    }
    match errors.is_empty() {
        true => Ok(list),
        false => Err(AdminError::NotReady(errors.join("; "))),
    }
}

/// Whether a run that began after the request has ended.
fn has_run(tried_at: Option<SystemTime>, is_running: bool, asked: SystemTime) -> bool {
    !is_running && tried_at.is_some_and(|tried| tried >= asked)
}

/// How far the first clones are: one by its project, the others by their number. Empty if there are none.
fn clones(mirrors: &[MirrorRow]) -> String {
    let mut cloning = mirrors.iter().filter(|row| row.state == "cloning");
    let Some(first) = cloning.next() else {
        return String::new();
    };
    let percent = first
        .percent
        .map(|percent| format!(" {percent} % of objects,"));
    let megabytes = first.bytes.unwrap_or(0) as f64 / 1e6;
    let others = match cloning.count() {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    let percent = percent.unwrap_or_default();
    format!(
        ", cloning {}:{percent} {megabytes:.1} MB{others}",
        first.project
    )
}

#[cfg(test)]
mod tests {
    use super::answer::tests::mirror_row;
    use super::*;

    #[test]
    fn only_a_run_after_the_request_counts_and_only_once_it_ended() {
        let asked = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let before = asked.checked_sub(Duration::from_micros(1));
        for (tried_at, is_running, counts) in [
            (None, false, false),
            (before, false, false),
            (Some(asked), true, false),
            (Some(asked), false, true),
        ] {
            let has = has_run(tried_at, is_running, asked);
            assert_eq!(has, counts, "{tried_at:?} {is_running}");
        }
    }

    #[test]
    fn the_bar_has_the_objects_and_bytes_of_a_clone() {
        let row = |project, percent| MirrorRow {
            percent,
            bytes: Some(12_340_000),
            ..mirror_row(project, "", "cloning")
        };
        let ok = || mirror_row("web", "", "ok");
        assert_eq!(clones(&[ok()]), "");
        let one = [ok(), row("app", Some(45))];
        assert_eq!(clones(&one), ", cloning app: 45 % of objects, 12.3 MB");
        let two = [row("app", None), row("site", Some(1))];
        assert_eq!(clones(&two), ", cloning app: 12.3 MB and 1 more");
    }
}
