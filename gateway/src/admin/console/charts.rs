//! The calls of the last day as small charts, drawn here as SVG. Each has its numbers as text for those who do not see
//! it.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::table::{millis, thousands};
use crate::{metrics::OutcomeClass, store::console::HourCalls};

/// Hours of the charts.
pub(super) const HOURS: usize = 24;
/// Tools with charts of their own.
const MOST_TOOLS: usize = 20;

/// Calls by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassCounts {
    pub(super) served: i64,
    pub(super) denied: i64,
    pub(super) failed: i64,
    pub(super) cancelled: i64,
}

impl ClassCounts {
    /// Adds calls with this outcome.
    pub(super) fn add(&mut self, outcome: &str, calls: i64) {
        *match OutcomeClass::of(outcome) {
            OutcomeClass::Served => &mut self.served,
            OutcomeClass::Denied => &mut self.denied,
            OutcomeClass::Failed => &mut self.failed,
            OutcomeClass::Cancelled => &mut self.cancelled,
        } += calls;
    }

    /// All of them.
    pub(super) fn all(self) -> i64 {
        self.served + self.denied + self.failed + self.cancelled
    }

    /// The share of failures among calls that the service answered for, in percent.
    pub(super) fn failure_percent(self) -> f64 {
        100.0 * self.failed as f64 / (self.served + self.failed).max(1) as f64
    }

    fn text(self) -> String {
        let mut text = format!(
            "{} served, {} denied, {} failed",
            thousands(self.served),
            thousands(self.denied),
            thousands(self.failed)
        );
        if self.cancelled > 0 {
            text.push_str(&format!(", {} cancelled", thousands(self.cancelled)));
        }
        text
    }
}

/// Calls by how long they took: the bucket, and how many.
type Durations = BTreeMap<i16, i64>;

/// One tool's day.
#[derive(Debug, Default)]
pub(super) struct ToolDay {
    pub(super) tool: String,
    pub(super) counts: ClassCounts,
    durations: Durations,
    /// By hour, the oldest first.
    hours: Vec<Durations>,
}

/// The last 24 hours of the installation.
#[derive(Debug)]
pub(super) struct Day {
    /// By hour, the oldest first; the last one is not over.
    pub(super) hours: Vec<ClassCounts>,
    pub(super) total: ClassCounts,
    /// Denials and failures by outcome, the most first.
    pub(super) reasons: Vec<(String, i64)>,
    /// The 20 with the most calls.
    pub(super) tools: Vec<ToolDay>,
}

impl Day {
    /// From the rows of the store, at a moment in seconds since 1970.
    pub(super) fn of(rows: &[HourCalls], now: i64) -> Day {
        let mut day = Day {
            hours: vec![ClassCounts::default(); HOURS],
            total: ClassCounts::default(),
            reasons: Vec::new(),
            tools: Vec::new(),
        };
        let mut reasons: BTreeMap<&str, i64> = BTreeMap::new();
        let mut tools: BTreeMap<&str, ToolDay> = BTreeMap::new();
        for row in rows {
            let ago = usize::try_from((now - row.hour).max(0) / 3_600).unwrap_or(HOURS);
            let Some(place) = (HOURS - 1).checked_sub(ago) else {
                continue;
            };
            day.hours[place].add(&row.outcome, row.calls);
            day.total.add(&row.outcome, row.calls);
            let class = OutcomeClass::of(&row.outcome);
            if matches!(class, OutcomeClass::Denied | OutcomeClass::Failed) {
                *reasons.entry(&row.outcome).or_default() += row.calls;
            }
            let tool = tools.entry(&row.tool).or_default();
            tool.counts.add(&row.outcome, row.calls);
            // A denial is quick, and says nothing about how long an answer takes.
            if matches!(class, OutcomeClass::Served | OutcomeClass::Failed) {
                tool.hours.resize_with(HOURS, Durations::new);
                *tool.durations.entry(row.bucket).or_default() += row.calls;
                *tool.hours[place].entry(row.bucket).or_default() += row.calls;
            }
        }
        day.reasons = reasons
            .into_iter()
            .map(|(name, calls)| (name.to_owned(), calls))
            .collect();
        day.reasons.sort_by_key(|(_, calls)| -calls);
        day.tools = tools
            .into_iter()
            .map(|(name, day)| ToolDay {
                tool: name.to_owned(),
                ..day
            })
            .collect();
        day.tools.sort_by_key(|tool| -tool.counts.all());
        day.tools.truncate(MOST_TOOLS);
        day
    }
}

impl ToolDay {
    /// The duration in milliseconds that this share of its calls did not exceed; `None` without calls. It is within a
    /// tenth, as buckets are a fifth wide.
    pub(super) fn percentile(&self, share: f64) -> Option<f64> {
        percentile(&self.durations, share)
    }

    /// Its p99 by hour as a line.
    pub(super) fn line(&self) -> Markup {
        let by_hour: Vec<Option<f64>> = self.hours.iter().map(|it| percentile(it, 0.99)).collect();
        let most = by_hour
            .iter()
            .flatten()
            .fold(0.0, |most: f64, ms| most.max(*ms));
        let text = format!("p99 by hour of {}, at most {} ms", self.tool, millis(most));
        html! {
            svg class="line" viewBox="0 0 96 20" preserveAspectRatio="none" role="img" aria-label=(text) {
                title { (text) }
                @for (place, ms) in by_hour.iter().enumerate() {
                    @if let Some(ms) = ms {
                        @let height = (18.0 * ms / most.max(f64::EPSILON)).max(1.0);
                        rect x=(place * 4) y=(format!("{:.1}", 20.0 - height)) width="3" height=(format!("{height:.1}")) {}
                    }
                }
            }
        }
    }
}

/// The middle of the bucket in which the share of all calls is reached.
fn percentile(durations: &Durations, share: f64) -> Option<f64> {
    let all: i64 = durations.values().sum();
    let rank = (share * all as f64).max(f64::EPSILON);
    let mut seen = 0;
    durations.iter().find_map(|(bucket, calls)| {
        seen += calls;
        (seen as f64 >= rank).then(|| 0.25 * 2_f64.powf((f64::from(*bucket) + 0.5) / 4.0))
    })
}

/// Bars by hour or day, the oldest first; failures stand at the bottom. `name` says what a bar is about.
pub(super) fn bars(counts: &[ClassCounts], name: impl Fn(usize) -> String) -> Markup {
    let most = counts.iter().map(|it| it.all()).max().unwrap_or(0).max(1) as f64;
    let width = 480.0 / counts.len().max(1) as f64;
    let total = counts.iter().fold(ClassCounts::default(), |mut sum, it| {
        sum.served += it.served;
        sum.denied += it.denied;
        sum.failed += it.failed;
        sum.cancelled += it.cancelled;
        sum
    });
    html! {
        svg class="bars" viewBox="0 0 480 100" preserveAspectRatio="none" role="img" aria-label=(total.text()) {
            @for (place, it) in counts.iter().enumerate() {
                g {
                    title { (name(place)) ": " (it.text()) }
                    // The whole column shows the text.
                    rect class="hover" x=(format!("{:.1}", width * place as f64)) width=(format!("{width:.1}")) height="100" {}
                    @let parts = [("failed", it.failed), ("denied", it.denied), ("served", it.served + it.cancelled)];
                    @let mut y = 100.0;
                    @for (class, calls) in parts {
                        // Few failures among many calls stay visible.
                        @let least = if calls > 0 { 1.5 } else { 0.0 };
                        @let height = (98.0 * calls as f64 / most).max(least);
                        @let () = y -= height;
                        @if calls > 0 {
                            rect class=(class) x=(format!("{:.1}", width * place as f64 + 1.0)) y=(format!("{y:.1}"))
                                width=(format!("{:.1}", width - 2.0)) height=(format!("{height:.1}")) {}
                        }
                    }
                }
            }
        }
    }
}

/// The legend of the bars.
pub(super) fn legend() -> Markup {
    let names = [
        ("served", "served"),
        ("denied", "denied: the client's doing"),
        ("failed", "failed: the service's"),
    ];
    html! {
        p class="key" {
            @for (class, name) in names {
                span { svg viewBox="0 0 1 1" { rect class=(class) width="1" height="1"; } (name) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(hour: i64, outcome: &str, bucket: i16, calls: i64) -> HourCalls {
        HourCalls {
            hour,
            tool: "hello".to_owned(),
            outcome: outcome.to_owned(),
            bucket,
            calls,
        }
    }

    #[test]
    fn a_day_counts_denials_apart_from_failures() {
        let now = 100 * 3_600 + 60;
        let day = Day::of(
            &[
                calls(100 * 3_600, "ok", 0, 90),
                calls(99 * 3_600, "access_denied", 0, 50),
                calls(99 * 3_600, "deadline_exceeded", 40, 10),
                calls(70 * 3_600, "ok", 0, 1_000),
            ],
            now,
        );
        let failed = ClassCounts {
            failed: 10,
            denied: 50,
            ..ClassCounts::default()
        };
        assert_eq!(day.hours[HOURS - 2], failed);
        assert_eq!(day.total.served, 90);
        assert!((day.total.failure_percent() - 10.0).abs() < 1e-9);
        assert_eq!(
            day.reasons,
            [
                ("access_denied".to_owned(), 50),
                ("deadline_exceeded".to_owned(), 10)
            ]
        );
    }

    #[test]
    fn percentiles_are_within_a_tenth_and_without_denials() {
        let day = Day::of(
            &[
                calls(0, "ok", 16, 98),
                calls(0, "unavailable", 32, 2),
                calls(0, "rate_limited", 0, 900),
            ],
            60,
        );
        let tool = &day.tools[0];
        let near = |ms: Option<f64>, expected: f64| (ms.unwrap() / expected - 1.0).abs() < 0.1;
        // 2^4 / 4 ms and 2^8 / 4 ms begin these buckets.
        assert!(
            near(tool.percentile(0.5), 4.36),
            "{:?}",
            tool.percentile(0.5)
        );
        assert!(
            near(tool.percentile(0.99), 69.8),
            "{:?}",
            tool.percentile(0.99)
        );
        assert_eq!(percentile(&Durations::new(), 0.5), None);
    }

    #[test]
    fn bars_stay_within_the_chart_and_have_their_numbers_as_text() {
        let counts = [
            ClassCounts {
                served: 1_000_000,
                failed: 1,
                denied: 1,
                cancelled: 0,
            },
            ClassCounts::default(),
        ];
        let text = bars(&counts, |place| format!("bar {place}")).into_string();
        assert!(
            text.contains("bar 0: 1,000,000 served, 1 denied, 1 failed"),
            "{text}"
        );
        let tops = text
            .split(" y=\"")
            .skip(1)
            .filter_map(|it| it.split('"').next()?.parse::<f64>().ok());
        assert!(
            tops.clone().count() == 3 && tops.fold(100.0, f64::min) >= -1.1,
            "{text}"
        );
    }
}
