//! `git_log` against `git log`.

use std::{collections::BTreeMap, ffi::OsStr, os::unix::ffi::OsStrExt};

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};

use super::{
    Comparison, Side,
    git::{ChangedFile, CommitText, LoggedCommit},
    shown,
    subjects::Subjects,
};

/// The most pages to compare. Further pages would repeat what these show.
const PAGES: usize = 4;
const AUTHORS: [&str; 8] = [
    "ada",
    "ADA@EXAMPLE",
    "bob",
    "example.org",
    "O'Brien",
    "[bot]",
    "e",
    "nobody",
];

/// For messages, as both read them.
const GREPS: [&str; 6] = ["fix", "^add", "e[rd]+", "merge|bump", "[0-9]$", "no such"];

/// A query in Archway's terms and in git's.
struct LogQuery {
    arguments: Value,
    git: Vec<String>,
    path: Option<Vec<u8>>,
}

#[tokio::test]
async fn a_log_is_the_log_of_git() {
    let mut comparison = Comparison::begin().await;
    let mut compared = 0;
    for side in &comparison.sides {
        let (matter, said) = (Subjects::of(&side.git), side.git.said());
        for _ in 0..comparison.questions {
            let query = LogQuery::random(&mut comparison.random, side, &matter);
            let expected = query.ask_git(side);
            compared += expected.len();
            let verdict = compare(side, &query, &expected, &said).await;
            comparison.differences.extend(verdict);
        }
    }
    println!("{compared} commits compared");
    assert!(compared > 0, "nothing was asked about");
    comparison.end();
}

impl LogQuery {
    fn random(random: &mut StdRng, side: &Side, matter: &Subjects) -> LogQuery {
        let max_count = *[1, 3, 10, 30, 100].choose(random).expect("counts");
        let mut arguments = json!({ "project": side.project, "max_count": max_count });
        let mut git = vec![format!("--max-count={}", max_count * PAGES)];
        let mut from = "HEAD".to_owned();
        if random.random_bool(0.5) {
            let (revision, commit) = matter.revision(random, &side.git);
            (arguments["ref"], from) = (json!(revision), commit);
        }
        if random.random_bool(0.2) {
            let author = AUTHORS.choose(random).expect("authors");
            arguments["author"] = json!(author);
            git.extend(["-i", "-F"].map(str::to_owned));
            git.push(format!("--author={author}"));
        } else if random.random_bool(0.2) {
            let grep = GREPS.choose(random).expect("patterns");
            arguments["grep"] = json!(grep);
            git.extend(["-i", "-E"].map(str::to_owned));
            git.push(format!("--grep={grep}"));
        }
        if random.random_bool(0.2) {
            let text = matter.text(random, &side.git);
            arguments["changed"] = json!(text);
            // git lists the files that match alone, and merges if they are compared with a parent.
            git.extend(["--no-merges", "--pickaxe-all"].map(str::to_owned));
            git.push(format!("-S{text}"));
        }
        if random.random_bool(0.2) {
            let (revision, commit) = matter.revision(random, &side.git);
            arguments["since"] = json!(revision);
            git.push(format!("^{commit}"));
        } else if random.random_bool(0.25) {
            between_dates(random, side, matter, &mut arguments, &mut git);
        }
        let path = random
            .random_bool(0.6)
            .then(|| match random.random_bool(0.7) {
                true => matter.file(random),
                false => matter.folder(random),
            });
        if let Some(path) = &path {
            arguments["file_path"] = json!(shown(path));
        }
        git.push(from);
        LogQuery {
            arguments,
            git,
            path,
        }
    }

    fn ask_git(&self, side: &Side) -> Vec<LoggedCommit> {
        let mut arguments: Vec<&OsStr> = self.git.iter().map(OsStr::new).collect();
        match &self.path {
            None => {
                arguments.push(OsStr::new("--diff-merges=first-parent"));
                side.git.log(&arguments)
            }
            Some(path) if is_file(side, path, &self.git) => {
                // git shows no merges in this case, and Archway promises none.
                let follow = ["--follow", "--"].map(OsStr::new);
                arguments.extend(follow);
                arguments.push(OsStr::from_bytes(path));
                side.git.log(&arguments)
            }
            Some(folder) => side.git.log_of_folder(&arguments, folder),
        }
    }
}

/// Whether a path is followed, as every path but a folder is. If the path is absent where the log begins,
/// the newest commit that touched it decides.
fn is_file(side: &Side, path: &[u8], arguments: &[String]) -> bool {
    let from = arguments.last().expect("a revision");
    if let Some(is_file) = is_file_at(side, from, path) {
        return is_file;
    }
    let newest = [
        "log",
        "--full-history",
        "--no-merges",
        "-1",
        "--format=%H",
        from,
        "--",
    ];
    let newest = [
        newest.map(OsStr::new).as_slice(),
        &[OsStr::from_bytes(path)],
    ]
    .concat();
    let commit = String::from_utf8(side.git.run(&newest)).expect("an id");
    let commit = commit.trim();
    if commit.is_empty() {
        return true;
    }
    let sides = [commit.to_owned(), format!("{commit}^")];
    let sides = sides.map(|revision| is_file_at(side, &revision, path));
    sides.contains(&Some(true)) || sides == [None, None]
}

/// Whether a path is a file in a commit. `None` without the path or the commit.
fn is_file_at(side: &Side, revision: &str, path: &[u8]) -> Option<bool> {
    let list = [b"ls-tree".as_slice(), revision.as_bytes(), b"--", path].map(OsStr::from_bytes);
    let told = side.git.try_run(&list)?;
    let kind = told.split(|byte| *byte == b' ').nth(1)?;
    Some(kind != b"tree")
}

/// Between two times, inclusive, by the committer's clock.
fn between_dates(
    random: &mut StdRng,
    side: &Side,
    matter: &Subjects,
    arguments: &mut Value,
    git: &mut Vec<String>,
) {
    let mut instant = || {
        let commit = matter.commits.choose(random).expect("commits");
        let show = [
            "show",
            "--no-patch",
            "--format=%ct %cd",
            "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
            commit,
        ];
        let text = String::from_utf8(side.git.run(&show)).unwrap();
        let (seconds, date) = text.trim().split_once(' ').unwrap();
        (seconds.parse::<i64>().unwrap(), date.to_owned())
    };
    let (mut since, mut until) = (instant(), instant());
    if since.0 > until.0 {
        std::mem::swap(&mut since, &mut until);
    }
    arguments["since"] = json!(since.1);
    arguments["until"] = json!(until.1);
    git.push(format!("--max-age={}", since.0));
    git.push(format!("--min-age={}", until.0));
}

/// Compares the log page by page. Returns how it differs, if it does.
async fn compare(
    side: &Side,
    query: &LogQuery,
    expected: &[LoggedCommit],
    said: &BTreeMap<String, CommitText>,
) -> Option<String> {
    let asked = format!(
        "git_log {}\n  git log {}",
        query.arguments,
        query.git.join(" ")
    );
    let mut arguments = query.arguments.clone();
    let mut ours = Vec::new();
    for _ in 0..PAGES {
        let reply = side.client.call("git_log", arguments.clone()).await;
        if reply.is_error() {
            return Some(format!("{asked}\n  {}", reply.text()));
        }
        let data = reply.structured();
        ours.extend(data["commits"].as_array().unwrap().iter().cloned());
        match data.get("cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None if ours.len() < expected.len() => {
                return Some(format!(
                    "{asked}\n  {} commits instead of {}",
                    ours.len(),
                    expected.len()
                ));
            }
            None => break,
        }
    }
    for (at, commit) in ours.iter().enumerate() {
        let Some(other) = expected.get(at) else {
            return Some(format!(
                "{asked}\n  commit {at} is too many: {}",
                commit["sha"]
            ));
        };
        if let Some(difference) = differs(commit, other, &said[&other.sha]) {
            return Some(format!("{asked}\n  commit {at}: {difference}"));
        }
    }
    None
}

fn differs(ours: &Value, git: &LoggedCommit, said: &CommitText) -> Option<String> {
    if ours["sha"] != json!(git.sha) {
        return Some(format!("{} instead of {}", ours["sha"], git.sha));
    }
    let told = (&ours["author"], &ours["email"], &ours["message"]);
    let expected = (
        &json!(said.author),
        &json!(said.email),
        &json!(said.message),
    );
    if told != expected {
        return Some(format!("{told:?} instead of {expected:?}"));
    }
    if !ours["sha"]
        .as_str()
        .unwrap()
        .starts_with(ours["short_sha"].as_str().unwrap())
    {
        return Some(format!("{} is no short form", ours["short_sha"]));
    }
    let mut theirs: Vec<Value> = git.files.iter().map(file).collect();
    let mut files = ours["files"].as_array().unwrap().clone();
    if ours["files_truncated"] == true {
        theirs.retain(|file| files.contains(file));
    }
    for list in [&mut theirs, &mut files] {
        list.sort_by_key(|file| file["path"].to_string());
    }
    (files != theirs).then(|| format!("{}: {files:?} instead of {theirs:?}", git.sha))
}

/// A changed file in Archway's format.
pub(super) fn file(changed: &ChangedFile) -> Value {
    let status = match changed.status {
        'A' => "added",
        'M' => "modified",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        'T' => "type_changed",
        other => panic!("git says {other}"),
    };
    let mut file = json!({ "path": shown(&changed.path), "status": status });
    if let Some(old) = &changed.old_path {
        file["old_path"] = json!(shown(old));
    }
    file
}
