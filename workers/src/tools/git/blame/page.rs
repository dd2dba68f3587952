//! One page of `git_blame`: as many whole lines as fit, with their commits.

use std::collections::HashSet;
use std::fmt::Write as _;

use archway_history::CommitInfo;
use archway_repo::{RepoPath, text};
use gix::ObjectId;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::markdown;
use crate::tools::{files, paging, schema::is_false};

/// Bytes reserved for everything around lines and commits.
const FRAME_BYTES: usize = 2048;
/// Maximum size of the markdown around a line, and around a commit, in bytes.
const LINE_FRAME_BYTES: usize = 40;
const COMMIT_FRAME_BYTES: usize = 80;
/// A message or a name may take at most 1/8 of the budget.
const SHARE_DIVISOR: usize = 8;

/// One page.
pub(super) struct BlamePage {
    pub(super) path: String,
    pub(super) lines: Vec<BlamedLine>,
    pub(super) commits: Vec<BlamedCommit>,
    /// Number of lines of the file.
    pub(super) total: u32,
    /// The first line that did not fit, from 1.
    pub(super) next: Option<u32>,
    known_commits: HashSet<ObjectId>,
    budget: usize,
    size: Size,
}

/// The size of a page in bytes.
#[derive(Clone, Copy, Default)]
struct Size {
    data: usize,
    /// The markdown, without names.
    text: usize,
    lines: usize,
    /// The longest name: in markdown all names are padded to it.
    widest: usize,
}

#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct BlamedLine {
    /// From 1.
    line: u32,
    sha: String,
    author: String,
    /// RFC 3339 in UTC.
    date: String,
    text: String,
    /// The line alone did not fit and was cut.
    #[serde(default, skip_serializing_if = "is_false")]
    line_truncated: bool,
    /// The day on the author's calendar.
    #[serde(skip)]
    day: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct BlamedCommit {
    sha: String,
    author: String,
    email: String,
    /// RFC 3339 in UTC.
    date: String,
    /// The whole message; a very long one is cut and ends in "…".
    message: String,
    #[serde(skip)]
    subject: String,
    /// The day on the author's calendar.
    #[serde(skip)]
    day: String,
}

impl BlamePage {
    pub(super) fn new(path: &RepoPath, total: u32, budget: usize) -> BlamePage {
        BlamePage {
            path: path.display(),
            lines: Vec::new(),
            commits: Vec::new(),
            total,
            next: None,
            known_commits: HashSet::new(),
            budget: budget.saturating_sub(FRAME_BYTES),
            size: Size::default(),
        }
    }

    /// Adds a line, with its commit if that is new. Returns false if there is no room. The first
    /// line is cut until it fits.
    pub(super) fn add(&mut self, number: u32, bytes: &[u8], commit_info: &CommitInfo) -> bool {
        let max_bytes = self.budget / SHARE_DIVISOR;
        let mut line = BlamedLine::new(number, bytes, commit_info, max_bytes);
        let is_new = !self.known_commits.contains(&commit_info.id);
        let commit = is_new.then(|| BlamedCommit::new(commit_info, max_bytes));
        let base = commit.iter().fold(self.size, Size::with_commit);
        let mut size = base.with_line(&line);
        while !size.fits(self.budget) {
            if !self.lines.is_empty() || line.text.is_empty() {
                return false;
            }
            line.text = markdown::cut(&line.text, line.text.len() / 2).to_owned();
            line.line_truncated = true;
            size = base.with_line(&line);
        }
        self.size = size;
        self.known_commits.insert(commit_info.id);
        self.commits.extend(commit);
        self.lines.push(line);
        true
    }

    /// The markdown that the contract defines.
    pub(super) fn markdown(&self, is_modified: bool) -> String {
        let mut out = format!("# Git Blame: {}\n", markdown::line(&self.path));
        if is_modified {
            out.push_str("\n⚠ File has local modifications\n");
        }
        if let (Some(first), Some(last)) = (self.lines.first(), self.lines.last()) {
            _ = write!(out, "\n## Lines {}-{}\n\n", first.line, last.line);
            self.write_lines(&mut out, last.line);
        } else {
            out.push_str("\nThe file has no lines.\n");
        }
        for commit in &self.commits {
            commit.write(&mut out);
        }
        if let Some(next) = self.next {
            let total = self.total;
            _ = write!(
                out,
                "\n*Truncated: the file has {total} lines; go on with start_line {next}.*\n"
            );
        }
        out
    }

    fn write_lines(&self, out: &mut String, last: u32) {
        let fence = markdown::fence(self.lines.iter().map(|line| line.text.as_str()));
        let language = files::language(&self.path);
        let number = last.to_string().len();
        let names = self.lines.iter().map(|line| line.author.chars().count());
        let name = names.max().unwrap_or(0);
        _ = writeln!(out, "{fence}{language}");
        for line in &self.lines {
            let sha = markdown::short(&line.sha);
            _ = writeln!(
                out,
                "{:<number$}  {sha} ({:<name$}  {}) {}",
                line.line, line.author, line.day, line.text
            );
        }
        _ = writeln!(out, "{fence}");
    }
}

impl Size {
    fn with_commit(self, commit: &BlamedCommit) -> Size {
        let body = markdown::body(&commit.message);
        let shown = [&commit.author, &commit.email, &commit.subject, &body];
        let shown: usize = shown.into_iter().map(|text| escaped_len(text)).sum();
        Size {
            data: self.data + paging::size(commit) + 1,
            text: self.text + shown + COMMIT_FRAME_BYTES,
            ..self
        }
    }

    fn with_line(self, line: &BlamedLine) -> Size {
        Size {
            data: self.data + paging::size(line) + 1,
            text: self.text + escaped_len(&line.text) + LINE_FRAME_BYTES,
            lines: self.lines + 1,
            widest: self.widest.max(escaped_len(&line.author)),
        }
    }

    fn fits(self, budget: usize) -> bool {
        self.data <= budget && self.text + self.lines * self.widest <= budget
    }
}

impl BlamedLine {
    fn new(number: u32, bytes: &[u8], commit_info: &CommitInfo, max_bytes: usize) -> BlamedLine {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        BlamedLine {
            line: number,
            sha: commit_info.id.to_string(),
            author: markdown::shortened(&commit_info.author.name, max_bytes),
            date: markdown::rfc3339(commit_info.author.time),
            text: String::from_utf8_lossy(text).into_owned(),
            line_truncated: false,
            day: markdown::day(commit_info.author.time),
        }
    }
}

impl BlamedCommit {
    fn new(commit_info: &CommitInfo, max_bytes: usize) -> BlamedCommit {
        let message = markdown::shortened(&commit_info.message, max_bytes);
        BlamedCommit {
            sha: commit_info.id.to_string(),
            author: markdown::shortened(&commit_info.author.name, max_bytes),
            email: markdown::shortened(&commit_info.author.email, max_bytes),
            date: markdown::rfc3339(commit_info.author.time),
            subject: markdown::subject(message.as_bytes().into()),
            message,
            day: markdown::day(commit_info.author.time),
        }
    }

    fn write(&self, out: &mut String) {
        let sha = markdown::short(&self.sha);
        _ = write!(
            out,
            "\n### Commit {sha}\n**Author**: {} <{}>  \n**Date**: {}  \n**Message**: {}\n",
            self.author, self.email, self.day, self.subject
        );
        out.push_str(&markdown::body(&self.message));
    }
}

/// The size of a text in bytes once it is escaped.
fn escaped_len(shown: &str) -> usize {
    text::escape(shown).0.len()
}

#[cfg(test)]
mod tests {
    use archway_history::Signature;
    use gix::date::Time;
    use gix::hash::Kind;

    use super::*;

    fn commit_info(first_byte: u8, name: &str, message: &str) -> CommitInfo {
        let mut id = ObjectId::null(Kind::Sha1);
        id.as_mut_slice()[0] = first_byte;
        CommitInfo {
            id,
            author: Signature {
                name: name.into(),
                email: "j@example.com".into(),
                time: Time::new(1_760_000_000, 0),
            },
            message: message.into(),
        }
    }

    fn page(total: u32, budget: usize) -> BlamePage {
        BlamePage::new(&RepoPath::parse("src/jwt.ts").unwrap(), total, budget)
    }

    #[test]
    fn a_title_is_one_line() {
        let page = BlamePage::new(&RepoPath::parse("a\n# b").unwrap(), 0, 64 << 10);
        let markdown = page.markdown(false);
        assert!(
            markdown.starts_with("# Git Blame: a\\u{a}# b\n"),
            "{markdown}"
        );
    }

    #[test]
    fn the_markdown_has_the_form_of_the_contract() {
        let mut page = page(30, 64 << 10);
        let john = commit_info(0xab, "John Doe", "feat(auth): add JWT\n\nBody.");
        let jane = commit_info(0xde, "Jane Smith", "fix: it");
        for (number, text, commit_info) in [
            (9, "function a() {\n", &john),
            (10, "  b();\r\n", &jane),
            (11, "}", &john),
        ] {
            assert!(page.add(number, text.as_bytes(), commit_info));
        }
        page.next = Some(12);
        let expected = "\
# Git Blame: src/jwt.ts

⚠ File has local modifications

## Lines 9-11

```typescript
9   ab00000 (John Doe    2025-10-09) function a() {
10  de00000 (Jane Smith  2025-10-09)   b();
11  ab00000 (John Doe    2025-10-09) }
```

### Commit ab00000
**Author**: John Doe <j@example.com>  
**Date**: 2025-10-09  
**Message**: feat(auth): add JWT

> Body.

### Commit de00000
**Author**: Jane Smith <j@example.com>  
**Date**: 2025-10-09  
**Message**: fix: it

*Truncated: the file has 30 lines; go on with start_line 12.*
";
        assert_eq!(page.markdown(true), expected);
        assert!(
            page.commits
                .iter()
                .any(|commit| commit.message.ends_with("Body."))
        );
    }

    #[test]
    fn text_and_data_have_whole_lines_within_the_budget() {
        for text in [
            "plain",
            "\u{202e}\u{202e}\u{202e}\u{202e}",
            "\"\\\"\\",
            "äöü",
        ] {
            let (budget, mut page) = (16 << 10, page(5000, 16 << 10));
            let commits = (0..=u8::MAX).map(|first| commit_info(first, "\u{200b}A", "m\nn"));
            let commits: Vec<_> = commits.collect();
            let mut numbered = (1..).zip(commits.iter().cycle());
            while numbered
                .next()
                .is_some_and(|(line, commit)| page.add(line, text.as_bytes(), commit))
            {}
            let mut data = serde_json::json!({ "lines": page.lines, "commits": page.commits });
            text::escape_json(&mut data);
            let markdown = page.markdown(true);
            let shown = text::escape(&markdown).0.len();
            assert!(
                data.to_string().len() <= budget && shown <= budget,
                "{text}"
            );
            assert!(data.to_string().len().max(shown) > budget * 3 / 5, "{text}");
            assert!(
                page.lines
                    .iter()
                    .all(|line| line.text == text && !line.line_truncated)
            );
        }
    }

    #[test]
    fn a_first_line_that_does_not_fit_is_cut_and_marked() {
        let mut page = page(2, 16 << 10);
        let line = "ä".repeat(1 << 20);
        assert!(page.add(
            1,
            line.as_bytes(),
            &commit_info(1, "A", &"m".repeat(1 << 20))
        ));
        assert!(page.lines[0].line_truncated && page.lines[0].text.len() > 1000);
        assert!(page.commits[0].message.ends_with('…'));
        assert!(!page.add(2, line.as_bytes(), &commit_info(2, "A", "m")));
        assert!(page.markdown(false).len() <= 16 << 10);
    }
}
