//! `archway status`: the state of the installation in the database, and what its gateways report.

use std::collections::BTreeMap;

use archway_gateway::store::{IndexOverview, LimitsOverview};
use archway_proto::chain::Chain;
use http::Uri;
use serde::Serialize;

use super::AdminError;
use super::connect::Installation;
use super::print::{Answer, distinct_names, print, table};
use crate::healthcheck::admin_url;
use crate::tenants::{Census, ReportedProcess};
use gateway::{BreakerRow, GatewayRow};
use query::{GatewayTarget, query_all};
use refusals::RefusalRow;
use tools::ToolRow;

mod query;
mod discovered;
mod gateway;
mod indexes;
mod limits;
mod refusals;
mod sync;
mod tools;

/// Arguments of `archway status`.
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// The admin port of a gateway, as http://host:port; may be repeated, or several separated by
    /// commas. Exits with 1 unless all of them are ready. Without it, the gateways that reported to
    /// Postgres within 30 s are queried, on this host or at an address of a private network. One that
    /// cannot be reached from here is listed, and does not affect the exit status.
    #[arg(
        long = "admin-url",
        env = "ARCHWAY_ADMIN_URLS",
        value_name = "URL",
        value_delimiter = ',',
        value_parser = admin_url
    )]
    admin_urls: Vec<Uri>,
    /// The admin port of a process of `archway sync`, likewise. Without it, those that reported within 90 s
    /// are queried.
    #[arg(
        long = "sync-url",
        env = "ARCHWAY_SYNC_URLS",
        value_name = "URL",
        value_delimiter = ',',
        value_parser = admin_url
    )]
    sync_urls: Vec<Uri>,
    #[command(flatten)]
    installation: Installation,
}

/// Runs the command. Gateways are queried even if Postgres is down: they may know why.
pub async fn run(args: StatusArgs) -> Result<(), AdminError> {
    let named = |urls: Vec<Uri>| -> Vec<GatewayTarget> {
        urls.into_iter().map(GatewayTarget::named).collect()
    };
    let (named, syncs) = (named(args.admin_urls), named(args.sync_urls));
    let (known, mut gateways, mut sync) = tokio::join!(
        known(&args.installation),
        query_all(&named),
        query_all(&syncs)
    );
    let (known, failure) = match known {
        Err(failure) if gateways.is_empty() => return Err(failure),
        Err(failure) => (None, Some(failure)),
        Ok(known) => (Some(known), None),
    };
    if let (true, Some(known)) = (named.is_empty(), &known) {
        gateways = query_all(&discovered::asked(&known.running)).await;
    }
    if let (true, Some(known)) = (syncs.is_empty(), &known) {
        sync = query_all(&discovered::asked(&known.syncing)).await;
    }
    let waiting: Vec<&str> = (gateways.iter().chain(&sync))
        .filter(|process| !process.ready && process.counts())
        .map(|process| process.url.as_str())
        .collect();
    let not_ready = (!waiting.is_empty()).then(|| AdminError::NotReady(waiting.join(", ")));
    let status = Status {
        ready: not_ready.is_none() && failure.is_none(),
        database: failure.as_ref().map(|failure| Chain(failure).to_string()),
        known,
        refusals: gateway::refusals(&gateways),
        tools: gateway::tools(&gateways),
        breakers: gateway::breakers(&gateways),
        gateways,
        sync,
    };
    print(&status, args.installation.json)?;
    failure.or(not_ready).map_or(Ok(()), Err)
}

/// Reads the database's part in one transaction.
async fn known(installation: &Installation) -> Result<DatabaseState, AdminError> {
    let read = installation.read(async |tx, to| {
        let (running, gateways_running) = tx.reported_gateways().await?;
        let workers = tx.reported_workers().await?.into_iter();
        let workers = workers.map(|worker| WorkerRow {
            name: worker.name,
            instance: worker.instance,
            pool: worker.pool,
            projects: worker.projects,
            last_seen_seconds: worker.seconds_ago,
        });
        Ok(DatabaseState {
            schema: to.schema,
            counts: Counts::from(tx.census().await?),
            workers: workers.collect(),
            running,
            syncing: tx.reported_syncs().await?,
            gateways_running,
            indexes: tx.index_overview().await?,
            limits: tx.limits_overview().await?,
        })
    });
    read.await
}

#[derive(Serialize)]
struct Status {
    /// Whether the database answers, and all processes that were named or reached are ready.
    ready: bool,
    /// Why the database could not be read; absent if it could.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<String>,
    #[serde(flatten)]
    known: Option<DatabaseState>,
    gateways: Vec<GatewayRow>,
    /// Processes of `archway sync` that were named or reported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sync: Vec<GatewayRow>,
    /// Circuits that are not closed, of all queried gateways. A gateway lists only some tenants'
    /// circuits; `tenant_circuits_open_total` of its status is their number.
    breakers: Vec<BreakerRow>,
    /// Recent refusals of all queried gateways, the most frequent first.
    refusals: Vec<RefusalRow>,
    /// Calls of all queried gateways, by tool.
    tools: BTreeMap<String, ToolRow>,
}

/// What the database reports.
#[derive(Serialize)]
struct DatabaseState {
    schema: i64,
    #[serde(flatten)]
    counts: Counts,
    /// The state of indexes.
    indexes: IndexOverview,
    /// Limits that differ from the defaults.
    limits: LimitsOverview,
    /// Workers that reported a project's folder within the last 90 s.
    workers: Vec<WorkerRow>,
    /// Gateways that reported within the last 30 s, at most 64.
    #[serde(skip)]
    running: Vec<ReportedProcess>,
    /// The number of all such gateways.
    gateways_running: u64,
    /// Processes of `archway sync` that reported within the last 90 s, at most 64.
    #[serde(skip)]
    syncing: Vec<ReportedProcess>,
}

#[derive(Serialize)]
struct Counts {
    tenants: TenantCounts,
    projects: ProjectCounts,
    keys: KeyCounts,
}

#[derive(Serialize)]
struct TenantCounts {
    in_use: u64,
    disabled: u64,
}

#[derive(Serialize)]
struct ProjectCounts {
    served: u64,
    removed: u64,
}

#[derive(Serialize)]
struct KeyCounts {
    live: u64,
    expired: u64,
    revoked: u64,
}

#[derive(Serialize)]
struct WorkerRow {
    name: String,
    /// Where it runs, `box-7000`; absent if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    instance: String,
    pool: String,
    /// How many projects it serves.
    projects: u64,
    /// Seconds since it reported them.
    last_seen_seconds: u64,
}

impl WorkerRow {
    fn cells(&self, name: String) -> [String; 4] {
        [
            name,
            self.pool.clone(),
            self.projects.to_string(),
            format!("{} s ago", self.last_seen_seconds),
        ]
    }
}

impl From<Census> for Counts {
    fn from(census: Census) -> Self {
        Counts {
            tenants: TenantCounts {
                in_use: census.tenants.saturating_sub(census.disabled_tenants),
                disabled: census.disabled_tenants,
            },
            projects: ProjectCounts {
                served: census.projects,
                removed: census.removed_projects,
            },
            keys: KeyCounts {
                live: census.live_keys,
                expired: census.expired_keys,
                revoked: census.revoked_keys,
            },
        }
    }
}

impl Answer for Status {
    fn text(&self) -> String {
        let running = self
            .known
            .as_ref()
            .map_or(0, |known| known.gateways_running);
        let of_gateways = gateway::tables(&self.gateways, running).into_iter();
        let of_processes = of_gateways.chain(sync::table_of(&self.sync));
        let mut tables: Vec<String> =
            (of_processes.chain(refusals::shown(&self.refusals))).collect();
        match &self.known {
            Some(known) => {
                tables.splice(..0, known.tables());
                tables.extend(indexes::shown(&known.indexes));
                tables.extend(limits::shown(&known.limits));
            }
            None => tables.insert(0, "the database could not be read".to_owned()),
        }
        tables.extend(tools::shown(&self.tools));
        tables.join("\n\n")
    }
}

impl DatabaseState {
    /// Counts, and the workers that reported.
    fn tables(&self) -> Vec<String> {
        let Counts {
            tenants,
            projects,
            keys,
        } = &self.counts;
        let counts = format!(
            "schema    {}\ntenants   {} in use, {} disabled\nprojects  {} served, {} removed\n\
             keys      {} live, {} expired, {} revoked\nindexes   {}\nlimits    {}",
            self.schema,
            tenants.in_use,
            tenants.disabled,
            projects.served,
            projects.removed,
            keys.live,
            keys.expired,
            keys.revoked,
            indexes::line(&self.indexes),
            limits::line(&self.limits),
        );
        let named = |worker: &WorkerRow| (worker.name.clone(), worker.instance.clone());
        let names = distinct_names(&self.workers.iter().map(named).collect::<Vec<_>>());
        let rows = self.workers.iter().zip(names);
        let rows: Vec<_> = rows.map(|(worker, name)| worker.cells(name)).collect();
        let header = ["worker", "pool", "projects", "last seen"];
        let workers = (!rows.is_empty()).then(|| {
            let table = table(header, rows, "");
            format!("workers that reported folders to Postgres within 90 s\n{table}")
        });
        std::iter::once(counts).chain(workers).collect()
    }
}
