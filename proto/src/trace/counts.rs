//! What became of spans, for the metrics of whoever runs in this process.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, counter::ConstCounter},
};

/// What became of the spans of this process: counted for all of it, as its exporter is for all of it.
#[derive(Debug)]
pub struct SpanCounts {
    exported: AtomicU64,
    queue_full: AtomicU64,
    not_taken: AtomicU64,
}

/// The counts of this process.
pub static COUNTS: SpanCounts = SpanCounts {
    exported: AtomicU64::new(0),
    queue_full: AtomicU64::new(0),
    not_taken: AtomicU64::new(0),
};

/// Why a span was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// As many waited as may.
    QueueFull,
    /// The collector refused it, or did not take it in time.
    NotTaken,
}

impl Lost {
    /// Every reason.
    pub const ALL: [Lost; 2] = [Lost::QueueFull, Lost::NotTaken];

    /// The word for it in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Lost::QueueFull => "queue_full",
            Lost::NotTaken => "not_taken",
        }
    }
}

impl SpanCounts {
    /// The collector took so many.
    pub fn exported(&self, spans: u64) {
        self.exported.fetch_add(spans, Ordering::Relaxed);
    }

    /// So many were given up.
    pub fn lost(&self, why: Lost, spans: u64) {
        self.count_of(why).fetch_add(spans, Ordering::Relaxed);
    }

    /// How many were taken by the collector.
    pub fn all_exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// How many were given up for this reason.
    pub fn all_lost(&self, why: Lost) -> u64 {
        self.count_of(why).load(Ordering::Relaxed)
    }

    fn count_of(&self, why: Lost) -> &AtomicU64 {
        match why {
            Lost::QueueFull => &self.queue_full,
            Lost::NotTaken => &self.not_taken,
        }
    }
}

/// Tells the counts of this process in a registry of metrics.
#[derive(Debug)]
pub struct Spans;

impl Collector for Spans {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let help = "Spans that the collector of traces took";
        let exported =
            encoder.encode_descriptor("spans_exported", help, None, MetricType::Counter)?;
        ConstCounter::new(COUNTS.all_exported()).encode(exported)?;
        let help = "Spans that were given up, by reason";
        let mut lost = encoder.encode_descriptor("spans_lost", help, None, MetricType::Counter)?;
        for why in Lost::ALL {
            let labels = [("reason", why.name())];
            let one = lost.encode_family(&labels)?;
            ConstCounter::new(COUNTS.all_lost(why)).encode(one)?;
        }
        Ok(())
    }
}
