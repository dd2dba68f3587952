//! Texts cut into chunks, as the home keeps them that searches in memory.

use uuid::Uuid;

use super::super::{StoreError, TenantStore, failed};
use crate::Blob;

/// A text as it is kept.
pub struct EncodedText {
    /// The text's id.
    pub blob: Blob,
    /// In the form of the home.
    pub bytes: Vec<u8>,
    /// How many there are.
    pub chunks: i32,
}

impl TenantStore<'_> {
    /// Keeps texts, each in its form; one that is there is replaced.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn put_pieces(
        &self,
        project: Uuid,
        made_by: &str,
        texts: &[EncodedText],
    ) -> Result<(), StoreError> {
        let what = "keeping texts of an index";
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

    /// Forgets texts; those that are not there are passed over.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn remove_pieces(
        &self,
        project: Uuid,
        made_by: &str,
        blobs: &[Blob],
    ) -> Result<(), StoreError> {
        let what = "forgetting texts of an index";
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

    /// Which texts there are, and how many bytes they have together.
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
        .map_err(failed("reading which texts an index has"))?;
        let text =
            |blob: Vec<u8>, bytes| Some((blob.try_into().ok()?, usize::try_from(bytes).ok()?));
        let texts = rows.into_iter();
        Ok(texts.filter_map(|row| text(row.blob, row.bytes)).collect())
    }

    /// How many chunks all texts have together.
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
        .map_err(failed("counting what an index has"))
    }

    /// These texts, each in its form.
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
