//! Reads and writes the documents of an index.

use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use super::super::keys::Source;
use super::super::{StoreError, failed};
use super::{Document, Lease};

/// All documents of an index, by source and name.
pub(super) async fn all(
    tx: &mut Transaction<'_, Postgres>,
    tenant: Uuid,
    index: i64,
) -> Result<Vec<Document>, StoreError> {
    let rows = sqlx::query!(
        "select source, name, blob from index_documents \
         where tenant_id = $1 and index_id = $2 order by source, name",
        tenant,
        index
    )
    .fetch_all(&mut **tx)
    .await
    .map_err(failed("reading indexed documents"))?;
    let documents = rows.into_iter().filter_map(|row| {
        Some(Document {
            source: Source::of(row.source)?,
            name: row.name,
            blob: row.blob.try_into().ok()?,
        })
    });
    Ok(documents.collect())
}

/// Removes documents.
pub(super) async fn remove(
    tx: &mut Transaction<'_, Postgres>,
    lease: Lease,
    gone: &[Document],
) -> Result<(), StoreError> {
    let (sources, names, _) = columns(gone);
    sqlx::query!(
        "delete from index_documents d using unnest($3::smallint[], $4::bytea[]) as g (source, name) \
         where d.tenant_id = $1 and d.index_id = $2 and d.source = g.source and d.name = g.name",
        lease.project_key.tenant,
        lease.index,
        &sources,
        &names
    )
    .execute(&mut **tx)
    .await
    .map(|_done| ())
    .map_err(failed("removing documents from an index"))
}

/// Inserts documents, or updates their texts.
pub(super) async fn put(
    tx: &mut Transaction<'_, Postgres>,
    lease: Lease,
    changed: &[Document],
) -> Result<(), StoreError> {
    let (sources, names, blobs) = columns(changed);
    sqlx::query!(
        "insert into index_documents (tenant_id, index_id, source, name, blob) \
         select $1, $2, source, name, blob \
         from unnest($3::smallint[], $4::bytea[], $5::bytea[]) as c (source, name, blob) \
         on conflict (index_id, source, name) do update set blob = excluded.blob",
        lease.project_key.tenant,
        lease.index,
        &sources,
        &names,
        &blobs
    )
    .execute(&mut **tx)
    .await
    .map(|_done| ())
    .map_err(failed("inserting documents into an index"))
}

fn columns(documents: &[Document]) -> (Vec<i16>, Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let sources = documents.iter().map(|document| document.source as i16);
    let names = documents.iter().map(|document| document.name.clone());
    let blobs = documents.iter().map(|document| document.blob.to_vec());
    (sources.collect(), names.collect(), blobs.collect())
}
