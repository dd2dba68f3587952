//! Searches the text of one file: decodes it and searches it in pieces.
//!
//! A file is one slice in memory, never a stream, so that counting and rendering find the same
//! lines.

use std::borrow::Cow;
use std::io;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::cancel::{Cancel, Stopped};
use super::matched_line::MatchSpan;
use super::pattern;

/// Maximum size of a searched file, in bytes.
pub(super) const MAX_FILE: u64 = 8 << 20;

/// A NUL within this many first bytes makes a file binary.
const BINARY_PROBE: usize = 8 << 10;

/// Bytes searched between two checks of the deadline. A longer line is skipped.
const PIECE: usize = 1 << 20;

/// Memory limit for a line. Files are smaller, so it is never reached.
const MAX_LINE: usize = 16 << 20;

/// Decodes a file's text; `None` for a binary file.
///
/// UTF-16 is decoded if a byte order mark declares it, a UTF-8 byte order mark is dropped, and
/// invalid UTF-8 becomes U+FFFD.
pub(super) fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let text = match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding.decode_with_bom_removal(bytes).0,
        None if is_binary(bytes) => return None,
        // Nearly every file is UTF-8, which is validated much faster than it is repaired. This
        // validation is several times as fast as the standard library's.
        None => encoding_rs::UTF_8
            .decode_without_bom_handling_and_without_replacement(bytes)
            .unwrap_or_else(|| String::from_utf8_lossy(bytes)),
    };
    (!is_binary(text.as_bytes())).then_some(text)
}

fn is_binary(bytes: &[u8]) -> bool {
    let probe = bytes.get(..BINARY_PROBE).unwrap_or(bytes);
    memchr::memchr(0, probe).is_some()
}

/// A matcher and a searcher of its own. Creating them costs more than searching a file.
#[derive(Debug)]
pub(super) struct LineCounter {
    matcher: RegexMatcher,
    searcher: Searcher,
}

impl Count {
    /// The count of a text without matches.
    pub(super) fn none(skipped_lines: bool) -> Count {
        Count {
            lines: 0,
            skipped_lines,
        }
    }
}

/// Whether a line is too long to be searched.
pub(super) fn has_long_line(text: &str) -> bool {
    pieces(text.as_bytes()).any(|piece| matches!(piece, Piece::LongLine(_)))
}

impl LineCounter {
    /// A clone of a matcher shares its program, but no memory on which threads would contend.
    pub(super) fn new(matcher: &RegexMatcher) -> LineCounter {
        LineCounter {
            matcher: matcher.clone(),
            searcher: searcher(false),
        }
    }

    /// Counts the lines of `text`, which is UTF-8, that match.
    pub(super) fn count(&mut self, text: &[u8], cancel: &Cancel) -> Result<Count, Stopped> {
        let mut counter = CountSink(0);
        let mut skipped_lines = false;
        for piece in pieces(text) {
            cancel.check()?;
            match piece {
                Piece::Lines(lines) => {
                    search(&mut self.searcher, &self.matcher, lines, &mut counter);
                }
                Piece::LongLine(_) => skipped_lines = true,
            }
        }
        Ok(Count {
            lines: counter.0,
            skipped_lines,
        })
    }
}

/// The number of matching lines of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) lines: u64,
    /// Whether a line was too long to be searched.
    pub(super) skipped_lines: bool,
}

/// The matching lines of `text`, from the `skip`th on, at most `take`.
pub(super) fn collect(
    text: &str,
    matcher: &RegexMatcher,
    (skip, take): (usize, usize),
    cancel: &Cancel,
) -> Result<Vec<MatchSpan>, Stopped> {
    let mut collector = CollectSink {
        skip,
        take,
        ..CollectSink::default()
    };
    let mut searcher = searcher(true);
    for piece in pieces(text.as_bytes()) {
        cancel.check()?;
        if let Piece::Lines(lines) = piece {
            search(&mut searcher, matcher, lines, &mut collector);
            if collector.take == 0 {
                break;
            }
        }
        collector.offset += piece.bytes().len();
        collector.lines_before += count_lines(piece.bytes());
    }
    Ok(collector.found)
}

/// A part of a text that ends at a line end.
enum Piece<'a> {
    /// At most [`PIECE`] bytes of whole lines.
    Lines(&'a [u8]),
    /// One longer line. It is not searched: the time of a pattern over it has no bound.
    LongLine(&'a [u8]),
}

impl<'a> Piece<'a> {
    fn bytes(&self) -> &'a [u8] {
        match self {
            Piece::Lines(bytes) | Piece::LongLine(bytes) => bytes,
        }
    }
}

fn pieces(text: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, tail) = rest.split_at(end_of_piece(rest));
        rest = tail;
        Some(match piece.len() {
            0..=PIECE => Piece::Lines(piece),
            _ => Piece::LongLine(piece),
        })
    })
}

fn end_of_piece(rest: &[u8]) -> usize {
    let Some((piece, tail)) = rest.split_at_checked(PIECE) else {
        return rest.len();
    };
    match memchr::memrchr(b'\n', piece) {
        Some(at) => at + 1,
        None => memchr::memchr(b'\n', tail).map_or(rest.len(), |at| PIECE + at + 1),
    }
}

fn count_lines(piece: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', piece).map(|_| 1).sum()
}

fn searcher(line_numbers: bool) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(pattern::line_terminator())
        .line_number(line_numbers)
        .bom_sniffing(false)
        .binary_detection(BinaryDetection::none())
        .heap_limit(Some(MAX_LINE))
        .build()
}

fn search(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    piece: &[u8],
    sink: impl Sink<Error = io::Error>,
) {
    if let Err(error) = searcher.search_slice(matcher, piece, sink) {
        // Reading a slice cannot fail and the matcher never gives up. If either did, the matches so
        // far remain valid.
        tracing::error!(%error, "search of a slice failed");
    }
}

struct CountSink(u64);

impl Sink for &mut CountSink {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.0 += 1;
        Ok(true)
    }
}

#[derive(Default)]
struct CollectSink {
    skip: usize,
    take: usize,
    offset: usize,
    lines_before: u64,
    found: Vec<MatchSpan>,
}

impl Sink for &mut CollectSink {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        let start = usize::try_from(line.absolute_byte_offset()).map_err(io::Error::other)?;
        let start = start + self.offset;
        let number = line.line_number().unwrap_or(1) + self.lines_before;
        self.found.push(MatchSpan {
            number,
            range: start..start + line.bytes().len(),
        });
        self.take -= 1;
        Ok(self.take > 0)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Duration, Instant};
    use tokio_util::sync::CancellationToken;

    use super::super::matched_line::MatchedLine;
    use super::super::path::RepoPath;
    use super::*;

    fn cancel() -> Cancel {
        Cancel::new(
            Instant::now() + Duration::from_secs(60),
            CancellationToken::new(),
        )
    }

    fn found(
        pattern: &str,
        text: &str,
        window: (usize, usize),
        context: usize,
    ) -> Vec<MatchedLine> {
        let matcher = pattern::compile(pattern, false, true).unwrap();
        let path = RepoPath::parse("file").unwrap();
        let lines = collect(text, &matcher, window, &cancel()).unwrap();
        lines
            .iter()
            .map(|line| line.render(&path, text, &matcher, context))
            .collect()
    }

    #[test]
    fn a_line_is_rendered_without_its_end_and_with_context() {
        let lines = found("c$", "a\r\nb\r\näc\r\nd\ne", (0, 9), 2);
        assert_eq!(lines.len(), 1);
        assert_eq!(
            (lines[0].line, lines[0].column, lines[0].text.as_str()),
            (3, 2, "äc")
        );
        assert_eq!(
            (lines[0].before.join("|"), lines[0].after.join("|")),
            ("a|b".into(), "d|e".into())
        );
    }

    #[test]
    fn context_ends_at_the_file_boundaries() {
        let lines = found("x", "\nx\n", (0, 9), 3);
        assert_eq!(
            (lines[0].before.clone(), lines[0].after.len()),
            (vec![String::new()], 0)
        );
    }

    #[test]
    fn a_range_counts_matching_lines() {
        let numbers = |window| {
            let lines = found("x", "x\ny\nx x\nx\nx", window, 0);
            lines.iter().map(|line| line.line).collect::<Vec<_>>()
        };
        assert_eq!(numbers((0, 9)), [1, 3, 4, 5]);
        assert_eq!(numbers((1, 2)), [3, 4]);
        assert!(numbers((4, 2)).is_empty());
    }

    #[test]
    fn line_numbers_continue_across_pieces() {
        let filler = format!("{}\n", "y".repeat(99)).repeat(25_000);
        let text = format!("{filler}needle\n{filler}needle");
        let lines = found("needle", &text, (0, 9), 1);
        assert_eq!(
            lines.iter().map(|line| line.line).collect::<Vec<_>>(),
            [25_001, 50_002]
        );
        assert_eq!(lines[1].before[0].len(), 99);
        let matcher = pattern::compile("needle", false, true).unwrap();
        assert_eq!(
            LineCounter::new(&matcher)
                .count(text.as_bytes(), &cancel())
                .unwrap()
                .lines,
            2
        );
        assert!(pieces(text.as_bytes()).all(|piece| matches!(piece, Piece::Lines(_))));
    }

    #[test]
    fn a_line_longer_than_a_piece_is_skipped_and_reported() {
        let text = format!(
            "needle\n{}needle{}\nneedle",
            "ä".repeat(700_000),
            "b".repeat(9)
        );
        let lines = found("needle", &text, (0, 9), 0);
        let numbers: Vec<u64> = lines.iter().map(|line| line.line).collect();
        assert_eq!(numbers, [1, 3]);
        let matcher = pattern::compile("needle", false, true).unwrap();
        let count = LineCounter::new(&matcher)
            .count(text.as_bytes(), &cancel())
            .unwrap();
        assert_eq!(
            count,
            Count {
                lines: 2,
                skipped_lines: true
            }
        );
    }

    #[test]
    fn a_long_line_is_cut_around_its_match() {
        let text = format!("{}needle{}\nnext", "ä".repeat(70_000), "b".repeat(70_000));
        let lines = found("needle", &text, (0, 9), 1);
        assert_eq!((lines[0].line, lines[0].column), (1, 70_001));
        assert!(lines[0].cut && lines[0].text.starts_with('…') && lines[0].text.ends_with('…'));
        assert_eq!(lines[0].text.chars().count(), 1002);
        assert!(lines[0].text.contains("needle"));
        assert_eq!(lines[0].after, ["next"]);
    }

    #[test]
    fn text_is_decoded_and_binaries_are_rejected() {
        assert_eq!(decode(b"\xef\xbb\xbfa").unwrap(), "a");
        assert_eq!(decode(b"\xff\xfea\0\xe4\0").unwrap(), "aä");
        assert_eq!(decode(b"\xfe\xff\0a").unwrap(), "a");
        assert_eq!(decode(b"a\xffb").unwrap(), "a\u{fffd}b");
        assert_eq!(decode(b"a\0b"), None);
        let late = [vec![b'a'; BINARY_PROBE], vec![0]].concat();
        assert!(decode(&late).is_some(), "a late NUL is text");
    }

    #[test]
    fn counting_stops_at_the_deadline_or_on_cancellation() {
        let over = Cancel::new(Instant::now(), CancellationToken::new());
        let matcher = pattern::compile("a", false, true).unwrap();
        let mut counter = LineCounter::new(&matcher);
        assert_eq!(counter.count(b"a", &over), Err(Stopped::Deadline));
        over.token.cancel();
        assert_eq!(counter.count(b"a", &over), Err(Stopped::Cancelled));
    }
}
