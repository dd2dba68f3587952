//! The texts of an index, and their states in the vector store.

use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use super::super::{StoreError, TenantStore, failed};
use super::{Lease, RecordedText, TextState};
use crate::Blob;

/// A text in the vector store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredText {
    /// The text's id.
    pub blob: Blob,
    /// The number of its chunks.
    pub chunks: i32,
    /// The number of words in all chunks.
    pub words: i64,
    /// Whether it was stored without vectors.
    pub lacks_vectors: bool,
}

impl StoredText {
    /// Its record.
    pub fn recorded(&self) -> RecordedText {
        RecordedText {
            state: TextState::of(true, self.lacks_vectors),
            chunks: self.chunks,
            words: self.words,
        }
    }
}

impl TenantStore<'_> {
    /// Records that texts are about to be written to the vector store. If the run ends before it
    /// confirms them, a later run finds them and removes those without a document. False if the
    /// lease is lost.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn announce_texts(&self, lease: Lease, blobs: &[Blob]) -> Result<bool, StoreError> {
        let what = "announcing texts of an index";
        let blobs: Vec<Vec<u8>> = blobs.iter().map(|blob| blob.to_vec()).collect();
        let mut tx = self.begin().await?;
        if !is_held(&mut tx, lease).await? {
            return Ok(false);
        }
        sqlx::query!(
            "insert into index_texts (tenant_id, index_id, blob, chunks, words, is_home) \
             select $1, $2, blob, 0, 0, false from unnest($3::bytea[]) as t (blob) \
             on conflict (index_id, blob) do nothing",
            self.tenant,
            lease.index,
            &blobs
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))?;
        Ok(true)
    }

    /// Records that texts are in the vector store; false if the lease is lost. Writes after the
    /// lease may then have replaced those of the next holder, so the index is requested again and
    /// the texts are written again.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn record_texts(
        &self,
        lease: Lease,
        texts: &[StoredText],
    ) -> Result<bool, StoreError> {
        let what = "recording texts of an index";
        let blobs: Vec<Vec<u8>> = texts.iter().map(|text| text.blob.to_vec()).collect();
        let chunks: Vec<i32> = texts.iter().map(|text| text.chunks).collect();
        let words: Vec<i64> = texts.iter().map(|text| text.words).collect();
        let lacking: Vec<bool> = texts.iter().map(|text| text.lacks_vectors).collect();
        let mut tx = self.begin().await?;
        if !is_held(&mut tx, lease).await? {
            record_late_texts(&mut tx, lease, &blobs, &lacking).await?;
            tx.commit().await.map_err(failed(what))?;
            return Ok(false);
        }
        sqlx::query!(
            "insert into index_texts (tenant_id, index_id, blob, chunks, words, lacks_vectors) \
             select $1, $2, blob, chunks, words, lacks_vectors \
             from unnest($3::bytea[], $4::integer[], $5::bigint[], $6::boolean[]) \
                 as t (blob, chunks, words, lacks_vectors) \
             on conflict (index_id, blob) do update \
             set chunks = excluded.chunks, words = excluded.words, is_home = true, \
                 lacks_vectors = excluded.lacks_vectors",
            self.tenant,
            lease.index,
            &blobs,
            &chunks,
            &words,
            &lacking
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))?;
        Ok(true)
    }

    /// Records that texts were removed, except those that were stored again.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn remove_texts(&self, lease: Lease, blobs: &[Blob]) -> Result<(), StoreError> {
        let what = "removing texts of an index";
        let blobs: Vec<Vec<u8>> = blobs.iter().map(|blob| blob.to_vec()).collect();
        let mut tx = self.begin().await?;
        sqlx::query!(
            "delete from index_texts where tenant_id = $1 and index_id = $2 and blob = any($3) \
                and not is_home",
            self.tenant,
            lease.index,
            &blobs
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))
    }
}

/// Whether the lease is held. It stays so until the transaction ends.
pub(super) async fn is_held(
    tx: &mut Transaction<'_, Postgres>,
    lease: Lease,
) -> Result<bool, StoreError> {
    let held = sqlx::query_scalar!(
        "select true from indexes \
         where tenant_id = $1 and id = $2 and holder = $3 and held_until > now() for share",
        lease.project_key.tenant,
        lease.index,
        lease.holder
    )
    .fetch_optional(&mut **tx)
    .await
    .map_err(failed("reading the lease of an index"))?;
    Ok(held.is_some())
}

/// Records texts that were written after the lease ended. The vector store may now have a text
/// without vectors that the next holder recorded with them, or one that the next holder removed.
/// Both become uncertain and the index is requested, so that its next run writes or removes them.
async fn record_late_texts(
    tx: &mut Transaction<'_, Postgres>,
    lease: Lease,
    blobs: &[Vec<u8>],
    lacking: &[bool],
) -> Result<(), StoreError> {
    sqlx::query!(
        "with doubted as ( \
            insert into index_texts as t \
                (tenant_id, index_id, blob, chunks, words, lacks_vectors, is_home) \
            select i.tenant_id, i.id, l.blob, 0, 0, l.lacks_vectors, false \
            from unnest($3::bytea[], $4::boolean[]) as l (blob, lacks_vectors) \
            join indexes i on i.tenant_id = $1 and i.id = $2 \
            on conflict (index_id, blob) do update set is_home = false \
            where t.is_home and excluded.lacks_vectors and not t.lacks_vectors \
            returning 1 \
         ) \
         update indexes set asked_at = clock_timestamp() \
         where tenant_id = $1 and id = $2 and exists (select from doubted)",
        lease.project_key.tenant,
        lease.index,
        blobs,
        lacking
    )
    .execute(&mut **tx)
    .await
    .map(|_done| ())
    .map_err(failed("recording late texts of an index"))
}

/// Records that texts are about to be removed: from now on they are uncertain.
pub(super) async fn mark_unused(
    tx: &mut Transaction<'_, Postgres>,
    lease: Lease,
    unused: &[Blob],
) -> Result<(), StoreError> {
    let blobs: Vec<Vec<u8>> = unused.iter().map(|blob| blob.to_vec()).collect();
    sqlx::query!(
        "update index_texts set is_home = false, chunks = 0, words = 0 \
         where tenant_id = $1 and index_id = $2 and blob = any($3)",
        lease.project_key.tenant,
        lease.index,
        &blobs
    )
    .execute(&mut **tx)
    .await
    .map(|_done| ())
    .map_err(failed("marking unused texts of an index"))
}

/// Records the vector store and the number of chunks of all texts in it.
pub(super) async fn sum_up(
    tx: &mut Transaction<'_, Postgres>,
    lease: Lease,
    store_id: Uuid,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update indexes set home_id = $3, chunks = \
            (select coalesce(sum(t.chunks), 0) from index_texts t \
             where t.tenant_id = $1 and t.index_id = $2) \
         where tenant_id = $1 and id = $2",
        lease.project_key.tenant,
        lease.index,
        store_id
    )
    .execute(&mut **tx)
    .await
    .map(|_done| ())
    .map_err(failed("updating the totals of an index"))
}
