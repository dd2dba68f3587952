//! What else was most likely meant by a revision that names nothing.
//!
//! Only what would have been served is told: names of branches, remote branches and tags whose
//! commit is there, and parents of commits that one of them reaches.

use archway_proto::nearest;
use archway_repo::text;
use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::refs::Category;

use super::super::tips::PLACES;
use super::Lookup;
use crate::{HistoryError, error::git};

/// How many branches are looked at, how many remote branches, and how many tags.
const MAX_NAMES: usize = 2000;
/// How many of the nearest names are looked up, as some may name nothing that is served.
const MAX_LOOKED_UP: usize = 12;
/// How many names are told.
const MAX_TOLD: usize = 3;

impl Lookup<'_> {
    /// The refusal of a name that nothing has.
    pub(super) fn unknown(&self, name: &str) -> HistoryError {
        // A refusal that could not be made helpful is one all the same.
        let near = self.near(name).unwrap_or_default();
        let near = (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")));
        let hints: Vec<String> = self.head_called(name).into_iter().chain(near).collect();
        self.not_found_but((!hints.is_empty()).then(|| hints.join(" ")))
    }

    /// The refusal of a step from a commit to a parent that it does not have.
    pub(super) fn no_parent(&self, commit: ObjectId) -> HistoryError {
        match self.no_parent_hint(commit) {
            Ok(hint) => self.not_found_but(hint),
            Err(error) => error,
        }
    }

    /// Which parents the commit has; nothing is told of one that is not served.
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

    /// What to call HEAD, for who took its branch for one that many projects have.
    fn head_called(&self, name: &str) -> Option<String> {
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

    /// The nearest names that a revision may begin with, in the form in which they are told.
    fn near(&self, name: &str) -> Result<Vec<String>, HistoryError> {
        let known = self.known()?;
        let near = nearest::among(name, known.iter().map(String::as_str), MAX_LOOKED_UP);
        let served = near.into_iter().filter(|name| self.is_served(name));
        Ok(served
            .take(MAX_TOLD)
            .map(|name| format!("`{name}`"))
            .collect())
    }

    /// Names of branches, remote branches and tags.
    fn known(&self) -> Result<Vec<String>, HistoryError> {
        const READING: &str = "reading the names of references";
        let store = &self.history.git.refs;
        let packed = store.open_packed_buffer().map_err(git(READING))?;
        let mut known = Vec::new();
        for place in PLACES {
            let prefix = place.try_into().map_err(git(READING))?;
            let all = store.iter_prefixed_packed(prefix, packed.as_ref());
            for reference in all.map_err(git(READING))?.take(MAX_NAMES) {
                self.cancel.check()?;
                // One that can't be read is none, as in git.
                let Ok(reference) = reference else { continue };
                let name = reference.name.as_bstr().strip_prefix(place.as_bytes());
                let name = name.and_then(|name| name.to_str().ok());
                known.extend(name.filter(|name| is_plain(name)).map(str::to_owned));
            }
        }
        Ok(known)
    }

    /// Whether a revision of this name would have been answered.
    fn is_served(&self, name: &str) -> bool {
        let place = self.find(name).ok().flatten();
        let found = place.and_then(|place| self.target(&place).ok());
        found.is_some_and(|found| found.reached && self.commit(found.id).is_ok())
    }
}

/// Whether a name can be shown as it is, and so be given back.
fn is_plain(name: &str) -> bool {
    text::shown(name) == name
}
