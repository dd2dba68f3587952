//! The circuits that admit a call: one for its pool and family, and one for its tenant within them.
//!
//! The shared circuit counts failures that no tenant can cause (worker unreachable, defect) and
//! protects all callers from failing workers. The tenant's circuit counts what its own work causes
//! (missed deadlines, slowness) and affects that tenant alone. A call needs both.
//!
//! Pools and families come from the catalog and from tenants' configuration. An entry that gets no
//! calls is dropped after some minutes, when a report or scrape looks. Tenants are many, so only
//! those are kept that called lately or whose circuit is not closed. If a table is full, the call
//! passes without a circuit: a full table never refuses a call.

use std::{collections::HashMap, sync::Arc};

use archway_resilience::{CircuitState, NotAdmitted};
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    family::{Admissions, CallEnd, FamilyCircuits, StateChange},
    report::{CircuitRow, TenantRow},
    window::CallCounts,
};
use crate::metrics::{BreakerMetrics, CircuitKind, CircuitLabels};

/// Bound on entries: more than pools times families, unless names are made up.
const MOST_FAMILIES: usize = 1_000;
/// The pool, family and tenant of a call.
#[derive(Clone, Copy)]
pub(super) struct CallTarget<'a> {
    pub(super) pool: &'a str,
    pub(super) family: &'a str,
    pub(super) tenant: Uuid,
    pub(super) slug: &'a str,
}

/// A circuit refused the call.
#[derive(Debug)]
pub(super) struct CircuitOpen {
    pub(super) kind: CircuitKind,
    pub(super) refused: NotAdmitted,
}

/// All circuits of a gateway.
pub(super) struct Circuits {
    /// By pool, then by family.
    families: RwLock<HashMap<String, HashMap<String, Arc<FamilyEntry>>>>,
    metrics: Arc<BreakerMetrics>,
}

/// The circuits of one family in one pool, with their labels.
struct FamilyEntry {
    labels: CircuitLabels,
    circuits: Mutex<FamilyCircuits>,
}

/// Held by a call that both circuits admitted. Counts nothing if it is dropped unsettled.
pub(super) struct CircuitPermit {
    entry: Arc<FamilyEntry>,
    metrics: Arc<BreakerMetrics>,
    tenant: Uuid,
    admissions: Option<Admissions>,
}

impl Circuits {
    pub(super) fn new(metrics: Arc<BreakerMetrics>) -> Self {
        Circuits {
            families: RwLock::default(),
            metrics,
        }
    }

    /// Asks both circuits to admit a call. `Ok(None)` if the table of circuits is full.
    pub(super) fn admit(
        &self,
        caller: CallTarget<'_>,
        now: Instant,
    ) -> Result<Option<CircuitPermit>, CircuitOpen> {
        let Some(entry) = self.entry(caller, now) else {
            return Ok(None);
        };
        let admissions = entry.circuits.lock().admit(caller, now);
        match admissions {
            Ok(admissions) => Ok(Some(CircuitPermit {
                entry,
                metrics: self.metrics.clone(),
                tenant: caller.tenant,
                admissions: Some(admissions),
            })),
            Err(open) => {
                self.metrics.circuit_refused(&entry.labels, open.kind);
                Err(open)
            }
        }
    }

    /// Every shared circuit that was used lately, at most `most` tenants' circuits that are not
    /// closed, and the number of these in all.
    pub(super) fn report(
        &self,
        most: usize,
        now: Instant,
    ) -> (Vec<CircuitRow>, Vec<TenantRow>, usize) {
        self.forget(now);
        let (mut rows, mut tenants, mut count) = (Vec::new(), Vec::new(), 0);
        for entry in self.all() {
            let mut circuits = entry.circuits.lock();
            circuits.forget(now);
            rows.push(CircuitRow::new(&entry.labels, &circuits.shared, now));
            for (id, tenant) in circuits.not_closed(now) {
                count += 1;
                if tenants.len() < most {
                    let labels = &entry.labels;
                    tenants.push(TenantRow::new(
                        *id,
                        &tenant.slug,
                        labels,
                        &tenant.circuit,
                        now,
                    ));
                }
            }
        }
        (rows, tenants, count)
    }

    /// Updates the gauges.
    pub(super) fn observe(&self, now: Instant) {
        self.forget(now);
        for entry in self.all() {
            let mut circuits = entry.circuits.lock();
            circuits.forget(now);
            let state = circuits.shared.state(now);
            let not_closed = circuits.not_closed(now).count();
            self.metrics
                .circuit(&entry.labels, state.number(), not_closed);
        }
    }

    fn entry(&self, caller: CallTarget<'_>, now: Instant) -> Option<Arc<FamilyEntry>> {
        let known = |families: &HashMap<String, HashMap<String, Arc<FamilyEntry>>>| {
            families.get(caller.pool)?.get(caller.family).cloned()
        };
        if let Some(entry) = known(&self.families.read()) {
            return Some(entry);
        }
        let mut families = self.families.write();
        if let Some(entry) = known(&families) {
            return Some(entry);
        }
        let count: usize = families.values().map(HashMap::len).sum();
        (count < MOST_FAMILIES).then(|| {
            let entry = Arc::new(FamilyEntry::new(caller, now));
            let families = families.entry(caller.pool.to_owned()).or_default();
            families.insert(caller.family.to_owned(), entry.clone());
            entry
        })
    }

    /// Drops the entries that get no calls, with their gauges, which would keep their last value
    /// for ever.
    fn forget(&self, now: Instant) {
        let mut families = self.families.write();
        for families in families.values_mut() {
            families.retain(|_, entry| {
                // A running or starting call keeps its entry.
                let kept = Arc::strong_count(entry) > 1 || !entry.circuits.lock().is_idle(now);
                if !kept {
                    self.metrics.forget_circuit(&entry.labels);
                }
                kept
            });
        }
        families.retain(|_, families| !families.is_empty());
    }

    /// Sorted by pool and family.
    fn all(&self) -> Vec<Arc<FamilyEntry>> {
        let families = self.families.read();
        let mut all: Vec<_> = families
            .values()
            .flat_map(HashMap::values)
            .cloned()
            .collect();
        all.sort_by(|a, b| a.labels.cmp(&b.labels));
        all
    }
}

impl FamilyEntry {
    fn new(caller: CallTarget<'_>, now: Instant) -> Self {
        FamilyEntry {
            labels: CircuitLabels::new(caller.pool, caller.family),
            circuits: Mutex::new(FamilyCircuits::new(now)),
        }
    }
}

impl CircuitPermit {
    /// Reports to both circuits how the call ended.
    pub(super) fn settle(mut self, ended: CallEnd, now: Instant) {
        self.return_admissions(Some(ended), now);
    }

    fn return_admissions(&mut self, ended: Option<CallEnd>, now: Instant) {
        let Some(admissions) = self.admissions.take() else {
            return;
        };
        let mut circuits = self.entry.circuits.lock();
        let (shared, own) = circuits.settle(self.tenant, admissions, ended, now);
        drop(circuits);
        for (kind, change) in [(CircuitKind::Shared, shared), (CircuitKind::Tenant, own)] {
            if let Some(change) = change {
                self.log_change(kind, change);
            }
        }
    }

    /// Logs a change of state: once per change, not once per call.
    fn log_change(&self, kind: CircuitKind, change: StateChange) {
        let CircuitLabels { pool, family } = &self.entry.labels;
        let tenant = (kind == CircuitKind::Tenant).then_some(self.tenant);
        let tenant = tenant.map(tracing::field::display);
        let (pool, family, circuit) = (&**pool, &**family, kind.name());
        if change.state == CircuitState::Open {
            self.metrics.circuit_opened(&self.entry.labels, kind);
            let CallCounts {
                calls,
                faults,
                slow,
            } = change.counts;
            let open_s = change.open_time.map(|time| time.as_secs());
            let message = match change.since_opening.is_zero() {
                true => "circuit opened",
                false => "circuit opened again: a trial call failed",
            };
            tracing::warn!(
                pool,
                family,
                circuit,
                tenant.id = tenant,
                calls,
                faults,
                slow,
                open_s,
                "{message}"
            );
        } else {
            let after_s = change.since_opening.as_secs();
            tracing::info!(
                pool,
                family,
                circuit,
                tenant.id = tenant,
                after_s,
                "circuit closed"
            );
        }
    }
}

impl Drop for CircuitPermit {
    fn drop(&mut self) {
        self.return_admissions(None, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::Metrics;

    fn caller(pool: &str) -> CallTarget<'_> {
        CallTarget {
            pool,
            family: "search",
            tenant: Uuid::nil(),
            slug: "acme",
        }
    }

    #[test]
    fn a_family_without_calls_is_dropped_with_its_gauge() {
        let (metrics, now) = (Metrics::new(), Instant::now());
        let circuits = Circuits::new(metrics.breaker.clone());
        let pools = |now| {
            let (rows, _, _) = circuits.report(10, now);
            rows.into_iter().map(|row| row.pool).collect::<Vec<_>>()
        };
        let gauges = |now| {
            circuits.observe(now);
            let text = metrics.text().unwrap();
            text.matches("circuit_state{").count()
        };
        drop(circuits.admit(caller("gold"), now));
        let running = circuits.admit(caller("shared"), now);
        assert_eq!(
            (pools(now), gauges(now)),
            (vec!["gold".to_owned(), "shared".to_owned()], 2)
        );
        let soon = now + Duration::from_secs(119);
        assert_eq!((pools(soon).len(), gauges(soon)), (2, 2));
        let later = now + Duration::from_secs(120);
        assert_eq!(
            (pools(later), gauges(later)),
            (vec!["shared".to_owned()], 1)
        );
        drop(running);
        assert_eq!((pools(later).len(), gauges(later)), (0, 0));
    }
}
