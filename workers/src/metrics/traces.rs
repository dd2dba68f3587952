//! What became of spans, as `/metrics` tells it.

use archway_proto::trace::{COUNTS, Lost};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, counter::ConstCounter},
};

/// Tells the counts of the process: its exporter is not one worker's.
#[derive(Debug)]
pub(super) struct Spans;

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
