//! What the git tools' markdown has in common.

use gix::bstr::{BStr, ByteSlice as _};
use gix::date::Time;

pub(super) use crate::tools::markdown::{cut, fence, line, note};

/// What is said where the limits of the search for renames were met.
pub(super) const RENAMES_CUT: &str = "Not all renames were looked for, as too many files came and \
    went: some may be shown as added and deleted.";

/// How much of a commit's id is shown to people.
const SHORT: usize = 7;

/// An id as people write it.
pub(super) fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
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

/// A message's first paragraph, on one line.
pub(super) fn subject(message: &BStr) -> String {
    let message = gix::objs::commit::MessageRef::from_bytes(message);
    message.summary().to_str_lossy().into_owned()
}

/// What others wrote, at most so many bytes of it.
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
    fn a_subject_is_one_line() {
        assert_eq!(subject("one\ntwo\n\nbody".into()), "one two");
        assert_eq!(subject("".into()), "");
    }

    #[test]
    fn a_name_stays_on_one_line() {
        assert_eq!(line("a\nb\r"), "a\\u{a}b\\u{d}");
        assert_eq!(line("a b"), "a b");
    }

    #[test]
    fn nothing_inside_closes_a_fence() {
        assert_eq!(fence(["a `b` ``", "`c"].into_iter()), "```");
        assert_eq!(fence(["a\r````\rb"].into_iter()), "`````");
    }
}
