//! Identifiers of rows: project, text and origin.

use uuid::Uuid;

/// The id of a git blob, or of a memory entry's text.
pub type Blob = [u8; 20];

/// A tenant's project. Every stored row and query has one, and both parts are required:
///
/// ```no_run
/// # use archway_store::ProjectKey;
/// # use uuid::Uuid;
/// fn key(tenant: Uuid, project: Uuid) -> ProjectKey {
///     ProjectKey { tenant, project }
/// }
/// ```
/// ```compile_fail
/// # use archway_store::ProjectKey;
/// # use uuid::Uuid;
/// fn key(tenant: Uuid, project: Uuid) -> ProjectKey {
///     ProjectKey { project }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectKey {
    /// The tenant.
    pub tenant: Uuid,
    /// The tenant's project.
    pub project: Uuid,
}

/// The origin of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i16)]
pub enum Source {
    /// A file of the repository.
    File = 0,
    /// A discovery that an agent recorded.
    Discovery = 1,
    /// A memory entry.
    Entry = 2,
}

impl Source {
    pub(super) fn of(number: i16) -> Option<Source> {
        let all = [Source::File, Source::Discovery, Source::Entry];
        all.into_iter().find(|source| *source as i16 == number)
    }
}
