//! Parsers of git's output.

use std::collections::BTreeMap;

/// A file that a commit or a diff changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChangedFile {
    /// git's status letter.
    pub(super) status: char,
    pub(super) path: Vec<u8>,
    pub(super) old_path: Option<Vec<u8>>,
}

/// A commit of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoggedCommit {
    pub(super) sha: String,
    pub(super) files: Vec<ChangedFile>,
}

/// The author and message of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommitText {
    pub(super) author: String,
    pub(super) email: String,
    pub(super) seconds: i64,
    pub(super) message: String,
}

/// A file of a diff.
#[derive(Clone, Debug)]
pub(super) struct FileDifference {
    pub(super) changed: ChangedFile,
    /// Before and after.
    pub(super) modes: [String; 2],
    /// Of the file after; zeros for a file of the work tree.
    pub(super) id: String,
    /// Lines added and deleted; `None` if it is binary.
    pub(super) lines: Option<(u64, u64)>,
}

/// Bytes as Archway shows them outside of paths.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn tokens(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output
        .split(|&byte| byte == 0)
        .filter(|token| !token.is_empty())
}

pub(super) fn read_log(output: &[u8]) -> Vec<LoggedCommit> {
    let mut log: Vec<LoggedCommit> = Vec::new();
    let mut all = tokens(output);
    while let Some(token) = all.next() {
        let token = token.strip_prefix(b"\n").unwrap_or(token);
        if let Some(sha) = token.strip_prefix(b"\x01") {
            let (sha, files) = (text(sha).trim().to_owned(), Vec::new());
            log.push(LoggedCommit { sha, files });
        } else if let Some(&status) = token.first() {
            let files = &mut log.last_mut().expect("a commit before its files").files;
            files.push(changed(status, &mut all));
        }
    }
    log
}

fn changed<'a>(status: u8, paths: &mut impl Iterator<Item = &'a [u8]>) -> ChangedFile {
    let mut path = || paths.next().expect("a path").to_vec();
    let old_path = matches!(status, b'R' | b'C').then(&mut path);
    ChangedFile {
        status: char::from(status),
        path: path(),
        old_path,
    }
}

/// Parses `:<mode> <mode> <id> <id> <status>` and paths, then `<added> <deleted>` and paths.
pub(super) fn read_diff(output: &[u8]) -> Vec<FileDifference> {
    let mut files = Vec::new();
    let mut counts = BTreeMap::new();
    let mut all = tokens(output);
    while let Some(token) = all.next() {
        if let Some(raw) = token.strip_prefix(b":") {
            let fields: Vec<String> = raw.split(|&byte| byte == b' ').map(text).collect();
            let [old_mode, new_mode, _, id, status] = fields.try_into().unwrap();
            let changed = changed(status.as_bytes()[0], &mut all);
            files.push((changed, [old_mode, new_mode], id));
        } else {
            let fields: Vec<&[u8]> = token.splitn(3, |&byte| byte == b'\t').collect();
            let path = match fields[2] {
                [] => all.nth(1).expect("a new path behind the old one"),
                path => path,
            };
            let number = |field: &[u8]| text(field).parse::<u64>().ok();
            counts.insert(path.to_vec(), number(fields[0]).zip(number(fields[1])));
        }
    }
    let whole = files
        .into_iter()
        .map(|(changed, modes, id)| FileDifference {
            lines: counts[&changed.path],
            changed,
            modes,
            id,
        });
    whole.collect()
}
