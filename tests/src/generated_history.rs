//! Generated histories: repositories of any age, reproducible by seed, written by one run of `git
//! fast-import`.
//!
//! They contain what real histories contain and readers stumble over: branches that merge, merge twice,
//! criss-cross, or merge all at once; a second root; files and folders that are renamed, edited on the
//! way, swapped, deleted and restored; copies; binaries, links, submodules, changes of mode and type;
//! CRLF and missing line ends; names and authors outside UTF-8; clocks that stand still or run backwards.
//! A reader that expects paths to be text, or parents to be older, is wrong.

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

use branches::HistoryBuilder;
use rand::{SeedableRng, rngs::StdRng};
use stream::Stream;

use crate::git;

/// A history to generate.
#[derive(Clone, Copy, Debug)]
pub struct GeneratedHistory {
    /// Seed of all random choices. The same seed and length give the same commit ids.
    pub seed: u64,
    /// The number of commits on all branches together.
    pub commits: usize,
}

impl GeneratedHistory {
    /// Creates a repository with this history in `folder`, and checks out its branch `main`.
    ///
    /// It also has branches `topic/<n>`, lightweight tags `at-<n>` and annotated tags `v<n>.0`.
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
        HistoryBuilder::new(random, self.commits).write_commits(&mut stream);
        drop(stream);
        assert!(import.wait().unwrap().success(), "git takes the stream");
        git(folder, &["reset", "--quiet", "--hard"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_valid_history() {
        let ids = [7, 7, 8].map(|seed| {
            let folder = tempfile::tempdir().unwrap();
            let past = GeneratedHistory { seed, commits: 300 };
            past.build(folder.path());
            git(folder.path(), &["fsck", "--strict", "--no-progress"]);
            assert_eq!(git(folder.path(), &["status", "--porcelain"]), "");
            git(folder.path(), &["rev-parse", "HEAD"])
        });
        assert_eq!(ids[0], ids[1]);
        assert_ne!(ids[0], ids[2]);
    }
}
