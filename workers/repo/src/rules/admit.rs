//! The errors of paths that rules hide.

use super::{Blocked, Kind, Rules};
use crate::error::RepoError;
use crate::path::RepoPath;

impl Rules {
    /// [`Rules::check`] of `path`, to which `requested` led.
    ///
    /// # Errors
    /// [`RepoError::Blocked`], which names the requested path, not its target.
    pub fn admit(
        &self,
        path: &RepoPath,
        requested: &RepoPath,
        kind: Kind,
    ) -> Result<(), RepoError> {
        self.check(path, kind)
            .map_err(|Blocked| RepoError::Blocked {
                path: requested.clone(),
            })
    }

    /// Replaces `error` if the caller must not learn what exists at `path`, to which `requested`
    /// led: if nothing of the requested kind exists and the path is closed as the `other` kind, the
    /// answer is a denial.
    pub(crate) fn blocked_if_closed(
        &self,
        error: RepoError,
        (path, requested): (&RepoPath, &RepoPath),
        other: Kind,
    ) -> RepoError {
        match self.admit(path, requested, other) {
            Err(blocked) if error.is_absence() => blocked,
            _ => error,
        }
    }
}
