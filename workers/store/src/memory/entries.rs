//! Entries of memory files: appended one at a time, and read back as a file.

use uuid::Uuid;

use super::{Author, MemoryFile, WriteError, commit, not_written};
use crate::{StoreError, TenantStore, failed};

/// A validated entry.
#[derive(Debug)]
pub struct NewEntry {
    /// The project.
    pub project: Uuid,
    /// The file to append to.
    pub file: MemoryFile,
    /// Compact JSON.
    pub text: String,
    /// The distinct words of its keys and strings.
    pub words: Vec<String>,
}

/// The content of a memory file.
#[derive(Debug)]
pub enum MemoryFileContent {
    /// Nothing was ever appended.
    Absent,
    /// It is larger than the limit; its size in bytes.
    TooLarge(u64),
    /// Its entries as written, oldest first.
    Entries(Vec<String>),
}

impl TenantStore<'_> {
    /// Appends an entry, once per idempotency key. Returns the number of entries in its file.
    pub async fn append_entry(
        &self,
        author: Author<'_>,
        entry: &NewEntry,
    ) -> Result<u64, WriteError> {
        let mut tx = self.begin().await.map_err(WriteError::NotWritten)?;
        let row = sqlx::query!(
            r#"select outcome as "outcome!", coalesce(number, 0) as "number!"
               from append_memory_entry($1, $2, $3, $4, $5, $6)"#,
            entry.project,
            entry.file.name(),
            author.principal,
            author.key.0,
            entry.text,
            &entry.words
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(not_written("appending an entry"))?;
        WriteError::check_outcome(&row.outcome)?;
        commit(tx).await?;
        Ok(row.number.unsigned_abs())
    }

    /// Reads a file of at most `max_bytes`, counting a line end after each entry.
    pub async fn memory_file(
        &self,
        project: Uuid,
        file: MemoryFile,
        max_bytes: u64,
    ) -> Result<MemoryFileContent, StoreError> {
        let what = "reading a memory file";
        let mut tx = self.begin().await?;
        let size = sqlx::query_scalar!(
            r#"select bytes + count as "size!" from memory_logs
               where tenant_id = $1 and project_id = $2 and log = $3"#,
            self.tenant,
            project,
            file.name()
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(failed(what))?;
        match size.map(i64::unsigned_abs) {
            None => return Ok(MemoryFileContent::Absent),
            Some(size) if size > max_bytes => return Ok(MemoryFileContent::TooLarge(size)),
            Some(_fits) => {}
        }
        let entries = sqlx::query_scalar!(
            "select entry from memory_entries \
             where tenant_id = $1 and project_id = $2 and file = $3 order by number",
            self.tenant,
            project,
            file.name()
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed(what))?;
        Ok(MemoryFileContent::Entries(entries))
    }
}
