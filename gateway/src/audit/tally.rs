//! What is counted together, or is missing, while there is no room for a record each.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use uuid::Uuid;

use super::record::{Record, Told};

/// Refusals of so many kinds are told apart at a time; of others it is only known that they are
/// missing.
const MOST_KINDS: usize = 4_096;
/// Tenants whose missing records are counted. There are not more in an installation.
const MOST_TENANTS: usize = 100_000;

/// Counts since the writer came for them last.
#[derive(Default)]
pub(super) struct Tally(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    refusals: BTreeMap<Kind, u64>,
    missing: BTreeMap<Uuid, u64>,
}

/// What refusals have in common that are counted together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    tenant: Uuid,
    principal: String,
    method: &'static str,
    tool: Option<Arc<str>>,
    outcome: &'static str,
}

/// A count, for the chain of its tenant.
pub(super) struct Counted {
    pub(super) tenant: Uuid,
    kind: Option<Kind>,
    count: u64,
}

impl Tally {
    /// Counts a refusal among its kind.
    pub(super) fn refused(&self, record: &Record) {
        let kind = Kind {
            tenant: record.who.tenant_id(),
            principal: record.who.name().to_owned(),
            method: record.method(),
            tool: record.asked.tool.clone(),
            outcome: record.outcome.name(),
        };
        let mut counts = self.0.lock();
        if let Some(count) = counts.refusals.get_mut(&kind) {
            *count += 1;
        } else if counts.refusals.len() < MOST_KINDS {
            counts.refusals.insert(kind, 1);
        } else {
            counts.lose(kind.tenant, 1);
        }
    }

    /// Counts records of a tenant that there is no place for.
    pub(super) fn lost(&self, tenant: Uuid, count: u64) {
        self.0.lock().lose(tenant, count);
    }

    /// What was counted, which is then forgotten.
    pub(super) fn take(&self) -> Vec<Counted> {
        let counts = std::mem::take(&mut *self.0.lock());
        let missing = counts.missing.into_iter().map(|(tenant, count)| Counted {
            tenant,
            kind: None,
            count,
        });
        let refusals = counts.refusals.into_iter().map(|(kind, count)| Counted {
            tenant: kind.tenant,
            kind: Some(kind),
            count,
        });
        missing.chain(refusals).collect()
    }
}

impl Counts {
    fn lose(&mut self, tenant: Uuid, count: u64) {
        if self.missing.len() < MOST_TENANTS || self.missing.contains_key(&tenant) {
            *self.missing.entry(tenant).or_default() += count;
        }
    }
}

impl Counted {
    /// What its record says.
    pub(super) fn told(&self) -> Told<'_> {
        match &self.kind {
            None => Told::Gap {
                missing: self.count,
            },
            Some(kind) => Told::Refusals {
                principal: &kind.principal,
                method: kind.method,
                tool: kind.tool.as_deref(),
                outcome: kind.outcome,
                count: self.count,
            },
        }
    }
}
