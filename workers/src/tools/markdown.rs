//! Markdown helpers that several tools use.

use std::borrow::Cow;

/// The first `most` bytes, rounded down to a character boundary.
pub(in crate::tools) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most))
        .unwrap_or_default()
}

/// A name on one line: git's names may contain line breaks.
pub(in crate::tools) fn line(name: &str) -> Cow<'_, str> {
    if !name.contains(['\n', '\r']) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.replace('\n', "\\u{a}").replace('\r', "\\u{d}"))
}

/// A note on an answer, as a paragraph of its own.
pub(in crate::tools) fn note(note: Option<&str>) -> String {
    note.map_or_else(String::new, |note| format!("\n**Note**: {note}\n"))
}

/// A code fence that none of these lines can close.
pub(in crate::tools) fn fence<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let (mut longest, mut run) = (2, 0);
    for byte in lines.flat_map(|line| line.bytes().chain([b'\n'])) {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest + 1)
}
