//! The sums of usage, as they are kept and as the records of the trail give them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::scene::Scene;

/// By tenant, hour, principal, credential, project, tool, outcome and agent.
pub(super) type Group = [String; 8];

/// What is summed of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) calls: i64,
    pub(super) units: i64,
    pub(super) bytes: i64,
    pub(super) tokens: i64,
    pub(super) missing: i64,
    pub(super) milliseconds: f64,
}

impl Sums {
    /// Whether both are the same; milliseconds but for the order in which fractions were added.
    pub(super) fn equals(&self, other: &Sums) -> bool {
        let counts = |of: &Sums| [of.calls, of.units, of.bytes, of.tokens, of.missing];
        let off = (self.milliseconds - other.milliseconds).abs();
        counts(self) == counts(other) && off <= 1e-9 * self.milliseconds.abs().max(1.0)
    }
}

/// The sums that are kept.
pub(super) fn kept(scene: &Scene) -> BTreeMap<Group, Sums> {
    let query = "select array[t.slug, (extract(epoch from u.hour)::bigint)::text, u.principal, u.credential, u.project, \
                     u.tool, u.outcome, u.agent], \
                 array[u.calls, u.units, u.bytes_out, u.tokens, u.missing], u.duration_ms \
                 from usage_hours u join tenants t on t.id = u.tenant_id";
    let rows = sqlx::query_as(query).fetch_all(&scene.stage.owner);
    let rows: Vec<(Vec<String>, Vec<i64>, f64)> = scene.stage.runtime.block_on(rows).unwrap();
    let rows = rows.into_iter().map(|(group, counts, milliseconds)| {
        let [calls, units, bytes, tokens, missing] = counts[..] else {
            panic!("{counts:?}");
        };
        let sums = Sums {
            calls,
            units,
            bytes,
            tokens,
            missing,
            milliseconds,
        };
        (group.try_into().unwrap(), sums)
    });
    rows.collect()
}

/// The same sums, of the records.
pub(super) fn recorded(scene: &Scene) -> BTreeMap<Group, Sums> {
    let query = "select t.slug, extract(epoch from date_trunc('hour', a.at))::bigint::text, a.record \
                 from audit_records a join tenants t on t.id = a.tenant_id";
    let rows = sqlx::query_as(query).fetch_all(&scene.stage.owner);
    let rows: Vec<(String, String, String)> = scene.stage.runtime.block_on(rows).unwrap();
    let mut groups: BTreeMap<Group, Sums> = BTreeMap::new();
    for (tenant, hour, record) in rows {
        let record: Value = serde_json::from_str(&record).unwrap();
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let count = |name: &str| record[name].as_i64().unwrap_or_default();
        let calls = match record["kind"].as_str().unwrap() {
            "call" => 1,
            "refusals" => count("count"),
            "gap" => 0,
            _ => continue,
        };
        let project = Some(text("project")).filter(|it| ["site", "shop"].contains(&it.as_str()));
        let tool = record["tool"]
            .as_str()
            .map_or_else(|| text("method"), str::to_owned);
        let group = [
            tenant,
            hour,
            text("principal"),
            text("credential"),
            project.unwrap_or_default(),
            tool,
            text("outcome"),
            text("agent"),
        ];
        let sums = groups.entry(group).or_default();
        sums.calls += calls;
        sums.units += count("units");
        sums.bytes += count("bytes");
        sums.tokens += (count("bytes") + 3) / 4;
        sums.missing += count("missing");
        sums.milliseconds += record["duration_ms"].as_f64().unwrap_or_default();
    }
    groups
}

pub(super) fn total(groups: &BTreeMap<Group, Sums>, of: fn(&Sums) -> i64) -> i64 {
    groups.values().map(of).sum()
}
