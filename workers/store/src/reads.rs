//! Recent file reads, used to rank results for a caller.

use uuid::Uuid;

use super::{StoreError, TenantStore, failed};

/// How many of a caller's last reads determine the modules it works in.
const LAST_READS: i64 = 20;

/// The recent reads of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReads {
    /// The path within the project.
    pub path: String,
    /// When the caller last read it within 7 days, in seconds since 1970.
    pub own_last: Option<i64>,
    /// On how many of the last 7 days it was read, summed over its readers.
    pub times: i64,
}

impl TenantStore<'_> {
    /// The files of a project that were read within 7 days, those with most readers first; at most
    /// `limit`.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn paths_read(&self, project: Uuid, limit: i64) -> Result<Vec<String>, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query_scalar!(
            "select path from file_accesses \
             where tenant_id = $1 and project_id = $2 \
                   and day > (now() at time zone 'utc')::date - 7 \
             group by path order by count(*) desc, path limit $3",
            self.tenant,
            project,
            limit
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading recent file accesses"))
    }

    /// The reads of these files within 7 days; files without reads are left out.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn reads_of(
        &self,
        project: Uuid,
        principal: &str,
        paths: &[String],
    ) -> Result<Vec<FileReads>, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query_as!(
            FileReads,
            r#"select path,
                      extract(epoch from max(last_at) filter (where principal = $3))::bigint
                          as own_last,
                      count(*) as "times!"
               from file_accesses
               where tenant_id = $1 and project_id = $2 and path = any($4)
                     and day > (now() at time zone 'utc')::date - 7
               group by path"#,
            self.tenant,
            project,
            principal,
            paths
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading recent file accesses"))
    }

    /// The paths that the caller read last, within 24 hours.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn last_reads(
        &self,
        project: Uuid,
        principal: &str,
    ) -> Result<Vec<String>, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query_scalar!(
            "select path from file_accesses \
             where tenant_id = $1 and project_id = $2 and principal = $3 \
                   and last_at > now() - interval '24 hours' \
             order by last_at desc limit $4",
            self.tenant,
            project,
            principal,
            LAST_READS
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading a caller's recent files"))
    }
}
