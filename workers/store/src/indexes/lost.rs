//! Records that a vector store lost chunks: the index is incomplete until all of its texts are
//! stored again.

use uuid::Uuid;

use super::super::{StoreError, TenantStore, failed};
use super::Lease;

const NOTING: &str = "recording lost texts of an index";

impl TenantStore<'_> {
    /// Marks all texts as uncertain and directs the next ones to this vector store; the index is
    /// incomplete until it is completed again. If its texts were `elsewhere`, this store has none
    /// of them; otherwise it may have any. Returns the number of texts, or `None` without any
    /// change if the lease is lost.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn mark_texts_lost(
        &self,
        lease: Lease,
        store_id: Uuid,
        elsewhere: bool,
    ) -> Result<Option<u64>, StoreError> {
        let mut tx = self.begin().await?;
        // Keep the absolute value: a reader with a cached copy of a later edition would mistake
        // this one for it.
        let held = sqlx::query!(
            "update indexes set edition = -abs(edition), done = 0, home_id = $4 \
             where tenant_id = $1 and id = $2 and holder = $3 and held_until > now()",
            self.tenant,
            lease.index,
            lease.holder,
            store_id
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(NOTING))?;
        if held.rows_affected() == 0 {
            return Ok(None);
        }
        let texts = if elsewhere {
            let gone = sqlx::query!(
                "delete from index_texts where tenant_id = $1 and index_id = $2",
                self.tenant,
                lease.index
            );
            gone.execute(&mut *tx).await
        } else {
            let unsure = sqlx::query!(
                "update index_texts \
                 set is_home = false, chunks = 0, words = 0, lacks_vectors = false \
                 where tenant_id = $1 and index_id = $2",
                self.tenant,
                lease.index
            );
            unsure.execute(&mut *tx).await
        };
        let texts = texts.map_err(failed(NOTING))?;
        tx.commit().await.map_err(failed(NOTING))?;
        Ok(Some(texts.rows_affected()))
    }

    /// Marks an index as incomplete, unless it has another edition by now. The next run finds out
    /// what is lost.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn mark_lost(&self, index: i64, edition: i64) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query!(
            "update indexes set edition = -edition, done = 0 \
             where tenant_id = $1 and id = $2 and edition = $3 and edition > 0",
            self.tenant,
            index,
            edition
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(NOTING))?;
        tx.commit().await.map_err(failed(NOTING))
    }

    /// Marks the indexes of these projects as incomplete whose texts are in another vector store
    /// than this one; `None` means that there is no store. Returns how many were complete.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn mark_lost_outside(
        &self,
        store_id: Option<Uuid>,
        projects: &[Uuid],
        made_by: &str,
    ) -> Result<u64, StoreError> {
        let mut tx = self.begin().await?;
        let marked = sqlx::query!(
            "update indexes set edition = -edition, done = 0 \
             where tenant_id = $1 and project_id = any($2) and made_by = $3 and edition > 0 \
                and home_id is distinct from $4",
            self.tenant,
            projects,
            made_by,
            store_id
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(NOTING))?;
        tx.commit().await.map_err(failed(NOTING))?;
        Ok(marked.rows_affected())
    }
}
