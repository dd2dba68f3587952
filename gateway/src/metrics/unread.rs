//! What is told of answers that wait for their clients to take them.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

use super::registered;

/// The metrics of unread answers.
#[derive(Clone)]
pub(crate) struct UnreadMetrics {
    /// Bytes that have room: of answers that wait to be taken, or are about to be written.
    pub(crate) bytes: Gauge,
    /// Answers that wait for room.
    pub(crate) waiting: Gauge,
    /// Answers that got no room.
    pub(crate) refused: Counter,
    /// Answers that were ended because their clients did not take them.
    pub(crate) ended: Counter,
}

impl UnreadMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        UnreadMetrics {
            bytes: registered(
                registry,
                "unread_answer_bytes",
                "Bytes of answers that clients have not taken yet, or that are about to be written",
            ),
            waiting: registered(
                registry,
                "unread_answers_waiting",
                "Answers that are not written yet because too many others are not taken",
            ),
            refused: registered(
                registry,
                "unread_answers_refused",
                "Answers that were not written because too many others were not taken",
            ),
            ended: registered(
                registry,
                "unread_answers_ended",
                "Answers that were ended because their clients did not take them",
            ),
        }
    }
}
