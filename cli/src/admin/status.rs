//! `archway status`: what the database says of the installation, and what its gateways say of
//! themselves.

use std::collections::BTreeMap;

use crate::tenants::{Census, GatewaySeen};
use archway_gateway::store::{IndexOverview, LimitsOverview};
use archway_proto::chain::Chain;
use http::Uri;
use serde::Serialize;

use super::AdminError;
use super::connect::Place;
use super::print::{Answer, print, table};
use crate::healthcheck::admin_url;
use asking::{Asked, ask_all};
use gateway::{BreakerRow, GatewayRow};
use refusals::RefusalRow;
use tools::ToolRow;

mod asking;
mod found;
mod gateway;
mod indexes;
mod limits;
mod refusals;
mod tools;

/// What `archway status` is told.
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// The admin port of a gateway, as http://host:port; may be repeated, or several named with
    /// commas. Ends with 1 unless all of them are ready. Without it the gateways are asked that told
    /// Postgres within 30 s that they run: on this host, or at an address of a private network; one that
    /// can't be reached from here is listed and decides nothing.
    #[arg(
        long = "admin-url",
        env = "ARCHWAY_ADMIN_URLS",
        value_name = "URL",
        value_delimiter = ',',
        value_parser = admin_url
    )]
    admin_urls: Vec<Uri>,
    #[command(flatten)]
    place: Place,
}

/// Runs the command. Gateways are asked whether or not Postgres answers: they may tell why not.
pub async fn run(args: StatusArgs) -> Result<(), AdminError> {
    let named: Vec<Asked> = args.admin_urls.into_iter().map(Asked::named).collect();
    let (known, mut gateways) = tokio::join!(known(&args.place), ask_all(&named));
    let (known, failure) = match known {
        Err(failure) if gateways.is_empty() => return Err(failure),
        Err(failure) => (None, Some(failure)),
        Ok(known) => (Some(known), None),
    };
    if let (true, Some(known)) = (named.is_empty(), &known) {
        gateways = ask_all(&found::asked(&known.running)).await;
    }
    let waiting: Vec<&str> = gateways
        .iter()
        .filter(|gateway| !gateway.ready && gateway.counts())
        .map(|gateway| gateway.url.as_str())
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
    };
    print(&status, args.place.json)?;
    failure.or(not_ready).map_or(Ok(()), Err)
}

/// What the database says, in one transaction.
async fn known(place: &Place) -> Result<Known, AdminError> {
    let read = place.read(async |tx, to| {
        let (running, gateways_running) = tx.gateways_seen().await?;
        let workers = tx.workers_seen().await?.into_iter();
        let workers = workers.map(|worker| WorkerRow {
            name: worker.name,
            pool: worker.pool,
            projects: worker.projects,
            last_seen_seconds: worker.seconds_ago,
        });
        Ok(Known {
            schema: to.schema,
            counts: Counts::from(tx.census().await?),
            workers: workers.collect(),
            running,
            gateways_running,
            indexes: tx.index_overview().await?,
            limits: tx.limits_overview().await?,
        })
    });
    read.await
}

#[derive(Serialize)]
struct Status {
    /// Whether all gateways that were named or answered are, and the database answers.
    ready: bool,
    /// Why the database told nothing; absent where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<String>,
    #[serde(flatten)]
    known: Option<Known>,
    gateways: Vec<GatewayRow>,
    /// The circuits that are not closed, of all gateways that were asked: of tenants' own those that they list
    /// (`tenant_circuits_open_total` of their status says how many there are).
    breakers: Vec<BreakerRow>,
    /// What all gateways that were asked refused lately, the most frequent first.
    refusals: Vec<RefusalRow>,
    /// Over all gateways that were asked, by name.
    tools: BTreeMap<String, ToolRow>,
}

/// What the database says.
#[derive(Serialize)]
struct Known {
    schema: i64,
    #[serde(flatten)]
    counts: Counts,
    /// How far indexing is.
    indexes: IndexOverview,
    /// What may be spent other than by default.
    limits: LimitsOverview,
    /// Those that reported a project's folder within the last 90 s.
    workers: Vec<WorkerRow>,
    /// The gateways that said within the last 30 s that they run, at most 64,
    #[serde(skip)]
    running: Vec<GatewaySeen>,
    /// of so many.
    gateways_running: u64,
}

#[derive(Serialize)]
struct Counts {
    tenants: Tenants,
    projects: Projects,
    keys: Keys,
}

#[derive(Serialize)]
struct Tenants {
    in_use: u64,
    disabled: u64,
}

#[derive(Serialize)]
struct Projects {
    served: u64,
    removed: u64,
}

#[derive(Serialize)]
struct Keys {
    live: u64,
    expired: u64,
    revoked: u64,
}

#[derive(Serialize)]
struct WorkerRow {
    name: String,
    pool: String,
    /// How many projects it sees.
    projects: u64,
    /// How long ago it reported them.
    last_seen_seconds: u64,
}

impl WorkerRow {
    fn cells(&self) -> [String; 4] {
        [
            self.name.clone(),
            self.pool.clone(),
            self.projects.to_string(),
            format!("{} s ago", self.last_seen_seconds),
        ]
    }
}

impl From<Census> for Counts {
    fn from(census: Census) -> Self {
        Counts {
            tenants: Tenants {
                in_use: census.tenants.saturating_sub(census.disabled_tenants),
                disabled: census.disabled_tenants,
            },
            projects: Projects {
                served: census.projects,
                removed: census.removed_projects,
            },
            keys: Keys {
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
        let mut tables: Vec<String> = of_gateways.chain(refusals::shown(&self.refusals)).collect();
        match &self.known {
            Some(known) => {
                tables.splice(..0, known.tables());
                tables.extend(indexes::shown(&known.indexes));
                tables.extend(limits::shown(&known.limits));
            }
            None => tables.insert(0, "the database told nothing".to_owned()),
        }
        tables.extend(tools::shown(&self.tools));
        tables.join("\n\n")
    }
}

impl Known {
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
        let rows: Vec<_> = self.workers.iter().map(WorkerRow::cells).collect();
        let header = ["worker", "pool", "projects", "last seen"];
        let workers = (!rows.is_empty()).then(|| {
            let table = table(header, rows, "");
            format!("workers that reported folders to Postgres within 90 s\n{table}")
        });
        std::iter::once(counts).chain(workers).collect()
    }
}
