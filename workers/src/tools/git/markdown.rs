//! Markdown helpers of the git tools.

use gix::bstr::{BStr, ByteSlice as _};
use gix::date::Time;

pub(super) use crate::tools::markdown::{cut, fence, line, note};

/// The note when the limits of rename detection were reached.
pub(super) const RENAMES_CUT: &str = "Not all renames were looked for, as too many files came and \
    went: some may be shown as added and deleted.";

/// Number of characters of a shortened commit id.
const SHORT_ID_CHARS: usize = 7;

/// The shortened form of a commit id.
pub(super) fn short(id: &str) -> &str {
    id.get(..SHORT_ID_CHARS).unwrap_or(id)
}

/// The day on the author's own calendar, YYYY-MM-DD.
pub(super) fn day(time: Time) -> String {
    time.format_or_unix(gix::date::time::format::SHORT)
}

/// The time in data: RFC 3339 in UTC.
pub(super) fn rfc3339(time: Time) -> String {
    let time = jiff::Timestamp::from_second(time.seconds);
    time.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

/// The first paragraph of a message, on one line.
pub(in crate::tools) fn subject(message: &BStr) -> String {
    let message = gix::objs::commit::MessageRef::from_bytes(message);
    message.summary().to_str_lossy().into_owned()
}

/// What follows the first paragraph of a message, as a quotation, so that it passes for nothing else. Empty if nothing
/// does.
pub(super) fn body(message: &str) -> String {
    let message = gix::objs::commit::MessageRef::from_bytes(message.as_bytes());
    let body = message.body.unwrap_or_default().to_str_lossy();
    let quoted = body.trim().lines().map(|line| match line.trim_end() {
        "" => ">\n".to_owned(),
        line => format!("> {line}\n"),
    });
    let quoted: String = quoted.collect();
    match quoted.is_empty() {
        true => quoted,
        false => format!("\n{quoted}"),
    }
}

/// A text that others wrote, cut to at most `most` bytes.
pub(super) fn shortened(bytes: &[u8], most: usize) -> String {
    let whole = String::from_utf8_lossy(bytes);
    match cut(&whole, most) {
        start if start.len() < whole.len() => format!("{start}…"),
        _ => whole.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_the_authors_and_times_are_utc() {
        let time = Time::new(1_760_000_000, -9 * 60 * 60);
        assert_eq!(day(time), "2025-10-08");
        assert_eq!(rfc3339(time), "2025-10-09T08:53:20Z");
    }

    #[test]
    fn the_subject_is_the_first_paragraph_on_one_line() {
        assert_eq!(subject("one\ntwo\n\nbody".into()), "one two");
        assert_eq!(subject("".into()), "");
    }

    #[test]
    fn a_body_is_a_quotation() {
        assert_eq!(
            body("one\n\n\n# two\r\n\n three \n"),
            "\n> # two\n>\n>  three\n"
        );
        assert_eq!(body("one\ntwo\n\n \n"), "");
    }

    #[test]
    fn line_breaks_in_a_name_are_escaped() {
        assert_eq!(line("a\nb\r"), "a\\u{a}b\\u{d}");
        assert_eq!(line("a b"), "a b");
    }

    #[test]
    fn a_fence_is_longer_than_any_backticks_inside() {
        assert_eq!(fence(["a `b` ``", "`c"].into_iter()), "```");
        assert_eq!(fence(["a\r````\rb"].into_iter()), "`````");
    }
}
