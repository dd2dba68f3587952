//! The ignore rules of a repository: `.gitignore` files and `.git/info/exclude`.
//!
//! A folder's rules are its own file, then those of the folders above, up to the root of the
//! repository. The deepest file with a matching rule decides, and any `.gitignore` before any
//! `exclude`. Files of the user or the machine are not read, so that every worker answers alike.

use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::path::RepoPath;

/// The rules for the entries of one folder.
#[derive(Debug, Default)]
pub(super) struct Ignores {
    own: Option<Gitignore>,
    exclude: Option<Gitignore>,
    above: Option<Arc<Ignores>>,
}

/// The contents of a folder's own rule files.
#[derive(Debug, Default)]
pub(super) struct RuleFiles {
    pub(super) gitignore: Option<Vec<u8>>,
    pub(super) exclude: Option<Vec<u8>>,
}

impl Ignores {
    /// The rules for entries of `folder`. At the root of a repository, rules from above do not
    /// apply.
    pub(super) fn beneath(
        above: &Arc<Ignores>,
        folder: &RepoPath,
        files: &RuleFiles,
        is_repository: bool,
    ) -> Arc<Ignores> {
        let own = files
            .gitignore
            .as_deref()
            .and_then(|text| matcher(folder, text));
        let exclude = files
            .exclude
            .as_deref()
            .and_then(|text| matcher(folder, text));
        if own.is_none() && exclude.is_none() && !is_repository {
            return Arc::clone(above);
        }
        let above = (!is_repository).then(|| Arc::clone(above));
        Arc::new(Ignores {
            own,
            exclude,
            above,
        })
    }

    /// Whether an entry is ignored, provided that no folder above it is.
    pub(super) fn ignores(&self, path: &RepoPath, is_directory: bool) -> bool {
        let mut excluded = None;
        let mut node = Some(self);
        while let Some(rules) = node {
            if let Some(verdict) = verdict(rules.own.as_ref(), path, is_directory) {
                return verdict;
            }
            excluded = excluded.or_else(|| verdict(rules.exclude.as_ref(), path, is_directory));
            node = rules.above.as_deref();
        }
        excluded.unwrap_or(false)
    }
}

fn verdict(matcher: Option<&Gitignore>, path: &RepoPath, is_directory: bool) -> Option<bool> {
    match matcher?.matched(path.as_path(), is_directory) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// Lines that do not parse are skipped, as git does. `None` if no rule remains.
fn matcher(folder: &RepoPath, text: &[u8]) -> Option<Gitignore> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut builder = GitignoreBuilder::new(folder.as_path());
    for line in String::from_utf8_lossy(text).lines() {
        if let Err(error) = builder.add_line(None, line) {
            tracing::debug!(%error, "line of a .gitignore does not parse");
        }
    }
    builder.build().ok().filter(|matcher| !matcher.is_empty())
}
