//! Leases: the right to update an index, for one worker at a time, as long as it renews.

use tokio::time::{Duration, Instant};
use uuid::Uuid;

use super::super::{StoreError, TenantStore, failed};
use super::{Document, documents, texts};
use crate::{Blob, ProjectKey};

/// How long a lease lasts without renewal.
pub const LEASE: Duration = Duration::from_secs(20);

/// A lease that this worker holds. It must be renewed within [`LEASE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The index's id.
    pub index: i64,
    /// The tenant and project.
    pub project_key: ProjectKey,
    pub(super) holder: Uuid,
    /// The time before it was acquired.
    pub taken: Instant,
}

/// The data that completes an index.
pub struct CompletedIndex<'a> {
    /// When the wanted documents were determined. Requests after this time lead to another run.
    pub begun: Instant,
    /// HEAD's commit; `None` before the first commit.
    pub commit: Option<&'a str>,
    /// The fingerprint of the path rules under which its files were listed.
    pub rules: &'a str,
    /// How many texts are in the vector store, and how many the index has; the others cannot be
    /// read.
    pub texts: (usize, usize),
    /// The id of the vector store with its texts.
    pub store_id: Uuid,
    /// The project's memory mark from before its notes were read.
    pub notes: i64,
    /// New documents, and those with a new text.
    pub changed: &'a [Document],
    /// Removed documents.
    pub gone: &'a [Document],
    /// Texts without a document that are still in the vector store.
    pub unused: &'a [Blob],
    /// Whether some of its texts have no vectors yet.
    pub lacks_vectors: bool,
    /// How many files are not in it, because they exceed the memory of a search.
    pub left_out: usize,
}

impl TenantStore<'_> {
    /// Acquires the lease of a project's index, and creates the index if needed. `None` while
    /// another worker holds it, or if the index was completed within `rest`.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn acquire_lease(
        &self,
        project: Uuid,
        made_by: &str,
        (holder, rest): (Uuid, Duration),
    ) -> Result<Option<Lease>, StoreError> {
        let (what, taken) = ("acquiring the lease of an index", Instant::now());
        let mut tx = self.begin().await?;
        let row = sqlx::query!(
            "insert into indexes as i (tenant_id, project_id, made_by, holder, held_until) \
             values ($1, $2, $3, $4, now() + make_interval(secs => $5)) \
             on conflict (tenant_id, project_id, made_by) do update \
             set holder = excluded.holder, held_until = excluded.held_until \
             where (i.holder is null or i.holder = excluded.holder or i.held_until < now()) \
                   and (i.indexed_at is null or i.failure is not null \
                        or i.indexed_at <= now() - make_interval(secs => $6)) \
             returning id",
            self.tenant,
            project,
            made_by,
            holder,
            LEASE.as_secs_f64(),
            rest.as_secs_f64()
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))?;
        let project_key = ProjectKey {
            tenant: self.tenant,
            project,
        };
        Ok(row.map(|row| Lease {
            index: row.id,
            project_key,
            holder,
            taken,
        }))
    }

    /// Renews the lease and records progress. False if the lease is lost.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn renew_lease(
        &self,
        lease: Lease,
        done: usize,
        total: usize,
    ) -> Result<bool, StoreError> {
        let what = "renewing the lease of an index";
        let mut tx = self.begin().await?;
        let kept = sqlx::query!(
            "update indexes set held_until = now() + make_interval(secs => $4), \
                                done = $5, total = $6 \
             where tenant_id = $1 and id = $2 and holder = $3 and held_until > now()",
            self.tenant,
            lease.index,
            lease.holder,
            LEASE.as_secs_f64(),
            count(done),
            count(total)
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))?;
        Ok(kept.rows_affected() == 1)
    }

    /// Whether the lease is still held.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn holds_lease(&self, lease: Lease) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        texts::is_held(&mut tx, lease).await
    }

    /// Releases the lease, with the failure if the index could not be completed.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn release_lease(
        &self,
        lease: Lease,
        failure: Option<&str>,
    ) -> Result<(), StoreError> {
        let what = "releasing the lease of an index";
        let mut tx = self.begin().await?;
        sqlx::query!(
            "update indexes set holder = null, held_until = null, failure = $4 \
             where tenant_id = $1 and id = $2 and holder = $3",
            self.tenant,
            lease.index,
            lease.holder,
            failure
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))
    }

    /// Completes the index atomically: readers see its previous state or all of this. False without
    /// any change if the lease is lost.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn complete_index(
        &self,
        lease: Lease,
        whole: &CompletedIndex<'_>,
    ) -> Result<bool, StoreError> {
        let what = "completing an index";
        // All documents of a new index are written in one statement, which may take most of a
        // lease.
        let mut tx = self
            .begin_with("; set local statement_timeout = '15s'")
            .await?;
        let held = sqlx::query!(
            "update indexes set commit_id = $4, done = $8, total = $10, \
                                indexed_at = clock_timestamp() - make_interval(secs => $9), \
                                edition = abs(edition) + 1, failure = null, notes = $6, \
                                rules = $7, lacks_vectors = $11, left_out = $12, \
                                held_until = now() + make_interval(secs => $5) \
             where tenant_id = $1 and id = $2 and holder = $3 and held_until > now()",
            self.tenant,
            lease.index,
            lease.holder,
            whole.commit,
            LEASE.as_secs_f64(),
            whole.notes,
            whole.rules,
            count(whole.texts.0),
            whole.begun.elapsed().as_secs_f64(),
            count(whole.texts.1),
            whole.lacks_vectors,
            count(whole.left_out)
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        if held.rows_affected() == 0 {
            return Ok(false);
        }
        if !whole.gone.is_empty() {
            documents::remove(&mut tx, lease, whole.gone).await?;
        }
        if !whole.changed.is_empty() {
            documents::put(&mut tx, lease, whole.changed).await?;
        }
        if !whole.unused.is_empty() {
            texts::mark_unused(&mut tx, lease, whole.unused).await?;
        }
        texts::sum_up(&mut tx, lease, whole.store_id).await?;
        tx.commit().await.map_err(failed(what))?;
        Ok(true)
    }

    /// Records that all texts have their vectors in this vector store. This is a new edition of the
    /// same documents, whose texts may have other chunks than before. False without any change if
    /// the lease is lost, or the index is incomplete because its store lost texts.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn complete_vectors(&self, lease: Lease, store_id: Uuid) -> Result<bool, StoreError> {
        let what = "recording the vectors of an index";
        let mut tx = self.begin().await?;
        let held = sqlx::query!(
            "update indexes set edition = edition + 1, lacks_vectors = false, failure = null \
             where tenant_id = $1 and id = $2 and holder = $3 and held_until > now() \
                 and edition > 0",
            self.tenant,
            lease.index,
            lease.holder
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        if held.rows_affected() == 0 {
            return Ok(false);
        }
        texts::sum_up(&mut tx, lease, store_id).await?;
        tx.commit().await.map_err(failed(what))?;
        Ok(true)
    }
}

/// A count as a Postgres integer.
fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
