//! Differences between a tree and the work tree.

use std::path::Path;

use archway_repo::testing::{Sandbox, cancel, git};

use super::super::fixtures::history_of;
use super::{Random, edit, generate, git_summary, summary, text};

/// Changes files of the work tree at random, and stages some of the changes.
fn disturb(random: &mut Random, folder: &Path) {
    let listed = git(folder, &["ls-files", "-z"]);
    let tracked: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    for _ in 0..12 {
        let path = folder.join(tracked[random.below(tracked.len())]);
        let is_file = path.symlink_metadata().is_ok_and(|stat| stat.is_file());
        let other = folder.join(format!("new{}.rs", random.below(5)));
        match random.below(7) {
            0 if is_file => std::fs::remove_file(&path).unwrap(),
            1 if is_file => std::fs::rename(&path, &other).unwrap(),
            2 | 3 if is_file => {
                let content = edit(random, &std::fs::read(&path).unwrap());
                std::fs::write(&path, content).unwrap();
            }
            4 if is_file => {
                std::fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink("somewhere", &path).unwrap();
            }
            5 => {
                let lines = random.below(30);
                let content = text(random, lines);
                std::fs::write(&other, content).unwrap();
            }
            _ => _ = git(folder, &["add", "-A"]),
        }
        if random.one_in(6) {
            git(folder, &["add", "-N", "."]);
        }
    }
}

#[test]
fn differences_from_the_work_tree_match_git() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let trees = generate(&app.root(), Random::new(90_001), 30);
    let folder = app.root();
    let mut random = Random::new(5);
    let mut changed = 0;
    for _ in 0..25 {
        let branch = format!("t{}", random.below(trees.len()));
        git(&folder, &["clean", "-qfdx"]);
        git(&folder, &["checkout", "-qf", &branch]);
        disturb(&mut random, &folder);
        let other = trees[random.below(trees.len())];
        for tree in [
            git(&folder, &["rev-parse", "HEAD^{tree}"]).parse().unwrap(),
            other,
        ] {
            let repo = app.repo();
            let history = history_of(&repo);
            let found = history
                .compare_with_work_tree(&repo, Some(tree), &cancel())
                .unwrap();
            let expected = git_summary(&folder, &["diff", "-M"], &[&tree.to_string()]);
            assert_eq!(summary(&found), expected, "{branch} {tree}");
            changed += expected.len();
        }
    }
    assert!(changed > 200, "{changed}");
}
