//! One page of `git_log`: as many whole commits as fit, as data and as markdown.
//!
//! The page ends before the commit that does not fit. A commit that alone exceeds the answer's size
//! is cut: first its list of files, then its message. The answer says so.

use std::fmt::Write as _;

use archway_history::{ChangedFile, LogCursor, LogEntry, Status};
use archway_repo::text;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::markdown;
use crate::tools::{paging, schema::is_false};

/// Bytes reserved for everything around the commits.
const FRAME_BYTES: usize = 4096;
/// A name may take at most 1/16 of the budget.
const SHARE_DIVISOR: usize = 16;

/// One page.
pub(super) struct LogPage {
    pub(super) commits: Vec<LoggedCommit>,
    /// Where the next page begins, if there may be one.
    pub(super) next: Option<LogCursor>,
    /// The deadline passed before the page was full.
    pub(super) is_incomplete: bool,
    /// Why nothing was found.
    pub(super) note: Option<String>,
    budget: usize,
    data: usize,
    text: usize,
}

#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct LoggedCommit {
    sha: String,
    short_sha: String,
    author: String,
    email: String,
    /// The author's, RFC 3339 in UTC.
    date: String,
    message: String,
    /// The message alone is longer than an answer.
    #[serde(default, skip_serializing_if = "is_false")]
    message_truncated: bool,
    /// Against the first parent, by path; of a followed file, that one.
    files: Vec<File>,
    /// `files` are the first of `files_total`.
    #[serde(default, skip_serializing_if = "is_false")]
    files_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_total: Option<usize>,
    /// Some renames may be shown as added and deleted.
    #[serde(default, skip_serializing_if = "is_false")]
    renames_cut: bool,
    /// The day on the author's calendar.
    #[serde(skip)]
    day: String,
    #[serde(skip)]
    subject: String,
}

#[derive(Clone, Serialize, JsonSchema)]
struct File {
    path: String,
    /// Its previous path, if it was renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<String>,
    status: Status,
}

impl LogPage {
    pub(super) fn new(budget: usize) -> LogPage {
        LogPage {
            commits: Vec::new(),
            next: None,
            is_incomplete: false,
            note: None,
            budget: budget.saturating_sub(FRAME_BYTES),
            data: 0,
            text: 0,
        }
    }

    /// Adds a commit. Returns false if there is no room. The first commit is cut until it fits.
    pub(super) fn add(&mut self, entry: &LogEntry) -> bool {
        let mut commit = LoggedCommit::new(entry, self.budget / SHARE_DIVISOR);
        let (data, text) = loop {
            let (data, text) = commit.sizes();
            let (data, text) = (self.data + data, self.text + text);
            if data <= self.budget && text <= self.budget {
                break (data, text);
            }
            if !self.commits.is_empty() || !commit.cut() {
                return false;
            }
        };
        (self.data, self.text) = (data, text);
        self.commits.push(commit);
        true
    }

    /// The markdown that the contract defines. `has_next` says that another page may follow.
    pub(super) fn markdown(&self, has_next: bool) -> String {
        let sections: Vec<String> = self.commits.iter().map(LoggedCommit::section).collect();
        let mut out = "# Git Log\n\n".to_owned();
        out.push_str(&sections.join("\n---\n\n"));
        match (self.commits.is_empty(), has_next) {
            (true, false) => {
                out.push_str("No commits found.\n");
                out.push_str(&markdown::note(self.note.as_deref()));
            }
            (true, true) => {
                out.push_str("No commits found yet: the time was up. Go on with the cursor.\n");
            }
            (false, false) => {}
            (false, true) => {
                out.push_str("\n*More commits follow: go on with the cursor.*\n");
            }
        }
        out
    }
}

impl LoggedCommit {
    /// `most` is the maximum size of a name in bytes.
    fn new(entry: &LogEntry, most: usize) -> LoggedCommit {
        let (commit_info, total) = (&entry.commit_info, entry.files_total);
        let sha = commit_info.id.to_hex().to_string();
        let message = commit_info.message.to_string();
        let is_cut = entry.files.len() < total;
        LoggedCommit {
            short_sha: entry.short.clone(),
            sha,
            author: markdown::shortened(&commit_info.author.name, most),
            email: markdown::shortened(&commit_info.author.email, most),
            date: markdown::rfc3339(commit_info.author.time),
            day: markdown::day(commit_info.author.time),
            subject: markdown::subject(commit_info.message.as_ref()),
            message: message.trim().to_owned(),
            message_truncated: false,
            files: entry.files.iter().map(File::new).collect(),
            files_truncated: is_cut,
            files_total: is_cut.then_some(total),
            renames_cut: entry.renames_cut,
        }
    }

    /// Halves its longest part. Returns false if nothing is left to cut.
    fn cut(&mut self) -> bool {
        if !self.files.is_empty() {
            self.files_total.get_or_insert(self.files.len());
            self.files_truncated = true;
            self.files.truncate(self.files.len() / 2);
            return true;
        }
        if self.message.is_empty() && self.subject.is_empty() {
            return false;
        }
        for text in [&mut self.message, &mut self.subject] {
            let half = markdown::cut(text, text.len() / 2).len();
            text.truncate(half);
        }
        self.message_truncated = true;
        true
    }

    /// Its size in data and in markdown, in bytes.
    fn sizes(&self) -> (usize, usize) {
        let section = self.section();
        let (shown, _) = text::escape(&section);
        (paging::size(self) + 1, shown.len() + 8)
    }

    fn section(&self) -> String {
        let mut out = format!("## Commit: {} ({})\n", self.short_sha, self.day);
        let (author, email) = (markdown::line(&self.author), markdown::line(&self.email));
        // Two spaces at the end break the line in markdown.
        _ = writeln!(out, "**Author**: {author} <{email}>  ");
        let ellipsis = if self.message_truncated { "…" } else { "" };
        _ = writeln!(out, "**Message**: {}{ellipsis}", self.subject);
        out.push_str(&markdown::body(&self.message));
        let total = self.files_total.unwrap_or(self.files.len());
        if total > 0 {
            _ = writeln!(out, "\n**Files Changed** ({total}):");
        }
        for file in &self.files {
            file.write(&mut out);
        }
        if self.files_truncated {
            _ = writeln!(out, "- … and {} more", total - self.files.len());
        }
        if self.renames_cut {
            _ = writeln!(out, "\n*{}*", markdown::RENAMES_CUT);
        }
        out
    }
}

impl File {
    fn new(file: &ChangedFile) -> File {
        File {
            path: file.path.display(),
            old_path: file.old_path.as_ref().map(ToString::to_string),
            status: file.status,
        }
    }

    fn write(&self, out: &mut String) {
        let (path, status) = (markdown::line(&self.path), status_name(self.status));
        _ = match &self.old_path {
            Some(old) => writeln!(out, "- {path} ({status} from {})", markdown::line(old)),
            None => writeln!(out, "- {path} ({status})"),
        };
    }
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Added => "added",
        Status::Modified => "modified",
        Status::Deleted => "deleted",
        Status::Renamed => "renamed",
        Status::Copied => "copied",
        Status::TypeChanged => "type changed",
    }
}

#[cfg(test)]
mod tests {
    use archway_history::{CommitInfo, Signature};
    use archway_repo::RepoPath;
    use gix::{ObjectId, date::Time, hash::Kind};

    use super::*;

    fn entry(name: &str, message: &str, files: usize) -> LogEntry {
        let file = |at| ChangedFile {
            path: RepoPath::parse(&format!("src/auth/file{at}.ts")).unwrap(),
            old_path: None,
            status: Status::Modified,
        };
        LogEntry {
            commit_info: CommitInfo {
                id: ObjectId::null(Kind::Sha1),
                author: Signature {
                    name: name.into(),
                    email: "john@example.com".into(),
                    time: Time::new(1_760_000_000, 0),
                },
                message: message.into(),
            },
            short: "abc1234".to_owned(),
            files: (0..files).map(file).collect(),
            files_total: files,
            renames_cut: false,
        }
    }

    #[test]
    fn the_markdown_has_the_form_of_the_contract() {
        let mut page = LogPage::new(64 << 10);
        let mut first = entry("John Doe", "feat(auth): add JWT\n\nBody.\n", 1);
        first.files[0].status = Status::Added;
        assert!(page.add(&first));
        let mut second = entry("John Doe", "fix", 2);
        second.files[1].old_path = Some(RepoPath::parse("a\nb").unwrap());
        second.files[1].status = Status::Renamed;
        second.files_total = 9;
        second.renames_cut = true;
        assert!(page.add(&second));
        assert!(page.add(&entry("J", "", 0)));
        let expected = "\
# Git Log

## Commit: abc1234 (2025-10-09)
**Author**: John Doe <john@example.com>  
**Message**: feat(auth): add JWT

> Body.

**Files Changed** (1):
- src/auth/file0.ts (added)

---

## Commit: abc1234 (2025-10-09)
**Author**: John Doe <john@example.com>  
**Message**: fix

**Files Changed** (9):
- src/auth/file0.ts (modified)
- src/auth/file1.ts (renamed from a\\u{a}b)
- … and 7 more

*Not all renames were looked for, as too many files came and went: some may be shown as added and deleted.*

---

## Commit: abc1234 (2025-10-09)
**Author**: J <john@example.com>  
**Message**: 
";
        assert_eq!(page.markdown(false), expected);
        let data = serde_json::to_value(&page.commits).unwrap();
        assert_eq!(data[0]["message"], "feat(auth): add JWT\n\nBody.");
        assert_eq!(data[0]["date"], "2025-10-09T08:53:20Z");
        assert_eq!(data[1]["files"][1]["status"], "renamed");
        assert_eq!(
            (&data[1]["files_truncated"], &data[1]["files_total"]),
            (&true.into(), &9.into())
        );
        assert!(data[0].get("files_total").is_none() && data[0].get("renames_cut").is_none());
        assert_eq!(data[1]["renames_cut"], true);
    }

    #[test]
    fn an_empty_page_says_that_no_commits_were_found() {
        assert_eq!(
            LogPage::new(1 << 16).markdown(false),
            "# Git Log\n\nNo commits found.\n"
        );
    }

    #[test]
    fn a_page_has_whole_commits_within_the_budget() {
        let budget = 32 << 10;
        let mut page = LogPage::new(budget);
        let entry = entry("\u{202e}\u{202e}", "\u{200b}subject", 20);
        while page.add(&entry) {}
        assert!(page.commits.len() > 5);
        let mut data = serde_json::to_value(&page.commits).unwrap();
        text::escape_json(&mut data);
        let markdown = page.markdown(false);
        for size in [data.to_string().len(), text::escape(&markdown).0.len()] {
            assert!(size <= budget, "{size}");
        }
        assert!(page.commits.iter().all(|commit| commit.files.len() == 20));
    }

    #[test]
    fn a_commit_larger_than_the_budget_is_cut() {
        let budget = 32 << 10;
        for (message, files) in [("m".repeat(1 << 20), 200), ("m\n\nä".repeat(1 << 18), 0)] {
            let mut page = LogPage::new(budget);
            assert!(page.add(&entry(&"n".repeat(1 << 20), &message, files)));
            let commit = &page.commits[0];
            assert!(commit.message_truncated && !commit.message.is_empty());
            assert_eq!(commit.files_total, (files > 0).then_some(files));
            assert!(page.markdown(false).len() <= budget && paging::size(commit) <= budget);
        }
        let mut page = LogPage::new(budget);
        assert!(page.add(&entry("A", "m", 1000)));
        let commit = &page.commits[0];
        assert!(commit.files_truncated && commit.files.len() > 100 && !commit.message_truncated);
    }
}
