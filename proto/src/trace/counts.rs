//! Counts of exported and lost spans, for the metrics of this process.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, counter::ConstCounter},
};

/// Counts of this process's spans. There is one exporter per process, and so one set of counts.
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

/// Why a span was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The queue was full.
    QueueFull,
    /// The collector refused it, or did not accept it in time.
    NotTaken,
}

impl Lost {
    /// Every reason.
    pub const ALL: [Lost; 2] = [Lost::QueueFull, Lost::NotTaken];

    /// Its label in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Lost::QueueFull => "queue_full",
            Lost::NotTaken => "not_taken",
        }
    }
}

impl SpanCounts {
    /// Counts spans that the collector accepted.
    pub fn exported(&self, spans: u64) {
        self.exported.fetch_add(spans, Ordering::Relaxed);
    }

    /// Counts lost spans.
    pub fn lost(&self, why: Lost, spans: u64) {
        self.count_of(why).fetch_add(spans, Ordering::Relaxed);
    }

    /// How many spans the collector accepted.
    pub fn all_exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// How many spans were lost for this reason.
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

/// Registers the counts of this process as metrics.
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
