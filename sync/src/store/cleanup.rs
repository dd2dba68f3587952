//! Mirrors whose projects are out of use.

use tokio::time::Duration;
use uuid::Uuid;

use super::{SyncStore, SyncStoreError, failed};

/// How long the removal of 100 mirrors may take, before another process may try it.
const REMOVAL_LEASE_SECONDS: i32 = 10 * 60;

/// A mirror whose project has been out of use for long enough.
pub(crate) struct ExpiredMirror {
    pub(crate) project_id: Uuid,
    pub(crate) tenant: String,
    pub(crate) project: String,
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
    /// Leases mirrors whose projects have been out of use for so long: at most 100.
    pub(crate) async fn lease_expired_mirrors(
        &self,
        keep: Duration,
    ) -> Result<Vec<ExpiredMirror>, SyncStoreError> {
        sqlx::query_as!(
            ExpiredMirror,
            r#"select project_id as "project_id!", tenant as "tenant!", project as "project!"
               from lease_expired_mirrors($1, $2, $3, $4)"#,
            self.place,
            self.holder,
            keep.as_secs_f64(),
            REMOVAL_LEASE_SECONDS
        )
        .fetch_all(&self.pool)
        .await
        .map_err(failed("leasing which mirrors to remove"))
    }

    /// Forgets a mirror that was removed. One whose project came into use meanwhile is cloned again.
    pub(crate) async fn forget_mirror(&self, project: Uuid) -> Result<(), SyncStoreError> {
        sqlx::query!("select forget_mirror($1, $2)", project, self.place)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(failed("forgetting a mirror"))
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

    /// Has mirrors made anew that are gone from the volume.
    pub(crate) async fn make_anew(&self, projects: &[Uuid]) -> Result<(), SyncStoreError> {
        sqlx::query!("select make_mirrors_anew($1, $2)", self.place, projects)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(failed("having mirrors made anew"))
    }
}
