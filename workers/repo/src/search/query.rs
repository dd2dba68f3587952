//! The query of a search: pattern, files and limits.

use super::SearchPattern;
use crate::glob::Glob;
use crate::path::RepoPath;

/// The pattern to search for, and the files to search.
#[derive(Debug)]
pub struct Query {
    /// What to search for.
    pub pattern: SearchPattern,
    /// Only files that match this glob are searched.
    pub glob: Option<Glob>,
    /// Files that the tool's contract excludes, even if `glob` names them.
    pub excluded: &'static Excluded,
    /// Lines of context on either side of each match.
    pub context: usize,
}

/// Which of all matching lines are returned.
#[derive(Clone, Copy, Debug)]
pub struct MatchRange {
    /// Matching lines to skip.
    pub skip: usize,
    /// Maximum number of lines after those.
    pub limit: usize,
    /// Whether all files with matching lines are named.
    pub(super) names_files: bool,
}

impl MatchRange {
    /// No lines, but the files that have some.
    pub const FILES: MatchRange = MatchRange {
        skip: 0,
        limit: 0,
        names_files: true,
    };

    /// The lines after `skip`, at most `limit`.
    pub fn of(skip: usize, limit: usize) -> MatchRange {
        MatchRange {
            skip,
            limit,
            names_files: false,
        }
    }
}

/// Names that a tool excludes from its search, case-sensitive.
#[derive(Debug)]
pub struct Excluded {
    /// Folder names, at any depth.
    pub folders: &'static [&'static str],
    /// File names, or `*` and a suffix.
    pub files: &'static [&'static str],
}

impl Excluded {
    /// Excludes nothing.
    pub const NONE: Excluded = Excluded {
        folders: &[],
        files: &[],
    };

    /// Whether a file is excluded.
    pub(crate) fn covers(&self, path: &RepoPath) -> bool {
        let mut names = path.components();
        let Some(file) = names.next_back() else {
            return false;
        };
        names.any(|name| self.folders.iter().any(|folder| folder.as_bytes() == name))
            || self
                .files
                .iter()
                .any(|pattern| match pattern.strip_prefix('*') {
                    Some(end) => file.ends_with(end.as_bytes()),
                    None => file == pattern.as_bytes(),
                })
    }
}
