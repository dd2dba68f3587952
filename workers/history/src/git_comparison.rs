//! Diffs compared with those of the git command, on random histories: files, renames and counts,
//! patches, and the work tree.

mod patches;
mod trees;
mod worktree;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use archway_repo::testing::{cancel, git};
use gix::ObjectId;

use super::{ChangeKind, Changes, Comparer, Comparison, Measure};

/// A small random number generator (Marsaglia's xorshift), the same on every machine.
pub(super) struct Random {
    state: u64,
    /// Generates only UTF-8 text, so that patches are complete.
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

    fn pair(&mut self, trees: &[ObjectId]) -> (ObjectId, ObjectId) {
        let mut one = || trees[self.below(trees.len())];
        (one(), one())
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// Runs `git fast-import`.
pub(super) fn import(folder: &Path, stream: &[u8]) {
    let mut import = Command::new("git")
        .current_dir(folder)
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(stream).unwrap();
    assert!(import.wait().unwrap().success());
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

/// Inserts a file, and removes files that conflict with its folders.
pub(super) fn put(tree: &mut Tree, path: String, file: (&'static str, Vec<u8>)) {
    let beneath = format!("{path}/");
    tree.retain(|other, _| !other.starts_with(&beneath) && !path.starts_with(&format!("{other}/")));
    tree.insert(path, file);
}

fn changed_tree(random: &mut Random, before: &Tree) -> Tree {
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
    // An empty link can't be checked out.
    tree.retain(|_, (mode, content)| {
        *mode != "120000" || !(content.is_empty() || content.contains(&0))
    });
    tree
}

/// Commits random trees, each derived from an earlier one. Returns the trees' ids.
fn generate(folder: &Path, mut random: Random, count: usize) -> Vec<ObjectId> {
    let mut stream = Vec::new();
    let mut trees = vec![Tree::new()];
    for at in 0..count {
        let base = trees.len() - 1 - random.below(trees.len().min(3));
        let tree = changed_tree(&mut random, &trees[base]);
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
    import(folder, &stream);
    (0..count)
        .map(|at| {
            git(folder, &["rev-parse", &format!("t{at}^{{tree}}")])
                .parse()
                .unwrap()
        })
        .collect()
}

/// `status path [old path] insertions deletions` of each file, sorted.
fn summary(found: &Comparison<'_>) -> Vec<String> {
    let Changes { files, renames_cut } = &found.changes;
    assert!(!renames_cut);
    let mut comparer = Comparer::new(&cancel());
    let mut summary = Vec::new();
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
        summary.push(text);
    }
    summary.sort();
    summary
}

/// The same, from a git command.
fn git_summary(folder: &Path, command: &[&str], trees: &[&str]) -> Vec<String> {
    let run = |format| git(folder, &[command, &["-z", format], trees].concat());
    let (status, numbers) = (run("--name-status"), run("--numstat"));
    let (mut status, mut numbers) = (status.split('\0'), numbers.split('\0'));
    let mut summary = Vec::new();
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
        summary.push(format!(
            "{} {} {} {}",
            kind.split_at(1).0,
            paths.join(" "),
            counts[0],
            counts[1]
        ));
    }
    summary.sort();
    summary
}
