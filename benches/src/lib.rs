//! What the benches share: Archway as a user starts it, trees of files, and fair clocks.
//!
//! These machines are shared and noisy, so a bench measures its rival in the same run, in turn,
//! and prints ratios of medians. Archway is the release binary, started as in the README.

mod bare;
mod client;
mod process;
mod round;
mod running;
mod stack;
mod tree;

pub use bare::Bare;
pub use client::{Answer, Client};
pub use process::{Dev, Usage};
pub use round::{HELLO, Round};
pub use running::Running;
pub use stack::{Layout, Project, Stack, held};
pub use tree::generate;

/// The middle of `values`; sorts them.
pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value below which a share `at` (0 … 1) of `values` lies; sorts them.
pub fn quantile(values: &mut [f64], at: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values
        .get((last as f64 * at).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// What stands behind an argument's name.
pub fn argument(name: &str) -> Option<String> {
    std::env::args()
        .skip_while(|argument| argument != name)
        .nth(1)
}

/// The number behind an argument's name.
pub fn number(name: &str, default: usize) -> usize {
    argument(name).map_or(default, |text| text.parse().expect("a number"))
}
