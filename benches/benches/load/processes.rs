//! What each process of the installation uses.

use archway_benches::{Stack, Usage};
use e2e::RedisServer;

/// The processes, by name. A server's child processes count for it.
pub(crate) struct Processes(Vec<(String, u32)>);

impl Processes {
    /// Those of an installation.
    pub(crate) fn of(stack: &Stack, store: &RedisServer) -> Processes {
        let numbered = |what: &str, pids: Vec<u32>| {
            let numbered = pids.into_iter().enumerate();
            let numbered = numbered.map(|(number, pid)| (format!("{what} {number}"), pid));
            numbered.collect::<Vec<_>>()
        };
        let gateways = stack.gateways.iter().map(|it| it.pid()).collect();
        let workers = stack.workers.iter().map(|it| it.pid()).collect();
        let mut all = numbered("gateway", gateways);
        all.extend(numbered("worker", workers));
        all.push(("Postgres".to_owned(), stack.postgres_pid()));
        all.push(("store of limits".to_owned(), store.pid()));
        all.push(("the agents".to_owned(), std::process::id()));
        Processes(all)
    }

    /// What each has used so far.
    pub(crate) fn usage(&self) -> Vec<(String, Usage)> {
        let of = |(name, pid): &(String, u32)| (name.clone(), with_children(*pid));
        self.0.iter().map(of).collect()
    }
}

/// A process with its child processes. Memory that they share counts for each.
fn with_children(pid: u32) -> Usage {
    let mut sum = Usage::of(pid);
    if pid == std::process::id() {
        return sum;
    }
    let children = format!("/proc/{pid}/task/{pid}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|it| it.parse().ok()) {
        if let Some(usage) = Usage::of_living(child) {
            sum.cpu_seconds += usage.cpu_seconds;
            sum.resident_mib += usage.resident_mib;
            sum.peak_mib += usage.peak_mib;
        }
    }
    sum
}
