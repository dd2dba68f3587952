//! Generates random histories with merges, renames and wrong clocks.

use std::path::Path;

use super::super::super::git_comparison::{
    Random, Tree, edit, import, path as some_path, put, text,
};

pub(super) const BEGAN: i64 = 1_700_000_000;
const AUTHORS: [&str; 4] = [
    "Ann Lee <ann@example.com>",
    "Bob <bob@Example.org>",
    "Çelik Ö <c@d.e>",
    "annie <x@y.z>",
];

/// A commit of a random history.
struct GeneratedCommit {
    date: i64,
    author: &'static str,
    parents: Vec<usize>,
    tree: Tree,
}

/// Generates a history with merges and renames. With skewed clocks, many commits are older than
/// their parents; otherwise many share a second.
pub(super) fn generate(folder: &Path, seed: u64, count: usize, is_skewed: bool) {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9) | 1);
    let mut commits: Vec<GeneratedCommit> = Vec::new();
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
    import(folder, &stream);
}

/// A commit on top of one of the last few, or a root; sometimes a merge of several.
fn some_commit(random: &mut Random, before: &[GeneratedCommit], date: i64) -> GeneratedCommit {
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
    GeneratedCommit {
        date,
        author,
        parents,
        tree,
    }
}

impl GeneratedCommit {
    /// Writes the commit for `git fast-import` as mark `at`. Parents have earlier marks.
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

/// Few files under few names, so that each changes often.
pub(super) fn name(random: &mut Random) -> String {
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
