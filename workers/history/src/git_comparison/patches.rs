//! Patches: `git apply` accepts them, and the result is the other tree.

use std::fmt::Write as _;

use archway_repo::testing::{Sandbox, cancel, git};

use super::super::fixtures::history;
use super::super::{ChangeKind, Comparer, Comparison, Measure, Side};
use super::{Random, generate};

/// The patch in git's format, made of this crate's data alone.
fn full_patch(found: &Comparison<'_>, context: u32) -> Vec<u8> {
    let mut comparer = Comparer::new(&cancel());
    let mut patch_text = String::new();
    for change in &found.changes.files {
        let (lines, patch) = found.patch(&mut comparer, change, context).unwrap();
        assert!(lines.measure == Measure::Compared && patch.is_exact);
        let old = match &change.kind {
            ChangeKind::Renamed(from) => from.display(),
            _ => change.path.display(),
        };
        let new = change.path.display();
        let mode = |side: Option<Side>| side.map(|side| format!("{:06o}", side.mode.value()));
        let (old_mode, new_mode) = (mode(change.old), mode(change.new));
        let parts = match change.kind {
            ChangeKind::TypeChanged => {
                let at = patch.text.rfind("@@ -0,0").unwrap();
                let (gone, here) = patch.text.split_at(at);
                vec![(old_mode, None, gone), (None, new_mode, here)]
            }
            _ => vec![(old_mode, new_mode, patch.text.as_str())],
        };
        for (old_mode, new_mode, text) in parts {
            writeln!(patch_text, "diff --git \"a/{old}\" \"b/{new}\"").unwrap();
            let none = "/dev/null".to_owned();
            let (mut from, mut to) = (format!("\"a/{old}\""), format!("\"b/{new}\""));
            match (old_mode, new_mode) {
                (Some(old_mode), Some(new_mode)) if old_mode != new_mode => {
                    writeln!(patch_text, "old mode {old_mode}\nnew mode {new_mode}").unwrap();
                }
                (None, Some(mode)) => {
                    writeln!(patch_text, "new file mode {mode}").unwrap();
                    from = none;
                }
                (Some(mode), None) => {
                    writeln!(patch_text, "deleted file mode {mode}").unwrap();
                    to = none;
                }
                _ => {}
            }
            if old != new {
                writeln!(patch_text, "rename from {old}\nrename to {new}").unwrap();
            }
            if !text.is_empty() {
                write!(patch_text, "--- {from}\n+++ {to}\n{text}").unwrap();
            }
        }
    }
    patch_text.into_bytes()
}

#[test]
fn patches_apply_and_produce_the_other_tree() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let mut random = Random::new(4711);
    random.only_text = true;
    let trees = generate(&app.root(), random, 60);
    let history = history(&app);
    let mut random = Random::new(17);
    for _ in 0..80 {
        let pair = random.pair(&trees);
        let found = history
            .compare(Some(pair.0), Some(pair.1), &cancel())
            .unwrap();
        let context = [0, 1, 3, 10][random.below(4)];
        let patch = full_patch(&found, context);
        std::fs::write(app.root().join("patch"), &patch).unwrap();
        git(&app.root(), &["read-tree", &pair.0.to_string()]);
        let mut apply = vec!["apply", "--cached", "--whitespace=nowarn", "--allow-empty"];
        if context == 0 {
            apply.push("--unidiff-zero");
        }
        apply.push("patch");
        git(&app.root(), &apply);
        assert_eq!(git(&app.root(), &["write-tree"]), pair.1.to_string());
    }
}

#[test]
fn a_patch_of_very_many_lines_applies() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let mut random = Random::new(99);
    let mut text = || -> String {
        let line = |at: usize| match at % 700 {
            0 => format!("{at}\n"),
            _ => format!("{}\n", random.below(1_000_000)),
        };
        (0..60_000).map(line).collect()
    };
    let mut tree = || {
        app.file("a", text()).git(&["add", "-A"]);
        git(&app.root(), &["write-tree"])
    };
    let (old, new) = (tree(), tree());
    let history = history(&app);
    let ids = [&old, &new].map(|id| Some(id.parse().unwrap()));
    let found = history.compare(ids[0], ids[1], &cancel()).unwrap();
    std::fs::write(app.root().join("patch"), full_patch(&found, 3)).unwrap();
    git(&app.root(), &["read-tree", &old]);
    git(&app.root(), &["apply", "--cached", "patch"]);
    assert_eq!(git(&app.root(), &["write-tree"]), new);
}
