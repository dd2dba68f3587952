//! Metrics of unread answers: those that clients have not read yet.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

use super::registered;

/// Metrics of unread answers.
#[derive(Clone)]
pub(crate) struct UnreadMetrics {
    /// Reserved bytes: of answers that are being read, or are about to be written.
    pub(crate) bytes: Gauge,
    /// Answers that wait for a reservation.
    pub(crate) waiting: Gauge,
    /// Answers that got no reservation.
    pub(crate) refused: Counter,
    /// Answers closed because their clients did not read them.
    pub(crate) ended: Counter,
}

impl UnreadMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        UnreadMetrics {
            bytes: registered(
                registry,
                "unread_answer_bytes",
                "Bytes of answers that clients have not read yet, or that are about to be written",
            ),
            waiting: registered(
                registry,
                "unread_answers_waiting",
                "Answers not written yet because too many others are unread",
            ),
            refused: registered(
                registry,
                "unread_answers_refused",
                "Answers not written because too many others were unread",
            ),
            ended: registered(
                registry,
                "unread_answers_ended",
                "Answers closed because their clients did not read them",
            ),
        }
    }
}
