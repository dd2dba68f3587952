//! Renders a matching line: without its line end, cut around its match, with context lines.

use std::ops::Range;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;

use super::path::RepoPath;

/// Maximum number of characters rendered of a line.
const MAX_CHARS: usize = 1000;

/// Characters before the match, if a line is cut.
const CHARS_BEFORE_MATCH: usize = 200;

/// A matching line, as rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedLine {
    /// The file.
    pub path: RepoPath,
    /// 1-based line number.
    pub line: u64,
    /// 1-based character position of the first match in the whole line.
    pub column: u64,
    /// The line without its end; at most 1,000 characters around the match, and a `…` at each end
    /// that was cut.
    pub text: String,
    /// Whether `text` was cut.
    pub cut: bool,
    /// The lines before it, in order; cut at their end.
    pub before: Vec<String>,
    /// The lines after it, in order; cut at their end.
    pub after: Vec<String>,
}

/// A matching line's position in the text, line end included.
#[derive(Debug)]
pub(super) struct MatchSpan {
    /// 1-based.
    pub(super) number: u64,
    /// Bytes.
    pub(super) range: Range<usize>,
}

impl MatchSpan {
    /// Renders the line with `context` lines on either side.
    pub(super) fn render(
        &self,
        path: &RepoPath,
        text: &str,
        matcher: &RegexMatcher,
        context: usize,
    ) -> MatchedLine {
        let (head, rest) = text.split_at_checked(self.range.start).unwrap_or_default();
        let (line, tail) = rest
            .split_at_checked(self.range.len())
            .unwrap_or((rest, ""));
        let line = without_line_end(line);
        let start = matcher
            .find(line.as_bytes())
            .ok()
            .flatten()
            .map_or(0, |found| found.start());
        let start = line
            .split_at_checked(start)
            .map_or(0, |(before, _)| before.chars().count());
        let (shown, cut) = excerpt(line, start);
        let mut before: Vec<String> = head.lines_back().take(context).map(context_line).collect();
        before.reverse();
        MatchedLine {
            path: path.clone(),
            line: self.number,
            column: u64::try_from(start).unwrap_or(u64::MAX).saturating_add(1),
            text: shown,
            cut,
            before,
            after: tail
                .split_inclusive('\n')
                .take(context)
                .map(context_line)
                .collect(),
        }
    }
}

/// Reads lines backwards from the end without scanning the whole text.
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

fn without_line_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Renders a context line, cut at its end.
fn context_line(line: &str) -> String {
    excerpt(without_line_end(line), 0).0
}

/// At most [`MAX_CHARS`] characters of a line around its character `at`, and whether it was cut.
fn excerpt(line: &str, at: usize) -> (String, bool) {
    // A line has at most as many characters as bytes.
    let length = if line.len() <= MAX_CHARS {
        0
    } else {
        line.chars().count()
    };
    if length <= MAX_CHARS {
        return (line.to_owned(), false);
    }
    let start = at
        .saturating_sub(CHARS_BEFORE_MATCH)
        .min(length - MAX_CHARS);
    let mut shown = String::new();
    if start > 0 {
        shown.push('…');
    }
    shown.extend(line.chars().skip(start).take(MAX_CHARS));
    if start + MAX_CHARS < length {
        shown.push('…');
    }
    (shown, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_at_one_end_is_marked_at_that_end() {
        assert_eq!(excerpt(&"a".repeat(1000), 999), ("a".repeat(1000), false));
        assert_eq!(
            excerpt(&"a".repeat(1001), 0).0,
            format!("{}…", "a".repeat(1000))
        );
        assert_eq!(
            excerpt(&"a".repeat(1001), 1000).0,
            format!("…{}", "a".repeat(1000))
        );
    }
}
