//! A ledger under construction.

use std::collections::{BTreeMap, HashMap};

use archway_repo::{Cancel, RepoPath, Stopped};
use gix::ObjectId;

use super::super::graph::checksum;
use super::entry::{Entries, Entry, MAX_PATHS, UNKNOWN};
use super::{HEADER, ID, MAX_BYTES, SIGNATURE, WORD};

/// Commits and their files, as far as known.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// The range of words of each commit.
    commits: BTreeMap<ObjectId, (usize, usize)>,
    words: Vec<u32>,
    /// Number of words in use: the others were replaced.
    live: usize,
    numbers: HashMap<RepoPath, u32>,
    paths: Vec<RepoPath>,
    /// Total length of all paths.
    text: usize,
}

impl Draft {
    /// Records a commit's files, replacing earlier ones. `None` entries record that another attempt
    /// is useless. Returns `None` if the size limit is reached; nothing has changed then.
    pub(super) fn add(
        &mut self,
        commit: ObjectId,
        entries: Option<Vec<Entry<RepoPath>>>,
    ) -> Option<()> {
        let from = self.words.len();
        let written = match entries {
            Some(entries) => entries.into_iter().try_for_each(|entry| self.write(entry)),
            None => {
                self.words.push(UNKNOWN);
                Some(())
            }
        };
        let new = self.words.len() - from;
        if written.is_none() || (self.bytes() + new * WORD) as u64 > MAX_BYTES {
            self.words.truncate(from);
            return None;
        }
        let before = self.commits.insert(commit, (from, from + new));
        self.live = self.live + new - before.map_or(0, |(from, to)| to - from);
        Some(())
    }

    /// A commit's files. `None` if they are unknown.
    pub(super) fn entries(&self, commit: &ObjectId) -> Option<Vec<Entry<RepoPath>>> {
        let (from, to) = self.commits.get(commit)?;
        let words = self.words.get(*from..*to)?.iter().copied();
        let path = |number: u32| self.paths.get(number as usize).cloned();
        Entries(words).map(|entry| entry?.map(path)).collect()
    }

    fn write(&mut self, entry: Entry<RepoPath>) -> Option<()> {
        let numbered = entry.map(|path| self.number(path))?;
        numbered.write(&mut self.words)
    }

    fn number(&mut self, path: RepoPath) -> Option<u32> {
        if let Some(number) = self.numbers.get(&path) {
            return Some(*number);
        }
        let next = Some(self.paths.len()).filter(|next| *next < MAX_PATHS);
        let number = u32::try_from(next?).ok()?;
        self.text += path.as_bytes().len();
        self.numbers.insert(path.clone(), number);
        self.paths.push(path);
        Some(number)
    }

    /// The maximum size of the file.
    fn bytes(&self) -> usize {
        let tables = (self.commits.len() + 1) * (ID + WORD) + self.live * WORD;
        HEADER + tables + self.paths.len() * WORD + self.text + ID
    }

    /// Serializes the ledger. `None` if its checksum looks like a collision attack on SHA-1, which
    /// does not happen by chance.
    ///
    /// # Errors
    /// If the build has to stop.
    pub(super) fn finish(&self, cancel: &Cancel) -> Result<Option<Vec<u8>>, Stopped> {
        let mut order: Vec<usize> = (0..self.paths.len()).collect();
        let text = |path: usize| self.paths.get(path).map_or(&[][..], RepoPath::as_bytes);
        order.sort_unstable_by_key(|path| text(*path));
        let (words, ends) = self.renumbered(&order);
        let mut file = Vec::with_capacity(self.bytes());
        file.extend(SIGNATURE);
        for count in [ends.len(), words.len(), order.len()] {
            put(&mut file, count);
        }
        for commit in self.commits.keys() {
            file.extend_from_slice(commit.as_bytes());
        }
        ends.iter().for_each(|end| put(&mut file, *end));
        file.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        let mut end = 0;
        for path in &order {
            end += text(*path).len();
            put(&mut file, end);
        }
        for path in &order {
            file.extend_from_slice(text(*path));
        }
        let checksum = checksum(&file, cancel)?;
        Ok(checksum.map(|checksum| {
            file.extend_from_slice(&checksum);
            file
        }))
    }

    /// The words of all commits in order of ids, with paths renumbered by `order`, and the end of
    /// each commit's words.
    fn renumbered(&self, order: &[usize]) -> (Vec<u32>, Vec<usize>) {
        let mut numbers = vec![0; order.len()];
        for (number, path) in (0..).zip(order) {
            if let Some(slot) = numbers.get_mut(*path) {
                *slot = number;
            }
        }
        let number = |path: u32| numbers.get(path as usize).copied();
        let (mut words, mut ends) = (Vec::with_capacity(self.live), Vec::new());
        for (from, to) in self.commits.values() {
            let old = self.words.get(*from..*to).unwrap_or_default();
            for entry in Entries(old.iter().copied()) {
                let renumbered = entry.and_then(|entry| entry.map(number));
                if renumbered
                    .and_then(|entry| entry.write(&mut words))
                    .is_none()
                {
                    words.push(UNKNOWN);
                }
            }
            ends.push(words.len());
        }
        (words, ends)
    }
}

/// Appends a number, which is below the maximum size of a ledger.
fn put(file: &mut Vec<u8>, number: usize) {
    file.extend(u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes());
}
