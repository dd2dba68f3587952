//! Metrics of calls by tenant, on request: a series for each of the N tenants with the most calls, and one for all others.
//!
//! `admin` chooses the N by the sums of the last day in Postgres, so all gateways of an installation name the same.
//! What a reader would get wrong: a tenant that loses its place loses its series, and nothing is added to that of the
//! others. A series therefore only grows or ends. One that begins again begins at 0, as after a restart, which `rate` and
//! `increase` understand.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use parking_lot::RwLock;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::{Registry, Unit},
};

use super::{Outcome, OutcomeClass};

/// The label of all tenants without a series of their own. No slug has parentheses.
const OTHERS: &str = "(other)";
/// The calls of a tenant that has a place count a quarter more, so that near equals do not alternate.
const INCUMBENT: (i64, i64) = (5, 4);
/// All classes, each a series from 0 on.
const CLASSES: [OutcomeClass; 4] = [
    OutcomeClass::Served,
    OutcomeClass::Denied,
    OutcomeClass::Failed,
    OutcomeClass::Cancelled,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TenantLabel {
    tenant: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TenantClassLabels {
    tenant: Arc<str>,
    class: &'static str,
}

type Seconds = Counter<f64, AtomicU64>;

/// Counters of calls by tenant, at most `places` of them by name.
pub(crate) struct TenantMetrics {
    places: u16,
    others: Arc<str>,
    named: RwLock<HashSet<Arc<str>>>,
    calls: Family<TenantClassLabels, Counter>,
    units: Family<TenantLabel, Counter>,
    bytes: Family<TenantLabel, Counter>,
    durations: Family<TenantLabel, Seconds>,
}

/// What is counted of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSize {
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
    /// Units of the limits.
    pub(crate) units: u32,
    /// Bytes of the answer's message.
    pub(crate) bytes: u64,
}

impl TenantMetrics {
    pub(super) fn new(registry: &mut Registry, places: u16) -> TenantMetrics {
        let metrics = TenantMetrics {
            places,
            others: OTHERS.into(),
            named: RwLock::default(),
            calls: Family::default(),
            units: Family::default(),
            bytes: Family::default(),
            durations: Family::default(),
        };
        let help = "Calls by tenant and class of outcome";
        registry.register("tenant_calls", help, metrics.calls.clone());
        let help = "Units of the limits by tenant";
        registry.register("tenant_units", help, metrics.units.clone());
        let help = "Bytes of answers by tenant";
        registry.register_with_unit("tenant_answers", help, Unit::Bytes, metrics.bytes.clone());
        let help = "Duration of calls by tenant, in all";
        let durations = metrics.durations.clone();
        registry.register_with_unit("tenant_call_duration", help, Unit::Seconds, durations);
        metrics.begin(&metrics.others);
        metrics
    }

    /// Counts a call of this tenant.
    pub(crate) fn call(&self, tenant: &str, size: CallSize) {
        // Held while counting: no series begins again behind the back of `choose`.
        let named = self.named.read();
        let tenant = named.get(tenant).unwrap_or(&self.others).clone();
        let class = OutcomeClass::of(size.outcome.name()).name();
        let labels = TenantClassLabels {
            tenant: tenant.clone(),
            class,
        };
        self.calls.get_or_create(&labels).inc();
        let label = TenantLabel { tenant };
        self.units.get_or_create(&label).inc_by(size.units.into());
        self.bytes.get_or_create(&label).inc_by(size.bytes);
        let took = size.took.as_secs_f64();
        self.durations.get_or_create(&label).inc_by(took);
    }

    /// How many tenants have a series.
    pub(crate) fn places(&self) -> u16 {
        self.places
    }

    /// Gives the places to the tenants with the most calls, of these.
    pub(crate) fn choose(&self, calls: Vec<(String, i64)>) {
        let mut named = self.named.write();
        let mut ranked: Vec<(i64, String)> = calls
            .into_iter()
            .map(|(tenant, calls)| match named.contains(tenant.as_str()) {
                true => (calls.saturating_mul(INCUMBENT.0) / INCUMBENT.1, tenant),
                false => (calls, tenant),
            })
            .collect();
        ranked.sort_by(|(more, first), (less, second)| less.cmp(more).then(first.cmp(second)));
        ranked.truncate(self.places.into());
        let chosen: HashSet<Arc<str>> = ranked.into_iter().map(|(_, it)| it.into()).collect();
        for tenant in named.difference(&chosen) {
            self.end(tenant);
        }
        for tenant in chosen.difference(&named) {
            self.begin(tenant);
        }
        *named = chosen;
    }

    /// Begins all series of a tenant at 0.
    fn begin(&self, tenant: &Arc<str>) {
        for class in CLASSES.map(OutcomeClass::name) {
            let tenant = tenant.clone();
            drop(
                self.calls
                    .get_or_create(&TenantClassLabels { tenant, class }),
            );
        }
        let label = TenantLabel {
            tenant: tenant.clone(),
        };
        drop(self.units.get_or_create(&label));
        drop(self.bytes.get_or_create(&label));
        drop(self.durations.get_or_create(&label));
    }

    fn end(&self, tenant: &Arc<str>) {
        for class in CLASSES.map(OutcomeClass::name) {
            let tenant = tenant.clone();
            self.calls.remove(&TenantClassLabels { tenant, class });
        }
        let label = TenantLabel {
            tenant: tenant.clone(),
        };
        self.units.remove(&label);
        self.bytes.remove(&label);
        self.durations.remove(&label);
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    const CALL: CallSize = CallSize {
        outcome: Outcome::Ok,
        took: Duration::from_millis(500),
        units: 5,
        bytes: 100,
    };

    struct NamedSeries {
        registry: Registry,
        metrics: TenantMetrics,
    }

    fn fixture(places: u16) -> NamedSeries {
        let mut registry = Registry::default();
        let metrics = TenantMetrics::new(&mut registry, places);
        NamedSeries { registry, metrics }
    }

    impl NamedSeries {
        fn choose(&self, calls: &[(&str, i64)]) {
            let calls = calls.iter().map(|(it, calls)| ((*it).to_owned(), *calls));
            self.metrics.choose(calls.collect());
        }

        /// Served calls by tenant.
        fn served(&self) -> Vec<String> {
            let mut text = String::new();
            encode(&mut text, &self.registry).unwrap();
            let lines = text.lines().filter_map(|line| {
                let line = line.strip_prefix("tenant_calls_total{tenant=\"")?;
                let (tenant, count) = line.split_once("\",class=\"served\"} ")?;
                Some(format!("{tenant} {count}"))
            });
            let mut lines: Vec<String> = lines.collect();
            lines.sort();
            lines
        }
    }

    #[test]
    fn tenants_with_the_most_calls_are_named_and_the_rest_is_summed() {
        let fixture = fixture(2);
        fixture.choose(&[("acme", 9), ("beta", 8), ("zeta", 7)]);
        for tenant in ["acme", "zeta", "unseen", "acme"] {
            fixture.metrics.call(tenant, CALL);
        }
        assert_eq!(fixture.served(), ["(other) 2", "acme 2", "beta 0"]);
    }

    #[test]
    fn a_series_only_grows_or_ends_and_begins_again_at_zero() {
        let fixture = fixture(1);
        fixture.choose(&[("acme", 9)]);
        fixture.metrics.call("acme", CALL);
        fixture.metrics.call("beta", CALL);
        fixture.choose(&[("beta", 12), ("acme", 9)]);
        assert_eq!(fixture.served(), ["(other) 1", "beta 0"]);
        fixture.metrics.call("acme", CALL);
        assert_eq!(fixture.served(), ["(other) 2", "beta 0"]);
        fixture.choose(&[("acme", 90), ("beta", 12)]);
        assert_eq!(fixture.served(), ["(other) 2", "acme 0"]);
    }

    #[test]
    fn a_place_is_kept_against_a_near_equal() {
        let fixture = fixture(1);
        fixture.choose(&[("acme", 100)]);
        fixture.choose(&[("beta", 124), ("acme", 100)]);
        assert_eq!(fixture.served(), ["(other) 0", "acme 0"]);
        fixture.choose(&[("beta", 126), ("acme", 100)]);
        assert_eq!(fixture.served(), ["(other) 0", "beta 0"]);
    }
}
