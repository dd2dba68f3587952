//! Random subjects of queries about a history: existing revisions and paths, in every spelling.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};

use super::git::Git;

/// The possible subjects.
pub(super) struct Subjects {
    pub(super) commits: Vec<String>,
    names: Vec<String>,
    pub(super) paths: Vec<Vec<u8>>,
}

impl Subjects {
    pub(super) fn of(git: &Git) -> Subjects {
        Subjects {
            commits: git.commits(),
            names: git.names(),
            paths: git.paths(),
        }
    }

    /// A revision as a user would type it, and its commit.
    pub(super) fn revision(&self, random: &mut StdRng, git: &Git) -> (String, String) {
        let commit = self.commits.choose(random).expect("commits");
        let name = self.names.choose(random).expect("names");
        let revision = match random.random_range(0..8) {
            0 => commit.clone(),
            1 => commit.chars().take(12).collect(),
            2 => name.clone(),
            3 => format!("{name}^{{}}"),
            4 => format!("{name}~{}", random.random_range(0..30)),
            5 => format!("{commit}^2"),
            6 => format!("HEAD~{}", random.random_range(0..100)),
            _ => "HEAD".to_owned(),
        };
        match git.commit(&revision) {
            Some(commit) => (revision, commit),
            None => (commit.clone(), commit.clone()),
        }
    }

    /// A path that is or was a file.
    pub(super) fn file(&self, random: &mut StdRng) -> Vec<u8> {
        self.paths.choose(random).expect("paths").clone()
    }

    /// A text that some file has, or had: a part of a line.
    pub(super) fn text(&self, random: &mut StdRng, git: &Git) -> String {
        for _ in 0..20 {
            let commit = self.commits.choose(random).expect("commits");
            let path = self.file(random);
            let name = [format!("{commit}:").as_bytes(), path.as_slice()].concat();
            let show = [b"show".as_slice(), &name].map(OsStr::from_bytes);
            let content = git.try_run(&show).unwrap_or_default();
            let content = String::from_utf8(content).unwrap_or_default();
            let lines: Vec<&str> = content.lines().filter(|it| it.len() > 3).collect();
            let line = lines.choose(random).map(|line| line.trim());
            if let Some(line) = line.filter(|line| line.is_ascii() && !line.is_empty()) {
                return line.chars().take(random.random_range(3..30)).collect();
            }
        }
        "no such text".to_owned()
    }

    /// A path that is or was a folder; rarely one that never was.
    pub(super) fn folder(&self, random: &mut StdRng) -> Vec<u8> {
        let file = self.file(random);
        let ends: Vec<usize> = (0..file.len()).filter(|&at| file[at] == b'/').collect();
        ends.choose(random)
            .map_or_else(|| b"no/such".to_vec(), |&at| file[..at].to_vec())
    }
}
