//! Metrics of large request bodies: being read, waiting, and refused.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

use super::registered;

/// Metrics of large request bodies.
#[derive(Clone)]
pub(crate) struct BodyMetrics {
    /// Bodies being read.
    pub(crate) reading: Gauge,
    /// Bodies that wait for a permit.
    pub(crate) waiting: Gauge,
    /// Bodies that got no permit.
    pub(crate) refused: Counter,
}

impl BodyMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        BodyMetrics {
            reading: registered(
                registry,
                "large_bodies_reading",
                "Request bodies over 64 KiB that are being read",
            ),
            waiting: registered(
                registry,
                "large_bodies_waiting",
                "Request bodies over 64 KiB that wait because too many others are being read",
            ),
            refused: registered(
                registry,
                "large_bodies_refused",
                "Request bodies over 64 KiB refused because too many others were being read",
            ),
        }
    }
}
