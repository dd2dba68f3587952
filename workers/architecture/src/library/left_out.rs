//! Files left out of a library, with reasons: nothing is omitted silently.

use std::collections::HashSet;

use archway_repo::{RepoPath, text::shown};

/// At most this many of the files are named.
const MAX_NAMED: usize = 10;

/// Files that are in a document folder but are not read as documents.
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
