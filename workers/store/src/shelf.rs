//! Whose a row is, and of which text.

use uuid::Uuid;

/// The id of a blob in git, or of an entry of memory.
pub type Blob = [u8; 20];

/// A tenant's project. Nothing is kept, found or counted without one, and none is nobody's:
///
/// ```no_run
/// # use archway_store::Shelf;
/// # use uuid::Uuid;
/// fn shelf(tenant: Uuid, project: Uuid) -> Shelf {
///     Shelf { tenant, project }
/// }
/// ```
/// ```compile_fail
/// # use archway_store::Shelf;
/// # use uuid::Uuid;
/// fn shelf(tenant: Uuid, project: Uuid) -> Shelf {
///     Shelf { project }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shelf {
    /// Whose it is.
    pub tenant: Uuid,
    /// Which of the tenant's.
    pub project: Uuid,
}
