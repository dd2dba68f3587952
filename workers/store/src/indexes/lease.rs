//! The right to make an index whole: one worker's at a time, for as long as it says that it lives.

use tokio::time::{Duration, Instant};
use uuid::Uuid;

use super::super::{StoreError, TenantStore, failed};
use super::{Document, texts};
use crate::{Blob, ProjectKey};

/// How long a worker holds an index that says no more of itself.
pub const LEASE: Duration = Duration::from_secs(20);

/// An index that this worker holds. It has to say so again before [`LEASE`] is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The row's number.
    pub index: i64,
    /// The tenant and project.
    pub project_key: ProjectKey,
    pub(super) holder: Uuid,
    /// Before it was taken.
    pub taken: Instant,
}

/// What makes an index whole.
pub struct CompletedIndex<'a> {
    /// When it was found out what is to be in it: whoever asks for it since asks for more.
    pub begun: Instant,
    /// HEAD's commit; `None` before the first.
    pub commit: Option<&'a str>,
    /// The fingerprint of the path rules that its files were found by.
    pub rules: &'a str,
    /// How many texts are at home, and how many it has: the others can't be read.
    pub texts: (usize, usize),
    /// The store that its texts are in.
    pub home: Uuid,
    /// How much was noted when its notes were read, or before.
    pub notes: i64,
    /// Documents that are new, or have another text.
    pub changed: &'a [Document],
    /// Documents that are gone.
    pub gone: &'a [Document],
    /// Texts that no document has any longer, which are still at home.
    pub unused: &'a [Blob],
    /// Some of its texts have no vectors yet.
    pub lacks_vectors: bool,
}

impl TenantStore<'_> {
    /// Takes the index of a project, making its row if there is none; `None` while another worker
    /// holds it.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn acquire_lease(
        &self,
        project: Uuid,
        made_by: &str,
        holder: Uuid,
    ) -> Result<Option<Lease>, StoreError> {
        let (what, taken) = ("taking an index", Instant::now());
        let mut tx = self.begin().await?;
        let row = sqlx::query!(
            "insert into indexes as i (tenant_id, project_id, made_by, holder, held_until) \
             values ($1, $2, $3, $4, now() + make_interval(secs => $5)) \
             on conflict (tenant_id, project_id, made_by) do update \
             set holder = excluded.holder, held_until = excluded.held_until \
             where i.holder is null or i.holder = excluded.holder or i.held_until < now() \
             returning id",
            self.tenant,
            project,
            made_by,
            holder,
            LEASE.as_secs_f64()
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

    /// Says that the holder lives, and how far it is; false if the index is no longer its own.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn renew_lease(
        &self,
        lease: Lease,
        done: usize,
        total: usize,
    ) -> Result<bool, StoreError> {
        let what = "keeping an index";
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

    /// Whether the index is still the holder's.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn holds_lease(&self, lease: Lease) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        texts::is_held(&mut tx, lease).await
    }

    /// Gives the index back; with why it could not be made whole, if it could not.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn release_lease(
        &self,
        lease: Lease,
        failure: Option<&str>,
    ) -> Result<(), StoreError> {
        let what = "giving an index back";
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

    /// Makes the index whole, all at once: who reads it sees what it was before, or all of this.
    /// False if the index is no longer the holder's, and nothing changed.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn complete_index(
        &self,
        lease: Lease,
        whole: &CompletedIndex<'_>,
    ) -> Result<bool, StoreError> {
        let what = "making an index whole";
        let mut tx = self.begin().await?;
        // All documents of a new index are written in one statement, which has most of a lease.
        sqlx::query("set local statement_timeout = '15s'")
            .execute(&mut *tx)
            .await
            .map_err(failed(what))?;
        let held = sqlx::query!(
            "update indexes set commit_id = $4, done = $8, total = $10, \
                                indexed_at = clock_timestamp() - make_interval(secs => $9), \
                                edition = abs(edition) + 1, failure = null, notes = $6, \
                                rules = $7, lacks_vectors = $11, \
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
            whole.lacks_vectors
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        if held.rows_affected() == 0 {
            return Ok(false);
        }
        texts::remove_documents(&mut tx, lease, whole.gone).await?;
        texts::put_documents(&mut tx, lease, whole.changed).await?;
        texts::mark_unused(&mut tx, lease, whole.unused).await?;
        texts::sum_up(&mut tx, lease, whole.home).await?;
        tx.commit().await.map_err(failed(what))?;
        Ok(true)
    }

    /// Notes that all texts have their vectors now, in this store: another edition of the same
    /// documents, whose texts may have other chunks than before. False if the index is no longer the
    /// holder's, or not whole since its home lost texts, and nothing changed.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn complete_vectors(&self, lease: Lease, home: Uuid) -> Result<bool, StoreError> {
        let what = "noting that an index has its vectors";
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
        texts::sum_up(&mut tx, lease, home).await?;
        tx.commit().await.map_err(failed(what))?;
        Ok(true)
    }
}

/// A number as Postgres has it.
fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
