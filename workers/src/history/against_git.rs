//! Diffs held against those of the git command, on random histories: files, renames and counts,
//! patches, and the work tree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use gix::ObjectId;

use super::{ChangeKind, Changes, Comparer, Comparison, Histories, History, Measure, Side};
use crate::repo::testing::{Sandbox, cancel, git};

/// A small generator of random numbers (Marsaglia's xorshift), the same on every machine.
pub(super) struct Random {
    state: u64,
    /// Only files whose patches say all: no binary ones, and UTF-8.
    only_text: bool,
}

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random {
            state: seed,
            only_text: false,
        }
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % u64::try_from(limit).unwrap()).unwrap()
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

pub(super) type Tree = BTreeMap<String, (&'static str, Vec<u8>)>;

fn line(random: &mut Random) -> String {
    match random.below(6) {
        0 => "}".to_owned(),
        1 => String::new(),
        2 => format!("    let value_{} = {};", random.below(40), random.below(9)),
        3 => format!("        call({})", random.below(2000)),
        4 => "    }".to_owned(),
        _ => format!(
            "line {} of text {}",
            random.below(500),
            "ä".repeat(random.below(12))
        ),
    }
}

pub(super) fn text(random: &mut Random, lines: usize) -> Vec<u8> {
    let end = if random.one_in(9) { "\r\n" } else { "\n" };
    let mut text = String::new();
    for _ in 0..lines {
        text.push_str(&line(random));
        text.push_str(end);
    }
    if random.one_in(5) {
        text.truncate(text.trim_end().len());
    }
    let mut bytes = text.into_bytes();
    if !random.only_text && random.one_in(25) && !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes.insert(at, 0);
    }
    if !random.only_text && random.one_in(25) && !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes.insert(at, 0xff);
    }
    bytes
}

pub(super) fn edit(random: &mut Random, content: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = content
        .split_inclusive(|&b| b == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..=random.below(1 + lines.len() / 4) {
        let at = random.below(lines.len() + 1);
        match random.below(4) {
            0 if at < lines.len() => _ = lines.remove(at),
            1 if at < lines.len() => lines[at] = format!("{}\n", line(random)).into_bytes(),
            2 if at < lines.len() => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
            _ => lines.insert(at, format!("{}\n", line(random)).into_bytes()),
        }
    }
    lines.concat()
}

pub(super) fn path(random: &mut Random) -> String {
    let folders = ["", "a/", "a/b/", "a-b/", "a.b/", "lib/x/y/"];
    let names = ["main.rs", "mod.rs", "ü.txt", "README", "b", "x y", "z.c"];
    let folder = folders[random.below(folders.len())];
    match random.below(3) {
        0 => format!("{folder}{}", names[random.below(names.len())]),
        _ => format!("{folder}file{}.rs", random.below(60)),
    }
}

/// Puts a file where it can stand: a file that was in the way of a folder goes.
pub(super) fn put(tree: &mut Tree, path: String, file: (&'static str, Vec<u8>)) {
    let beneath = format!("{path}/");
    tree.retain(|other, _| !other.starts_with(&beneath) && !path.starts_with(&format!("{other}/")));
    tree.insert(path, file);
}

fn next(random: &mut Random, before: &Tree) -> Tree {
    let mut tree = before.clone();
    for _ in 0..=random.below(30) {
        let paths: Vec<String> = tree.keys().cloned().collect();
        let some = (!paths.is_empty()).then(|| paths[random.below(paths.len())].clone());
        match (random.below(12), some) {
            (0, Some(path)) => _ = tree.remove(&path),
            (1 | 2, Some(from)) => {
                let (mode, content) = tree.remove(&from).unwrap();
                let to = path(random);
                put(&mut tree, to, (mode, content));
            }
            (3 | 4, Some(from)) => {
                let (mode, content) = tree.remove(&from).unwrap();
                let to = path(random);
                let content = edit(random, &content);
                put(&mut tree, to, (mode, content));
            }
            (5, Some(from)) => {
                let file = tree[&from].clone();
                put(&mut tree, path(random), file);
            }
            (6, Some(path)) => {
                let modes = ["100644", "100755", "120000"];
                tree.get_mut(&path).unwrap().0 = modes[random.below(modes.len())];
            }
            (7 | 8, Some(path)) => {
                let content = edit(random, &tree[&path].1);
                tree.get_mut(&path).unwrap().1 = content;
            }
            _ => {
                let lines = random.below(60);
                let file = ("100644", text(random, lines));
                put(&mut tree, path(random), file);
            }
        }
    }
    // A link to nowhere at all can't be checked out.
    tree.retain(|_, (mode, content)| {
        *mode != "120000" || !(content.is_empty() || content.contains(&0))
    });
    tree
}

/// Commits random trees, each made from one before; returns the trees' ids.
fn generate(folder: &Path, mut random: Random, count: usize) -> Vec<ObjectId> {
    let mut stream = Vec::new();
    let mut trees = vec![Tree::new()];
    for at in 0..count {
        let base = trees.len() - 1 - random.below(trees.len().min(3));
        let tree = next(&mut random, &trees[base]);
        let head = format!(
            "commit refs/heads/t{at}\ncommitter A <a@b.c> {} +0000\ndata 0\ndeleteall\n",
            1_700_000_000 + at
        );
        stream.extend_from_slice(head.as_bytes());
        for (path, (mode, content)) in &tree {
            stream.extend_from_slice(
                format!("M {mode} inline {path}\ndata {}\n", content.len()).as_bytes(),
            );
            stream.extend_from_slice(content);
            stream.push(b'\n');
        }
        trees.push(tree);
    }
    let mut import = Command::new("git")
        .current_dir(folder)
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(&stream).unwrap();
    assert!(import.wait().unwrap().success());
    (0..count)
        .map(|at| {
            git(folder, &["rev-parse", &format!("t{at}^{{tree}}")])
                .parse()
                .unwrap()
        })
        .collect()
}

/// `status path [old path] insertions deletions` of each file, sorted.
fn shown(found: &Comparison<'_>) -> Vec<String> {
    let Changes { files, renames_cut } = &found.changes;
    assert!(!renames_cut);
    let mut comparer = Comparer::default();
    let mut shown = Vec::new();
    for change in files {
        let lines = found.count(&mut comparer, change).unwrap();
        let (again, _) = found.patch(&mut comparer, change, 3).unwrap();
        assert_eq!(lines, again, "{:?}", change.path);
        let mut text = match &change.kind {
            ChangeKind::Added => format!("A {}", change.path),
            ChangeKind::Modified => format!("M {}", change.path),
            ChangeKind::Deleted => format!("D {}", change.path),
            ChangeKind::TypeChanged => format!("T {}", change.path),
            ChangeKind::Renamed(from) => format!("R {from} {}", change.path),
        };
        match lines.measure {
            Measure::Compared => write!(text, " {} {}", lines.insertions, lines.deletions).unwrap(),
            _ => text.push_str(" - -"),
        }
        shown.push(text);
    }
    shown.sort();
    shown
}

/// The same as a git command says.
fn read(folder: &Path, command: &[&str], trees: &[&str]) -> Vec<String> {
    let run = |format| git(folder, &[command, &["-z", format], trees].concat());
    let (status, numbers) = (run("--name-status"), run("--numstat"));
    let (mut status, mut numbers) = (status.split('\0'), numbers.split('\0'));
    let mut shown = Vec::new();
    while let Some(kind) = status.next().filter(|kind| !kind.is_empty()) {
        let mut paths = vec![status.next().unwrap()];
        if kind.starts_with('R') {
            paths.push(status.next().unwrap());
        }
        let counts: Vec<&str> = numbers.next().unwrap().split('\t').collect();
        if kind.starts_with('R') {
            assert_eq!(
                (numbers.next(), numbers.next()),
                (Some(paths[0]), Some(paths[1]))
            );
        } else {
            assert_eq!(counts[2], paths[0]);
        }
        shown.push(format!(
            "{} {} {} {}",
            kind.split_at(1).0,
            paths.join(" "),
            counts[0],
            counts[1]
        ));
    }
    shown.sort();
    shown
}

#[test]
fn files_renames_and_counts_are_those_of_git() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let mut renamed = 0;
    for seed in 1..=5 {
        let trees = generate(&app.root(), Random::new(seed * 7919), 40);
        let history = History::of(&app.repo(), &Histories::new()).unwrap();
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

/// The patch as git writes it, made of our data alone.
fn whole_patch(found: &Comparison<'_>, context: u32) -> Vec<u8> {
    let mut comparer = Comparer::default();
    let mut whole = String::new();
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
            writeln!(whole, "diff --git \"a/{old}\" \"b/{new}\"").unwrap();
            let none = "/dev/null".to_owned();
            let (mut from, mut to) = (format!("\"a/{old}\""), format!("\"b/{new}\""));
            match (old_mode, new_mode) {
                (Some(old_mode), Some(new_mode)) if old_mode != new_mode => {
                    writeln!(whole, "old mode {old_mode}\nnew mode {new_mode}").unwrap();
                }
                (None, Some(mode)) => {
                    writeln!(whole, "new file mode {mode}").unwrap();
                    from = none;
                }
                (Some(mode), None) => {
                    writeln!(whole, "deleted file mode {mode}").unwrap();
                    to = none;
                }
                _ => {}
            }
            if old != new {
                writeln!(whole, "rename from {old}\nrename to {new}").unwrap();
            }
            if !text.is_empty() {
                write!(whole, "--- {from}\n+++ {to}\n{text}").unwrap();
            }
        }
    }
    whole.into_bytes()
}

#[test]
fn patches_apply_and_give_the_other_tree() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let mut random = Random::new(4711);
    random.only_text = true;
    let trees = generate(&app.root(), random, 60);
    let history = History::of(&app.repo(), &Histories::new()).unwrap();
    let mut random = Random::new(17);
    for _ in 0..80 {
        let pair = (
            trees[random.below(trees.len())],
            trees[random.below(trees.len())],
        );
        let found = history
            .compare(Some(pair.0), Some(pair.1), &cancel())
            .unwrap();
        let context = [0, 1, 3, 10][random.below(4)];
        let patch = whole_patch(&found, context);
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

/// Changes files of the work tree at random, and stages some of it.
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
fn the_work_tree_differs_as_git_says() {
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
            let history = History::of(&repo, &Histories::new()).unwrap();
            let found = history
                .compare_with_work_tree(&repo, Some(tree), &cancel())
                .unwrap();
            let gits = read(&folder, &["diff", "-M"], &[&tree.to_string()]);
            assert_eq!(shown(&found), gits, "{branch} {tree}");
            changed += gits.len();
        }
    }
    assert!(changed > 200, "{changed}");
}
