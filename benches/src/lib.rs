//! Shared parts of the benches: Archway as a user starts it, trees of files, and fair clocks.
//!
//! Machines are shared and noisy. So a bench measures its baseline in the same run, alternately, and
//! prints ratios of medians. Archway is the release binary, started as the README says.

mod bare;
mod client;
mod layout;
mod process;
mod ripgrep;
mod round;
mod running;
mod stack;
mod tree;

pub use bare::Bare;
pub use client::{Answer, Client};
pub use layout::{Layout, Project};
pub use process::{Dev, Usage, held};
pub use ripgrep::{grep_call, rg, total_matches};
pub use round::{HELLO, Round};
pub use running::{COMPLETED_RUNS, Running};
pub use stack::Stack;
pub use tree::generate;

/// The median of `values`, which it sorts.
pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// The quantile `at` (0 … 1) of `values`, which it sorts.
pub fn quantile(values: &mut [f64], at: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values
        .get((last as f64 * at).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// The value of a command-line argument.
pub fn argument(name: &str) -> Option<String> {
    std::env::args()
        .skip_while(|argument| argument != name)
        .nth(1)
}

/// The number of a command-line argument.
pub fn number(name: &str, default: usize) -> usize {
    argument(name).map_or(default, |text| text.parse().expect("a number"))
}
