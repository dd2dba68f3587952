//! Ledgers compared with the tree comparisons that they replace.

use archway_repo::{
    Kind, Repo, Rules,
    testing::{Sandbox, cancel, git, path},
};

use super::super::fixtures::{self, commit, graph, history_of, log_query};
use super::super::graph::checksum;
use super::*;

/// Renames, with and without changes, also out of a folder that is blocked by default; a link in
/// place of a file; a merge; a commit of too many files; another root.
fn repository() -> Sandbox {
    let app = Sandbox::new();
    let text: String = (0..40).map(|line| format!("line {line}\n")).collect();
    app.file("src/a.rs", &text).file("über/straße", "1\n");
    app.file(".env", "KEY=1\n").file("plain", "p\n").committed();
    app.git(&["branch", "side"]);
    app.git(&["mv", "src/a.rs", "src/b.rs"])
        .file("src/b.rs", text.clone() + "more\n");
    commit(&app, "renamed and changed");
    app.git(&["mv", ".env", "public"]);
    commit(&app, "renamed from a blocked name");
    app.git(&["rm", "-q", "plain"]).link("plain", "public");
    commit(&app, "another type");
    for number in 0..600 {
        app.file(&format!("many/{number}"), "");
    }
    commit(&app, "many");
    app.git(&["checkout", "-q", "side"])
        .file("side", "s\n")
        .file("src/a.rs", "else\n");
    commit(&app, "side");
    app.git(&["checkout", "-q", "main"]);
    app.git(&["merge", "-q", "-X", "ours", "-m", "merge", "side"]);
    app.git(&["checkout", "-q", "--orphan", "other"]);
    commit(&app, "another root");
    app.git(&["checkout", "-q", "main"]);
    app
}

fn built(repo: &Repo, before: &Ledger) -> Option<(Vec<u8>, usize)> {
    let git = repo.git().unwrap();
    build(&git, &graph(&git), before, &cancel()).unwrap()
}

fn ledger(repo: &Repo) -> Ledger {
    let git = repo.git().unwrap();
    fixtures::ledger(&git, &graph(&git))
}

/// The whole log of a file, of a folder, or of everything, with all details of the files.
fn log_of(path: Option<&str>, repo: &Repo, ledger: Ledger) -> Vec<String> {
    let mut history = history_of(repo);
    history.ledger = ledger.into();
    let mut log = history.log(&log_query(path), None, &cancel()).unwrap();
    let mut commits = Vec::new();
    while let Some(entry) = log.next(&cancel()).unwrap() {
        let of = (entry.commit_info.id, entry.files, entry.files_total);
        commits.push(format!("{of:?}"));
    }
    commits
}

#[test]
fn logs_are_equal_with_and_without_a_ledger_under_any_rules() {
    let app = repository();
    let blocked = || Rules::new(&[], &["src/a.rs".to_owned()], None).unwrap();
    let opened = || Rules::new(&[".env".to_owned()], &[], None).unwrap();
    let none = || Rules::new(&[], &[], None).unwrap();
    let rules: [&dyn Fn() -> Rules; 3] = [&none, &blocked, &opened];
    let mut commits = Vec::new();
    for rules in rules {
        let repo = app.repo_with(rules());
        for path in [
            "src/a.rs", "src/b.rs", "src", "public", "plain", "many", "many/7",
        ] {
            if repo.rules().check(&self::path(path), Kind::File).is_err() {
                continue;
            }
            let without = log_of(Some(path), &repo, Ledger::default());
            assert_eq!(log_of(Some(path), &repo, ledger(&repo)), without, "{path}");
        }
        let without = log_of(None, &repo, Ledger::default());
        assert_eq!(log_of(None, &repo, ledger(&repo)), without);
        assert_eq!(without.len(), 7);
        commits.push(without);
    }
    assert!(
        commits[0] != commits[1] && commits[0] != commits[2],
        "rules matter"
    );
}

#[test]
fn a_ledger_has_the_files_of_commits_and_is_extended() {
    let app = repository();
    let (file, new) = built(&app.repo(), &Ledger::default()).unwrap();
    assert_eq!(new, 8);
    let before = Ledger::checked(file, &cancel()).unwrap();
    let known = before.ids().filter(|id| before.files(id).is_some());
    // The commit of six hundred files and the root of as many are left out.
    assert_eq!(known.count(), 6);
    assert!(built(&app.repo(), &before).is_none(), "nothing is new");
    app.file("new", "").git(&["add", "-A"]);
    commit(&app, "new");
    let head = app.repo().commit().unwrap();
    assert!(!before.has(&head));
    let (file, new) = built(&app.repo(), &before).unwrap();
    assert_eq!(new, 1);
    let after = Ledger::checked(file, &cancel()).unwrap();
    assert_eq!(after.files(&head).unwrap()[0].path, path("new"));
    for id in before.ids() {
        assert_eq!(after.files(&id), before.files(&id));
    }
    app.git(&["branch", "-qD", "other"]);
    let (_, new) = built(&app.repo(), &Ledger::default()).unwrap();
    assert_eq!(new, 8, "unreachable commits are left out");
}

#[test]
fn damaged_ledgers_are_rejected_and_forged_ones_harmless() {
    let app = repository();
    let (good, _) = built(&app.repo(), &Ledger::default()).unwrap();
    let ids: Vec<ObjectId> = Ledger::checked(good.clone(), &cancel())
        .unwrap()
        .ids()
        .collect();
    for at in (0..good.len() - ID).step_by(3) {
        let mut bad = good.clone();
        bad[at] ^= 0x81;
        assert!(Ledger::checked(bad.clone(), &cancel()).is_err(), "{at}");
        let content = bad.len() - ID;
        let sum = checksum(&bad[..content], &cancel()).unwrap().unwrap();
        bad[content..].copy_from_slice(&sum);
        let Ok(forged) = Ledger::checked(bad, &cancel()) else {
            continue;
        };
        for id in &ids {
            let _unknown = forged.touches(id, &path("src"));
            for file in forged.files(id).unwrap_or_default() {
                assert!(is_normal(file.path.as_bytes()));
            }
        }
    }
    assert!(Ledger::checked(good[..good.len() / 2].to_vec(), &cancel()).is_err());
}

#[test]
fn a_commit_with_an_enormous_tree_is_left_out_of_the_ledger() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    let tree_of = |entries: &str| {
        app.file("../entries", entries);
        let input = std::fs::File::open(app.host("acme/entries")).unwrap();
        let built = std::process::Command::new("git")
            .current_dir(app.root())
            .args(["mktree", "--missing"])
            .stdin(input)
            .output();
        String::from_utf8(built.unwrap().stdout)
            .unwrap()
            .trim()
            .to_owned()
    };
    let mut tree = tree_of("");
    for _ in 0..60 {
        tree = tree_of(&format!("040000 tree {tree}\ta\n040000 tree {tree}\tb\n"));
    }
    let vast = git(
        &app.root(),
        &["commit-tree", "-p", "HEAD", "-m", "vast", &tree],
    );
    app.git(&["update-ref", "HEAD", &vast]);
    let repo = app.repo();
    let found = ledger(&repo);
    let head = repo.commit().unwrap();
    assert!(found.has(&head) && found.files(&head).is_none());
    let known = found.ids().filter(|id| found.files(id).is_some());
    assert_eq!(known.count(), 1, "only the commit before");
}

#[test]
fn a_lost_mount_leaves_the_previous_ledger_valid() {
    let app = repository();
    let (repo, before) = (app.repo(), ledger(&app.repo()));
    let git = repo.git().unwrap();
    let graph = graph(&git);
    std::fs::remove_dir_all(app.root().join(".git/objects")).unwrap();
    let stopped = build(&git, &graph, &Ledger::default(), &cancel());
    assert!(stopped.is_err(), "no empty ledger is built");
    assert!(build(&git, &graph, &before, &cancel()).unwrap().is_none());
}
