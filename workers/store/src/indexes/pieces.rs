//! Texts cut into chunks, as stored for the vector store that searches in memory.

use uuid::Uuid;

use super::super::{StoreError, TenantStore, failed};
use crate::Blob;

/// A text as stored.
pub struct EncodedText {
    /// The text's id.
    pub blob: Blob,
    /// The chunks, encoded by the vector store.
    pub bytes: Vec<u8>,
    /// The number of chunks.
    pub chunks: i32,
}

impl TenantStore<'_> {
    /// Stores texts, replacing those that exist.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn put_pieces(
        &self,
        project: Uuid,
        made_by: &str,
        texts: &[EncodedText],
    ) -> Result<(), StoreError> {
        let what = "storing texts of an index";
        let blobs: Vec<Vec<u8>> = texts.iter().map(|text| text.blob.to_vec()).collect();
        let pieces: Vec<&[u8]> = texts.iter().map(|text| text.bytes.as_slice()).collect();
        let chunks: Vec<i32> = texts.iter().map(|text| text.chunks).collect();
        let mut tx = self.begin().await?;
        sqlx::query!(
            "insert into index_pieces (tenant_id, project_id, made_by, blob, pieces, chunks) \
             select $1, $2, $3, blob, pieces, chunks \
             from unnest($4::bytea[], $5::bytea[], $6::integer[]) as t (blob, pieces, chunks) \
             on conflict (tenant_id, project_id, made_by, blob) do update \
             set pieces = excluded.pieces, chunks = excluded.chunks",
            self.tenant,
            project,
            made_by,
            &blobs,
            &pieces as _,
            &chunks
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))
    }

    /// Deletes texts; missing ones are ignored.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn remove_pieces(
        &self,
        project: Uuid,
        made_by: &str,
        blobs: &[Blob],
    ) -> Result<(), StoreError> {
        let what = "deleting texts of an index";
        let blobs: Vec<Vec<u8>> = blobs.iter().map(|blob| blob.to_vec()).collect();
        let mut tx = self.begin().await?;
        sqlx::query!(
            "delete from index_pieces \
             where tenant_id = $1 and project_id = $2 and made_by = $3 and blob = any($4)",
            self.tenant,
            project,
            made_by,
            &blobs
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))
    }

    /// The ids of all texts, each with its size in bytes.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn blobs_of_pieces(
        &self,
        project: Uuid,
        made_by: &str,
    ) -> Result<Vec<(Blob, usize)>, StoreError> {
        let mut tx = self.begin().await?;
        let rows = sqlx::query!(
            r#"select blob, length(pieces) as "bytes!" from index_pieces
               where tenant_id = $1 and project_id = $2 and made_by = $3 order by blob"#,
            self.tenant,
            project,
            made_by
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading the texts of an index"))?;
        let text =
            |blob: Vec<u8>, bytes| Some((blob.try_into().ok()?, usize::try_from(bytes).ok()?));
        let texts = rows.into_iter();
        Ok(texts.filter_map(|row| text(row.blob, row.bytes)).collect())
    }

    /// The total number of chunks.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn count_pieces(&self, project: Uuid, made_by: &str) -> Result<i64, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query_scalar!(
            r#"select coalesce(sum(chunks), 0)::bigint as "chunks!" from index_pieces
               where tenant_id = $1 and project_id = $2 and made_by = $3"#,
            self.tenant,
            project,
            made_by
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(failed("counting the chunks of an index"))
    }

    /// Reads texts by id.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn pieces(
        &self,
        project: Uuid,
        made_by: &str,
        blobs: &[Blob],
    ) -> Result<Vec<(Blob, Vec<u8>)>, StoreError> {
        let blobs: Vec<Vec<u8>> = blobs.iter().map(|blob| blob.to_vec()).collect();
        let mut tx = self.begin().await?;
        let rows = sqlx::query!(
            "select blob, pieces from index_pieces \
             where tenant_id = $1 and project_id = $2 and made_by = $3 and blob = any($4)",
            self.tenant,
            project,
            made_by,
            &blobs
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading texts of an index"))?;
        let text = |blob: Vec<u8>, pieces| Some((blob.try_into().ok()?, pieces));
        let texts = rows.into_iter();
        Ok(texts.filter_map(|row| text(row.blob, row.pieces)).collect())
    }
}
