//! Logs of random histories, page by page, compared with git's.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use archway_repo::testing::{Sandbox, cancel, git, path};
use gix::ObjectId;
use jiff::Timestamp;
use tokio::time::Duration;

use super::super::super::fixtures;
use super::super::super::git_comparison::Random;
use super::super::super::graph::Graph;
use super::super::super::ledger::Ledger;
use super::super::super::{Histories, History, LogQuery};
use super::generate::{BEGAN, generate, name};
use super::{git_folder_log, git_log, history, log_query, paged_log};

/// A random query, and git's arguments for the same.
fn random_query(random: &mut Random, folder: &Path, count: usize) -> (LogQuery, Vec<String>) {
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
    let mut query = log_query(file.as_deref());
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

/// The graph and ledger of a repository.
struct Indexes {
    histories: Histories,
    graph: Arc<Graph>,
    ledger: Arc<Ledger>,
}

impl Indexes {
    fn of(app: &Sandbox) -> Indexes {
        let git = app.repo().git().unwrap();
        let graph = fixtures::graph(&git);
        let ledger = fixtures::ledger(&git, &graph);
        Indexes {
            histories: Histories::new(),
            graph: graph.into(),
            ledger: ledger.into(),
        }
    }

    fn history(&self, app: &Sandbox) -> History {
        let mut history = History::of(&app.repo(), &self.histories, &cancel()).unwrap();
        (history.graph, history.ledger) = (Arc::clone(&self.graph), Arc::clone(&self.ledger));
        history
    }
}

/// Compares logs with git's, where graph and ledger cover the first `indexed` commits. A worker
/// without either serves some of the pages.
fn assert_logs_match(is_skewed: bool, seeds: std::ops::Range<u64>, indexed: usize) {
    let count = 120;
    for seed in seeds {
        let app = Sandbox::new();
        app.git(&["init", "-q", "-b", "main"]);
        let indexes = (indexed > 0).then(|| {
            generate(&app.root(), seed, indexed, is_skewed);
            Indexes::of(&app)
        });
        generate(&app.root(), seed, count, is_skewed);
        let mut random = Random::new(seed * 7717 + 1);
        for _ in 0..60 {
            let (query, arguments) = random_query(&mut random, &app.root(), count);
            let mut pages = Random::new(random.below(1000) as u64 + 1);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let expected = match arguments.contains(&"--follow") {
                true => git_log(&app.root(), &arguments),
                false => git_folder_log(&app.root(), &arguments),
            };
            let mut sizes = || 1 + pages.below(30);
            let mut workers = || match &indexes {
                Some(indexes) if !random.one_in(4) => indexes.history(&app),
                _ => history(&app),
            };
            let got = super::pages(&query, &mut sizes, &mut workers);
            assert_eq!(got, expected, "seed {seed}: git log {arguments:?}");
        }
    }
}

#[test]
fn logs_of_random_histories_match_git() {
    assert_logs_match(false, 1..6, 0);
}

#[test]
fn logs_match_git_with_wrong_clocks() {
    assert_logs_match(true, 1..6, 0);
}

#[test]
fn logs_by_path_history_match_git() {
    assert_logs_match(false, 6..9, 120);
    assert_logs_match(true, 9..12, 120);
}

#[test]
fn logs_by_an_outdated_path_history_match_git() {
    assert_logs_match(false, 12..15, 80);
    assert_logs_match(true, 15..18, 80);
}

#[test]
fn last_changes_by_the_ledger_are_those_of_a_walk() {
    for (seed, (is_skewed, indexed)) in
        (18..).zip([(false, 120), (true, 120), (false, 80), (true, 80)])
    {
        let app = Sandbox::new();
        app.git(&["init", "-q", "-b", "main"]);
        generate(&app.root(), seed, indexed, is_skewed);
        let indexes = Indexes::of(&app);
        generate(&app.root(), seed, 120, is_skewed);
        let tree = git(&app.root(), &["ls-tree", "-r", "-z", "main"]);
        let entries = tree.split('\0').filter_map(|entry| entry.split_once('\t'));
        let files = entries.map(|(about, name)| {
            let id = about.split(' ').next_back().unwrap();
            (path(name), ObjectId::from_hex(id.as_bytes()).unwrap())
        });
        let files: Vec<_> = files.collect();
        let files: Vec<_> = files.iter().map(|(path, blob)| (path, *blob)).collect();
        let changes = |history: History| {
            let found = history.last_changes(&files, Duration::from_secs(60), &cancel());
            found.unwrap()
        };
        let by_walk = changes(history(&app));
        assert!(by_walk.len() > 5 && by_walk.iter().all(Option::is_some));
        assert_eq!(changes(indexes.history(&app)), by_walk, "seed {seed}");
    }
}

#[test]
fn a_log_until_a_commit_has_the_commits_that_both_reach() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    generate(&app.root(), 4, 120, true);
    let reachable = |revision: &str| -> BTreeSet<String> {
        let list = git(&app.root(), &["rev-list", revision]);
        list.lines().map(str::to_owned).collect()
    };
    for (revision, until) in [
        ("main", "c60"),
        ("c110", "c111"),
        ("c50", "main"),
        ("c7", "c7"),
    ] {
        let mut query = log_query(None);
        query.revision = Some(revision.to_owned());
        query.until = Some(until.to_owned());
        let got = paged_log(&app, &query, &mut || 7);
        let got: BTreeSet<String> = got.into_iter().map(|(id, _)| id).collect();
        let both = reachable(revision)
            .intersection(&reachable(until))
            .cloned()
            .collect();
        assert_eq!(got, both, "{revision} until {until}");
    }
}
