//! What a call read, and what that stands on.

use archway_repo::Repo;

/// What was read from a repository, and what it stands on.
pub struct Snapshot<T> {
    /// The answer.
    pub value: T,
    /// The repository it was read from, pinned.
    pub repo: Repo,
    /// HEAD moved twice while the call ran: the answer may mix two states.
    pub moved: bool,
}

impl<T> Snapshot<T> {
    /// What is made of the answer, on the same ground.
    pub(crate) fn map<U>(self, make: impl FnOnce(T) -> U) -> Snapshot<U> {
        Snapshot {
            value: make(self.value),
            repo: self.repo,
            moved: self.moved,
        }
    }
}
