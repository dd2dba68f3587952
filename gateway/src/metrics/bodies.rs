//! What is told of large bodies: how many are read and wait, and how many found no place.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

use super::registered;

/// The metrics of large bodies.
#[derive(Clone)]
pub(crate) struct BodyMetrics {
    /// Those that are read.
    pub(crate) reading: Gauge,
    /// Those that wait for a place.
    pub(crate) waiting: Gauge,
    /// Those that got none.
    pub(crate) refused: Counter,
}

impl BodyMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        BodyMetrics {
            reading: registered(
                registry,
                "large_bodies_reading",
                "Bodies over 64 KiB that are being read",
            ),
            waiting: registered(
                registry,
                "large_bodies_waiting",
                "Bodies over 64 KiB that are not read yet because too many others are",
            ),
            refused: registered(
                registry,
                "large_bodies_refused",
                "Bodies over 64 KiB that were not read because too many others were",
            ),
        }
    }
}
