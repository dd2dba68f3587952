//! Refusals of the last 15 minutes, by reason.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::Instant;

/// The minutes covered, including the current one.
pub(crate) const MINUTES: usize = 15;
/// Reasons at most. About a hundred exist: limits of tools at three levels, and a few others.
const MOST: usize = 512;

/// Counts of refusals by minute.
#[derive(Debug)]
pub(crate) struct Refusals {
    began: Instant,
    counts: Mutex<HashMap<RefusalReason, MinuteCounts>>,
}

/// A reason, and what it applies to if it can apply to several things.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RefusalReason {
    reason: &'static str,
    detail: Option<Arc<str>>,
}

/// A count for each of the last minutes.
#[derive(Debug, Default)]
struct MinuteCounts {
    /// The minute of the last count, since the start.
    minute: u64,
    /// Indexed by minute modulo [`MINUTES`].
    slots: [u64; MINUTES],
}

/// How often something was refused within [`MINUTES`] minutes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RefusalRow {
    /// `rate_limited`, `bad_credential`, `circuit_open`, `no_place`, or a name from
    /// `error/reason.rs`.
    pub(crate) reason: &'static str,
    /// What it applies to: `key total`, `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<Arc<str>>,
    pub(crate) count: u64,
}

impl Default for Refusals {
    fn default() -> Self {
        Refusals {
            began: Instant::now(),
            counts: Mutex::default(),
        }
    }
}

impl Refusals {
    /// Counts one. Reasons and details must come from closed lists.
    pub(crate) fn count(&self, reason: &'static str, detail: Option<Arc<str>>) {
        let mut counts = self.counts.lock();
        let minute = self.minute();
        if counts.len() >= MOST {
            counts.retain(|_, counts| counts.sum(minute) > 0);
        }
        let is_full = counts.len() >= MOST;
        let key = RefusalReason { reason, detail };
        match counts.get_mut(&key) {
            Some(counts) => counts.add(minute),
            None if is_full => {}
            None => counts.entry(key).or_default().add(minute),
        }
    }

    /// Recent refusals, most frequent first.
    pub(crate) fn rows(&self) -> Vec<RefusalRow> {
        let counts = self.counts.lock();
        let minute = self.minute();
        let rows = counts.iter().map(|(key, counts)| RefusalRow {
            reason: key.reason,
            detail: key.detail.clone(),
            count: counts.sum(minute),
        });
        let mut rows: Vec<RefusalRow> = rows.filter(|row| row.count > 0).collect();
        rows.sort_by(|a, b| {
            let names = |row: &RefusalRow| (row.reason, row.detail.clone());
            b.count.cmp(&a.count).then_with(|| names(a).cmp(&names(b)))
        });
        rows
    }

    fn minute(&self) -> u64 {
        self.began.elapsed().as_secs() / 60
    }
}

impl MinuteCounts {
    /// Minutes never go backwards, because they are read under the lock.
    fn add(&mut self, minute: u64) {
        let minute = minute.max(self.minute);
        // The minutes since the last count had no refusals.
        let passed = (minute - self.minute).min(MINUTES as u64);
        for back in 0..passed {
            self.slots[slot(minute - back)] = 0;
        }
        self.minute = minute;
        self.slots[slot(minute)] += 1;
    }

    /// The sum over the last minutes, including this one.
    fn sum(&self, minute: u64) -> u64 {
        let oldest = (minute + 1).saturating_sub(MINUTES as u64);
        let first_kept = (self.minute + 1).saturating_sub(MINUTES as u64);
        let minutes = oldest.max(first_kept)..=self.minute;
        minutes.map(|minute| self.slots[slot(minute)]).sum()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "less than the number of minutes"
)]
fn slot(minute: u64) -> usize {
    (minute % MINUTES as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn rows(refusals: &Refusals) -> Vec<(&'static str, Option<String>, u64)> {
        let rows = refusals.rows().into_iter();
        rows.map(|row| (row.reason, row.detail.map(|it| it.to_string()), row.count))
            .collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_listed_for_15_minutes() {
        let refusals = Refusals::default();
        let minutes = |count: u64| tokio::time::advance(Duration::from_secs(60 * count));
        refusals.count("host", None);
        minutes(10).await;
        refusals.count("rate_limited", Some("key total".into()));
        refusals.count("rate_limited", Some("key total".into()));
        refusals.count("rate_limited", Some("key hello".into()));
        let limited = |of: &str, count| ("rate_limited", Some(of.to_owned()), count);
        assert_eq!(
            rows(&refusals),
            [
                limited("key total", 2),
                ("host", None, 1),
                limited("key hello", 1)
            ]
        );
        minutes(4).await;
        assert_eq!(rows(&refusals).len(), 3);
        minutes(1).await;
        assert_eq!(
            rows(&refusals),
            [limited("key total", 2), limited("key hello", 1)]
        );
        minutes(100).await;
        assert_eq!(rows(&refusals), []);
        refusals.count("host", None);
        assert_eq!(rows(&refusals), [("host", None, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn reasons_are_bounded_and_expired_ones_make_room() {
        let refusals = Refusals::default();
        for number in 0..2 * MOST {
            refusals.count("rate_limited", Some(number.to_string().into()));
        }
        assert_eq!(rows(&refusals).len(), MOST);
        tokio::time::advance(Duration::from_secs(3600)).await;
        refusals.count("host", None);
        assert_eq!(refusals.counts.lock().len(), 1);
    }

    proptest! {
        /// Compared with a list of all counted minutes.
        #[test]
        fn counts_are_those_of_the_last_minutes(gaps in prop::collection::vec(0_u64..20, 1..40), later in 0_u64..20) {
            let (mut counts, mut minute, mut all) = (MinuteCounts::default(), 0, Vec::new());
            for gap in gaps {
                minute += gap;
                counts.add(minute);
                all.push(minute);
            }
            let now = minute + later;
            let recent = all.iter().filter(|minute| **minute + MINUTES as u64 > now).count();
            prop_assert_eq!(counts.sum(now), recent as u64);
        }
    }
}
