//! Finds entries by words and times, newest first, in pages.
//!
//! Pages continue after a position, not an offset, so concurrent writes shift nothing. A database
//! function looks up words, because the words' index cannot be used under row-level security.

use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use super::MemoryFile;
use crate::{StoreError, TenantStore, failed};

/// Maximum number of entries counted: counting all would make each page as expensive as all of
/// them.
pub(super) const MAX_COUNTED: i64 = 10_000;

/// A transaction with its tenant set.
type Tx = Transaction<'static, Postgres>;

/// Selects entries.
#[derive(Debug)]
pub struct EntryFilter {
    /// The project.
    pub project: Uuid,
    /// Only entries of this file.
    pub file: Option<MemoryFile>,
    /// Words that all have to occur; empty means any entry.
    pub words: Vec<String>,
    /// Written at or after this time, in seconds since 1970.
    pub since: Option<i64>,
    /// Written before the end of this second.
    pub until: Option<i64>,
}

/// The position of an entry, after which the next page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPosition {
    /// When it was written, in microseconds since 1970.
    pub written_at: i64,
    /// The entry's file.
    pub file: MemoryFile,
    /// Its 1-based number in that file.
    pub number: i64,
}

/// An entry as it is stored.
#[derive(Debug)]
pub struct StoredEntry {
    /// The file's name.
    pub file: String,
    /// Its 1-based number in that file.
    pub number: i64,
    /// When it was written, in microseconds since 1970.
    pub written_at: i64,
    /// Compact JSON.
    pub entry: String,
}

impl EntryFilter {
    fn file(&self) -> Option<&'static str> {
        self.file.map(MemoryFile::name)
    }
}

impl TenantStore<'_> {
    /// The number of matching entries, up to [`MAX_COUNTED`], and at most `limit` of them after a
    /// position.
    pub async fn find_entries(
        &self,
        filter: &EntryFilter,
        after: Option<EntryPosition>,
        limit: i64,
    ) -> Result<(u64, Vec<StoredEntry>), StoreError> {
        let tx = &mut self.begin().await?;
        if filter.words.is_empty() {
            let total = self.count_all(tx, filter).await?;
            let page = self.page_of_all(tx, filter, after, limit).await?;
            Ok((total, page))
        } else {
            let total = count_with_words(tx, filter).await?;
            let page = self.page_with_words(tx, filter, after, limit).await?;
            Ok((total, page))
        }
    }

    async fn count_all(&self, tx: &mut Tx, filter: &EntryFilter) -> Result<u64, StoreError> {
        sqlx::query_scalar!(
            r#"select count(*) as "count!" from
                   (select from memory_entries
                    where tenant_id = $1 and project_id = $2 and ($3::text is null or file = $3)
                      and ($4::bigint is null or written_at >= to_timestamp($4))
                      and ($5::bigint is null or written_at < to_timestamp($5 + 1))
                    limit $6) as found"#,
            self.tenant,
            filter.project,
            filter.file(),
            filter.since,
            filter.until,
            MAX_COUNTED
        )
        .fetch_one(&mut **tx)
        .await
        .map(i64::unsigned_abs)
        .map_err(failed("counting entries"))
    }

    async fn page_of_all(
        &self,
        tx: &mut Tx,
        filter: &EntryFilter,
        after: Option<EntryPosition>,
        limit: i64,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        sqlx::query_as!(
            StoredEntry,
            r#"select file, number, entry,
                      (extract(epoch from written_at) * 1000000)::bigint as "written_at!"
               from memory_entries
               where tenant_id = $1 and project_id = $2 and ($3::text is null or file = $3)
                 and ($4::bigint is null or written_at >= to_timestamp($4))
                 and ($5::bigint is null or written_at < to_timestamp($5 + 1))
                 and ($6::bigint is null or (written_at, file, number)
                      < ('epoch'::timestamptz + $6 * interval '1 microsecond', $7, $8))
               order by written_at desc, file desc, number desc limit $9"#,
            self.tenant,
            filter.project,
            filter.file(),
            filter.since,
            filter.until,
            after.map(|position| position.written_at),
            after.map(|position| position.file.name()),
            after.map(|position| position.number),
            limit
        )
        .fetch_all(&mut **tx)
        .await
        .map_err(failed("reading entries"))
    }

    async fn page_with_words(
        &self,
        tx: &mut Tx,
        filter: &EntryFilter,
        after: Option<EntryPosition>,
        limit: i64,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        sqlx::query_as!(
            StoredEntry,
            r#"select e.file, e.number, e.entry,
                      (extract(epoch from e.written_at) * 1000000)::bigint as "written_at!"
               from (select file, number from memory_entries_with($1, $2)
                     where ($3::text is null or file = $3)
                       and ($4::bigint is null or written_at >= to_timestamp($4))
                       and ($5::bigint is null or written_at < to_timestamp($5 + 1))
                       and ($6::bigint is null or (written_at, file collate "C", number)
                            < ('epoch'::timestamptz + $6 * interval '1 microsecond', $7, $8))
                     order by written_at desc, file collate "C" desc, number desc
                     limit $9) as found
               join memory_entries e on e.tenant_id = $10 and e.project_id = $1
                    and e.file = found.file and e.number = found.number
               order by e.written_at desc, e.file desc, e.number desc"#,
            filter.project,
            &filter.words,
            filter.file(),
            filter.since,
            filter.until,
            after.map(|position| position.written_at),
            after.map(|position| position.file.name()),
            after.map(|position| position.number),
            limit,
            self.tenant
        )
        .fetch_all(&mut **tx)
        .await
        .map_err(failed("reading entries by their words"))
    }
}

async fn count_with_words(tx: &mut Tx, filter: &EntryFilter) -> Result<u64, StoreError> {
    sqlx::query_scalar!(
        r#"select count_memory_entries_with(
               $1, $2, $3, to_timestamp($4::bigint), to_timestamp($5::bigint + 1), $6) as "count!""#,
        filter.project,
        &filter.words,
        filter.file(),
        filter.since,
        filter.until,
        MAX_COUNTED
    )
    .fetch_one(&mut **tx)
    .await
    .map(i64::unsigned_abs)
    .map_err(failed("counting entries by their words"))
}
