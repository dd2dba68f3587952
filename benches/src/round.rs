//! A round of calls over many connections, and its cost.

use tokio::time::Instant;

use crate::{Client, median, quantile};

/// The cheapest call that passes all layers.
pub const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{}}}"#;

/// The results of a round.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// CPU time of the measured processes per call.
    pub cpu_us: f64,
    /// The median latency.
    pub p50_ms: f64,
    /// The 99th percentile of the latency.
    pub p99_ms: f64,
    /// Calls per second, over all connections.
    pub per_second: f64,
}

impl Round {
    /// Lets each client call this often, concurrently. `cpu` returns the CPU seconds that the measured
    /// processes have used so far.
    pub async fn of(clients: Vec<Client>, calls_each: usize, cpu: impl Fn() -> f64) -> Round {
        let (before, started) = (cpu(), Instant::now());
        let mut calls: Vec<tokio::task::JoinHandle<Vec<f64>>> = Vec::new();
        for mut client in clients {
            calls.push(tokio::spawn(async move { client.time(calls_each).await }));
        }
        let mut taken = Vec::new();
        for call in calls {
            taken.extend(call.await.expect("a client"));
        }
        let (cpu, wall) = (cpu() - before, started.elapsed().as_secs_f64());
        let count = taken.len() as f64;
        Round {
            cpu_us: cpu * 1e6 / count,
            p50_ms: median(&mut taken),
            p99_ms: quantile(&mut taken, 0.99),
            per_second: count / wall,
        }
    }
}
