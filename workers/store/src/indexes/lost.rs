//! What is noted of an index whose home lost chunks: it is not whole until all of it is home again.

use uuid::Uuid;

use super::super::{StoreError, TenantStore, failed};
use super::Lease;

const NOTING: &str = "noting that an index was lost";

impl TenantStore<'_> {
    /// The store that the texts of an index were brought to.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn vector_store_of_index(&self, index: i64) -> Result<Uuid, StoreError> {
        let mut tx = self.begin().await?;
        let home = sqlx::query_scalar!(
            "select home_id from indexes where tenant_id = $1 and id = $2",
            self.tenant,
            index
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(failed("reading where an index is"))?;
        Ok(home.unwrap_or_default())
    }

    /// Notes that no text is surely at home and that the next ones go to this store; the index is not
    /// whole until it was completed. If they were `elsewhere`, none is in this store; else each may be.
    /// How many texts there were; `None` if the index is no longer the holder's, and nothing changed.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn mark_texts_lost(
        &self,
        lease: Lease,
        home: Uuid,
        elsewhere: bool,
    ) -> Result<Option<u64>, StoreError> {
        let mut tx = self.begin().await?;
        // The number is kept: who holds a copy of a later edition would take it for this one.
        let held = sqlx::query!(
            "update indexes set edition = -abs(edition), done = 0, home_id = $4 \
             where tenant_id = $1 and id = $2 and holder = $3 and held_until > now()",
            self.tenant,
            lease.index,
            lease.holder,
            home
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

    /// Marks an index as not whole, unless it became another edition than this one. The run that
    /// follows finds out what is lost.
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

    /// Marks the indexes of these projects as not whole whose texts are in another store than this
    /// one; `None`: there is no store. How many were whole.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn mark_lost_outside(
        &self,
        home: Option<Uuid>,
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
            home
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(NOTING))?;
        tx.commit().await.map_err(failed(NOTING))?;
        Ok(marked.rows_affected())
    }
}
