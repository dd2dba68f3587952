//! Differences between two trees: files, renames and counts.

use archway_repo::testing::{Sandbox, cancel, git};

use super::super::fixtures::history;
use super::{Random, generate, git_summary, summary};

#[test]
fn files_renames_and_counts_match_git() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let mut renamed = 0;
    for seed in 1..=5 {
        let trees = generate(&app.root(), Random::new(seed * 7919), 40);
        let history = history(&app);
        let mut random = Random::new(seed);
        for _ in 0..40 {
            let pair = random.pair(&trees);
            let found = history
                .compare(Some(pair.0), Some(pair.1), &cancel())
                .unwrap();
            let ids = [&*pair.0.to_string(), &*pair.1.to_string()];
            let expected = git_summary(&app.root(), &["diff-tree", "-r", "-M"], &ids);
            assert_eq!(summary(&found), expected, "seed {seed}, {ids:?}");
            renamed += expected.iter().filter(|file| file.starts_with('R')).count();
        }
    }
    assert!(renamed > 500, "{renamed}");
}

#[test]
fn the_limit_on_identical_files_matches_git() {
    for count in 98..104 {
        one_of_many_is_taken_as_git_takes_it(count, "name");
    }
}

#[test]
fn the_choice_among_identical_files_matches_git() {
    for count in [51, 52, 203, 204, 205, 206, 207, 820] {
        for name in ["name", "other"] {
            one_of_many_is_taken_as_git_takes_it(count, name);
        }
    }
}

/// Deletes `count` files of equal content, the last of which is called `name`, and adds one of that
/// content called `added`.
fn one_of_many_is_taken_as_git_takes_it(count: usize, added: &str) {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let mut stream = "commit refs/heads/main\ncommitter A <a@b.c> 1 +0000\ndata 0\n".to_owned();
    for at in 1..count {
        stream.push_str(&format!("M 644 inline old/{at:03}\ndata 2\n1\n"));
    }
    // The last one is the best match.
    stream.push_str("M 644 inline old/name\ndata 2\n1\n");
    stream.push_str("commit refs/heads/main\ncommitter A <a@b.c> 2 +0000\ndata 0\n");
    stream.push_str(&format!("deleteall\nM 644 inline new/{added}\ndata 2\n1\n"));
    app.import(&stream);
    let tree = |revision: &str| git(&app.root(), &["rev-parse", revision]);
    let (old, new) = (tree("HEAD~1^{tree}"), tree("HEAD^{tree}"));
    let history = history(&app);
    let sides = (old.parse().unwrap(), new.parse().unwrap());
    let found = history.compare(Some(sides.0), Some(sides.1), &cancel());
    let expected = git_summary(&app.root(), &["diff-tree", "-r", "-M"], &[&old, &new]);
    assert_eq!(summary(&found.unwrap()), expected, "{count} {added}");
}
