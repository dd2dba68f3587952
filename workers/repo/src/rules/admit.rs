//! Which refusal a caller hears of a path that rules hide.

use super::{Blocked, Kind, Rules};
use crate::error::RepoError;
use crate::path::RepoPath;

impl Rules {
    /// [`Rules::judge`] of a path that `asked` led to.
    ///
    /// # Errors
    /// [`RepoError::Blocked`], which names what was asked and not where it led.
    pub fn admit(&self, path: &RepoPath, asked: &RepoPath, kind: Kind) -> Result<(), RepoError> {
        self.judge(path, kind)
            .map_err(|Blocked| RepoError::Blocked {
                path: asked.clone(),
            })
    }

    /// What a caller hears instead of `error`, who may not know what stands at `path`, to which
    /// `asked` led: where nothing of the requested kind is, a path that is closed as the `other` kind
    /// is denied.
    pub(crate) fn unless_closed(
        &self,
        error: RepoError,
        (path, asked): (&RepoPath, &RepoPath),
        other: Kind,
    ) -> RepoError {
        match self.admit(path, asked, other) {
            Err(blocked) if error.is_absence() => blocked,
            _ => error,
        }
    }
}
