//! The only way to standard output, and the format of failures.
//!
//! Projects, workers and subjects are named by others, and answers contain what others wrote. None of
//! it may move a terminal's cursor, reverse text or hide. People see such characters as `\u{202e}`.
//! Programs get JSON escapes, which have the same value.
//!
//! A reader may close the pipe early, as `head` does. The command then ends silently, with the status
//! that a shell reports for a program ended by SIGPIPE. The signal itself stays ignored: it would also
//! end a command, or a role, whose database connection breaks.

use std::error::Error;
use std::io::{self, ErrorKind, Write};

use archway_proto::chain::texts;
use archway_proto::misleading::{escape, visible_json};

/// The exit status after the reader closed standard output: 128 + SIGPIPE.
pub const CLOSED: u8 = 141;

/// Standard output cannot be written.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OutputError(#[from] io::Error);

/// Writes an answer to standard output, with a final newline: text for people, or JSON for programs.
pub(crate) fn print(answer: &str, as_json: bool) -> Result<(), OutputError> {
    let shown = match as_json {
        true => visible_json(answer),
        false => escape(answer).0,
    };
    let mut out = io::stdout().lock();
    out.write_all(shown.as_bytes())?;
    if !shown.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Whether a command failed because the reader closed standard output.
pub fn is_closed(error: &(dyn Error + 'static)) -> bool {
    let output = error.downcast_ref::<OutputError>();
    output.is_some_and(|OutputError(error)| error.kind() == ErrorKind::BrokenPipe)
        || error.source().is_some_and(is_closed)
}

/// What failed, and line by line why.
pub fn report(error: &(dyn Error + 'static)) -> String {
    let text = texts(error).join("\n  because: ");
    escape(&format!("archway: {text}\n")).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("project p\u{202e}q")]
    struct Outer(#[source] io::Error);

    #[test]
    fn a_failure_is_reported_with_its_causes_escaped() {
        let cause = io::Error::other("name\u{1b}[2J\u{200b}");
        let expected = "archway: project p\\u{202e}q\n  because: name\\u{1b}[2J\\u{200b}\n";
        assert_eq!(report(&Outer(cause)), expected);
    }
}
