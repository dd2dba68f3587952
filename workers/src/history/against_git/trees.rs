//! What differs between two trees: files, renames and counts.

use super::super::{Histories, History};
use super::{Random, generate, read, shown};
use crate::repo::testing::{Sandbox, cancel};

#[test]
fn files_renames_and_counts_are_those_of_git() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let mut renamed = 0;
    for seed in 1..=5 {
        let trees = generate(&app.root(), Random::new(seed * 7919), 40);
        let history = History::of(&app.repo(), &Histories::new(), &cancel()).unwrap();
        let mut random = Random::new(seed);
        for _ in 0..40 {
            let pair = (
                trees[random.below(trees.len())],
                trees[random.below(trees.len())],
            );
            let found = history
                .compare(Some(pair.0), Some(pair.1), &cancel())
                .unwrap();
            let ids = [&*pair.0.to_string(), &*pair.1.to_string()];
            let gits = read(&app.root(), &["diff-tree", "-r", "-M"], &ids);
            assert_eq!(shown(&found), gits, "seed {seed}, {ids:?}");
            renamed += gits.iter().filter(|file| file.starts_with('R')).count();
        }
    }
    assert!(renamed > 500, "{renamed}");
}
