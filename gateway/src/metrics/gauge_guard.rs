//! A gauge of what runs.

use prometheus_client::metrics::gauge::Gauge;

/// Counts one in a gauge until dropped, even by a panic.
pub(crate) struct GaugeGuard(Gauge);

impl GaugeGuard {
    /// Increments the gauge.
    pub(crate) fn one_of(gauge: &Gauge) -> Self {
        gauge.inc();
        GaugeGuard(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
