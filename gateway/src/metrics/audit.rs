//! Metrics of the audit trail.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

use super::registered;

/// Metrics of the audit trail.
#[derive(Clone)]
pub(crate) struct AuditMetrics {
    /// Records stored in Postgres.
    pub(crate) written: Counter,
    /// Records that exist nowhere; a gap in a chain reports them.
    pub(crate) missing: Counter,
    /// Failed attempts to write, which were repeated.
    pub(crate) failures: Counter,
    waiting: Gauge,
}

impl AuditMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        AuditMetrics {
            written: registered(
                registry,
                "audit_records_written",
                "Audit records written to Postgres",
            ),
            missing: registered(
                registry,
                "audit_records_missing",
                "Audit records that found the queue full or could not be written before shutdown",
            ),
            failures: registered(
                registry,
                "audit_write_failures",
                "Failed attempts to write audit records, which were repeated",
            ),
            waiting: registered(
                registry,
                "audit_records_waiting",
                "Used slots of the audit queue: running calls and records that wait to be written",
            ),
        }
    }

    /// Sets the number of used slots, of 16,384.
    pub(crate) fn waiting(&self, count: usize) {
        self.waiting.set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}
