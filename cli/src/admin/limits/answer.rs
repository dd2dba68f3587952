//! Answers of `archway limits`.

use archway_gateway::terms::{Level, Limit, MEMORY, MONTH, Origin, Override, TOTAL, Terms};
use serde::Serialize;

use crate::admin::limit_targets::LimitTarget;
use crate::admin::print::{Answer, table};

/// Limits that were set or unset, for one tenant or key at one level.
#[derive(Serialize)]
pub(super) struct LimitChanges<'a> {
    pub(super) tenant: &'a str,
    /// Null: for all keys of the tenant.
    pub(super) key: Option<&'a str>,
    pub(super) level: Level,
    pub(super) limits: Vec<LimitChange<'a>>,
}

/// A limit that was set or unset.
#[derive(Serialize)]
pub(super) struct LimitChange<'a> {
    pub(super) name: &'a str,
    /// 0: no limit at this level. Null: no longer set. For memory: MiB in all; for the month: units of it.
    pub(super) per_minute: Option<u32>,
    /// Whether it was different before.
    pub(super) changed: bool,
}

impl Answer for LimitChanges<'_> {
    fn text(&self) -> String {
        let owner = match self.key {
            Some(key) => format!("key {key}"),
            None => format!("tenant {}", self.tenant),
        };
        let line = |limit: &LimitChange<'_>| {
            let now = match limit.per_minute {
                Some(0) => "unlimited".to_owned(),
                Some(room) if limit.name == MEMORY => format!("{room} MiB in all"),
                Some(units) if limit.name == MONTH => format!("{units} units a month"),
                Some(limit) => format!("{limit} a minute"),
                None => "not set".to_owned(),
            };
            let before = if limit.changed { "" } else { ", as before" };
            let (level, name) = (self.level.name(), limit.name);
            format!("{owner}, level {level}: {name} {now}{before}")
        };
        let lines: Vec<String> = self.limits.iter().map(line).collect();
        lines.join("\n")
    }
}

/// The limits that apply to a key.
#[derive(Serialize)]
pub(super) struct EffectiveLimits<'a> {
    tenant: &'a str,
    /// Null: a key without limits of its own.
    key: Option<&'a str>,
    agents: u32,
    limits: Vec<LimitRow>,
}

#[derive(Serialize)]
struct LimitRow {
    name: String,
    /// `minute`, or `month` for the month; null for memory, which has no time.
    per: Option<&'static str>,
    /// Units of the total that a call costs. Null for the total itself, and for a tool that this
    /// build doesn't have.
    weight: Option<u32>,
    /// Null: a session has no total.
    session: Option<EffectiveLimit>,
    /// Null: memory and the month are limited per tenant only.
    key: Option<EffectiveLimit>,
    tenant: EffectiveLimit,
}

#[derive(Serialize)]
struct EffectiveLimit {
    /// Null: unlimited. For memory: MiB in all; for the month: units of it.
    per_minute: Option<u32>,
    /// Where it was set.
    origin: Origin,
}

impl<'a> EffectiveLimits<'a> {
    /// An empty list of a key's limits.
    pub(super) fn new(tenant: &'a str, key: Option<&'a str>, agents: u32) -> Self {
        EffectiveLimits {
            tenant,
            key,
            agents,
            limits: Vec::new(),
        }
    }

    /// Adds the total, the month, memory, all targets, and any other name that a limit was set for.
    pub(super) fn add(&mut self, spending: &[LimitTarget], set: &[Override], terms: &Terms) {
        let shared = |name: &str, key: Option<Limit>, tenant: Limit| LimitRow {
            name: name.to_owned(),
            per: match name {
                MONTH => Some("month"),
                MEMORY => None,
                _ => Some("minute"),
            },
            weight: None,
            session: None,
            key: key.map(EffectiveLimit::from),
            tenant: tenant.into(),
        };
        let of_key = terms.of_total(Level::Key);
        let total = shared(TOTAL, Some(of_key), terms.of_total(Level::Tenant));
        self.limits.push(total);
        self.limits.push(shared(MONTH, None, terms.of_month()));
        self.limits.push(shared(MEMORY, None, terms.of_memory()));
        for tool in spending {
            let row = LimitRow::of_tool(&tool.name, Some(tool.weight), tool.per_minute, terms);
            self.limits.push(row);
        }
        for set in set {
            if !self.limits.iter().any(|row| row.name == set.of) {
                self.limits
                    .push(LimitRow::of_tool(&set.of, None, None, terms));
            }
        }
    }

    /// Keeps only these names; keeps all if there are none.
    pub(super) fn only(&mut self, names: &[String]) {
        self.limits
            .retain(|row| names.is_empty() || names.contains(&row.name));
    }
}

impl LimitRow {
    fn of_tool(name: &str, weight: Option<u32>, own: Option<u32>, terms: &Terms) -> LimitRow {
        let at = |level| EffectiveLimit::from(terms.of_tool(level, name, own));
        LimitRow {
            name: name.to_owned(),
            per: Some("minute"),
            weight,
            session: Some(at(Level::Session)),
            key: Some(at(Level::Key)),
            tenant: at(Level::Tenant),
        }
    }
}

impl LimitRow {
    /// The line of a limit that all keys of the tenant share, by the month or in all.
    fn of_all_keys(&self) -> String {
        let unit = match self.per {
            Some(_) => " units a calendar month",
            None => " MiB in all",
        };
        format!("{}: {}", self.name, self.tenant.in_units(unit))
    }
}

impl From<Limit> for EffectiveLimit {
    fn from(limit: Limit) -> Self {
        EffectiveLimit {
            per_minute: limit.per_minute,
            origin: limit.origin,
        }
    }
}

impl EffectiveLimit {
    fn text(&self) -> String {
        self.in_units("")
    }

    fn in_units(&self, unit: &str) -> String {
        let limit = self.per_minute.map(|limit| format!("{limit}{unit}"));
        let limit = limit.unwrap_or_else(|| "unlimited".to_owned());
        match self.origin {
            Origin::Default => limit,
            Origin::Tenant => format!("{limit} (set for the tenant)"),
            Origin::Key => format!("{limit} (set for the key)"),
        }
    }
}

impl Answer for EffectiveLimits<'_> {
    fn text(&self) -> String {
        let owner = match self.key {
            Some(key) => format!("key {key} of tenant {}", self.tenant),
            None => format!(
                "any key of tenant {} without limits of its own",
                self.tenant
            ),
        };
        let agents = match self.agents {
            1 => "1 agent".to_owned(),
            agents => format!("{agents} agents"),
        };
        let none = || "-".to_owned();
        let row = |row: &LimitRow| {
            [
                row.name.clone(),
                row.weight.map_or_else(none, |weight| weight.to_string()),
                row.session.as_ref().map_or_else(none, EffectiveLimit::text),
                row.key.as_ref().map_or_else(none, EffectiveLimit::text),
                row.tenant.text(),
            ]
        };
        let header = ["a minute", "weight", "each session", "key", "tenant"];
        let (minute, others): (Vec<_>, Vec<_>) = self
            .limits
            .iter()
            .partition(|row| row.per == Some("minute"));
        let mut parts = vec![format!("{owner}, {agents}")];
        if !minute.is_empty() {
            parts.push(table(header, minute.into_iter().map(row).collect(), ""));
        }
        if !others.is_empty() {
            let lines: Vec<String> = others.into_iter().map(LimitRow::of_all_keys).collect();
            parts.push(lines.join("\n"));
        }
        parts.join("\n\n")
    }
}
