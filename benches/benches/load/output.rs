//! The output: Markdown tables, as in `docs/PERFORMANCE.md`.

use archway_benches::{Usage, quantile};

use crate::{agents::Outcome, mix::Mix, processes::Processes};

/// A description of the machine, on one line.
pub(crate) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (cpu, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let after = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let value = line.map_or("?", |line| line.trim_start_matches([' ', '\t', ':']));
        value.trim().to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kib = after(&memory, "MemTotal").trim_end_matches(" kB").parse();
    let gib: f64 = kib.map_or(0.0, |kib: f64| kib / 1024.0 / 1024.0);
    let system = read("/proc/sys/kernel/osrelease");
    format!(
        "{cores} cores ({}), {gib:.0} GiB, Linux {}",
        after(&cpu, "model name"),
        system.trim()
    )
}

/// Each tool, and all together.
pub(crate) fn print_calls(outcome: &Outcome) {
    println!("| tool | calls | p50 | p99 | p99.9 |\n|---|---|---|---|---|");
    let line = |name: &str, mut taken: Vec<f64>| {
        let count = taken.len();
        let mut at = |share| quantile(&mut taken, share);
        let (half, most, nearly_all) = (at(0.5), at(0.99), at(0.999));
        println!("| {name} | {count} | {half:.1} ms | {most:.1} ms | {nearly_all:.1} ms |");
    };
    for (name, taken) in Mix::names().zip(&outcome.taken) {
        line(&format!("`{name}`"), taken.clone());
    }
    line("all", outcome.taken.concat());
    println!("\n{} calls failed", outcome.failed);
}

/// What each process used since `before`.
pub(crate) fn print_processes(
    processes: &Processes,
    before: &[(String, Usage)],
    outcome: &Outcome,
) {
    println!(
        "\n| process | cores busy | CPU per call | memory now | peak |\n|---|---|---|---|---|"
    );
    for ((name, now), (_, before)) in processes.usage().iter().zip(before) {
        let cpu = now.cpu_seconds - before.cpu_seconds;
        println!(
            "| {name} | {:.2} | {:.0} µs | {:.0} MiB | {:.0} MiB |",
            cpu / outcome.wall,
            cpu * 1e6 / outcome.calls() as f64,
            now.resident_mib,
            now.peak_mib
        );
    }
}
