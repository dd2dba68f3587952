//! What a project lists: the entries that are neither blocked nor ignored, in path order.

use std::time::SystemTime;

use super::path::RepoPath;

/// All that can be listed of a project, at one moment.
#[derive(Debug, Default)]
pub struct Listing {
    /// Ordered by path. Directories are not in it: one exists where an entry is beneath it.
    pub entries: Vec<Entry>,
}

/// A file, or a link that stays inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is; for a link, the link's own place.
    pub path: RepoPath,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A link to a regular file of the project.
    LinkToFile,
    /// A link to a directory of the project; nothing is listed through it.
    LinkToDirectory,
}

/// What is told of an entry beside its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Bytes.
    pub size: u64,
    /// When it was last written; in a bare repository, when HEAD was committed.
    pub modified: SystemTime,
}

impl Listing {
    /// The entries beneath a directory, that directory not included.
    pub fn beneath(&self, directory: &RepoPath) -> &[Entry] {
        let start = self
            .entries
            .partition_point(|entry| entry.path <= *directory);
        let start = if directory.is_root() { 0 } else { start };
        let rest = self.entries.get(start..).unwrap_or_default();
        let end = rest.partition_point(|entry| entry.path.is_within(directory));
        rest.get(..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beneath_a_directory_are_its_entries_and_no_neighbours() {
        let entry = |text| Entry {
            path: RepoPath::parse(text).unwrap(),
            kind: EntryKind::File,
        };
        let listing = Listing {
            entries: ["a", "b/c", "b/d/e", "b-x", "b.c"].map(entry).to_vec(),
        };
        let beneath = |text| {
            let found = listing.beneath(&RepoPath::parse(text).unwrap());
            found
                .iter()
                .map(|entry| entry.path.display())
                .collect::<Vec<_>>()
        };
        assert_eq!(beneath("b"), ["b/c", "b/d/e"]);
        assert_eq!(beneath("b/d"), ["b/d/e"]);
        assert_eq!(beneath(".").len(), 5);
        assert!(beneath("a").is_empty() && beneath("x").is_empty());
    }
}
