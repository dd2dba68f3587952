//! Which circuits admit a call: one of its pool and family, and one of its tenant there.
//!
//! The first counts what no tenant's work can cause (no worker, a defect), and stands between
//! everybody and ill workers. The second counts what it can (a deadline that passed, slowness), and
//! stands between one tenant's work and nobody else. A call must be admitted by both.
//!
//! Pools and families come from the catalogue and from what tenants are given; those that nobody
//! calls any more are forgotten after some minutes, when somebody looks. Tenants are many, so only
//! those are kept that called a moment ago or whose circuit is not closed. Where there is no room a
//! call goes without a circuit: never is one refused for that.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    circuit::{NotAdmitted, State},
    group::{Admissions, Ended, Inside},
    report::{CircuitRow, TenantRow},
};
use crate::metrics::{BreakerMetrics, CircuitLabels, Kind};

/// Groups kept: more than pools times families are, unless somebody makes up names.
const MOST_GROUPS: usize = 1_000;
/// Whose call, of what.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) pool: &'a str,
    pub(super) family: &'a str,
    pub(super) tenant: Uuid,
    pub(super) slug: &'a str,
}

/// A circuit did not admit the call.
#[derive(Debug)]
pub(super) struct CircuitOpen {
    pub(super) kind: Kind,
    pub(super) refused: NotAdmitted,
}

/// All circuits of a gateway.
pub(super) struct Circuits {
    /// By pool, by family.
    groups: RwLock<HashMap<String, HashMap<String, Arc<Group>>>>,
    metrics: Arc<BreakerMetrics>,
}

/// The circuits of one family in one pool.
struct Group {
    labels: CircuitLabels,
    inside: Mutex<Inside>,
}

/// What a call that both circuits admitted holds. Dropped unsettled, it counts nothing.
pub(super) struct Admitted {
    group: Arc<Group>,
    metrics: Arc<BreakerMetrics>,
    tenant: Uuid,
    held: Option<Admissions>,
}

impl Circuits {
    pub(super) fn new(metrics: Arc<BreakerMetrics>) -> Self {
        Circuits {
            groups: RwLock::default(),
            metrics,
        }
    }

    /// Lets a call through both circuits, or not. `None` if there is no room for its group.
    pub(super) fn admit(
        &self,
        caller: Caller<'_>,
        now: Instant,
    ) -> Result<Option<Admitted>, CircuitOpen> {
        let Some(group) = self.group(caller, now) else {
            return Ok(None);
        };
        let held = group.inside.lock().admit(caller, now);
        match held {
            Ok(held) => Ok(Some(Admitted {
                group,
                metrics: self.metrics.clone(),
                tenant: caller.tenant,
                held: Some(held),
            })),
            Err(open) => {
                self.metrics.circuit_refused(&group.labels, open.kind);
                Err(open)
            }
        }
    }

    /// Every circuit of a pool and family that was called lately, and the tenants' that are not
    /// closed, at most `most` of these; and how many those are in all.
    pub(super) fn report(
        &self,
        most: usize,
        now: Instant,
    ) -> (Vec<CircuitRow>, Vec<TenantRow>, usize) {
        self.forget(now);
        let (mut rows, mut tenants, mut count) = (Vec::new(), Vec::new(), 0);
        for group in self.all() {
            let mut inside = group.inside.lock();
            inside.forget(now);
            rows.push(CircuitRow::new(&group.labels, &inside.shared, now));
            for (id, tenant) in inside.not_closed(now) {
                count += 1;
                if tenants.len() < most {
                    let labels = &group.labels;
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

    /// Brings the gauges up to date.
    pub(super) fn observe(&self, now: Instant) {
        self.forget(now);
        for group in self.all() {
            let mut inside = group.inside.lock();
            inside.forget(now);
            let state = inside.shared.state(now);
            let not_closed = inside.not_closed(now).count();
            self.metrics
                .circuit(&group.labels, state.number(), not_closed);
        }
    }

    fn group(&self, caller: Caller<'_>, now: Instant) -> Option<Arc<Group>> {
        let known = |groups: &HashMap<String, HashMap<String, Arc<Group>>>| {
            groups.get(caller.pool)?.get(caller.family).cloned()
        };
        if let Some(group) = known(&self.groups.read()) {
            return Some(group);
        }
        let mut groups = self.groups.write();
        if let Some(group) = known(&groups) {
            return Some(group);
        }
        let count: usize = groups.values().map(HashMap::len).sum();
        (count < MOST_GROUPS).then(|| {
            let group = Arc::new(Group::new(caller, now));
            let families = groups.entry(caller.pool.to_owned()).or_default();
            families.insert(caller.family.to_owned(), group.clone());
            group
        })
    }

    /// Drops the groups that nobody calls any more, and their gauges: one would stand for ever.
    fn forget(&self, now: Instant) {
        let mut groups = self.groups.write();
        for families in groups.values_mut() {
            families.retain(|_, group| {
                // A call that holds it, or is about to, keeps it.
                let kept = Arc::strong_count(group) > 1 || !group.inside.lock().is_idle(now);
                if !kept {
                    self.metrics.forget_circuit(&group.labels);
                }
                kept
            });
        }
        groups.retain(|_, families| !families.is_empty());
    }

    /// In order of pool and family.
    fn all(&self) -> Vec<Arc<Group>> {
        let groups = self.groups.read();
        let mut all: Vec<_> = groups.values().flat_map(HashMap::values).cloned().collect();
        all.sort_by(|a, b| a.labels.cmp(&b.labels));
        all
    }
}

impl Group {
    fn new(caller: Caller<'_>, now: Instant) -> Self {
        Group {
            labels: CircuitLabels::new(caller.pool, caller.family),
            inside: Mutex::new(Inside::new(now)),
        }
    }
}

impl Admitted {
    /// Tells both circuits how the call ended.
    pub(super) fn settle(mut self, ended: Ended, now: Instant) {
        self.bring_back(Some(ended), now);
    }

    fn bring_back(&mut self, ended: Option<Ended>, now: Instant) {
        let Some(held) = self.held.take() else { return };
        let mut inside = self.group.inside.lock();
        let (shared, own) = inside.settle(self.tenant, held, ended, now);
        drop(inside);
        for (kind, became) in [(Kind::Shared, shared), (Kind::Tenant, own)] {
            if let Some(state) = became {
                self.tell(kind, state);
            }
        }
    }

    /// Tells the operator: once a change, not once a call.
    fn tell(&self, kind: Kind, state: State) {
        let CircuitLabels { pool, family } = &self.group.labels;
        let tenant = (kind == Kind::Tenant).then_some(self.tenant);
        let tenant = tenant.map(tracing::field::display);
        let (pool, family, circuit) = (&**pool, &**family, kind.name());
        if state == State::Open {
            self.metrics.circuit_opened(&self.group.labels, kind);
            tracing::warn!(pool, family, circuit, tenant.id = tenant, "circuit opened");
        } else {
            tracing::info!(pool, family, circuit, tenant.id = tenant, "circuit closed");
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.bring_back(None, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::Metrics;

    fn caller(pool: &str) -> Caller<'_> {
        Caller {
            pool,
            family: "search",
            tenant: Uuid::nil(),
            slug: "acme",
        }
    }

    #[test]
    fn a_group_that_nobody_calls_any_more_is_forgotten_with_its_gauge() {
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
