//! Logs compared with the git command, page by page: on random histories with merges, renames and
//! wrong clocks, and on small ones made by hand.

mod by_hand;
mod generate;
mod random;
mod unusual;

use std::path::Path;
use std::process::Command;

use archway_repo::testing::{Sandbox, cancel, path};
use jiff::Timestamp;

use super::super::{ChangedFile, Histories, History, LogCursor, LogQuery, Status};

/// A commit as tests compare it: its id, and its files in the order of their text.
type CommitSummary = (String, Vec<String>);

fn ask(file: Option<&str>) -> LogQuery {
    LogQuery {
        path: file.map(path),
        since: None,
        until: None,
        author: None,
        revision: None,
        now: Timestamp::UNIX_EPOCH,
    }
}

fn history(app: &Sandbox) -> History {
    History::of(&app.repo(), &Histories::new(), &cancel()).unwrap()
}

fn told_file(file: &ChangedFile) -> String {
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
fn ours(app: &Sandbox, query: &LogQuery, sizes: &mut dyn FnMut() -> usize) -> Vec<CommitSummary> {
    pages(query, sizes, &mut || history(app))
}

/// All pages of a log, each of another size and from another of `workers`.
fn pages(
    query: &LogQuery,
    sizes: &mut dyn FnMut() -> usize,
    workers: &mut dyn FnMut() -> History,
) -> Vec<CommitSummary> {
    let mut told = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let history = workers();
        let place = cursor.map(|cursor| {
            assert!(cursor.len() <= 2048);
            LogCursor::parse(&cursor).unwrap()
        });
        let mut log = history.log(query, place, &cancel()).unwrap();
        for _ in 0..sizes() {
            let Some(entry) = log.next(&cancel()).unwrap() else {
                return told;
            };
            assert_eq!(entry.files.len(), entry.files_total);
            let mut files: Vec<String> = entry.files.iter().map(told_file).collect();
            files.sort();
            told.push((entry.commit_info.id.to_string(), files));
        }
        let place = log.cursor();
        if !log.has_more(&cancel()).unwrap() {
            return told;
        }
        cursor = Some(place.into_text());
    }
}

fn gits(folder: &Path, arguments: &[&str]) -> Vec<CommitSummary> {
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
    output.split('\x01').skip(1).map(told).collect()
}

/// Git's log of a folder, with the files of merges. Asking git for those changes which commits it
/// shows (as `-m` does), so this runs git twice.
fn gits_of_folder(folder: &Path, arguments: &[&str]) -> Vec<CommitSummary> {
    let with_merges = ["--diff-merges=first-parent"];
    let files = gits(folder, &[&with_merges, arguments].concat());
    let shown = gits(folder, arguments);
    let files_of = |id: &String| files.iter().find(|told| told.0 == *id).unwrap().clone();
    shown.iter().map(|(id, _)| files_of(id)).collect()
}

fn told(commit: &str) -> CommitSummary {
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
