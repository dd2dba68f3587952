//! What gateways say of themselves on their admin ports.
//!
//! A gateway of an older build has no `/status`: then it is only asked whether it is ready. What it
//! says is printed as it came with `--json`; the tables show its workers, and the circuits that are
//! not closed.

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
    /// What it is called, if its row in Postgres led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// Whether it answered.
    pub(super) reached: bool,
    pub(super) ready: bool,
    /// Its own words, or why it was not reached.
    pub(super) reason: String,
    /// What it says at `/status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Value>,
}

/// Of a gateway's status, what the table shows. What a build does not say is absent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    /// Whether the store of limits answers; absent where there is none, too.
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

/// A circuit breaker's.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Circuit {
    pool: String,
    family: String,
    /// Whose it is, if it is one tenant's.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
    calls: u64,
    faults: u64,
    slow: u64,
}

/// A circuit that is not closed, and at which gateway.
#[derive(Serialize)]
pub(super) struct BreakerRow {
    gateway: String,
    #[serde(flatten)]
    circuit: Circuit,
}

impl GatewayRow {
    /// Whether it decides how the installation is: who was found and can't be reached from here may
    /// be well.
    pub(super) fn counts(&self) -> bool {
        self.name.is_none() || self.reached
    }
}

/// What all gateways say of tools together.
pub(super) fn tools(gateways: &[GatewayRow]) -> BTreeMap<String, ToolRow> {
    tools::sums(gateways.iter().map(|gateway| gateway.told().tools))
}

/// What all gateways refused lately, together.
pub(super) fn refusals(gateways: &[GatewayRow]) -> Vec<RefusalRow> {
    refusals::sums(gateways.iter().map(|gateway| gateway.told().refusals))
}

/// The circuits that are not closed, of all gateways.
pub(super) fn breakers(gateways: &[GatewayRow]) -> Vec<BreakerRow> {
    let of = |row: &GatewayRow| {
        let told = row.told();
        let all = told.circuits.into_iter().chain(told.tenant_circuits_open);
        let open = all.filter(|circuit| circuit.state != "closed");
        let gateway = row.url.clone();
        open.map(move |circuit| BreakerRow {
            gateway: gateway.clone(),
            circuit,
        })
    };
    gateways.iter().flat_map(of).collect()
}

/// For people: the gateways, the store of limits, workers, and the circuits that are not closed.
pub(super) fn tables(gateways: &[GatewayRow], running: u64) -> Vec<String> {
    if gateways.is_empty() {
        let hint = "no gateway was asked: none says that it runs; --admin-url http://HOST:PORT names an \
                    admin port, for workers in reach, circuits and refusals";
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
    let found = gateways.iter().filter(|row| row.name.is_some()).count();
    let unlisted = running.saturating_sub(found as u64);
    if found > 0 && unlisted > 0 {
        tables.push(format!(
            "{unlisted} more gateways run: name them with --admin-url"
        ));
    }
    let reached = gateways.iter().filter(|row| row.counts());
    let told: Vec<_> = reached.map(|row| (row, row.told())).collect();
    tables.extend(store(&told));
    tables.extend(workers(&told));
    tables.extend(circuits(&told, &breakers(gateways)));
    tables
}

/// `store of limits: up at http://…, away at http://…`.
fn store(told: &[(&GatewayRow, Told)]) -> Option<String> {
    let says = |(row, told): &(&GatewayRow, Told)| {
        let state = told.limits_store.as_deref()?;
        Some(format!("{} at {}", harmless(state), row.url))
    };
    let says: Vec<String> = told.iter().filter_map(says).collect();
    (!says.is_empty()).then(|| format!("store of limits: {}", says.join(", ")))
}

fn workers(told: &[(&GatewayRow, Told)]) -> Option<String> {
    let all = told.iter().flat_map(|(gateway, told)| {
        let workers = told.workers.iter();
        workers.map(|worker| worker.row(gateway))
    });
    let rows: Vec<_> = all.collect();
    let header = ["gateway", "pool", "address", "state", "in flight"];
    (!rows.is_empty()).then(|| format!("workers of each gateway\n{}", table(header, rows, "")))
}

/// A table, and how many it leaves out.
fn circuits(told: &[(&GatewayRow, Told)], open: &[BreakerRow]) -> Vec<String> {
    let unlisted = told.iter().map(|(_, told)| {
        let listed = told.tenant_circuits_open.len();
        told.tenant_circuits_open_total.saturating_sub(listed)
    });
    let unlisted: usize = unlisted.sum();
    let mut tables = Vec::new();
    let all_told = told.iter().all(|(gateway, _)| gateway.status.is_some());
    if open.is_empty() && unlisted == 0 && all_told {
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
    fn told(&self) -> Told {
        let told = self.status.as_ref().map(Told::deserialize);
        told.and_then(Result::ok).unwrap_or_default()
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
