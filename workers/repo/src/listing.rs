//! The listing of a project: entries that are neither blocked nor ignored, in path order.

use std::time::SystemTime;

use super::path::RepoPath;

/// All entries of a project at one moment.
#[derive(Debug, Default)]
pub struct Listing {
    /// Ordered by path. Directories are not listed: one exists if an entry is beneath it.
    pub entries: Vec<Entry>,
}

/// A file, or a link that stays inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path; for a link, the path of the link itself.
    pub path: RepoPath,
    /// The kind of entry.
    pub kind: EntryKind,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A link to a regular file of the project.
    LinkToFile,
    /// A link to a directory of the project; nothing is listed through it.
    LinkToDirectory,
}

/// The metadata of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The size in bytes.
    pub size: u64,
    /// When it was last written; in a bare repository, when HEAD was committed.
    pub modified: SystemTime,
}

impl Listing {
    /// The entries beneath a directory, excluding itself.
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
    fn beneath_returns_entries_of_the_directory_and_no_siblings() {
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
