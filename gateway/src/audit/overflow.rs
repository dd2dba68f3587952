//! Counts of refusals and of missing records, for times when the queue is too full for a record
//! each.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use uuid::Uuid;

use super::record::{Record, RecordBody};

/// Kinds of refusals that are counted separately; refusals of further kinds count as missing
/// records.
const MOST_KINDS: usize = 4_096;
/// Tenants whose missing records are counted: more than an installation has.
const MOST_TENANTS: usize = 100_000;

/// The counts since the writer last took them.
#[derive(Default)]
pub(super) struct OverflowCounts(Mutex<Counters>);

#[derive(Default)]
struct Counters {
    refusals: BTreeMap<RefusalKind, u64>,
    missing: BTreeMap<Uuid, u64>,
}

/// What the refusals of one count have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RefusalKind {
    tenant: Uuid,
    principal: String,
    method: &'static str,
    tool: Option<Arc<str>>,
    outcome: &'static str,
}

/// A count to record in its tenant's chain.
pub(super) struct OverflowCount {
    pub(super) tenant: Uuid,
    kind: Option<RefusalKind>,
    count: u64,
}

impl OverflowCounts {
    /// Counts a refusal.
    pub(super) fn refused(&self, record: &Record) {
        let kind = RefusalKind {
            tenant: record.who.tenant_id(),
            principal: record.who.name().to_owned(),
            method: record.method(),
            tool: record.request.tool.clone(),
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

    /// Counts records that got no slot.
    pub(super) fn missing(&self, tenant: Uuid, count: u64) {
        self.0.lock().lose(tenant, count);
    }

    /// Takes all counts and resets them.
    pub(super) fn take(&self) -> Vec<OverflowCount> {
        let counts = std::mem::take(&mut *self.0.lock());
        let missing = counts
            .missing
            .into_iter()
            .map(|(tenant, count)| OverflowCount {
                tenant,
                kind: None,
                count,
            });
        let refusals = counts
            .refusals
            .into_iter()
            .map(|(kind, count)| OverflowCount {
                tenant: kind.tenant,
                kind: Some(kind),
                count,
            });
        missing.chain(refusals).collect()
    }
}

impl Counters {
    fn lose(&mut self, tenant: Uuid, count: u64) {
        if self.missing.len() < MOST_TENANTS || self.missing.contains_key(&tenant) {
            *self.missing.entry(tenant).or_default() += count;
        }
    }
}

impl OverflowCount {
    /// The stored content.
    pub(super) fn body(&self) -> RecordBody<'_> {
        match &self.kind {
            None => RecordBody::Gap {
                missing: self.count,
            },
            Some(kind) => RecordBody::Refusals {
                principal: &kind.principal,
                method: kind.method,
                tool: kind.tool.as_deref(),
                outcome: kind.outcome,
                count: self.count,
            },
        }
    }
}
