//! Generated histories: repositories of any age, the same for the same seed, made by one run of
//! `git fast-import`.
//!
//! They hold what histories hold and what trips their readers: branches that merge, merge twice,
//! criss-cross and all at once; a second root; files and folders that are renamed, edited on the
//! way, swapped, deleted and brought back; copies; binaries, links, submodules, modes and types that
//! change; CRLF and missing line ends; names and authors that are not UTF-8; clocks that stand
//! still or run backwards. A reader that expects a path to be text, or a parent to be older, is wrong.

// From the whole to its parts.
mod branches;
mod edits;
mod tree;
mod text;
mod people;
mod stream;

use std::{
    io::BufWriter,
    path::Path,
    process::{Command, Stdio},
};

use branches::World;
use rand::{SeedableRng, rngs::StdRng};
use stream::Stream;

use crate::git;

/// What is to be generated.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// What decides at random. The same seed and length make the same ids.
    pub seed: u64,
    /// How many commits, of all branches together.
    pub commits: usize,
}

impl Past {
    /// Makes a repository with this history in `folder`, and checks out its branch `main`.
    ///
    /// Besides `main` it has branches `topic/<n>`, light tags `at-<n>` and annotated ones `v<n>.0`.
    pub fn build(self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        git(folder, &["init", "--quiet"]);
        let mut import = Command::new("git")
            .current_dir(folder)
            .args(["fast-import", "--quiet", "--date-format=raw"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("git runs");
        let input = import.stdin.take().expect("stdin is piped");
        let random = StdRng::seed_from_u64(self.seed);
        let mut stream = Stream::new(BufWriter::new(input));
        World::new(random, self.commits).tell(&mut stream);
        drop(stream);
        assert!(import.wait().unwrap().success(), "git takes the stream");
        git(folder, &["reset", "--quiet", "--hard"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_history_and_git_finds_nothing_wrong_with_it() {
        let ids = [7, 7, 8].map(|seed| {
            let folder = tempfile::tempdir().unwrap();
            let past = Past { seed, commits: 300 };
            past.build(folder.path());
            git(folder.path(), &["fsck", "--strict", "--no-progress"]);
            assert_eq!(git(folder.path(), &["status", "--porcelain"]), "");
            git(folder.path(), &["rev-parse", "HEAD"])
        });
        assert_eq!(ids[0], ids[1]);
        assert_ne!(ids[0], ids[2]);
    }
}
