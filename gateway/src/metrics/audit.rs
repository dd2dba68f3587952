//! What is told of the audit trail.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

use super::registered;

/// The metrics of the audit trail.
#[derive(Clone)]
pub(crate) struct AuditMetrics {
    /// Records that Postgres has.
    pub(crate) written: Counter,
    /// Records that are nowhere: a gap in a chain tells of them.
    pub(crate) missing: Counter,
    /// Attempts to write that failed, and were made again.
    pub(crate) failures: Counter,
    waiting: Gauge,
}

impl AuditMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        AuditMetrics {
            written: registered(
                registry,
                "audit_records_written",
                "Audit records that Postgres has",
            ),
            missing: registered(
                registry,
                "audit_records_missing",
                "Audit records for which there was no room, or that could not be written at the end",
            ),
            failures: registered(
                registry,
                "audit_write_failures",
                "Attempts to write audit records that failed and were made again",
            ),
            waiting: registered(
                registry,
                "audit_records_waiting",
                "Places of the audit trail's queue that are taken: records that wait to be written, calls under way",
            ),
        }
    }

    /// Says how many places are taken, of 16,384.
    pub(crate) fn waiting(&self, count: usize) {
        self.waiting.set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}
