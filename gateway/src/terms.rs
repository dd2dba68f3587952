//! How much a caller may spend: the defaults, and the overrides of its key or tenant.
//!
//! There are three levels with limits of their own. A session's limits are fixed, a key's grow with
//! the number of agents that share it, and a tenant's are ten times those of a key for one agent.
//! What a reader would get wrong: an override changes its own level only. Raising a key's limit
//! leaves the limits of its sessions and its tenant as they are.

use serde::{Deserialize, Serialize};

/// Name of the weighted budget that all messages draw from.
pub const TOTAL: &str = "total";
/// `prompts/get` has a limit of its own, although it is not a tool.
pub const PROMPTS: &str = "prompts/get";
/// Default limit of [`PROMPTS`] per minute: of a session, and of a key for one agent.
pub const PROMPTS_PER_MINUTE: u32 = 60;
/// Name of the limit on a tenant's memory: MiB in total rather than per minute, and enforced by the
/// workers' database rather than by gateways.
pub const MEMORY: &str = "memory_mib";
/// Default of [`MEMORY`], in MiB.
pub const MEMORY_MIB: u32 = 1_024;
/// Name of the limit on a tenant's units of a calendar month, in UTC. No tenant has one by default.
pub const MONTH: &str = "month";
/// The highest limit by the month that can be set, in units.
pub const MOST_A_MONTH: u32 = 2_000_000_000;
/// Units per minute of a key for one agent.
const KEY_TOTAL: u32 = 1_200;
/// Units per minute of a tenant.
const TENANT_TOTAL: u32 = 12_000;
/// A tenant's limit for a tool, as a multiple of a key's.
const TENANT_FACTOR: u32 = 10;
/// The highest limit that can be set, per minute.
pub const MOST: u32 = 1_000_000;

/// The highest limit of this name: [`MOST`], or [`MOST_A_MONTH`].
pub fn most(of: &str) -> u32 {
    if of == MONTH { MOST_A_MONTH } else { MOST }
}

/// What a limit applies to.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Each session of a key.
    Session,
    /// A key, across its sessions.
    Key,
    /// A tenant, across its keys.
    Tenant,
}

impl Level {
    /// From the narrowest to the widest.
    pub const ALL: [Level; 3] = [Level::Session, Level::Key, Level::Tenant];

    /// The name in refusals, metrics and the database.
    pub fn name(self) -> &'static str {
        match self {
            Level::Session => "session",
            Level::Key => "key",
            Level::Tenant => "tenant",
        }
    }

    /// The level of this name.
    pub fn parse(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// A limit that an operator set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The level it applies to.
    pub level: Level,
    /// A tool's name, [`PROMPTS`], [`TOTAL`], [`MEMORY`] or [`MONTH`].
    pub of: String,
    /// Calls, or units of [`TOTAL`], per minute, at most [`MOST`]; 0 lifts the limit. MiB of [`MEMORY`]; units of
    /// [`MONTH`].
    pub per_minute: u32,
    /// Set for one key rather than for all keys of its tenant.
    pub of_key: bool,
}

/// Where a limit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The default.
    Default,
    /// Set for the tenant.
    Tenant,
    /// Set for the key.
    Key,
}

/// An effective limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Calls, or units of [`TOTAL`], per minute; `None` is unlimited.
    pub per_minute: Option<u32>,
    /// Where it was set.
    pub origin: Origin,
}

/// What one key may spend.
#[derive(Clone, Debug)]
pub struct Terms {
    agents: u32,
    overrides: Vec<Override>,
}

impl Terms {
    /// The terms of a key that this many agents share, with its own overrides and its tenant's.
    pub fn new(agents: u32, overrides: Vec<Override>) -> Self {
        Terms { agents, overrides }
    }

    /// The limit of a tool or method at this level. `default` is the tool's own: calls per minute
    /// of a session, and of a key for one agent.
    pub fn of_tool(&self, level: Level, name: &str, default: Option<u32>) -> Limit {
        let default = default.map(|own| match level {
            Level::Session => own,
            Level::Key => own.saturating_mul(self.agents),
            Level::Tenant => own.saturating_mul(TENANT_FACTOR),
        });
        self.set(level, name, default)
    }

    /// The limit of [`TOTAL`] at this level, in units. A session has none.
    pub fn of_total(&self, level: Level) -> Limit {
        let default = match level {
            Level::Session => None,
            Level::Key => Some(KEY_TOTAL.saturating_mul(self.agents)),
            Level::Tenant => Some(TENANT_TOTAL),
        };
        self.set(level, TOTAL, default)
    }

    /// The size limit of the tenant's memory, in MiB.
    pub fn of_memory(&self) -> Limit {
        self.set(Level::Tenant, MEMORY, Some(MEMORY_MIB))
    }

    /// The units that the tenant may spend in a calendar month.
    pub fn of_month(&self) -> Limit {
        self.set(Level::Tenant, MONTH, None)
    }

    fn set(&self, level: Level, of: &str, default: Option<u32>) -> Limit {
        let set = |of_key| {
            self.overrides
                .iter()
                .find(|set| set.level == level && set.of == of && set.of_key == of_key)
        };
        let (per_minute, origin) = match (set(true), set(false)) {
            (Some(own), _) => (Some(own.per_minute), Origin::Key),
            (None, Some(shared)) => (Some(shared.per_minute), Origin::Tenant),
            (None, None) => (default, Origin::Default),
        };
        Limit {
            per_minute: per_minute.filter(|limit| *limit > 0),
            origin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(level: Level, of: &str, per_minute: u32, of_key: bool) -> Override {
        Override {
            level,
            of: of.to_owned(),
            per_minute,
            of_key,
        }
    }

    fn limits(terms: &Terms) -> [Option<u32>; 3] {
        Level::ALL.map(|level| terms.of_tool(level, "grep_codebase", Some(60)).per_minute)
    }

    #[test]
    fn agents_multiply_a_keys_limits_and_nothing_else() {
        assert_eq!(
            limits(&Terms::new(1, vec![])),
            [Some(60), Some(60), Some(600)]
        );
        let shared = Terms::new(5, vec![]);
        assert_eq!(limits(&shared), [Some(60), Some(300), Some(600)]);
        let totals = Level::ALL.map(|level| shared.of_total(level).per_minute);
        assert_eq!(totals, [None, Some(6_000), Some(12_000)]);
    }

    #[test]
    fn the_most_specific_override_sets_only_its_level_and_0_lifts_it() {
        let tenants = set(Level::Key, "grep_codebase", 7, false);
        let keys = set(Level::Key, "grep_codebase", 0, true);
        let terms = Terms::new(2, vec![tenants.clone()]);
        assert_eq!(limits(&terms), [Some(60), Some(7), Some(600)]);
        let terms = Terms::new(2, vec![tenants, keys]);
        assert_eq!(limits(&terms), [Some(60), None, Some(600)]);
        let level = Level::Key;
        assert_eq!(
            terms.of_tool(level, "grep_codebase", None).origin,
            Origin::Key
        );
        assert_eq!(terms.of_tool(level, "hello", None).origin, Origin::Default);
    }

    #[test]
    fn an_override_can_limit_what_has_no_default() {
        let terms = Terms::new(1, vec![set(Level::Session, "git_log", 3, false)]);
        let limit = terms.of_tool(Level::Session, "git_log", None);
        assert_eq!((limit.per_minute, limit.origin), (Some(3), Origin::Tenant));
        assert_eq!(terms.of_tool(Level::Key, "git_log", None).per_minute, None);
    }
}
