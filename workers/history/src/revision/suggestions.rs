//! Suggestions for a revision that names nothing.
//!
//! Suggests only what would be served: branches, remote branches and tags with an existing commit,
//! and parents of reachable commits.

use archway_proto::nearest;
use archway_repo::text;
use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::refs::Category;

use super::super::tips::PREFIXES;
use super::Lookup;
use crate::{HistoryError, error::git};

/// Maximum number of names that are compared: of branches, of remote branches, and of tags.
const MAX_NAMES: usize = 2000;
/// Maximum number of names that are resolved: the nearest may name nothing that is served.
const MAX_RESOLVED: usize = 12;
/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;

impl Lookup<'_> {
    /// The error for an unknown name.
    pub(super) fn unknown_name(&self, name: &str) -> HistoryError {
        // Suggestions are optional: without them the error is returned as it is.
        let names = self.nearest_names(name).unwrap_or_default();
        let suggestion =
            (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")));
        let hints: Vec<String> = self.head_hint(name).into_iter().chain(suggestion).collect();
        self.not_found_with((!hints.is_empty()).then(|| hints.join(" ")))
    }

    /// The error for a step to a parent that the commit does not have.
    pub(super) fn no_parent(&self, commit: ObjectId) -> HistoryError {
        match self.no_parent_hint(commit) {
            Ok(hint) => self.not_found_with(hint),
            Err(error) => error,
        }
    }

    /// Describes the commit's parents. `None` for a commit that is not served.
    fn no_parent_hint(&self, commit: ObjectId) -> Result<Option<String>, HistoryError> {
        let history = self.history;
        if history.reachable(&[commit], self.cancel)?.is_empty() {
            return Ok(None);
        }
        let short = history.short(commit);
        let end = match &history.shallow {
            Some(_) => "this clone, which was cut there, has no parent of commit",
            None => "history begins there: there is no parent of commit",
        };
        Ok(Some(match history.node(commit)?.parents.len() {
            0 => format!("{end} {short}."),
            1 => format!("commit {short} is no merge: it has one parent, \"^1\"."),
            count => format!("commit {short} has no such parent: the last is \"^{count}\"."),
        }))
    }

    /// The actual name of HEAD's branch, for callers that guessed a common one.
    fn head_hint(&self, name: &str) -> Option<String> {
        if !matches!(name, "main" | "master") || self.history.head().is_none() {
            return None;
        }
        let Some(branch) = self.history.git.head_name().ok()? else {
            return Some("No branch is checked out: HEAD is called \"HEAD\".".to_owned());
        };
        let is_branch = branch.category() == Some(Category::LocalBranch);
        let name = branch.shorten().to_str().ok()?;
        (is_branch && is_plain(name)).then(|| format!("HEAD's branch is `{name}`."))
    }

    /// The nearest names that a revision may begin with, quoted for a message.
    fn nearest_names(&self, name: &str) -> Result<Vec<String>, HistoryError> {
        let names = self.reference_names()?;
        let nearest = nearest::among(name, names.iter().map(String::as_str), MAX_RESOLVED);
        let served = nearest.into_iter().filter(|name| self.is_served(name));
        Ok(served
            .take(MAX_SUGGESTIONS)
            .map(|name| format!("`{name}`"))
            .collect())
    }

    /// Names of branches, remote branches and tags.
    fn reference_names(&self) -> Result<Vec<String>, HistoryError> {
        const READING: &str = "reading the names of references";
        let store = &self.history.git.refs;
        let packed = store.open_packed_buffer().map_err(git(READING))?;
        let mut names = Vec::new();
        for prefix in PREFIXES {
            let folder = prefix.try_into().map_err(git(READING))?;
            let all = store.iter_prefixed_packed(folder, packed.as_ref());
            for reference in all.map_err(git(READING))?.take(MAX_NAMES) {
                self.cancel.check()?;
                // Unreadable references are skipped, as in git.
                let Ok(reference) = reference else { continue };
                let name = reference.name.as_bstr().strip_prefix(prefix.as_bytes());
                let name = name.and_then(|name| name.to_str().ok());
                names.extend(name.filter(|name| is_plain(name)).map(str::to_owned));
            }
        }
        Ok(names)
    }

    /// Whether a revision of this name would resolve.
    fn is_served(&self, name: &str) -> bool {
        let reference = self.find(name).ok().flatten();
        let found = reference.and_then(|reference| self.target(&reference).ok());
        found.is_some_and(|found| found.is_reached && self.commit(found.id).is_ok())
    }
}

/// Whether a name shows unescaped, and so can be passed back.
fn is_plain(name: &str) -> bool {
    text::shown(name) == name
}
