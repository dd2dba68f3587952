//! Blames compared with the git command, on small and on random histories.

mod generate;

use archway_repo::{
    Cancel, RepoError, Rules,
    testing::{Sandbox, cancel, git, path},
};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use self::generate::{GeneratedHistory, Random};
use crate::fixtures::{history, history_of};
use crate::{BlamedFile, History, HistoryError};

fn blamed_file(history: &History, revision: &str, file: &str) -> Result<BlamedFile, HistoryError> {
    let commit = history.resolve(revision, &cancel()).unwrap();
    history.blamed_file(commit, &path(file))
}

/// The commit of each line, by this crate.
fn blame_ids(history: &History, revision: &str, file: &str) -> Vec<String> {
    let blamed_file = blamed_file(history, revision, file).unwrap();
    let lines = u32::try_from(blamed_file.lines().count()).unwrap();
    let blame = history.blame(&blamed_file, (0, lines), &cancel()).unwrap();
    (0..lines)
        .map(|line| blame.of(line).unwrap().id.to_string())
        .collect()
}

/// The commit of each line, by git.
fn git_blame_ids(app: &Sandbox, revision: &str, file: &str) -> Vec<String> {
    let blamed = git(&app.root(), &["blame", "--porcelain", revision, "--", file]);
    let lines = blamed.lines().filter(|line| !line.starts_with('\t'));
    let ids = lines.filter_map(|line| line.split(' ').next());
    ids.filter(|id| id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map(str::to_owned)
        .collect()
}

fn is_modified(app: &Sandbox, file: &str) -> bool {
    let repo = app.repo();
    let history = history_of(&repo);
    let file = blamed_file(&history, "HEAD", file).unwrap();
    history.is_modified(&repo, &file, &cancel()).unwrap()
}

/// The lines of files of a random history that git blames otherwise, and the number of all lines.
fn differing(seed: u64, commits: usize, files: usize) -> (Vec<String>, usize) {
    let generated = GeneratedHistory::of(seed, commits);
    let app = generated.import();
    let history = history(&app);
    let mut random = Random(!seed);
    let (mut differing, mut all) = (Vec::new(), 0);
    for _ in 0..files {
        let commit = commits - 1 - random.below(commits / 2);
        let names: Vec<_> = generated.commits[commit].keys().collect();
        let name = names[random.below(names.len())];
        let revision = format!("c{}", commit + 1);
        let actual = blame_ids(&history, &revision, name);
        let expected = git_blame_ids(&app, &revision, name);
        assert_eq!(actual.len(), expected.len(), "{revision}:{name} of {seed}");
        let pairs = actual.iter().zip(&expected).enumerate();
        let wrong = pairs.filter(|(_, (actual, expected))| actual != expected);
        differing.extend(wrong.map(|(line, _)| format!("{seed}/{revision}:{name}:{line}")));
        all += expected.len();
    }
    (differing, all)
}

#[test]
fn blames_of_random_histories_match_git() {
    let (mut wrong, mut all) = (Vec::new(), 0);
    for seed in 0..12 {
        let (differing, lines) = differing(seed, 60, 12);
        wrong.extend(differing);
        all += lines;
    }
    assert!(wrong.len() * 200 <= all, "of {all} lines: {wrong:?}");
}

#[test]
fn blame_of_a_range_equals_blame_of_the_whole_file() {
    let generated = GeneratedHistory::of(99, 60);
    let app = generated.import();
    let mut random = Random(7);
    for (name, lines) in generated.commits.last().unwrap() {
        let whole = blame_ids(&history(&app), "c60", name);
        let history = history(&app);
        let blamed_file = blamed_file(&history, "c60", name).unwrap();
        for _ in 0..5 {
            let first = random.below(lines.len());
            let end = first + random.below(lines.len() - first + 1);
            let range = (u32::try_from(first).unwrap(), u32::try_from(end).unwrap());
            let blame = history.blame(&blamed_file, range, &cancel()).unwrap();
            for line in range.0..range.1 {
                let id = blame.of(line).unwrap().id.to_string();
                assert_eq!(Some(&id), whole.get(line as usize), "{name}:{line}");
            }
        }
    }
}

#[test]
fn blame_ends_at_a_rename_from_a_blocked_path() {
    let app = Sandbox::new();
    let lines = |from: usize| {
        (from..from + 20)
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    app.file("old.rs", lines(1)).committed();
    app.git(&["mv", "old.rs", "new.rs"])
        .git(&["commit", "-qm", "two"]);
    let first = git(&app.root(), &["rev-parse", "HEAD~1"]);
    let second = git(&app.root(), &["rev-parse", "HEAD"]);
    assert_eq!(blame_ids(&history(&app), "HEAD", "new.rs"), vec![first; 20]);
    let closed = Rules::new(&[], &["old.rs".to_owned()], None).unwrap();
    let history = history_of(&app.repo_with(closed));
    assert_eq!(blame_ids(&history, "HEAD", "new.rs"), vec![second; 20]);
    let refused = blamed_file(&history, "HEAD~1", "old.rs");
    assert!(matches!(refused, Err(HistoryError::NotTracked { .. })));
}

#[test]
fn blame_ends_where_a_shallow_clone_ends() {
    let app = Sandbox::new();
    app.file("a", "1\n").committed();
    for line in 2..6 {
        let text: String = (1..=line).map(|line| format!("{line}\n")).collect();
        app.file("a", text).git(&["commit", "-qam", "more"]);
    }
    let copy = Sandbox::new();
    let from = format!("file://{}", app.root().display());
    copy.git(&["clone", "-q", "--depth=2", &from, "."]);
    let blamed = blame_ids(&history(&copy), "HEAD", "a");
    let ids = blamed.iter().collect::<std::collections::BTreeSet<_>>();
    assert_eq!((blamed.len(), ids.len()), (5, 2));
    assert_eq!(
        blamed,
        git_blame_ids(&copy, "HEAD", "a")
            .iter()
            .map(|id| id.trim_start_matches('^').to_owned())
            .collect::<Vec<_>>()
    );
}

#[test]
fn folders_and_binary_files_are_rejected_and_links_are_text() {
    let app = Sandbox::new();
    app.file("folder/a", "1\n")
        .file("empty", "")
        .file("binary", "a\0b")
        .link("link", "folder/a");
    app.committed();
    let history = history(&app);
    for missing in ["none", "folder", "folder/a/b", "."] {
        let refused = blamed_file(&history, "HEAD", missing);
        assert!(
            matches!(refused, Err(HistoryError::NotTracked { .. })),
            "{missing}"
        );
    }
    let binary = blamed_file(&history, "HEAD", "binary");
    assert!(matches!(binary, Err(HistoryError::Binary { .. })));
    assert_eq!(blame_ids(&history, "HEAD", "empty"), Vec::<String>::new());
    assert_eq!(
        blame_ids(&history, "HEAD", "link"),
        git_blame_ids(&app, "HEAD", "link")
    );
}

#[test]
fn a_file_is_modified_if_index_or_work_tree_differ() {
    let app = Sandbox::new();
    app.file("a", "1\n")
        .file("b", "1\n")
        .link("link", "a")
        .committed();
    let is_modified = |name| is_modified(&app, name);
    for name in ["a", "b", "link"] {
        assert!(!is_modified(name), "{name}");
    }
    app.file("a", "2\n");
    assert!(is_modified("a") && !is_modified("b"));
    app.git(&["add", "a"]).file("a", "1\n");
    assert!(is_modified("a") && !is_modified("b"));
    std::fs::remove_file(app.root().join("b")).unwrap();
    assert!(is_modified("b"));
    app.git(&["rm", "-q", "--cached", "link"]);
    assert!(is_modified("link"));
}

#[test]
fn sparse_checkouts_report_the_same_modified_files_as_git_status() {
    for index in ["--no-sparse-index", "--sparse-index"] {
        let app = Sandbox::new();
        app.file("in/a", "1\n").file("out/b", "1\n");
        app.file("out/deep/c", "1\n").file("out/d", "1\n");
        app.committed();
        app.git(&["sparse-checkout", "set", "--cone", index, "in"]);
        let one_entry = git(&app.root(), &["ls-files", "--sparse", "out"]) == "out/";
        assert_eq!(one_entry, index == "--sparse-index");
        let as_git_says = |expected: &[&str]| {
            let shown = git(&app.root(), &["status", "--porcelain", "-uno"]);
            let shown: Vec<_> = shown.lines().filter_map(|line| line.get(3..)).collect();
            assert_eq!(shown, expected);
            for file in ["in/a", "out/b", "out/deep/c", "out/d"] {
                let expected = expected.contains(&file);
                assert_eq!(is_modified(&app, file), expected, "{file} {index}");
            }
        };
        as_git_says(&[]);
        app.file("out/b", "2\n").file("out/d", "1\n");
        as_git_says(&["out/b"]);
        app.file("out/deep/c", "2\n");
        app.git(&["add", "--sparse", "out/deep/c"]);
        app.file("out/deep/c", "1\n");
        as_git_says(&["out/b", "out/deep/c"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_blame_without_time_for_renames_is_not_cached() {
    let app = Sandbox::new();
    let lines: String = (0..20).map(|line| format!("{line}\n")).collect();
    app.file("old.rs", &lines).committed();
    app.git(&["mv", "old.rs", "new.rs"]);
    app.file("new.rs", lines + "more\n");
    app.git(&["commit", "-qam", "two"]);
    let history = history(&app);
    let file = blamed_file(&history, "HEAD", "new.rs").unwrap();
    // The search for renames gets a quarter of the time: less than a nanosecond.
    let soon = Instant::now() + Duration::from_nanos(3);
    let hurried = Cancel::new(soon, CancellationToken::new());
    let blame = history.blame(&file, (0, 21), &hurried).unwrap();
    let youngest = blame.of(20).unwrap().id;
    assert_eq!(blame.of(0).unwrap().id, youngest);
    let blame = history.blame(&file, (0, 21), &cancel()).unwrap();
    assert_ne!(blame.of(0).unwrap().id, youngest);
    assert_eq!(
        blame_ids(&history, "HEAD", "new.rs"),
        git_blame_ids(&app, "HEAD", "new.rs")
    );
}

#[test]
fn a_cancelled_blame_stops_and_is_not_cached() {
    let generated = GeneratedHistory::of(3, 40);
    let app = generated.import();
    let history = history(&app);
    let name = generated.commits.last().unwrap().keys().next().unwrap();
    let blamed_file = blamed_file(&history, "c40", name).unwrap();
    let stopped = cancel();
    stopped.token.cancel();
    let refused = history.blame(&blamed_file, (0, 1), &stopped);
    assert!(matches!(
        refused,
        Err(HistoryError::Repo(RepoError::Stopped(_)))
    ));
    assert!(history.blame(&blamed_file, (0, 1), &cancel()).is_ok());
}
