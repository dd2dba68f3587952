//! A bar that shows how far something is: one line that is written over on a terminal, none elsewhere.

use std::io::{IsTerminal, Write};

const WIDTH: u64 = 30;

/// Shown on standard error, so that standard output stays the answer's.
pub(super) struct Bar {
    is_terminal: bool,
}

impl Bar {
    pub(super) fn new() -> Bar {
        Bar {
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// So many are done.
    pub(super) fn show(&self, done: u64, total: u64) {
        if self.is_terminal {
            write(&format!("\r{}", line(done, total)));
        }
    }

    /// All that could be done is.
    pub(super) fn end(&self, done: u64, total: u64) {
        if self.is_terminal {
            write(&format!("\r{}\n", line(done, total)));
        }
    }
}

/// Nobody to see it is no reason to fail.
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
    format!("[{bar}] {done}/{total} texts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_things_are() {
        assert_eq!(line(0, 0), format!("[{}] 0/0 texts", ".".repeat(30)));
        let half = format!("[{}{}] 5/10 texts", "#".repeat(15), ".".repeat(15));
        assert_eq!(line(5, 10), half);
        assert_eq!(line(12, 10), format!("[{}] 12/10 texts", "#".repeat(30)));
    }
}
