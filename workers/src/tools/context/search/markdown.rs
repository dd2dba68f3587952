//! The markdown of an answer, in the form of the git contract.

use jiff::Timestamp;

use super::content::ResultPage;
use super::result::{Passage, SearchResult};
use crate::tools::files::language;
use crate::tools::markdown::{fence, line, note};

/// The request's part of the text.
pub(super) struct Heading<'a> {
    pub(super) query: &'a str,
    pub(super) now: Timestamp,
}

/// Renders the whole text.
pub(super) fn render(heading: &Heading<'_>, shown: &ResultPage) -> String {
    let query = line(heading.query);
    let mut text = format!("# Search Results for \"{query}\"\n\n");
    let (count, total, mode) = (shown.results.len(), shown.total, &shown.index.mode);
    text.push_str(&format!("{count} results of {total} ({mode})\n"));
    if let Some(behind) = shown.index.behind.filter(|behind| *behind > 0) {
        let s = if behind == 1 { "" } else { "s" };
        text.push_str(&note(Some(&format!(
            "the index is {behind} commit{s} behind HEAD"
        ))));
    }
    if let Some(files) = shown.index.left_out {
        text.push_str(&note(Some(&format!(
            "{files} files of this large repository are not in the index: grep_codebase finds their text"
        ))));
    }
    text.push_str(&note(shown.note.as_deref()));
    if shown.results.is_empty() {
        text.push_str("\nNothing was found. Try other words, or grep_codebase for exact text.\n");
    }
    for (number, result) in shown.results.iter().enumerate() {
        text.push_str(&section(number + 1, result, heading.now));
    }
    text
}

fn section(number: usize, result: &SearchResult, now: Timestamp) -> String {
    let mut text = format!("\n## Result {number}: {}\n\n", title(result));
    text.push_str(&format!(
        "**Type**: {}  \n**Project**: {}  \n",
        result.kind, result.project
    ));
    if let Some(last) = result.last_read {
        let (ago, times) = (ago(now.as_second() - last), result.times);
        text.push_str(&format!(
            "**Last Accessed**: {ago} ({times} times this week)  \n"
        ));
    }
    if result.stale {
        text.push_str("**Stale**: the file differs in the work tree  \n");
    }
    if let Some(successor) = &result.superseded_by {
        text.push_str(&format!("**Superseded by**: {successor}  \n"));
    }
    if !result.paths.is_empty() {
        let paths: Vec<_> = result.paths.iter().map(|path| line(path)).collect();
        let more = if result.paths_truncated { ", …" } else { "" };
        text.push_str(&format!("**Paths**: {}{more}  \n", paths.join(", ")));
    }
    text.push_str(&related(result));
    if let Some(whole) = &result.part_of {
        let signature = whole.signature.as_deref().map(line).unwrap_or_default();
        let (from, to) = (whole.start_line, whole.end_line);
        text.push_str(&format!("**Part of**: {signature} ({from}-{to})  \n"));
    }
    if let Some(commit) = &result.last_commit {
        let (id, subject) = (&commit.id, line(&commit.subject));
        text.push_str(&format!("**Last commit**: {id} {subject}  \n"));
    }
    let language = result.path.as_deref().map_or("", language);
    let fence = fence(result.content.lines());
    let end = if result.content.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    text.push_str(&format!(
        "\n{fence}{language}\n{}{end}{fence}\n\n",
        result.content
    ));
    if result.content_truncated {
        let how = match result.path {
            Some(_) => "read_file shows the rest",
            None => "a lower limit shows more of it",
        };
        text.push_str(&format!("It goes on: {how}.\n\n"));
    }
    text.push_str(&ranking(result));
    text.push_str("\n---\n");
    text
}

/// The tests of a result, and other matches in its file.
fn related(result: &SearchResult) -> String {
    let mut text = String::new();
    if !result.tested_by.is_empty() {
        let tests: Vec<_> = result.tested_by.iter().map(|path| line(path)).collect();
        text.push_str(&format!("**Tested by**: {}  \n", tests.join(", ")));
    }
    if !result.more.is_empty() {
        let more: Vec<_> = result.more.iter().map(passage).collect();
        text.push_str(&format!("**Also in this file**: {}  \n", more.join(", ")));
    }
    text
}

fn passage(passage: &Passage) -> String {
    let (from, to) = (passage.start_line, passage.end_line);
    match &passage.symbol {
        Some(symbol) => format!("{} ({from}-{to})", line(symbol)),
        None => format!("{from}-{to}"),
    }
}

fn title(result: &SearchResult) -> String {
    let score = format!("[Score: {:.2}]", result.score);
    let Some(path) = &result.path else {
        return format!("{} {} {score}", result.kind, result.id());
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let symbol = line(result.symbol.as_deref().unwrap_or(name));
    let (from, to) = (result.start_line.unwrap_or(1), result.end_line.unwrap_or(1));
    format!("{symbol} ({}:{from}-{to}) {score}", line(path))
}

fn ranking(result: &SearchResult) -> String {
    let ranking = &result.ranking;
    let mut text = "**Ranking Details**:\n".to_owned();
    if let Some(semantic) = ranking.semantic {
        text.push_str(&format!("- Semantic Score: {semantic:.2}\n"));
    }
    text.push_str(&format!("- Lexical Score: {:.2}\n", ranking.lexical));
    if ranking.recency_boost > 1.0 {
        text.push_str(&format!(
            "- Recency Boost: ×{} (accessed <24h ago)\n",
            ranking.recency_boost
        ));
    }
    if ranking.module_boost > 1.0 {
        let why = "same module as current work";
        text.push_str(&format!(
            "- Module Boost: ×{} ({why})\n",
            ranking.module_boost
        ));
    }
    if ranking.frequency_boost > 1.0 {
        let times = result.times;
        let boost = ranking.frequency_boost;
        text.push_str(&format!(
            "- Frequency Boost: ×{boost} ({times} accesses this week)\n"
        ));
    }
    text.push_str(&format!("- **Final Score**: {:.2}\n", ranking.last));
    text
}

/// A duration in the largest unit that is not zero.
fn ago(seconds: i64) -> String {
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let largest = units.into_iter().find(|(unit, _)| seconds >= *unit);
    let Some((unit, name)) = largest else {
        return "just now".to_owned();
    };
    let count = seconds / unit;
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {name}{s} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_shown_in_its_largest_unit() {
        let cases = [
            (5, "just now"),
            (60, "1 minute ago"),
            (7_300, "2 hours ago"),
            (86_400, "1 day ago"),
        ];
        for (seconds, words) in cases {
            assert_eq!(ago(seconds), words);
        }
    }
}
