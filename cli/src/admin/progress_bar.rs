//! A progress bar: one line on a terminal that is overwritten; nothing elsewhere.

use std::io::{IsTerminal, Write};

const WIDTH: u64 = 30;
/// Clears what a longer line left behind.
const CLEAR_REST: &str = "\x1b[K";

/// Written to standard error, so that standard output holds only the answer.
pub(super) struct ProgressBar {
    is_terminal: bool,
    /// What is counted, such as `texts`.
    unit: &'static str,
}

impl ProgressBar {
    /// Counts `unit`, in the plural.
    pub(super) fn new(unit: &'static str) -> ProgressBar {
        ProgressBar {
            unit,
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Shows progress.
    pub(super) fn show(&self, done: u64, total: u64) {
        self.show_with(done, total, "");
    }

    /// Shows progress, and behind it what is under way.
    pub(super) fn show_with(&self, done: u64, total: u64, more: &str) {
        if self.is_terminal {
            let line = line(done, total);
            write(&format!("\r{line} {}{more}{CLEAR_REST}", self.unit));
        }
    }

    /// Shows the final state and ends the line.
    pub(super) fn end(&self, done: u64, total: u64) {
        self.show(done, total);
        if self.is_terminal {
            write("\n");
        }
    }
}

/// A closed standard error is no failure.
fn write(text: &str) {
    let mut out = std::io::stderr().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .ok();
}

fn line(done: u64, total: u64) -> String {
    let filled = match total {
        0 => 0,
        total => (done.min(total) * WIDTH) / total,
    };
    let bar: String = (0..WIDTH)
        .map(|at| if at < filled { '#' } else { '.' })
        .collect();
    format!("[{bar}] {done}/{total}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_filled_in_proportion() {
        assert_eq!(line(0, 0), format!("[{}] 0/0", ".".repeat(30)));
        let half = format!("[{}{}] 5/10", "#".repeat(15), ".".repeat(15));
        assert_eq!(line(5, 10), half);
        assert_eq!(line(12, 10), format!("[{}] 12/10", "#".repeat(30)));
    }
}
