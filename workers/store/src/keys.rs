//! Whose a row is, of which text, and where that came from.

use uuid::Uuid;

/// The id of a blob in git, or of an entry of memory.
pub type Blob = [u8; 20];

/// A tenant's project. Nothing is kept, found or counted without one, and none is nobody's:
///
/// ```no_run
/// # use archway_store::ProjectKey;
/// # use uuid::Uuid;
/// fn shelf(tenant: Uuid, project: Uuid) -> ProjectKey {
///     ProjectKey { tenant, project }
/// }
/// ```
/// ```compile_fail
/// # use archway_store::ProjectKey;
/// # use uuid::Uuid;
/// fn shelf(tenant: Uuid, project: Uuid) -> ProjectKey {
///     ProjectKey { project }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectKey {
    /// Whose it is.
    pub tenant: Uuid,
    /// Which of the tenant's.
    pub project: Uuid,
}

/// Where a document came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i16)]
pub enum Source {
    /// A file of the repository.
    File = 0,
    /// A discovery of an agent.
    Discovery = 1,
    /// An entry of memory.
    Entry = 2,
}

impl Source {
    pub(super) fn of(number: i16) -> Option<Source> {
        let all = [Source::File, Source::Discovery, Source::Entry];
        all.into_iter().find(|source| *source as i16 == number)
    }
}
