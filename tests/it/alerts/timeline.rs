//! Hours of an installation's life from scrapes of it, for Prometheus' own evaluation of rules.
//!
//! A calm time shows the first scrape again and again. Then the cause lasts: counters go evenly from the first to
//! the second scrape, gauges have the second's values, and series that the second lacks end.

use serde_json::{Value, json};

use super::scrape::{Sample, Scrape, SeriesKind};

/// Seconds between two samples.
const STEP: u32 = 30;
/// How long all is calm, in minutes.
const CALM: u32 = 120;

/// A calm time and the time of a cause.
pub(super) struct Timeline<'a> {
    pub(super) calm: &'a Scrape,
    pub(super) caused: &'a Scrape,
    /// How long the cause lasts, in minutes.
    pub(super) minutes: u32,
}

impl Timeline<'_> {
    /// A test of `promtool`: each expression, and its value at the end of the calm time and of the cause.
    pub(super) fn test(
        &self,
        name: &str,
        expressions: &[(String, Option<f64>, Option<f64>)],
    ) -> Value {
        let mut all: Vec<&str> = self.calm.series().chain(self.caused.series()).collect();
        all.sort_unstable();
        all.dedup();
        let series = all
            .into_iter()
            .map(|series| json!({ "series": series, "values": self.values(series) }));
        let expected = |expression: &String, minutes: u32, value: f64| {
            json!({
                "expr": expression,
                "eval_time": format!("{minutes}m"),
                "exp_samples": [{ "labels": "{}", "value": value }],
            })
        };
        let expressions = expressions.iter().flat_map(|(expression, calm, caused)| {
            let calm = calm.map(|value| expected(expression, CALM, value));
            let caused = caused.map(|value| expected(expression, CALM + self.minutes, value));
            calm.into_iter().chain(caused)
        });
        json!({
            "name": name,
            "interval": format!("{STEP}s"),
            "input_series": series.collect::<Vec<_>>(),
            "promql_expr_test": expressions.collect::<Vec<_>>(),
        })
    }

    /// The values of a series in Prometheus' notation.
    fn values(&self, series: &str) -> String {
        let (calm, caused) = (self.calm.get(series), self.caused.get(series));
        let (before, after) = (CALM * 60 / STEP, self.minutes * 60 / STEP);
        let first = match calm {
            Some(sample) => part(start(sample, 0), pace(sample), before),
            None => format!("_x{}", before + 1),
        };
        let then = match (calm, caused) {
            (_, None) => format!("_x{after}"),
            (Some(calm), Some(caused)) => cause(calm, caused, before, after),
            (None, Some(caused)) => {
                let nothing = match caused.kind {
                    SeriesKind::Counter => Sample {
                        value: 0.0,
                        ..caused
                    },
                    SeriesKind::Gauge | SeriesKind::Moment => caused,
                };
                cause(nothing, caused, before, after)
            }
        };
        format!("{first} {then}")
    }
}

/// `count + 1` values from `first` on.
fn part(first: f64, step: f64, count: u32) -> String {
    let sign = if step < 0.0 { "-" } else { "+" };
    format!("{first}{sign}{}x{count}", step.abs())
}

/// The value at a step.
fn start(sample: Sample, step: u32) -> f64 {
    match sample.kind {
        SeriesKind::Moment => f64::from(step * STEP) - sample.value,
        SeriesKind::Counter | SeriesKind::Gauge => sample.value,
    }
}

/// What is added with each step while all is calm.
fn pace(sample: Sample) -> f64 {
    match sample.kind {
        // The event happens again and again.
        SeriesKind::Moment => f64::from(STEP),
        SeriesKind::Counter | SeriesKind::Gauge => 0.0,
    }
}

/// The `after` values while the cause lasts.
fn cause(calm: Sample, caused: Sample, before: u32, after: u32) -> String {
    let steps = f64::from(after);
    match caused.kind {
        SeriesKind::Gauge => part(caused.value, 0.0, after - 1),
        SeriesKind::Counter => {
            let step = (caused.value - calm.value) / steps;
            part(calm.value + step, step, after - 1)
        }
        SeriesKind::Moment => part(start(caused, before + 1), f64::from(STEP), after - 1),
    }
}
