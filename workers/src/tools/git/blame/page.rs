//! What one answer of `git_blame` has room for: whole lines, with the commits they come from.

use std::collections::HashSet;
use std::fmt::Write as _;

use gix::ObjectId;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::markdown;
use crate::{
    history::Facts,
    repo::RepoPath,
    text,
    tools::{files, paging, schema::is_false},
};

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
    pub(super) fn add(&mut self, number: u32, bytes: &[u8], facts: &Facts) -> bool {
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
        let mut out = format!("# Git Blame: {}\n", self.path);
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
    fn new(number: u32, bytes: &[u8], facts: &Facts, most: usize) -> Line {
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
    fn new(facts: &Facts, most: usize) -> Commit {
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
