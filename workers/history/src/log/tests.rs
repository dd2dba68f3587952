//! Logs compared with the git command, page by page: on random histories with merges, renames and
//! wrong clocks, and on small ones made by hand.

mod by_hand;
mod conditions;
mod generate;
mod random;
mod unusual;

use std::path::Path;
use std::process::Command;

use archway_repo::testing::{Sandbox, cancel};

use super::super::fixtures::{history, log_query};
use super::super::{ChangedFile, History, LogCursor, LogQuery, Status};

/// A commit as tests compare it: its id, and its files in the order of their text.
type CommitSummary = (String, Vec<String>);

fn file_summary(file: &ChangedFile) -> String {
    let status = match file.status {
        Status::Added => "A",
        Status::Modified => "M",
        Status::Deleted => "D",
        Status::Renamed => "R",
        Status::Copied => "C",
        Status::TypeChanged => "T",
    };
    match &file.old_path {
        Some(old) => format!("{status} {old} {}", file.path),
        None => format!("{status} {}", file.path),
    }
}

/// All pages of a log, each of another size and from another worker.
fn paged_log(
    app: &Sandbox,
    query: &LogQuery,
    sizes: &mut dyn FnMut() -> usize,
) -> Vec<CommitSummary> {
    pages(query, sizes, &mut || history(app))
}

/// All pages of a log, each of another size and from another of `workers`.
fn pages(
    query: &LogQuery,
    sizes: &mut dyn FnMut() -> usize,
    workers: &mut dyn FnMut() -> History,
) -> Vec<CommitSummary> {
    let mut commits = Vec::new();
    let mut cursor: Option<LogCursor> = None;
    loop {
        let history = workers();
        let mut log = history.log(query, cursor, &cancel()).unwrap();
        for _ in 0..sizes() {
            let Some(entry) = log.next(&cancel()).unwrap() else {
                return commits;
            };
            assert_eq!(entry.files.len(), entry.files_total);
            let mut files: Vec<String> = entry.files.iter().map(file_summary).collect();
            files.sort();
            commits.push((entry.commit_info.id.to_string(), files));
        }
        let next = log.cursor();
        if !log.has_more(&cancel()).unwrap() {
            return commits;
        }
        let text = history.save_cursor(query, next.clone());
        assert!(text.len() <= 52, "{text}");
        // Every other page begins on a worker that has not saved the walk.
        let found = workers().find_cursor(query, &text, &cancel()).unwrap();
        cursor = if commits.len() % 2 == 0 {
            found
        } else {
            Some(next)
        };
        assert!(cursor.is_some(), "{text}");
    }
}

fn git_log(folder: &Path, arguments: &[&str]) -> Vec<CommitSummary> {
    let log = ["log", "--format=%x01%H", "--name-status", "-M", "-z"];
    let output = Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("LC_ALL", "C.UTF-8")
        .args(log)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    output.split('\x01').skip(1).map(parse_commit).collect()
}

/// Git's log of a folder, with the files of merges. Asking git for those changes which commits it
/// shows (as `-m` does), so this runs git twice.
fn git_folder_log(folder: &Path, arguments: &[&str]) -> Vec<CommitSummary> {
    let with_merges = ["--diff-merges=first-parent"];
    let files = git_log(folder, &[&with_merges, arguments].concat());
    let shown = git_log(folder, arguments);
    let files_of = |id: &String| files.iter().find(|commit| commit.0 == *id).unwrap().clone();
    shown.iter().map(|(id, _)| files_of(id)).collect()
}

fn parse_commit(commit: &str) -> CommitSummary {
    let mut words = commit
        .split('\0')
        .map(|word| word.trim_start_matches('\n'))
        .filter(|word| !word.is_empty());
    let id = words.next().unwrap().to_owned();
    let mut files = Vec::new();
    while let Some(status) = words.next() {
        let status = status.get(..1).unwrap();
        let first = words.next().unwrap();
        files.push(match status {
            "R" | "C" => format!("{status} {first} {}", words.next().unwrap()),
            _ => format!("{status} {first}"),
        });
    }
    files.sort();
    (id, files)
}
