//! What gateways report on their admin ports.
//!
//! A gateway of an older build has no `/status`: only its readiness is known. `--json` prints the status
//! as it came. The tables show its workers, and the circuits that are not closed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::refusals::{self, RefusalRow};
use super::tools::{self, ToolRow};
use crate::admin::print::{harmless, table};

/// One gateway.
#[derive(Serialize)]
pub(super) struct GatewayRow {
    pub(super) url: String,
    /// Its name, if its row in Postgres was the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// Whether it answered.
    pub(super) reached: bool,
    pub(super) ready: bool,
    /// What it answered, or why it was not reached.
    pub(super) reason: String,
    /// Its `/status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Value>,
}

/// The part of a gateway's status that the tables show. Fields that a build lacks are empty.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ReportedStatus {
    /// The state of the limits store; `None` if the gateway has none.
    limits_store: Option<String>,
    workers: Vec<Worker>,
    circuits: Vec<Circuit>,
    tenant_circuits_open: Vec<Circuit>,
    tenant_circuits_open_total: usize,
    tools: BTreeMap<String, ToolRow>,
    refusals: Vec<RefusalRow>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Worker {
    pool: String,
    address: String,
    state: String,
    in_flight: u64,
}

/// A circuit of a gateway.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Circuit {
    pool: String,
    family: String,
    /// The tenant, if it is a tenant's circuit.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
    calls: u64,
    faults: u64,
    slow: u64,
}

/// A circuit that is not closed, and its gateway.
#[derive(Serialize)]
pub(super) struct BreakerRow {
    gateway: String,
    #[serde(flatten)]
    circuit: Circuit,
}

impl GatewayRow {
    /// Whether it decides the installation's readiness. A gateway from Postgres that cannot be reached
    /// from here may still be fine.
    pub(super) fn counts(&self) -> bool {
        self.name.is_none() || self.reached
    }
}

/// Tool counts, summed over the gateways.
pub(super) fn tools(gateways: &[GatewayRow]) -> BTreeMap<String, ToolRow> {
    tools::sums(gateways.iter().map(|gateway| gateway.reported().tools))
}

/// Recent refusals, summed over the gateways.
pub(super) fn refusals(gateways: &[GatewayRow]) -> Vec<RefusalRow> {
    refusals::sums(gateways.iter().map(|gateway| gateway.reported().refusals))
}

/// The circuits of all gateways that are not closed.
pub(super) fn breakers(gateways: &[GatewayRow]) -> Vec<BreakerRow> {
    let of = |row: &GatewayRow| {
        let reported = row.reported();
        let all = reported
            .circuits
            .into_iter()
            .chain(reported.tenant_circuits_open);
        let open = all.filter(|circuit| circuit.state != "closed");
        let gateway = row.url.clone();
        open.map(move |circuit| BreakerRow {
            gateway: gateway.clone(),
            circuit,
        })
    };
    gateways.iter().flat_map(of).collect()
}

/// Tables for people: gateways, limits store, workers, and the circuits that are not closed.
pub(super) fn tables(gateways: &[GatewayRow], running: u64) -> Vec<String> {
    if gateways.is_empty() {
        let hint = "no gateway was queried: none has reported to Postgres; --admin-url http://HOST:PORT names \
                    an admin port, for reachable workers, circuits and refusals";
        return vec![hint.to_owned()];
    }
    let rows = gateways.iter().map(|row| {
        let verdict = match (row.ready, row.counts()) {
            (true, _) => "ready",
            (false, true) => "not ready",
            (false, false) => "not reached",
        };
        let url = match row.name.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => format!("{name} at {}", row.url),
            None => row.url.clone(),
        };
        [url, verdict.to_owned(), row.reason.clone()]
    });
    let mut tables = vec![table(["gateway", "state", "says"], rows.collect(), "")];
    let discovered = gateways.iter().filter(|row| row.name.is_some()).count();
    let unlisted = running.saturating_sub(discovered as u64);
    if discovered > 0 && unlisted > 0 {
        tables.push(format!(
            "{unlisted} more gateways are running: name them with --admin-url"
        ));
    }
    let reached = gateways.iter().filter(|row| row.counts());
    let reported: Vec<_> = reached.map(|row| (row, row.reported())).collect();
    tables.extend(store(&reported));
    tables.extend(workers(&reported));
    tables.extend(circuits(&reported, &breakers(gateways)));
    tables
}

/// `store of limits: up at http://…, away at http://…`.
fn store(reported: &[(&GatewayRow, ReportedStatus)]) -> Option<String> {
    let says = |(row, reported): &(&GatewayRow, ReportedStatus)| {
        let state = reported.limits_store.as_deref()?;
        Some(format!("{} at {}", harmless(state), row.url))
    };
    let says: Vec<String> = reported.iter().filter_map(says).collect();
    (!says.is_empty()).then(|| format!("store of limits: {}", says.join(", ")))
}

fn workers(reported: &[(&GatewayRow, ReportedStatus)]) -> Option<String> {
    let all = reported.iter().flat_map(|(gateway, reported)| {
        let workers = reported.workers.iter();
        workers.map(|worker| worker.row(gateway))
    });
    let rows: Vec<_> = all.collect();
    let header = ["gateway", "pool", "address", "state", "in flight"];
    (!rows.is_empty()).then(|| format!("workers of each gateway\n{}", table(header, rows, "")))
}

/// The table of circuits, and how many it leaves out.
fn circuits(reported: &[(&GatewayRow, ReportedStatus)], open: &[BreakerRow]) -> Vec<String> {
    let unlisted = reported.iter().map(|(_, reported)| {
        let listed = reported.tenant_circuits_open.len();
        reported.tenant_circuits_open_total.saturating_sub(listed)
    });
    let unlisted: usize = unlisted.sum();
    let mut tables = Vec::new();
    let all_reported = reported.iter().all(|(gateway, _)| gateway.status.is_some());
    if open.is_empty() && unlisted == 0 && all_reported {
        tables.push("circuits: all closed".to_owned());
    }
    if !open.is_empty() {
        let header = [
            "gateway", "pool", "family", "tenant", "circuit", "wait", "calls", "faults", "slow",
        ];
        let rows = table(header, open.iter().map(BreakerRow::cells).collect(), "");
        tables.push(format!("circuits that are not closed\n{rows}"));
    }
    if unlisted > 0 {
        tables.push(format!(
            "circuits of {unlisted} more tenants are not closed"
        ));
    }
    tables
}

impl GatewayRow {
    fn reported(&self) -> ReportedStatus {
        let reported = self.status.as_ref().map(ReportedStatus::deserialize);
        reported.and_then(Result::ok).unwrap_or_default()
    }
}

impl Worker {
    fn row(&self, gateway: &GatewayRow) -> [String; 5] {
        [
            gateway.url.clone(),
            self.pool.clone(),
            self.address.clone(),
            self.state.clone(),
            self.in_flight.to_string(),
        ]
    }
}

impl BreakerRow {
    fn cells(&self) -> [String; 9] {
        let BreakerRow { gateway, circuit } = self;
        let wait = circuit.retry_after_seconds;
        [
            gateway.clone(),
            circuit.pool.clone(),
            circuit.family.clone(),
            circuit.tenant.clone().unwrap_or_else(|| "-".to_owned()),
            circuit.state.clone(),
            wait.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds} s")),
            circuit.calls.to_string(),
            circuit.faults.to_string(),
            circuit.slow.to_string(),
        ]
    }
}
