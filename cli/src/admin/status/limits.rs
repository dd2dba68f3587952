//! The limits: the defaults, and those that were set.

use archway_gateway::store::{LimitSet, LimitsOverview};
use archway_gateway::terms::{Level, MEMORY, MONTH, Terms};

use crate::admin::print::table;

/// `1200 units a minute a key of one agent, 12000 a tenant, 3 set otherwise`.
pub(super) fn line(overview: &LimitsOverview) -> String {
    let terms = Terms::new(1, Vec::new());
    let total = |level| terms.of_total(level).per_minute.unwrap_or(0);
    let (key, tenant) = (total(Level::Key), total(Level::Tenant));
    let set = overview.total;
    format!("{key} units a minute a key of one agent, {tenant} a tenant, {set} set otherwise")
}

/// A table for people of the limits that were set.
pub(super) fn shown(overview: &LimitsOverview) -> Option<String> {
    let rows = &overview.set;
    let header = ["tenant", "key", "level", "of", "a minute"];
    (!rows.is_empty()).then(|| {
        let table = table(header, rows.iter().map(cells).collect(), "");
        let unlisted = overview.total.saturating_sub(rows.len() as u64);
        let more = match unlisted {
            0 => String::new(),
            _ => format!("\nand {unlisted} more: `archway limits show TENANT`"),
        };
        format!("limits that were set\n{table}{more}")
    })
}

fn cells(limit: &LimitSet) -> [String; 5] {
    [
        limit.tenant.clone(),
        limit.key.clone().unwrap_or_else(|| "all".to_owned()),
        limit.level.clone(),
        limit.of.clone(),
        match limit.per_minute {
            0 => "none".to_owned(),
            room if limit.of == MEMORY => format!("{room} MiB in all"),
            units if limit.of == MONTH => format!("{units} units a month"),
            limit => limit.to_string(),
        },
    ]
}
