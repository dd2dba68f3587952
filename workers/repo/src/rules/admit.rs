//! Which refusal a caller hears of a path that rules hide.

use super::{Blocked, Kind, Rules};
use crate::error::RepoError;
use crate::path::RepoPath;

impl Rules {
    /// [`Rules::check`] of a path that `asked` led to.
    ///
    /// # Errors
    /// [`RepoError::Blocked`], which names what was asked and not where it led.
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

    /// What a caller hears instead of `error`, who may not know what stands at `path`, to which
    /// `asked` led: where nothing of the requested kind is, a path that is closed as the `other` kind
    /// is denied.
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
