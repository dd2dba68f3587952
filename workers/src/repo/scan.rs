//! Searching one file: read once, decoded, searched in pieces, its lines cut to be shown.
//!
//! Everything counts in characters of the decoded text. A file is one slice in memory, never a
//! stream, so that counting and showing find the same lines.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::cancel::{Cancel, Stopped};
use super::path::RepoPath;
use super::pattern;

/// Files beyond this are not searched.
pub(super) const MAX_FILE: u64 = 8 << 20;

/// NUL among so many first bytes makes a file binary.
const BINARY_PROBE: usize = 8 << 10;

/// How much is searched between two looks at the clock; a longer line is searched whole.
const PIECE: usize = 1 << 20;

/// What a line may take in memory. Files are smaller, so nothing reaches it.
const MAX_LINE: usize = 16 << 20;

/// Characters shown of a line.
const SHOWN: usize = 1000;

/// Characters shown before the match, where a line is cut.
const LEAD: usize = 200;

/// A line that matches, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    /// The file.
    pub path: RepoPath,
    /// 1-based line.
    pub line: u64,
    /// 1-based character of the first match, in the whole line.
    pub column: u64,
    /// The line without its end; at most 1,000 characters around the match, and a `…` at
    /// each end that was cut.
    pub text: String,
    /// Whether `text` was cut.
    pub cut: bool,
    /// Lines before it, in order; cut at their end.
    pub before: Vec<String>,
    /// Lines after it, in order; cut at their end.
    pub after: Vec<String>,
}

/// A file's text, if it has one: `None` for a binary file.
///
/// UTF-16 is decoded where a byte order mark says so, one of UTF-8 is dropped, and bytes that are
/// not UTF-8 become U+FFFD.
pub(super) fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let text = match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding.decode_with_bom_removal(bytes).0,
        None if is_binary(bytes) => return None,
        None => String::from_utf8_lossy(bytes),
    };
    (!is_binary(text.as_bytes())).then_some(text)
}

fn is_binary(bytes: &[u8]) -> bool {
    let probe = bytes.get(..BINARY_PROBE).unwrap_or(bytes);
    memchr::memchr(0, probe).is_some()
}

/// How many lines of `text` match.
pub(super) fn count(text: &str, matcher: &RegexMatcher, cancel: &Cancel) -> Result<u64, Stopped> {
    let mut counter = Counter(0);
    let mut searcher = searcher(false);
    for piece in pieces(text.as_bytes()) {
        cancel.check()?;
        search(&mut searcher, matcher, piece, &mut counter);
    }
    Ok(counter.0)
}

/// The lines of `text` that match, from the `skip`th on, at most `take`.
pub(super) fn collect(
    text: &str,
    matcher: &RegexMatcher,
    (skip, take): (usize, usize),
    cancel: &Cancel,
) -> Result<Vec<Line>, Stopped> {
    let mut collector = Collector {
        skip,
        take,
        ..Collector::default()
    };
    let mut searcher = searcher(true);
    for piece in pieces(text.as_bytes()) {
        cancel.check()?;
        search(&mut searcher, matcher, piece, &mut collector);
        if collector.take == 0 {
            break;
        }
        collector.offset += piece.len();
        collector.lines_before += count_lines(piece);
    }
    Ok(collector.found)
}

/// A matching line: where it is in the text, its end included.
#[derive(Debug)]
pub(super) struct Line {
    number: u64,
    range: Range<usize>,
}

impl Line {
    /// The line as it is shown, with `context` lines on either side.
    pub(super) fn show(
        &self,
        path: &RepoPath,
        text: &str,
        matcher: &RegexMatcher,
        context: usize,
    ) -> FoundLine {
        let (head, rest) = text.split_at_checked(self.range.start).unwrap_or_default();
        let (line, tail) = rest
            .split_at_checked(self.range.len())
            .unwrap_or((rest, ""));
        let line = without_end(line);
        let start = matcher
            .find(line.as_bytes())
            .ok()
            .flatten()
            .map_or(0, |found| found.start());
        let start = line
            .split_at_checked(start)
            .map_or(0, |(before, _)| before.chars().count());
        let (shown, cut) = around(line, start);
        let mut before: Vec<String> = head.lines_back().take(context).map(to_show).collect();
        before.reverse();
        FoundLine {
            path: path.clone(),
            line: self.number,
            column: u64::try_from(start).unwrap_or(u64::MAX).saturating_add(1),
            text: shown,
            cut,
            before,
            after: tail
                .split_inclusive('\n')
                .take(context)
                .map(to_show)
                .collect(),
        }
    }
}

/// Reading lines from the end, without looking at all that is before them.
trait LinesBack {
    fn lines_back(&self) -> impl Iterator<Item = &str>;
}

impl LinesBack for str {
    fn lines_back(&self) -> impl Iterator<Item = &str> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let body = rest.strip_suffix('\n')?;
            let start = memchr::memrchr(b'\n', body.as_bytes()).map_or(0, |at| at + 1);
            let (before, line) = rest.split_at_checked(start)?;
            rest = before;
            Some(line)
        })
    }
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// A line of context: cut at its end.
fn to_show(line: &str) -> String {
    around(without_end(line), 0).0
}

/// At most [`SHOWN`] characters of a line, around its character `at`; whether it was cut.
fn around(line: &str, at: usize) -> (String, bool) {
    // As many bytes as characters may be shown are never too many characters.
    let length = if line.len() <= SHOWN {
        0
    } else {
        line.chars().count()
    };
    if length <= SHOWN {
        return (line.to_owned(), false);
    }
    let start = at.saturating_sub(LEAD).min(length - SHOWN);
    let mut shown = String::new();
    if start > 0 {
        shown.push('…');
    }
    shown.extend(line.chars().skip(start).take(SHOWN));
    if start + SHOWN < length {
        shown.push('…');
    }
    (shown, true)
}

/// `text` in pieces of about [`PIECE`] bytes that end where lines do.
fn pieces(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, tail) = rest.split_at(end_of_piece(rest));
        rest = tail;
        Some(piece)
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
        // A slice can't fail to be read and the matcher never gives up; if either did, what
        // was found so far stands.
        tracing::error!(%error, "search of a slice failed");
    }
}

struct Counter(u64);

impl Sink for &mut Counter {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.0 += 1;
        Ok(true)
    }
}

#[derive(Default)]
struct Collector {
    skip: usize,
    take: usize,
    offset: usize,
    lines_before: u64,
    found: Vec<Line>,
}

impl Sink for &mut Collector {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        let start = usize::try_from(line.absolute_byte_offset()).map_err(io::Error::other)?;
        let start = start + self.offset;
        let number = line.line_number().unwrap_or(1) + self.lines_before;
        self.found.push(Line {
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

    use super::*;

    fn cancel() -> Cancel {
        Cancel::new(
            Instant::now() + Duration::from_secs(60),
            CancellationToken::new(),
        )
    }

    fn found(pattern: &str, text: &str, window: (usize, usize), context: usize) -> Vec<FoundLine> {
        let matcher = pattern::compile(pattern, false, true).unwrap();
        let path = RepoPath::parse("file").unwrap();
        let lines = collect(text, &matcher, window, &cancel()).unwrap();
        lines
            .iter()
            .map(|line| line.show(&path, text, &matcher, context))
            .collect()
    }

    #[test]
    fn a_line_is_shown_without_its_end_and_with_its_neighbours() {
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
    fn neighbours_end_where_the_file_does() {
        let lines = found("x", "\nx\n", (0, 9), 3);
        assert_eq!(
            (lines[0].before.clone(), lines[0].after.len()),
            (vec![String::new()], 0)
        );
    }

    #[test]
    fn a_window_of_lines_is_counted_in_matching_lines() {
        let numbers = |window| {
            let lines = found("x", "x\ny\nx x\nx\nx", window, 0);
            lines.iter().map(|line| line.line).collect::<Vec<_>>()
        };
        assert_eq!(numbers((0, 9)), [1, 3, 4, 5]);
        assert_eq!(numbers((1, 2)), [3, 4]);
        assert!(numbers((4, 2)).is_empty());
    }

    #[test]
    fn lines_are_numbered_on_over_the_pieces_of_a_large_file() {
        let filler = format!("{}\n", "y".repeat(99)).repeat(25_000);
        let text = format!("{filler}needle\n{filler}needle");
        let lines = found("needle", &text, (0, 9), 1);
        assert_eq!(
            lines.iter().map(|line| line.line).collect::<Vec<_>>(),
            [25_001, 50_002]
        );
        assert_eq!(lines[1].before[0].len(), 99);
        let matcher = pattern::compile("needle", false, true).unwrap();
        assert_eq!(count(&text, &matcher, &cancel()).unwrap(), 2);
        assert!(pieces(text.as_bytes()).all(|piece| piece.len() <= PIECE));
    }

    #[test]
    fn a_line_longer_than_a_piece_stays_one_line() {
        let text = format!("{}needle{}\nnext", "ä".repeat(700_000), "b".repeat(700_000));
        let lines = found("needle", &text, (0, 9), 1);
        assert_eq!((lines[0].line, lines[0].column), (1, 700_001));
        assert!(lines[0].cut && lines[0].text.starts_with('…') && lines[0].text.ends_with('…'));
        assert_eq!(lines[0].text.chars().count(), 1002);
        assert!(lines[0].text.contains("needle"));
        assert_eq!(lines[0].after, ["next"]);
    }

    #[test]
    fn a_cut_at_one_end_is_marked_at_that_end() {
        assert_eq!(around(&"a".repeat(1000), 999), ("a".repeat(1000), false));
        assert_eq!(
            around(&"a".repeat(1001), 0).0,
            format!("{}…", "a".repeat(1000))
        );
        assert_eq!(
            around(&"a".repeat(1001), 1000).0,
            format!("…{}", "a".repeat(1000))
        );
    }

    #[test]
    fn text_is_decoded_and_binaries_are_none() {
        assert_eq!(decode(b"\xef\xbb\xbfa").unwrap(), "a");
        assert_eq!(decode(b"\xff\xfea\0\xe4\0").unwrap(), "aä");
        assert_eq!(decode(b"\xfe\xff\0a").unwrap(), "a");
        assert_eq!(decode(b"a\xffb").unwrap(), "a\u{fffd}b");
        assert_eq!(decode(b"a\0b"), None);
        let late = [vec![b'a'; BINARY_PROBE], vec![0]].concat();
        assert!(decode(&late).is_some(), "a late NUL is text");
    }

    #[test]
    fn counting_stops_when_its_time_is_up() {
        let over = Cancel::new(Instant::now(), CancellationToken::new());
        let matcher = pattern::compile("a", false, true).unwrap();
        assert_eq!(count("a", &matcher, &over), Err(Stopped::Deadline));
        over.token.cancel();
        assert_eq!(count("a", &matcher, &over), Err(Stopped::Cancelled));
    }
}
