//! A part of a text: a range of lines, or its first bytes.
//!
//! The text is read once from start to end, and only the shown part is stored: counting the lines
//! of a 64 MiB file takes one buffer, not 64 MiB. Parts join to the whole: each ends at a line end
//! and names the line at which the next begins.

use std::io::{self, Read};

use archway_repo::{Cancel, Stopped, text};

/// Number of leading bytes in which a NUL marks a file as binary.
const PROBE_BYTES: usize = 8 << 10;
/// Number of bytes read between two checks of the deadline.
const BUFFER_BYTES: usize = 256 << 10;

/// The requested part of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// First line, from 1.
    pub(super) first: u64,
    /// Last line, inclusive.
    pub(super) last: u64,
    /// Maximum number of bytes.
    pub(super) max_bytes: usize,
}

/// A part of a text.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) content: String,
    /// Bytes that are not UTF-8 became U+FFFD.
    pub(super) lossy: bool,
    /// Number of lines of the whole text: its line ends, plus one if the last line has none.
    pub(super) lines: u64,
    /// The last line of this part, if it has any.
    pub(super) last: u64,
    /// The window did not fit into `max_bytes`.
    pub(super) truncated: bool,
    /// Where the next part begins.
    pub(super) next: Option<u64>,
    /// The first line alone was too long, and was cut at a character boundary.
    pub(super) line_cut: bool,
}

/// Why a file has no text.
#[derive(Debug)]
pub(super) enum Unreadable {
    Binary,
    Stopped(Stopped),
    Io(io::Error),
}

impl Window {
    /// The whole text, up to `max_bytes`.
    pub(super) fn whole(max_bytes: usize) -> Self {
        Window {
            first: 1,
            last: u64::MAX,
            max_bytes,
        }
    }

    /// Reads `text` to its end and returns the requested part.
    pub(super) fn read(self, mut text: impl Read, cancel: &Cancel) -> Result<Part, Unreadable> {
        let mut scan = Scan::default();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            cancel.check().map_err(Unreadable::Stopped)?;
            let read = text.read(&mut buffer).map_err(Unreadable::Io)?;
            let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            let unprobed = PROBE_BYTES.saturating_sub(scan.size).min(read);
            if bytes.iter().take(unprobed).any(|&byte| byte == 0) {
                return Err(Unreadable::Binary);
            }
            scan.push(bytes, self);
        }
        Ok(self.part(scan))
    }

    fn part(self, scan: Scan) -> Part {
        let lines = scan.line_ends + u64::from(scan.open_line);
        let (end, line_cut) = self.cut(&scan.collected);
        let collected = scan.collected.get(..end).unwrap_or_default();
        let truncated = end < scan.collected.len();
        let whole_lines = memchr::memchr_iter(b'\n', collected).count() as u64;
        let open_line = u64::from(collected.last().is_some_and(|&byte| byte != b'\n'));
        let last = self.first + (whole_lines + open_line).max(1) - 1;
        let next = Some(last + 1).filter(|&next| truncated && next <= lines.min(self.last));
        let content = String::from_utf8_lossy(collected);
        let lossy = std::str::from_utf8(collected).is_err();
        Part {
            content: content.into_owned(),
            lossy,
            lines,
            last,
            truncated,
            next,
            line_cut,
        }
    }

    /// Returns where to cut the collected bytes, and whether that is within a line.
    fn cut(self, collected: &[u8]) -> (usize, bool) {
        let most = self.fitting(collected);
        let Some(fitting) = collected
            .get(..most)
            .filter(|fitting| fitting.len() < collected.len())
        else {
            return (collected.len(), false);
        };
        if let Some(line_end) = memchr::memrchr(b'\n', fitting) {
            return (line_end + 1, false);
        }
        (most, true)
    }

    /// Returns how many of these bytes fit once they are escaped: invalid UTF-8 and escaped
    /// characters need more room.
    fn fitting(self, collected: &[u8]) -> usize {
        let mut most = self.max_bytes;
        loop {
            most = character_end(collected, most);
            let text = String::from_utf8_lossy(collected.get(..most).unwrap_or_default());
            let (shown, _) = match self.first {
                1 => text::escape_file(&text),
                _ => text::escape(&text),
            };
            let shown = shown.len();
            if shown <= self.max_bytes {
                return most;
            }
            most = most * self.max_bytes / shown;
        }
    }
}

/// The last index up to `at` that is not within a character.
fn character_end(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    let within = |&at: &usize| bytes.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let back = (0..4).find(|back| !within(&at.saturating_sub(*back)));
    at.saturating_sub(back.unwrap_or(0))
}

/// The state of reading a text.
#[derive(Default)]
struct Scan {
    size: usize,
    line_ends: u64,
    open_line: bool,
    collected: Vec<u8>,
}

impl Scan {
    fn push(&mut self, bytes: &[u8], window: Window) {
        self.size += bytes.len();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let line = self.line_ends + 1;
            let in_window = (window.first..=window.last).contains(&line);
            if in_window && self.collected.len() <= window.max_bytes {
                self.collected.extend_from_slice(piece);
            }
            self.open_line = !piece.ends_with(b"\n");
            self.line_ends += u64::from(!self.open_line);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn no_deadline() -> Cancel {
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
        Cancel::new(deadline, tokio_util::sync::CancellationToken::new())
    }

    fn read(text: &[u8], first: u64, last: u64, max_bytes: usize) -> Part {
        Window {
            first,
            last,
            max_bytes,
        }
        .read(text, &no_deadline())
        .unwrap()
    }

    #[test]
    fn lines_are_line_ends_and_an_open_last_line() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(
                read(text.as_bytes(), 1, u64::MAX, 100).lines,
                lines,
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_range_returns_its_lines_with_their_line_ends() {
        let part = read(b"one\r\ntwo\nthree", 2, 9, 100);
        assert_eq!(part.content, "two\nthree");
        assert_eq!(
            (part.lines, part.last, part.truncated, part.next),
            (3, 3, false, None)
        );
    }

    #[test]
    fn a_long_text_is_cut_at_a_line_end() {
        let part = read(b"aa\nbb\ncc\n", 1, u64::MAX, 7);
        assert_eq!(part.content, "aa\nbb\n");
        assert_eq!(
            (part.truncated, part.next, part.line_cut),
            (true, Some(3), false)
        );
        let exact = read(b"aa\nbb\n", 1, u64::MAX, 6);
        assert_eq!((exact.truncated, exact.next), (false, None));
    }

    #[test]
    fn a_long_line_is_cut_at_a_character_boundary() {
        let part = read("äöü\nx\n".as_bytes(), 1, u64::MAX, 3);
        assert_eq!(part.content, "ä");
        assert_eq!(
            (part.truncated, part.next, part.line_cut),
            (true, Some(2), true)
        );
        assert!(!part.lossy);
        assert_eq!(read("äöü".as_bytes(), 1, u64::MAX, 3).next, None);
    }

    #[test]
    fn text_that_grows_when_escaped_is_cut_earlier() {
        let line = format!("{}\n", "\u{1}".repeat(9));
        let part = read(line.repeat(100).as_bytes(), 1, u64::MAX, 200);
        assert_eq!(part.next, Some(part.last + 1));
        let shown = text::escape(&part.content).0.into_owned();
        assert!(shown.len() <= 200 && shown.len() > 100, "{}", shown.len());
        let broken = read(&[0xff; 300], 1, u64::MAX, 200);
        assert!(broken.content.len() <= 200 && broken.line_cut);
    }

    #[test]
    fn a_byte_order_mark_is_unescaped_only_at_the_start_of_the_file() {
        let text = "\u{feff}aa\n\u{feff}aa\n".as_bytes();
        assert_eq!(read(text, 1, 1, 6).content, "\u{feff}aa\n");
        assert!(read(text, 2, 2, 10).truncated);
        assert_eq!(read(text, 2, 2, 11).content, "\u{feff}aa\n");
    }

    #[test]
    fn a_nul_in_the_first_8_kib_means_binary() {
        let cancel = no_deadline();
        let window = Window::whole(10);
        assert!(matches!(
            window.read(&b"a\0b"[..], &cancel),
            Err(Unreadable::Binary)
        ));
        let mut late = vec![b'a'; PROBE_BYTES];
        late.push(0);
        assert!(window.read(&late[..], &cancel).is_ok());
    }

    proptest! {
        #[test]
        fn parts_join_to_the_whole(
            lines in prop::collection::vec("[a-zä]{0,20}", 0..30),
            closed: bool,
            max_bytes in 64_usize..200,
        ) {
            let mut text = lines.join("\n");
            if closed { text.push('\n'); }
            let (mut joined, mut next) = (String::new(), Some(1));
            while let Some(first) = next {
                let part = read(text.as_bytes(), first, u64::MAX, max_bytes);
                joined.push_str(&part.content);
                next = part.next;
            }
            prop_assert_eq!(joined, text);
        }
    }
}
