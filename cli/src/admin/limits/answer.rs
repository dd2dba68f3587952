//! What `archway limits` answers.

use archway_gateway::terms::{Level, Limit, MEMORY, Origin, Override, TOTAL, Terms};
use serde::Serialize;

use crate::admin::print::{Answer, table};
use crate::admin::spending::Spending;

/// What was set or taken back, for one tenant or key at one level.
#[derive(Serialize)]
pub(super) struct Changes<'a> {
    pub(super) tenant: &'a str,
    /// Null: for all keys of the tenant.
    pub(super) key: Option<&'a str>,
    pub(super) level: Level,
    pub(super) limits: Vec<Changed<'a>>,
}

/// One limit that was set or taken back.
#[derive(Serialize)]
pub(super) struct Changed<'a> {
    pub(super) name: &'a str,
    /// 0: no limit at this level. Null: nothing is set any more. Of memory it is MiB in all.
    pub(super) per_minute: Option<u32>,
    /// Whether it was otherwise before.
    pub(super) changed: bool,
}

impl Answer for Changes<'_> {
    fn text(&self) -> String {
        let whose = match self.key {
            Some(key) => format!("key {key}"),
            None => format!("tenant {}", self.tenant),
        };
        let line = |limit: &Changed<'_>| {
            let now = match limit.per_minute {
                Some(0) => "unlimited".to_owned(),
                Some(room) if limit.name == MEMORY => format!("{room} MiB in all"),
                Some(limit) => format!("{limit} a minute"),
                None => "not set".to_owned(),
            };
            let before = if limit.changed { "" } else { ", as before" };
            let (level, name) = (self.level.name(), limit.name);
            format!("{whose}, level {level}: {name} {now}{before}")
        };
        let lines: Vec<String> = self.limits.iter().map(line).collect();
        lines.join("\n")
    }
}

/// What is in force.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    tenant: &'a str,
    /// Null: a key that nothing was set for.
    key: Option<&'a str>,
    agents: u32,
    limits: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    /// Units of the total that a call costs. Null: of the total itself, and of a tool that this
    /// build doesn't know.
    weight: Option<u32>,
    /// Null: a session has no total.
    session: Option<InForce>,
    /// Null: a key has no memory of its own.
    key: Option<InForce>,
    tenant: InForce,
}

#[derive(Serialize)]
struct InForce {
    /// Null: unlimited. Of memory it is MiB in all.
    per_minute: Option<u32>,
    /// Where it was set.
    origin: Origin,
}

impl<'a> Shown<'a> {
    /// The limits of a key of a tenant, with none yet.
    pub(super) fn new(tenant: &'a str, key: Option<&'a str>, agents: u32) -> Self {
        Shown {
            tenant,
            key,
            agents,
            limits: Vec::new(),
        }
    }

    /// Adds the total, the room for memory, all that spends, and whatever else was set.
    pub(super) fn add(&mut self, spending: &[Spending], set: &[Override], terms: &Terms) {
        let shared = |name: &str, key: Option<Limit>, tenant: Limit| Row {
            name: name.to_owned(),
            weight: None,
            session: None,
            key: key.map(InForce::from),
            tenant: tenant.into(),
        };
        let of_key = terms.of_total(Level::Key);
        let total = shared(TOTAL, Some(of_key), terms.of_total(Level::Tenant));
        self.limits.push(total);
        self.limits.push(shared(MEMORY, None, terms.of_memory()));
        for tool in spending {
            let row = Row::of_tool(&tool.name, Some(tool.weight), tool.per_minute, terms);
            self.limits.push(row);
        }
        for set in set {
            if !self.limits.iter().any(|row| row.name == set.of) {
                self.limits.push(Row::of_tool(&set.of, None, None, terms));
            }
        }
    }

    /// Leaves out all but these; none means all.
    pub(super) fn only(&mut self, names: &[String]) {
        self.limits
            .retain(|row| names.is_empty() || names.contains(&row.name));
    }
}

impl Row {
    fn of_tool(name: &str, weight: Option<u32>, own: Option<u32>, terms: &Terms) -> Row {
        let at = |level| InForce::from(terms.of_tool(level, name, own));
        Row {
            name: name.to_owned(),
            weight,
            session: Some(at(Level::Session)),
            key: Some(at(Level::Key)),
            tenant: at(Level::Tenant),
        }
    }
}

impl From<Limit> for InForce {
    fn from(limit: Limit) -> Self {
        InForce {
            per_minute: limit.per_minute,
            origin: limit.origin,
        }
    }
}

impl InForce {
    fn text(&self) -> String {
        let limit = self.per_minute.map(|limit| limit.to_string());
        let limit = limit.unwrap_or_else(|| "unlimited".to_owned());
        match self.origin {
            Origin::Default => limit,
            Origin::Tenant => format!("{limit} (set for the tenant)"),
            Origin::Key => format!("{limit} (set for the key)"),
        }
    }
}

impl Answer for Shown<'_> {
    fn text(&self) -> String {
        let whose = match self.key {
            Some(key) => format!("key {key} of tenant {}", self.tenant),
            None => format!("any key of tenant {} that nothing is set for", self.tenant),
        };
        let agents = match self.agents {
            1 => "1 agent".to_owned(),
            agents => format!("{agents} agents"),
        };
        let none = || "-".to_owned();
        let row = |row: &Row| {
            [
                row.name.clone(),
                row.weight.map_or_else(none, |weight| weight.to_string()),
                row.session.as_ref().map_or_else(none, InForce::text),
                row.key.as_ref().map_or_else(none, InForce::text),
                row.tenant.text(),
            ]
        };
        let header = ["a minute", "weight", "each session", "key", "tenant"];
        let rows = self.limits.iter().map(row).collect();
        format!("{whose}, {agents}\n\n{}", table(header, rows, ""))
    }
}
