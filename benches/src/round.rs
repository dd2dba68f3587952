//! A round of calls over many connections, and what it cost.

use tokio::time::Instant;

use crate::{Client, median, quantile};

/// The cheapest call that goes all the way.
pub const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{}}}"#;

/// What a round came to.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// CPU of what was measured, a call.
    pub cpu_us: f64,
    /// The middle of the times from request to answer.
    pub p50_ms: f64,
    /// The time that one call in a hundred takes longer than.
    pub p99_ms: f64,
    /// Calls a second, over all connections.
    pub per_second: f64,
}

impl Round {
    /// Has each client call so often, all at once. `cpu` tells the CPU seconds used so far by
    /// whatever is measured.
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
