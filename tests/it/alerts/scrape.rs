//! What Prometheus would read of an installation's processes at one moment.

use std::{collections::BTreeMap, net::SocketAddr};

use e2e::{Stack, http::Request};
use jiff::Timestamp;
use tokio::net::TcpStream;

/// The processes of an installation, whether or not they still run.
#[derive(Clone, Debug)]
pub(super) struct Targets(Vec<Target>);

/// A process with metrics.
#[derive(Clone, Debug)]
struct Target {
    /// As the chart names it.
    job: &'static str,
    instance: String,
    admin: SocketAddr,
}

/// The samples of some processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Scrape {
    /// By series, as `name{labels}`, with the labels of the target.
    samples: BTreeMap<String, Sample>,
}

/// A series' value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) kind: SeriesKind,
    pub(super) value: f64,
}

/// How a value goes on between two scrapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeriesKind {
    /// It grows by events.
    Counter,
    /// It stays until it is set again.
    Gauge,
    /// A moment, whose value is the seconds since then.
    Moment,
}

impl Targets {
    /// The gateways and workers that run now.
    pub(super) fn of(stack: &Stack) -> Targets {
        let workers = stack.worker_admins();
        Targets(Vec::new())
            .and("archway-gateway", &stack.admins())
            .and("archway-worker", &workers)
    }

    /// Adds processes of another job.
    pub(super) fn and(mut self, job: &'static str, admins: &[SocketAddr]) -> Targets {
        self.0.extend(admins.iter().map(|admin| Target {
            job,
            instance: admin.to_string(),
            admin: *admin,
        }));
        self
    }

    /// Reads what they expose. One whose port is closed is down.
    pub(super) async fn scrape(&self) -> Scrape {
        let mut scrape = Scrape::default();
        for target in &self.0 {
            let is_up = TcpStream::connect(target.admin).await.is_ok();
            let up = format!("up{{{}}}", target.labels());
            scrape.add(up, SeriesKind::Gauge, f64::from(u8::from(is_up)));
            if is_up {
                let answer = Request::new("GET", "/metrics").send(target.admin).await;
                scrape.add_all(target, &answer.text());
            }
        }
        scrape
    }
}

impl Scrape {
    /// What one process of each job exposed.
    pub(super) fn of<const N: usize>(texts: [(&'static str, &str); N]) -> Scrape {
        let mut scrape = Scrape::default();
        for (job, text) in texts {
            let target = Target {
                job,
                instance: "one".to_owned(),
                admin: SocketAddr::from(([127, 0, 0, 1], 9)),
            };
            let up = format!("up{{{}}}", target.labels());
            scrape.add(up, SeriesKind::Gauge, 1.0);
            scrape.add_all(&target, text);
        }
        scrape
    }
}

impl Target {
    fn labels(&self) -> String {
        let (job, instance) = (self.job, &self.instance);
        format!(
            "job=\"{job}\",instance=\"{instance}\",namespace=\"tests\",archway_io_pool=\"shared\""
        )
    }
}

impl Scrape {
    /// Adds what a process exposed.
    fn add_all(&mut self, target: &Target, text: &str) {
        let labels = target.labels();
        let mut counters = Vec::new();
        for line in text.lines() {
            if let Some((name, "counter" | "histogram")) = line
                .strip_prefix("# TYPE ")
                .and_then(|about| about.split_once(' '))
            {
                counters.push(name);
            }
            if line.starts_with('#') {
                continue;
            }
            let (series, value) = line.rsplit_once(' ').expect("a value");
            let value: f64 = value.parse().expect("a number");
            let (name, own) = series.split_once('{').unwrap_or((series, "}"));
            let own = own.strip_suffix('}').expect("an end of the labels");
            let comma = if own.is_empty() { "" } else { "," };
            let is_counter = counters.iter().any(|counter| name.starts_with(counter));
            let (kind, value) = match name.ends_with("_timestamp_seconds") {
                true => (SeriesKind::Moment, now() - value),
                false if is_counter => (SeriesKind::Counter, value),
                false => (SeriesKind::Gauge, value),
            };
            self.add(format!("{name}{{{own}{comma}{labels}}}"), kind, value);
        }
    }

    fn add(&mut self, series: String, kind: SeriesKind, value: f64) {
        self.samples.insert(series, Sample { kind, value });
    }

    pub(super) fn get(&self, series: &str) -> Option<Sample> {
        self.samples.get(series).copied()
    }

    pub(super) fn series(&self) -> impl Iterator<Item = &str> {
        self.samples.keys().map(String::as_str)
    }

    /// The sum of a metric's series with this text in their labels.
    pub(super) fn sum(&self, metric: &str, label: &str) -> f64 {
        let of_metric = self.samples.iter().filter(|(series, _)| {
            let name = series.split('{').next();
            name == Some(metric) && series.contains(label)
        });
        of_metric.map(|(_, sample)| sample.value).sum()
    }
}

fn now() -> f64 {
    Timestamp::now().as_millisecond() as f64 / 1000.0
}
