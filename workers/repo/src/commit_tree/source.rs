//! File contents of a commit for searches.

use super::{Commit, CommitTree, is_file};
use crate::content_cache::Loaded;
use crate::path::RepoPath;
use crate::scan::MAX_FILE;
use crate::search::FileSource;

impl FileSource for CommitTree {
    fn load<'a>(&self, path: &RepoPath, buffer: &'a mut Vec<u8>) -> Option<Loaded<'a>> {
        let commit = self.commit.as_ref()?;
        let repository = commit.git.objects();
        let node = commit.node(&repository, path).ok()??;
        let size = repository.find_header(node.id).ok()?.size();
        if size > MAX_FILE || !is_file(node.mode) {
            return None;
        }
        *buffer = repository.find_blob(node.id).ok()?.take_data();
        Some(Loaded::Read(buffer))
    }

    fn is_too_large(&self, path: &RepoPath) -> bool {
        let size = |commit: &Commit| {
            let repository = commit.git.objects();
            let node = commit.node(&repository, path).ok()??;
            Some(repository.find_header(node.id).ok()?.size())
        };
        self.commit
            .as_ref()
            .and_then(size)
            .is_some_and(|size| size > MAX_FILE)
    }
}
