//! The result of a read, with the state of the repository it came from.

use archway_repo::Repo;

/// A result that was read from a repository, and the state it came from.
pub struct Snapshot<T> {
    /// The result.
    pub value: T,
    /// The pinned repository that it was read from.
    pub repo: Repo,
    /// HEAD moved twice while the call ran: the result may mix two states.
    pub moved: bool,
    /// When the mirror was last fetched, in seconds since 1970; `None` for a repository that is no mirror.
    pub synced_at: Option<i64>,
}

impl<T> Snapshot<T> {
    /// Converts the result. It keeps the state that it came from.
    pub(crate) fn map<U>(self, convert: impl FnOnce(T) -> U) -> Snapshot<U> {
        Snapshot {
            value: convert(self.value),
            repo: self.repo,
            moved: self.moved,
            synced_at: self.synced_at,
        }
    }
}

/// RFC 3339 in UTC, of seconds since 1970.
pub(crate) fn moment(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .unwrap_or_default()
        .to_string()
}
