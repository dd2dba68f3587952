//! What one answer of `git_blame` has room for: whole lines, with the commits they come from.

use std::collections::HashSet;
use std::fmt::Write as _;

use archway_history::CommitInfo;
use archway_repo::{RepoPath, text};
use gix::ObjectId;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::markdown;
use crate::tools::{files, paging, schema::is_false};

/// Room for what stands around lines and commits, in bytes.
const FRAME: usize = 2048;
/// What stands around a line in markdown, and around a commit, in bytes at most.
const LINE_FRAME: usize = 40;
const COMMIT_FRAME: usize = 80;
/// Which part of the budget one message, or one name, may take at most.
const SHARE: usize = 8;

/// One answer.
pub(super) struct Page {
    pub(super) path: String,
    pub(super) lines: Vec<Line>,
    pub(super) commits: Vec<Commit>,
    /// How many lines the file has.
    pub(super) total: u32,
    /// The first line that had no room, from 1.
    pub(super) next: Option<u32>,
    known: HashSet<ObjectId>,
    budget: usize,
    spent: Spent,
}

/// What an answer takes, in bytes.
#[derive(Clone, Copy, Default)]
struct Spent {
    data: usize,
    /// Of the markdown, without names.
    text: usize,
    lines: usize,
    /// The longest name: in markdown, all are made as wide.
    widest: usize,
}

#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct Line {
    /// From 1.
    line: u32,
    sha: String,
    author: String,
    /// RFC 3339 in UTC.
    date: String,
    text: String,
    /// The line alone has no room, and was cut.
    #[serde(default, skip_serializing_if = "is_false")]
    line_truncated: bool,
    /// The day on the author's calendar.
    #[serde(skip)]
    day: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Commit {
    sha: String,
    author: String,
    email: String,
    /// RFC 3339 in UTC.
    date: String,
    /// Whole; one that is very long ends in "…".
    message: String,
    #[serde(skip)]
    subject: String,
    /// The day on the author's calendar.
    #[serde(skip)]
    day: String,
}

impl Page {
    pub(super) fn new(path: &RepoPath, total: u32, budget: usize) -> Page {
        Page {
            path: path.display(),
            lines: Vec::new(),
            commits: Vec::new(),
            total,
            next: None,
            known: HashSet::new(),
            budget: budget.saturating_sub(FRAME),
            spent: Spent::default(),
        }
    }

    /// Adds a line, with its commit if that is new; false if there is no room. The first line is
    /// cut until it has.
    pub(super) fn add(&mut self, number: u32, bytes: &[u8], facts: &CommitInfo) -> bool {
        let most = self.budget / SHARE;
        let mut line = Line::new(number, bytes, facts, most);
        let is_new = !self.known.contains(&facts.id);
        let commit = is_new.then(|| Commit::new(facts, most));
        let base = commit.iter().fold(self.spent, Spent::with_commit);
        let mut spent = base.with_line(&line);
        while !spent.fits(self.budget) {
            if !self.lines.is_empty() || line.text.is_empty() {
                return false;
            }
            line.text = markdown::cut(&line.text, line.text.len() / 2).to_owned();
            line.line_truncated = true;
            spent = base.with_line(&line);
        }
        self.spent = spent;
        self.known.insert(facts.id);
        self.commits.extend(commit);
        self.lines.push(line);
        true
    }

    /// The contract's markdown.
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

impl Spent {
    fn with_commit(self, commit: &Commit) -> Spent {
        let shown = [&commit.author, &commit.email, &commit.subject];
        let shown: usize = shown.into_iter().map(|text| escaped(text)).sum();
        Spent {
            data: self.data + paging::size(commit) + 1,
            text: self.text + shown + COMMIT_FRAME,
            ..self
        }
    }

    fn with_line(self, line: &Line) -> Spent {
        Spent {
            data: self.data + paging::size(line) + 1,
            text: self.text + escaped(&line.text) + LINE_FRAME,
            lines: self.lines + 1,
            widest: self.widest.max(escaped(&line.author)),
        }
    }

    fn fits(self, budget: usize) -> bool {
        self.data <= budget && self.text + self.lines * self.widest <= budget
    }
}

impl Line {
    fn new(number: u32, bytes: &[u8], facts: &CommitInfo, most: usize) -> Line {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Line {
            line: number,
            sha: facts.id.to_string(),
            author: markdown::shortened(&facts.author.name, most),
            date: markdown::rfc3339(facts.author.time),
            text: String::from_utf8_lossy(text).into_owned(),
            line_truncated: false,
            day: markdown::day(facts.author.time),
        }
    }
}

impl Commit {
    fn new(facts: &CommitInfo, most: usize) -> Commit {
        let message = markdown::shortened(&facts.message, most);
        Commit {
            sha: facts.id.to_string(),
            author: markdown::shortened(&facts.author.name, most),
            email: markdown::shortened(&facts.author.email, most),
            date: markdown::rfc3339(facts.author.time),
            subject: markdown::subject(message.as_bytes().into()),
            message,
            day: markdown::day(facts.author.time),
        }
    }

    fn write(&self, out: &mut String) {
        let sha = markdown::short(&self.sha);
        _ = write!(
            out,
            "\n### Commit {sha}\n**Author**: {} <{}>  \n**Date**: {}  \n**Message**: {}\n",
            self.author, self.email, self.day, self.subject
        );
    }
}

/// How many bytes a text takes once it is shown.
fn escaped(shown: &str) -> usize {
    text::escape(shown).0.len()
}

#[cfg(test)]
mod tests {
    use archway_history::Signature;
    use gix::date::Time;
    use gix::hash::Kind;

    use super::*;

    fn facts(first_byte: u8, name: &str, message: &str) -> CommitInfo {
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

    fn page(total: u32, budget: usize) -> Page {
        Page::new(&RepoPath::parse("src/jwt.ts").unwrap(), total, budget)
    }

    #[test]
    fn a_title_is_one_line() {
        let page = Page::new(&RepoPath::parse("a\n# b").unwrap(), 0, 64 << 10);
        let markdown = page.markdown(false);
        assert!(
            markdown.starts_with("# Git Blame: a\\u{a}# b\n"),
            "{markdown}"
        );
    }

    #[test]
    fn the_markdown_is_the_contracts() {
        let mut page = page(30, 64 << 10);
        let john = facts(0xab, "John Doe", "feat(auth): add JWT\n\nBody.");
        let jane = facts(0xde, "Jane Smith", "fix: it");
        for (number, text, facts) in [
            (9, "function a() {\n", &john),
            (10, "  b();\r\n", &jane),
            (11, "}", &john),
        ] {
            assert!(page.add(number, text.as_bytes(), facts));
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
    fn text_and_data_stay_within_the_budget_and_hold_whole_lines() {
        for text in [
            "plain",
            "\u{202e}\u{202e}\u{202e}\u{202e}",
            "\"\\\"\\",
            "äöü",
        ] {
            let (budget, mut page) = (16 << 10, page(5000, 16 << 10));
            let commits = (0..=u8::MAX).map(|first| facts(first, "\u{200b}A", "m\nn"));
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
    fn a_first_line_that_has_no_room_is_cut_and_says_so() {
        let mut page = page(2, 16 << 10);
        let line = "ä".repeat(1 << 20);
        assert!(page.add(1, line.as_bytes(), &facts(1, "A", &"m".repeat(1 << 20))));
        assert!(page.lines[0].line_truncated && page.lines[0].text.len() > 1000);
        assert!(page.commits[0].message.ends_with('…'));
        assert!(!page.add(2, line.as_bytes(), &facts(2, "A", "m")));
        assert!(page.markdown(false).len() <= 16 << 10);
    }
}
