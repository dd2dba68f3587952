//! Logs held against the git command: on random histories with merges, renames and wrong clocks,
//! page by page, and on small ones made by hand.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use jiff::Timestamp;

use super::super::against_git::{Random, Tree, edit, path as some_path, put, text};
use super::super::{Histories, History, HistoryError, LogFile, LogQuery, Place, Status};
use crate::repo::testing::{Sandbox, cancel, git, path};
use crate::repo::{RepoError, Rules};

const BEGAN: i64 = 1_700_000_000;
const AUTHORS: [&str; 4] = [
    "Ann Lee <ann@example.com>",
    "Bob <bob@Example.org>",
    "Çelik Ö <c@d.e>",
    "annie <x@y.z>",
];

/// A commit as it is compared: its id, and its files in the order of their text.
type Told = (String, Vec<String>);

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
    History::of(&app.repo(), &Histories::new()).unwrap()
}

fn told_file(file: &LogFile) -> String {
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

/// All pages of a log, each of another size and each by another worker.
fn ours(app: &Sandbox, query: &LogQuery, sizes: &mut dyn FnMut() -> usize) -> Vec<Told> {
    let mut told = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let history = history(app);
        let place = cursor.map(|cursor| {
            assert!(cursor.len() <= 2048);
            Place::read(&cursor).unwrap()
        });
        let mut log = history.log(query, place, &cancel()).unwrap();
        for _ in 0..sizes() {
            let Some(entry) = log.next(&cancel()).unwrap() else {
                return told;
            };
            assert_eq!(entry.files.len(), entry.files_total);
            let mut files: Vec<String> = entry.files.iter().map(told_file).collect();
            files.sort();
            told.push((entry.facts.id.to_string(), files));
        }
        let place = log.place();
        if !log.has_more(&cancel()).unwrap() {
            return told;
        }
        cursor = Some(place.written());
    }
}

fn gits(folder: &Path, arguments: &[&str]) -> Vec<Told> {
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

/// What git's log shows of a folder, with the files of merges. To ask for those changes which
/// commits git shows (as `-m` does), so it is asked twice.
fn gits_of_folder(folder: &Path, arguments: &[&str]) -> Vec<Told> {
    let with_merges = ["--diff-merges=first-parent"];
    let files = gits(folder, &[&with_merges, arguments].concat());
    let shown = gits(folder, arguments);
    let files_of = |id: &String| files.iter().find(|told| told.0 == *id).unwrap().clone();
    shown.iter().map(|(id, _)| files_of(id)).collect()
}

fn told(commit: &str) -> Told {
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

/// A commit of a random history.
struct Made {
    date: i64,
    author: &'static str,
    parents: Vec<usize>,
    tree: Tree,
}

/// A history with merges and renames. With `skewed` clocks, many commits are older than their
/// parents; else many are of one second.
fn generate(folder: &Path, seed: u64, count: usize, is_skewed: bool) {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9) | 1);
    let mut commits: Vec<Made> = Vec::new();
    let mut clock = BEGAN;
    for _ in 0..count {
        clock += i64::try_from(random.below(3)).unwrap() * 50;
        let wrong = is_skewed && random.one_in(6);
        let skew = if wrong { random.below(2000) } else { 0 };
        let date = clock - i64::try_from(skew).unwrap();
        let commit = some_commit(&mut random, &commits, date);
        commits.push(commit);
    }
    let mut stream = Vec::new();
    for (commit, at) in commits.iter().zip(1..) {
        commit.write(&mut stream, at);
    }
    let last = format!("reset refs/heads/main\nfrom :{count}\n");
    stream.extend_from_slice(last.as_bytes());
    let mut import = Command::new("git")
        .current_dir(folder)
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(&stream).unwrap();
    assert!(import.wait().unwrap().success());
}

/// A commit on top of one of the last few, or of none; sometimes a merge of more of them.
fn some_commit(random: &mut Random, before: &[Made], date: i64) -> Made {
    let at = before.len();
    let near = |random: &mut Random| at.checked_sub(1 + random.below(at.clamp(1, 4)));
    let mut parents: Vec<usize> = near(random)
        .filter(|_| !random.one_in(60))
        .into_iter()
        .collect();
    let mut tree = parents
        .first()
        .map_or_else(Tree::new, |&parent| before[parent].tree.clone());
    while !parents.is_empty() && random.one_in(4) {
        let other = near(random).unwrap();
        if parents.contains(&other) {
            continue;
        }
        parents.push(other);
        for (path, file) in &before[other].tree {
            if random.one_in(2) {
                put(&mut tree, path.clone(), file.clone());
            }
        }
    }
    if parents.len() < 2 || random.one_in(4) {
        change(random, &mut tree);
    }
    let author = AUTHORS[random.below(AUTHORS.len())];
    Made {
        date,
        author,
        parents,
        tree,
    }
}

impl Made {
    /// For `git fast-import`, as mark `at`; its parents have the marks before.
    fn write(&self, stream: &mut Vec<u8>, at: usize) {
        let (author, date) = (self.author, self.date);
        let mut head = format!(
            "commit refs/heads/c{}\nmark :{at}\nauthor {author} {date} +0000\n\
             committer A <a@b.c> {date} +0000\ndata 1\nm\n",
            at - 1
        );
        for (nth, parent) in self.parents.iter().enumerate() {
            let word = if nth == 0 { "from" } else { "merge" };
            head += &format!("{word} :{}\n", parent + 1);
        }
        head += "deleteall\n";
        stream.extend_from_slice(head.as_bytes());
        for (path, (mode, content)) in &self.tree {
            let line = format!("M {mode} inline {path}\ndata {}\n", content.len());
            stream.extend_from_slice(line.as_bytes());
            stream.extend_from_slice(content);
            stream.push(b'\n');
        }
    }
}

/// Few files under few names, so that one is often touched again.
fn name(random: &mut Random) -> String {
    if random.one_in(8) {
        return some_path(random);
    }
    let folders = ["", "a/", "a/b/", "lib/"];
    let folder = folders[random.below(folders.len())];
    format!("{folder}f{}.rs", random.below(6))
}

fn change(random: &mut Random, tree: &mut Tree) {
    for _ in 0..=random.below(3) {
        let paths: Vec<String> = tree.keys().cloned().collect();
        let some = (!paths.is_empty()).then(|| paths[random.below(paths.len())].clone());
        let new = name(random);
        match (random.below(9), some) {
            (0, Some(path)) => _ = tree.remove(&path),
            (1 | 2, Some(from)) => {
                let (mode, content) = tree.remove(&from).unwrap();
                let content = match random.one_in(2) {
                    true => edit(random, &content),
                    false => content,
                };
                put(tree, new, (mode, content));
            }
            (3, Some(from)) => {
                let (mode, content) = tree[&from].clone();
                put(tree, new, (mode, edit(random, &content)));
            }
            (4, Some(path)) => {
                let modes = ["100644", "100755", "120000"];
                tree.get_mut(&path).unwrap().0 = modes[random.below(modes.len())];
            }
            (5..=7, Some(path)) => {
                let content = edit(random, &tree[&path].1);
                tree.get_mut(&path).unwrap().1 = content;
            }
            _ => {
                let lines = 5 + random.below(30);
                put(tree, new, ("100644", text(random, lines)));
            }
        }
    }
}

/// A question, and how git is asked the same.
fn some_question(random: &mut Random, folder: &Path, count: usize) -> (LogQuery, Vec<String>) {
    let revision = match random.below(2) {
        0 => "main".to_owned(),
        _ => format!("c{}", count / 2 + random.below(count / 2)),
    };
    let names = git(
        folder,
        &["ls-tree", "-r", "-t", "-z", "--name-only", &revision],
    );
    let names: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
    let file = match random.below(4) {
        0 => None,
        1 => Some(name(random)),
        _ => (!names.is_empty()).then(|| names[random.below(names.len())].to_owned()),
    };
    let mut query = ask(file.as_deref());
    query.revision = Some(revision.clone());
    let mut arguments = vec![revision];
    let moment = |random: &mut Random| BEGAN + i64::try_from(random.below(count * 60)).unwrap();
    if random.one_in(3) {
        let part = ["ann", "EXAMPLE", "Ö", "bob@", "Lee <ann", "none"][random.below(6)];
        query.author = Some(part.to_owned());
        arguments.extend(["-F".into(), "-i".into(), format!("--author={part}")]);
    }
    match random.below(6) {
        0 => {
            let seconds = moment(random);
            query.since = Some(Timestamp::from_second(seconds).unwrap().to_string());
            arguments.push(format!("--since=@{seconds} +0000"));
        }
        1 => {
            let other = format!("c{}", random.below(count));
            arguments.push(format!("^{other}"));
            query.since = Some(other);
        }
        _ => {}
    }
    if random.one_in(4) {
        let seconds = moment(random);
        query.until = Some(Timestamp::from_second(seconds).unwrap().to_string());
        arguments.push(format!("--until=@{seconds} +0000"));
    }
    if let Some(file) = &file {
        if !is_folder(folder, &arguments[0], file) {
            arguments.push("--follow".into());
        }
        arguments.extend(["--".into(), file.clone()]);
    }
    (query, arguments)
}

fn is_folder(folder: &Path, revision: &str, name: &str) -> bool {
    git(folder, &["ls-tree", revision, "--", name]).contains(" tree ")
}

fn agree(is_skewed: bool, seeds: std::ops::Range<u64>) {
    let count = 120;
    for seed in seeds {
        let app = Sandbox::new();
        app.git(&["init", "-q", "-b", "main"]);
        generate(&app.root(), seed, count, is_skewed);
        let mut random = Random::new(seed * 7717 + 1);
        for _ in 0..60 {
            let (query, arguments) = some_question(&mut random, &app.root(), count);
            let mut pages = Random::new(random.below(1000) as u64 + 1);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let expected = match arguments.contains(&"--follow") {
                true => gits(&app.root(), &arguments),
                false => gits_of_folder(&app.root(), &arguments),
            };
            let got = ours(&app, &query, &mut || 1 + pages.below(30));
            assert_eq!(got, expected, "seed {seed}: git log {arguments:?}");
        }
    }
}

#[test]
fn logs_of_random_histories_are_those_of_git() {
    agree(false, 1..6);
}

#[test]
fn logs_are_those_of_git_where_clocks_were_wrong() {
    agree(true, 1..6);
}

#[test]
fn up_to_a_commit_is_what_both_reach() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    generate(&app.root(), 4, 120, true);
    let reach = |revision: &str| -> BTreeSet<String> {
        let list = git(&app.root(), &["rev-list", revision]);
        list.lines().map(str::to_owned).collect()
    };
    for (revision, until) in [
        ("main", "c60"),
        ("c110", "c111"),
        ("c50", "main"),
        ("c7", "c7"),
    ] {
        let mut query = ask(None);
        query.revision = Some(revision.to_owned());
        query.until = Some(until.to_owned());
        let got = ours(&app, &query, &mut || 7);
        let got: BTreeSet<String> = got.into_iter().map(|(id, _)| id).collect();
        let both = reach(revision)
            .intersection(&reach(until))
            .cloned()
            .collect();
        assert_eq!(got, both, "{revision} until {until}");
    }
}

/// All commits of a log, in one page.
fn whole(app: &Sandbox, query: &LogQuery) -> Vec<Told> {
    ours(app, query, &mut || 1000)
}

fn subjects(app: &Sandbox, told: &[Told]) -> Vec<String> {
    let subject = |(id, _): &Told| git(&app.root(), &["log", "-1", "--format=%s", id]);
    told.iter().map(subject).collect()
}

fn commit(app: &Sandbox, subject: &str) {
    app.git(&["add", "-A"]).git(&["commit", "-qm", subject]);
}

#[test]
fn blocked_files_are_in_no_list_and_no_history() {
    let app = Sandbox::new();
    let text = "a long line that makes it similar\n".repeat(20);
    app.git(&["init", "-q", "-b", "main"]);
    app.file(".env", &text).file("a.txt", "a");
    commit(&app, "one");
    app.git(&["mv", ".env", "settings.txt"]);
    commit(&app, "two");
    app.file("conf/server.key", "k");
    commit(&app, "three");
    app.file("conf/x.txt", "x");
    app.git(&["mv", "settings.txt", "secrets.txt"]);
    commit(&app, "four");

    let told = whole(&app, &ask(None));
    let files: Vec<&[String]> = told.iter().map(|(_, files)| files.as_slice()).collect();
    let expected: [&[&str]; 4] = [
        &["A conf/x.txt", "D settings.txt"],
        &[],
        &["A settings.txt"],
        &["A a.txt"],
    ];
    assert_eq!(files, expected);
    assert_eq!(subjects(&app, &told), ["four", "three", "two", "one"]);

    // Its history ends where it had another name, and does not tell which.
    let told = whole(&app, &ask(Some("settings.txt")));
    assert_eq!(told.len(), 2);
    assert_eq!(told[1].1, ["A settings.txt"]);
    // A folder is as it was before if only blocked files in it changed.
    let told = whole(&app, &ask(Some("conf")));
    assert_eq!(subjects(&app, &told), ["four"]);

    let history = history(&app);
    for blocked in [
        ".env",
        "secrets.txt",
        "conf/server.key",
        "never/was/id_rsa",
        ".git/config",
    ] {
        let refused = history.log(&ask(Some(blocked)), None, &cancel()).err();
        let is_blocked = matches!(refused, Some(HistoryError::Repo(RepoError::Blocked { .. })));
        assert!(is_blocked, "{blocked}: {refused:?}");
    }
}

#[test]
fn an_opened_name_is_followed_to() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    app.file(".env.test", "some text\n".repeat(9));
    commit(&app, "one");
    app.git(&["mv", ".env.test", "test.txt"]);
    commit(&app, "two");
    let rules = Rules::new(&[".env.test".to_owned()], &[], None).unwrap();
    let history = History::of(&app.repo_with(rules), &Histories::new()).unwrap();
    let mut log = history
        .log(&ask(Some("test.txt")), None, &cancel())
        .unwrap();
    let first = log.next(&cancel()).unwrap().unwrap();
    assert_eq!(told_file(&first.files[0]), "R .env.test test.txt");
    assert!(log.next(&cancel()).unwrap().is_some());
}

#[test]
fn a_page_goes_on_where_it_ended_whatever_was_committed_since() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    for at in 0..6 {
        app.file("a.txt", format!("{at}\n"));
        commit(&app, &format!("c{at}"));
    }
    for query in [ask(None), ask(Some("a.txt")), ask(Some("."))] {
        let before = whole(&app, &query);
        let mut at = 0;
        let told = ours(&app, &query, &mut || {
            at += 1;
            app.file("a.txt", format!("more {at} of {:?}\n", query.path));
            commit(&app, "more");
            2
        });
        assert_eq!(told, before);
    }
}

#[test]
fn a_name_is_a_file_or_a_folder_also_after_it_went() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    app.file("old/a", "a").file("b", "b").file("keep", "k");
    commit(&app, "one");
    app.file("old/c", "c");
    commit(&app, "two");
    app.git(&["rm", "-rq", "old", "b"]);
    commit(&app, "three");
    app.file("keep", "l");
    commit(&app, "four");
    let told = whole(&app, &ask(Some("old")));
    assert_eq!(subjects(&app, &told), ["three", "two", "one"]);
    assert_eq!(told[0].1, ["D old/a", "D old/c"]);
    assert_eq!(
        subjects(&app, &whole(&app, &ask(Some("b")))),
        ["three", "one"]
    );
    assert_eq!(whole(&app, &ask(Some("never"))), []);
    assert_eq!(whole(&app, &ask(Some("."))).len(), 4);
}

#[test]
fn a_name_that_is_not_utf8_is_found_by_how_it_is_shown() {
    use std::os::unix::ffi::OsStrExt as _;
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(app.root().join(name), "x").unwrap();
    commit(&app, "one");
    let told = whole(&app, &ask(Some("caf\\xe9.txt")));
    assert_eq!(told[0].1, ["A caf\\xe9.txt"]);
}

#[test]
fn a_repository_without_commits_has_an_empty_log() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    assert_eq!(whole(&app, &ask(None)), []);
    assert_eq!(whole(&app, &ask(Some("a.txt"))), []);
}

#[test]
fn a_shallow_clone_ends_with_a_commit_that_added_all() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    for at in 0..4 {
        app.file(&format!("f{at}"), "x");
        commit(&app, &format!("c{at}"));
    }
    let url = format!("file://{}", app.root().display());
    git(
        &app.host("acme"),
        &["clone", "-q", "--depth", "2", &url, "short"],
    );
    std::fs::remove_dir_all(app.root()).unwrap();
    std::fs::rename(app.host("acme/short"), app.root()).unwrap();
    let told = whole(&app, &ask(None));
    assert_eq!(told, gits(&app.root(), &["HEAD"]));
    assert_eq!(told[1].1, ["A f0", "A f1", "A f2"]);
    assert_eq!(subjects(&app, &whole(&app, &ask(Some("f0")))), ["c2"]);
}

#[test]
fn a_cursor_of_commits_that_are_gone_is_refused() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    app.file("a", "1");
    commit(&app, "one");
    app.file("a", "2");
    commit(&app, "two");
    let place = history(&app)
        .log(&ask(None), None, &cancel())
        .unwrap()
        .place();
    app.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let refused = history(&app).log(&ask(None), Some(place), &cancel()).err();
    assert!(
        matches!(refused, Some(HistoryError::RevisionNotFound { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_cancelled_log_stops() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    let history = history(&app);
    let mut log = history.log(&ask(None), None, &cancel()).unwrap();
    let stop = cancel();
    stop.token.cancel();
    let place = log.place();
    assert!(matches!(
        log.next(&stop),
        Err(HistoryError::Repo(RepoError::Stopped(_)))
    ));
    assert_eq!(log.place(), place, "nothing was lost");
    assert!(log.next(&cancel()).unwrap().is_some());
}
