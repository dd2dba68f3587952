//! Which commit a revision names.

use gix::ObjectId;

use super::{History, HistoryError};
use crate::repo::Cancel;

/// The longest revision, in bytes.
const MAX_LENGTH: usize = 256;

impl History {
    /// The commit that a revision names, as git takes revisions.
    ///
    /// # Errors
    /// [`HistoryError::InvalidRevision`] for a form that is not served,
    /// [`HistoryError::RevisionNotFound`] if nothing is named so.
    pub(crate) fn resolve(
        &self,
        revision: &str,
        cancel: &Cancel,
    ) -> Result<ObjectId, HistoryError> {
        cancel.check()?;
        if let Some(reason) = refusal(revision) {
            return Err(HistoryError::InvalidRevision {
                revision: revision.to_owned(),
                reason,
            });
        }
        let not_found = || HistoryError::RevisionNotFound {
            revision: revision.to_owned(),
        };
        let found = self.git.rev_parse_single(revision);
        let object = found.and_then(|id| id.object());
        let commit = object.and_then(gix::Object::peel_to_commit);
        let commit = commit.map_err(|_not_there| not_found())?;
        Ok(commit.id)
    }
}

/// What is wrong with the form of a revision, if it is not served.
fn refusal(revision: &str) -> Option<&'static str> {
    let forms: [(bool, &'static str); 6] = [
        (revision.is_empty(), "it is empty"),
        (revision.len() > MAX_LENGTH, "it has more than 256 bytes"),
        (
            revision.chars().any(char::is_control),
            "it has control characters",
        ),
        (revision.starts_with('-'), "it begins with a dash"),
        (
            revision.contains(':') || revision.contains("^{/"),
            "it names a path or searches messages; give a commit, tag or branch",
        ),
        (
            revision.contains("..") || revision.starts_with('^'),
            "it is a range; give one commit, tag or branch",
        ),
    ];
    forms
        .into_iter()
        .find_map(|(is_refused, reason)| is_refused.then_some(reason))
}
