//! Contents for diffs: git's objects, and files of the work tree that are in no object yet, keyed
//! by the id that they would have.

use std::collections::HashMap;

use gix::ObjectId;
use gix::objs::FindExt as _;

use super::{HistoryError, error::git};

const READING: &str = "reading a file of a commit";

/// Size of the work tree contents in memory, in bytes.
const MAX_IN_MEMORY: usize = 64 << 20;

/// Contents by their id.
pub(super) struct Blobs<'h> {
    repository: &'h gix::Repository,
    files: HashMap<ObjectId, WorkTreeFile>,
    in_memory: usize,
}

/// A file of the work tree.
struct WorkTreeFile {
    size: u64,
    /// `None` if it is too large to keep.
    content: Option<Vec<u8>>,
}

impl<'h> Blobs<'h> {
    /// Git's objects alone.
    pub(super) fn new(repository: &'h gix::Repository) -> Blobs<'h> {
        Blobs {
            repository,
            files: HashMap::new(),
            in_memory: 0,
        }
    }

    /// Adds a file of the work tree, with its content while the size limit allows. Among files of
    /// equal content, the first counts.
    pub(super) fn add(&mut self, id: ObjectId, size: u64, content: Option<Vec<u8>>) {
        if self.files.contains_key(&id) {
            return;
        }
        let available = MAX_IN_MEMORY - self.in_memory;
        let content = content.filter(|content| content.len() <= available);
        self.in_memory += content.as_ref().map_or(0, Vec::len);
        self.files.insert(id, WorkTreeFile { size, content });
    }

    /// The size in bytes.
    ///
    /// # Errors
    /// If there is no such object.
    pub(super) fn size(&self, id: ObjectId) -> Result<u64, HistoryError> {
        match self.files.get(&id) {
            Some(in_memory) => Ok(in_memory.size),
            None => Ok(self
                .repository
                .find_header(id)
                .map_err(git(READING))?
                .size()),
        }
    }

    /// Reads content into `buffer`. Returns false if the content is not available.
    ///
    /// # Errors
    /// If there is no such object.
    pub(super) fn read(&self, id: ObjectId, buffer: &mut Vec<u8>) -> Result<bool, HistoryError> {
        buffer.clear();
        match self.files.get(&id) {
            Some(WorkTreeFile { content, .. }) => {
                buffer.extend_from_slice(content.as_deref().unwrap_or_default());
                Ok(content.is_some())
            }
            None => {
                let found = self.repository.objects.find_blob(&id, buffer);
                found.map(|_| true).map_err(git(READING))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::Sandbox;

    use super::*;

    #[test]
    fn equal_files_are_stored_once() {
        let app = Sandbox::new();
        app.file("a", "1\n").committed();
        let git = app.repo().git().unwrap();
        let mut blobs = Blobs::new(&git);
        let id = ObjectId::null(gix::hash::Kind::Sha1);
        let size = MAX_IN_MEMORY * 2 / 3;
        for _ in 0..2 {
            blobs.add(id, size as u64, Some(vec![b'a'; size]));
        }
        let mut content = Vec::new();
        assert!(blobs.read(id, &mut content).unwrap());
        assert_eq!((content.len(), blobs.in_memory), (size, size));
    }
}
