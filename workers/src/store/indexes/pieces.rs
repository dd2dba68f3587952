//! Texts cut into chunks, as the home keeps them that searches in memory.

use uuid::Uuid;

use super::super::{StoreError, TenantStore, failed};
use crate::index::home::Blob;

impl TenantStore<'_> {
    /// Keeps texts, each in its form; one that is there is replaced.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub(crate) async fn put_pieces(
        &self,
        project: Uuid,
        made_by: &str,
        texts: &[(Blob, Vec<u8>)],
    ) -> Result<(), StoreError> {
        let what = "keeping texts of an index";
        let blobs: Vec<Vec<u8>> = texts.iter().map(|(blob, _)| blob.to_vec()).collect();
        let pieces: Vec<&[u8]> = texts.iter().map(|(_, pieces)| pieces.as_slice()).collect();
        let mut tx = self.begin().await?;
        sqlx::query!(
            "insert into index_pieces (tenant_id, project_id, made_by, blob, pieces) \
             select $1, $2, $3, blob, pieces from unnest($4::bytea[], $5::bytea[]) as t (blob, pieces) \
             on conflict (tenant_id, project_id, made_by, blob) do update \
             set pieces = excluded.pieces",
            self.tenant,
            project,
            made_by,
            &blobs,
            &pieces as _
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
    pub(crate) async fn remove_pieces(
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
    pub(crate) async fn blobs_of_pieces(
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

    /// The first bytes of each text's form: as many as are needed to tell how many chunks it has.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub(crate) async fn heads_of_pieces(
        &self,
        project: Uuid,
        made_by: &str,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query_scalar!(
            r#"select substring(pieces from 1 for 12) as "head!" from index_pieces
               where tenant_id = $1 and project_id = $2 and made_by = $3"#,
            self.tenant,
            project,
            made_by
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("counting what an index has"))
    }

    /// These texts, each in its form.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub(crate) async fn pieces(
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
