//! New files for secrets and keys: created with their mode, never replacing a file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The mode of a file that only its owner may read.
pub(crate) const PRIVATE_MODE: u32 = 0o600;

/// Writes a line to a new file with this mode.
pub(crate) fn write_new(path: &Path, line: &str, mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    writeln!(file, "{line}")?;
    file.sync_all()
}
