//! What is left out of a library, and why: nothing is cut silently.

use std::collections::HashSet;

use archway_repo::{RepoPath, text::shown};

/// How many of the files that are left out are named.
const MAX_NAMED: usize = 10;

/// Files that are no documents though they stand where documents do.
#[derive(Default)]
pub(super) struct LeftOut {
    named: Vec<String>,
    unnamed: usize,
    known: HashSet<RepoPath>,
}

impl LeftOut {
    pub(super) fn add(&mut self, path: &RepoPath, why: &str) {
        if !self.known.insert(path.clone()) {
            return;
        }
        if self.named.len() < MAX_NAMED {
            let path = path.display();
            self.named
                .push(format!("{} is left out: {why}", shown(&path)));
        } else {
            self.unnamed += 1;
        }
    }

    pub(super) fn said(mut self) -> Vec<String> {
        if self.unnamed > 0 {
            self.named
                .push(format!("{} more documents are left out", self.unnamed));
        }
        self.named
    }
}
