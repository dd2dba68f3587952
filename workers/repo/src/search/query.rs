//! What a search looks for, where, and which of its matches it shows.

use crate::glob::Glob;
use crate::path::RepoPath;

/// What is searched for, and where.
#[derive(Clone, Debug)]
pub struct Query {
    /// A regular expression, or a text.
    pub pattern: String,
    /// Whether `pattern` is a text.
    pub literal: bool,
    /// Whether case counts.
    pub case_sensitive: bool,
    /// Only files that this fits.
    pub glob: Option<Glob>,
    /// Files that the tool's contract leaves out, even if `glob` names them.
    pub excluded: &'static Excluded,
    /// Lines to show on either side of each match.
    pub context: usize,
}

/// Which of all matching lines are shown.
#[derive(Clone, Copy, Debug)]
pub struct MatchRange {
    /// Matching lines to pass over.
    pub skip: usize,
    /// Matching lines to show after those, at most.
    pub limit: usize,
}

/// What a tool leaves out of what is listed, by name, case significant.
#[derive(Debug)]
pub struct Excluded {
    /// Folders, at any depth.
    pub folders: &'static [&'static str],
    /// Files: a name, or `*` and how it ends.
    pub files: &'static [&'static str],
}

impl Excluded {
    /// Nothing.
    #[cfg(test)]
    pub(crate) const NONE: Excluded = Excluded {
        folders: &[],
        files: &[],
    };

    /// Whether a file is left out.
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
