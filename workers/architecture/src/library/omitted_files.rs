//! Files left out of a library, with reasons: nothing is omitted silently.

use std::collections::HashSet;

use archway_repo::{RepoPath, text::shown};

/// At most this many of the files are named.
const MAX_NAMED: usize = 10;

/// Files that are in a document folder but are not read as documents.
#[derive(Default)]
pub(super) struct OmittedFiles {
    named: Vec<String>,
    unnamed_count: usize,
    known_paths: HashSet<RepoPath>,
}

impl OmittedFiles {
    pub(super) fn add(&mut self, path: &RepoPath, why: &str) {
        if !self.known_paths.insert(path.clone()) {
            return;
        }
        if self.named.len() < MAX_NAMED {
            let path = path.display();
            self.named
                .push(format!("{} is left out: {why}", shown(&path)));
        } else {
            self.unnamed_count += 1;
        }
    }

    pub(super) fn into_messages(mut self) -> Vec<String> {
        if self.unnamed_count > 0 {
            self.named.push(format!(
                "{} more documents are left out",
                self.unnamed_count
            ));
        }
        self.named
    }
}
