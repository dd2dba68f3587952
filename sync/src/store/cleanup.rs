//! Mirrors whose projects are out of use.

use tokio::time::Duration;
use uuid::Uuid;

use super::{SyncStore, SyncStoreError, failed};

/// How long the removal of a mirror may take, before another process may try it.
const REMOVAL_LEASE_SECONDS: i32 = 10 * 60;

/// A mirror whose project has been out of use for long enough.
pub(crate) struct ExpiredMirror {
    pub(crate) project_id: Uuid,
    pub(crate) tenant: String,
    pub(crate) project: String,
    lease_number: i64,
}

/// A project that may have a mirror at this place.
#[derive(Clone)]
pub(crate) struct KnownMirror {
    pub(crate) project_id: Uuid,
    pub(crate) tenant: String,
    pub(crate) project: String,
    /// Whether a run made it.
    pub(crate) is_made: bool,
}

impl SyncStore {
    /// Leases a mirror whose project has been out of use for so long.
    pub(crate) async fn lease_expired_mirror(
        &self,
        keep: Duration,
    ) -> Result<Option<ExpiredMirror>, SyncStoreError> {
        sqlx::query_as!(
            ExpiredMirror,
            r#"select project_id as "project_id!", tenant as "tenant!", project as "project!",
                      lease_number as "lease_number!"
               from lease_expired_mirror($1, $2, $3, $4)"#,
            self.place,
            self.holder,
            keep.as_secs_f64(),
            REMOVAL_LEASE_SECONDS
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(failed("leasing a mirror to remove"))
    }

    /// Forgets a mirror that was removed, if the lease is still this process's. One whose project came into use
    /// meanwhile is cloned again.
    pub(crate) async fn forget_mirror(&self, mirror: &ExpiredMirror) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select forget_mirror($1, $2, $3)",
            mirror.project_id,
            self.place,
            mirror.lease_number
        );
        self.execute(call, "forgetting a mirror").await
    }

    /// The projects that may have mirrors at this place.
    pub(crate) async fn mirrors_here(&self) -> Result<Vec<KnownMirror>, SyncStoreError> {
        sqlx::query_as!(
            KnownMirror,
            r#"select project_id as "project_id!", tenant as "tenant!", project as "project!",
                      is_made as "is_made!"
               from mirrors_at($1)"#,
            self.place
        )
        .fetch_all(&self.pool)
        .await
        .map_err(failed("reading which mirrors there are"))
    }

    /// Has mirrors cloned again that are gone from the volume.
    pub(crate) async fn clone_again(&self, projects: &[Uuid]) -> Result<(), SyncStoreError> {
        let call = sqlx::query!("select make_mirrors_anew($1, $2)", self.place, projects);
        self.execute(call, "having mirrors cloned again").await
    }
}
