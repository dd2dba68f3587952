//! `archway status`: what the database says of the installation, and what its gateways say of
//! themselves.

use std::collections::BTreeMap;

use archway_gateway::tenants::Census;
use http::Uri;
use serde::Serialize;

use super::AdminError;
use super::connect::Place;
use super::print::{Answer, print, table};
use crate::healthcheck::admin_url;
use gateway::GatewayRow;
use tools::ToolRow;

mod gateway;
mod tools;

/// What `archway status` is told.
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// The admin port of a gateway, as http://host:port; may be repeated, or several named with
    /// commas. Ends with 1 unless all of them are ready.
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

/// Runs the command.
pub async fn run(args: StatusArgs) -> Result<(), AdminError> {
    let from_database = args.place.read(async |tx, to| {
        let workers = tx.workers_seen().await?.into_iter();
        let workers = workers.map(|worker| WorkerRow {
            name: worker.name,
            pool: worker.pool,
            projects: worker.projects,
            last_seen_seconds: worker.seconds_ago,
        });
        Ok((to.schema, tx.census().await?, workers.collect::<Vec<_>>()))
    });
    let (schema, census, workers) = from_database.await?;
    let gateways = gateway::ask_all(&args.admin_urls).await;
    let waiting: Vec<&str> = gateways
        .iter()
        .filter(|gateway| !gateway.ready)
        .map(|gateway| gateway.url.as_str())
        .collect();
    let refusal = (!waiting.is_empty()).then(|| AdminError::NotReady(waiting.join(", ")));
    let status = Status {
        ready: refusal.is_none(),
        schema,
        counts: census.into(),
        tools: gateway::tools(&gateways),
        gateways,
        workers,
    };
    print(&status, args.place.json)?;
    refusal.map_or(Ok(()), Err)
}

#[derive(Serialize)]
struct Status {
    /// Whether all gateways that were asked are.
    ready: bool,
    schema: i64,
    #[serde(flatten)]
    counts: Counts,
    gateways: Vec<GatewayRow>,
    /// Over all gateways that were asked, by name.
    tools: BTreeMap<String, ToolRow>,
    /// Those that reported a project's folder within the last 90 s.
    workers: Vec<WorkerRow>,
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
        let Counts {
            tenants,
            projects,
            keys,
        } = &self.counts;
        let mut text = format!(
            "schema    {}\ntenants   {} in use, {} disabled\nprojects  {} served, {} removed\n\
             keys      {} live, {} expired, {} revoked",
            self.schema,
            tenants.in_use,
            tenants.disabled,
            projects.served,
            projects.removed,
            keys.live,
            keys.expired,
            keys.revoked
        );
        if !self.workers.is_empty() {
            let rows = self.workers.iter().map(WorkerRow::cells).collect();
            let header = ["worker", "pool", "projects", "last seen"];
            text.push_str("\n\nworkers that reported folders to Postgres within 90 s\n");
            text.push_str(&table(header, rows, ""));
        }
        let tools = tools::shown(&self.tools);
        for table in gateway::tables(&self.gateways).into_iter().chain(tools) {
            text.push_str("\n\n");
            text.push_str(&table);
        }
        text
    }
}
