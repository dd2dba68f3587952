//! What a gateway says about itself in its presence row, so that the page of any gateway shows the state of all.

use serde::{Deserialize, Serialize};

use super::Admin;

/// Circuits that are named at most.
const MOST_CIRCUITS: usize = 20;
/// The largest report, as the schema bounds it, in characters.
const LARGEST: usize = 8_192;

/// The state of a gateway. Its JSON is read by gateways of other builds: members are added, never renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct GatewayReport {
    pub(super) version: String,
    /// Why it takes no calls; empty if it does.
    pub(super) reason: String,
    /// Whether the store of limits answers; `None` if none is configured.
    pub(super) limits_store: Option<bool>,
    /// Workers that it can call, of those that it knows.
    pub(super) workers_ready: usize,
    pub(super) workers: usize,
    /// Calls that run, and that wait for a permit.
    pub(super) in_flight: usize,
    pub(super) queued: usize,
    /// Circuits that are not closed: at most 20.
    pub(super) circuits: Vec<ReportedCircuit>,
    /// How many there are.
    pub(super) circuits_total: usize,
}

/// A circuit that is not closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ReportedCircuit {
    pub(super) pool: String,
    pub(super) family: String,
    /// The slug of the tenant whose it is; `None` for that of all tenants.
    pub(super) tenant: Option<String>,
    pub(super) state: String,
}

impl GatewayReport {
    /// The current state of this gateway.
    pub(super) fn of(admin: &Admin) -> Self {
        let breaker = admin.breaker.report();
        let workers = admin.upstream.replicas();
        let ready = workers
            .iter()
            .filter(|worker| worker.state.name() == "ready");
        let shared = breaker.circuits.iter().map(|circuit| (circuit, None));
        let tenants = breaker.tenant_circuits_open.iter();
        let tenants = tenants.map(|row| (&row.circuit, Some(row.tenant.clone())));
        let open: Vec<ReportedCircuit> = shared
            .chain(tenants)
            .filter(|(circuit, _)| circuit.state.name() != "closed")
            .map(|(circuit, tenant)| ReportedCircuit {
                pool: circuit.pool.clone(),
                family: circuit.family.clone(),
                tenant,
                state: circuit.state.name().to_owned(),
            })
            .collect();
        let unlisted = breaker.tenant_circuits_open_total - breaker.tenant_circuits_open.len();
        GatewayReport {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            reason: admin.refusal().unwrap_or_default().to_owned(),
            limits_store: admin.limits.store_answers(),
            workers_ready: ready.count(),
            workers: workers.len(),
            in_flight: breaker.calls.in_flight,
            queued: breaker.calls.queued,
            circuits_total: open.len() + unlisted,
            circuits: open.into_iter().take(MOST_CIRCUITS).collect(),
        }
    }

    /// Whether somebody who looks after the gateway should see this at once: all but the number of calls.
    pub(super) fn is_other_than(&self, before: &GatewayReport) -> bool {
        let state = |report: &GatewayReport| GatewayReport {
            in_flight: 0,
            queued: 0,
            ..report.clone()
        };
        state(self) != state(before)
    }

    /// As JSON that fits into the row.
    pub(super) fn json(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        if text.len() <= LARGEST {
            text
        } else {
            String::new()
        }
    }

    /// From a row; `None` for gateways of earlier builds.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_and_go_unseen_and_a_circuit_does_not() {
        let report = GatewayReport::default();
        let busy = GatewayReport {
            in_flight: 3,
            ..report.clone()
        };
        let open = GatewayReport {
            circuits_total: 1,
            ..report.clone()
        };
        assert!(!busy.is_other_than(&report) && open.is_other_than(&report));
    }

    #[test]
    fn the_largest_report_fits_and_others_builds_members_are_passed_over() {
        let circuit = ReportedCircuit {
            pool: "p".repeat(63),
            family: "f".repeat(63),
            tenant: Some("t".repeat(63)),
            state: "half_open".to_owned(),
        };
        let report = GatewayReport {
            circuits: vec![circuit; MOST_CIRCUITS],
            ..GatewayReport::default()
        };
        assert_eq!(GatewayReport::read(&report.json()), Some(report));
        let read = GatewayReport::read(r#"{"version": "9", "later": 1}"#).unwrap();
        assert_eq!(read.version, "9");
        assert_eq!(GatewayReport::read(""), None);
    }
}
