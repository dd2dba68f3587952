//! The one way to standard output, and what is said of a failure.
//!
//! Others name projects, workers and subjects, and what they wrote stands in answers. Nothing of it
//! may move a terminal's cursor, turn text around or hide: people see such characters as `\u{202e}`.
//! Programs get them as JSON's own escapes, which are the same value.

use std::error::Error;
use std::io::{self, Write};

use archway_proto::misleading::{escape, visible_json};

/// Writes an answer to standard output, with a line end: text for people, or JSON for programs.
pub(crate) fn print(answer: &str, as_json: bool) -> io::Result<()> {
    let shown = match as_json {
        true => visible_json(answer),
        false => escape(answer).0,
    };
    let mut out = io::stdout().lock();
    out.write_all(shown.as_bytes())?;
    if !shown.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// What failed, and line by line why.
pub fn report(error: &dyn Error) -> String {
    let mut text = format!("archway: {error}\n");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!("  because: {cause}\n"));
        source = cause.source();
    }
    escape(&text).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("project p\u{202e}q")]
    struct Outer(#[source] io::Error);

    #[test]
    fn a_failure_is_told_with_its_causes_and_nothing_that_misleads() {
        let cause = io::Error::other("name\u{1b}[2J\u{200b}");
        let expected = "archway: project p\\u{202e}q\n  because: name\\u{1b}[2J\\u{200b}\n";
        assert_eq!(report(&Outer(cause)), expected);
    }
}
