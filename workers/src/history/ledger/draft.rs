//! A ledger that is being written.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gix::ObjectId;

use super::super::follow::LogFile;
use super::super::graph::checksum;
use super::{HEADER, ID, MAX_BYTES, SIGNATURE, STATUS_BITS, UNKNOWN, WORD, code};
use crate::repo::{Cancel, RepoPath, Stopped};

/// So many paths have a number.
const MAX_PATHS: usize = 1 << (32 - STATUS_BITS);

/// Commits and their files, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// From which to which word each commit's files are.
    commits: BTreeMap<ObjectId, (usize, usize)>,
    words: Vec<u32>,
    numbers: HashMap<Arc<[u8]>, u32>,
    paths: Vec<Arc<[u8]>>,
    /// Of all paths.
    text: usize,
}

impl Draft {
    /// Writes down a commit's files, or that it is no use to ask for them again. `None` where there
    /// is no room for more: then none of its files stands in the ledger.
    pub(super) fn add(&mut self, commit: ObjectId, files: Option<&[LogFile]>) -> Option<()> {
        let from = self.words.len();
        let written = match files {
            Some(files) => files.iter().try_for_each(|file| self.add_file(file)),
            None => {
                self.words.push(UNKNOWN);
                Some(())
            }
        };
        if written.is_none() || self.bytes() as u64 > MAX_BYTES {
            self.words.truncate(from);
            return None;
        }
        self.commits.insert(commit, (from, self.words.len()));
        Some(())
    }

    fn add_file(&mut self, file: &LogFile) -> Option<()> {
        let path = self.number(&file.path)?;
        self.words.push(path << STATUS_BITS | code(file.status)?);
        if let Some(old_path) = &file.old_path {
            let old_path = self.number(old_path)?;
            self.words.push(old_path);
        }
        Some(())
    }

    fn number(&mut self, path: &RepoPath) -> Option<u32> {
        if let Some(number) = self.numbers.get(path.as_bytes()) {
            return Some(*number);
        }
        let next = Some(self.paths.len()).filter(|next| *next < MAX_PATHS);
        let number = u32::try_from(next?).ok()?;
        let path: Arc<[u8]> = Arc::from(path.as_bytes());
        self.text += path.len();
        self.numbers.insert(Arc::clone(&path), number);
        self.paths.push(path);
        Some(number)
    }

    /// How large the file will be.
    fn bytes(&self) -> usize {
        let tables = self.commits.len() * (ID + WORD) + self.words.len() * WORD;
        HEADER + tables + self.paths.len() * WORD + self.text + ID
    }

    /// The file. `None` if its checksum looks like an attack on SHA-1, which none does by chance.
    ///
    /// # Errors
    /// If the build has to stop.
    pub(super) fn finish(&self, cancel: &Cancel) -> Result<Option<Vec<u8>>, Stopped> {
        let mut file = Vec::with_capacity(self.bytes());
        file.extend(SIGNATURE);
        for count in [self.commits.len(), self.words.len(), self.paths.len()] {
            put(&mut file, count);
        }
        for commit in self.commits.keys() {
            file.extend_from_slice(commit.as_bytes());
        }
        let mut end = 0;
        for (from, to) in self.commits.values() {
            end += to - from;
            put(&mut file, end);
        }
        for (from, to) in self.commits.values() {
            let words = self.words.get(*from..*to).unwrap_or_default();
            file.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        }
        let mut end = 0;
        for path in &self.paths {
            end += path.len();
            put(&mut file, end);
        }
        for path in &self.paths {
            file.extend_from_slice(path);
        }
        let checksum = checksum(&file, cancel)?;
        Ok(checksum.map(|checksum| {
            file.extend_from_slice(&checksum);
            file
        }))
    }
}

/// Appends a number, which is below that of a ledger's bytes.
fn put(file: &mut Vec<u8>, number: usize) {
    file.extend(u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes());
}
