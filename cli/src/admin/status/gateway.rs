//! What gateways say of themselves on their admin ports.
//!
//! A gateway of an older build has no `/status`: then it is only asked whether it is ready. What it
//! says is printed as it came with `--json`; the table shows the circuits that are not closed.

use std::time::Duration;

use http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::admin::print::table;
use crate::http_get;

/// How long a gateway may take for one answer.
const LIMIT: Duration = Duration::from_secs(2);

/// One gateway.
#[derive(Serialize)]
pub(super) struct GatewayRow {
    pub(super) url: String,
    pub(super) ready: bool,
    /// Its own words, or why it was not reached.
    reason: String,
    /// What it says at `/status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Value>,
}

/// Of a gateway's status, what the table shows. What a build does not say is absent.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Told {
    circuits: Vec<Circuit>,
    tenant_circuits_open: Vec<Circuit>,
    tenant_circuits_open_total: usize,
}

#[derive(Deserialize)]
struct Circuit {
    pool: String,
    family: String,
    /// Whose it is, if it is one tenant's.
    tenant: Option<String>,
    state: String,
    retry_after_seconds: Option<u64>,
    calls: u64,
    faults: u64,
    slow: u64,
}

/// Asks them side by side; answers in the order in which they were named.
pub(super) async fn ask_all(urls: &[Uri]) -> Vec<GatewayRow> {
    let mut asking = JoinSet::new();
    for (place, url) in urls.iter().cloned().enumerate() {
        asking.spawn(async move { (place, ask(&url).await) });
    }
    let mut answers = asking.join_all().await;
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// `url` is the gateway's `/readyz`.
async fn ask(url: &Uri) -> GatewayRow {
    let (ready, reason, status) = match http_get::get(url, LIMIT).await {
        Ok((status, body)) => {
            let ready = status.is_success();
            (ready, body.trim().to_owned(), more(url).await)
        }
        Err(error) => (false, error.to_string(), None),
    };
    GatewayRow {
        url: url.to_string(),
        ready,
        reason,
        status,
    }
}

/// What the gateway says at `/status`, if it says something there.
async fn more(url: &Uri) -> Option<Value> {
    let authority = url.authority()?.as_str();
    let url = format!("http://{authority}/status").parse().ok()?;
    let (status, body) = http_get::get(&url, LIMIT).await.ok()?;
    let said = status.is_success().then_some(body)?;
    serde_json::from_str(&said).ok().filter(Value::is_object)
}

/// For people: the gateways, and the circuits that are not closed.
pub(super) fn tables(gateways: &[GatewayRow]) -> Vec<String> {
    if gateways.is_empty() {
        return Vec::new();
    }
    let rows = gateways.iter().map(|row| {
        let verdict = if row.ready { "ready" } else { "not ready" };
        [row.url.clone(), verdict.to_owned(), row.reason.clone()]
    });
    let mut tables = vec![table(["gateway", "state", "says"], rows.collect(), "")];
    let mut circuits = Vec::new();
    let mut unlisted = 0;
    for gateway in gateways {
        let told = gateway.told();
        unlisted += told
            .tenant_circuits_open_total
            .saturating_sub(told.tenant_circuits_open.len());
        let shown = told.circuits.iter().chain(&told.tenant_circuits_open);
        let shown = shown.filter(|circuit| circuit.state != "closed");
        circuits.extend(shown.map(|circuit| circuit.row(gateway)));
    }
    if !circuits.is_empty() {
        let header = [
            "gateway", "pool", "family", "tenant", "circuit", "wait", "calls", "faults", "slow",
        ];
        tables.push(table(header, circuits, ""));
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

impl Circuit {
    fn row(&self, gateway: &GatewayRow) -> [String; 9] {
        let wait = self.retry_after_seconds;
        [
            gateway.url.clone(),
            self.pool.clone(),
            self.family.clone(),
            self.tenant.clone().unwrap_or_else(|| "-".to_owned()),
            self.state.clone(),
            wait.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds} s")),
            self.calls.to_string(),
            self.faults.to_string(),
            self.slow.to_string(),
        ]
    }
}
