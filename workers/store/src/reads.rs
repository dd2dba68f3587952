//! Recent file reads, used to rank results for a caller.

use uuid::Uuid;

use super::{StoreError, TenantStore, failed};

/// How many of a caller's last reads in a project determine the modules it works in.
const LAST_READS: i64 = 20;

/// Recent reads in some projects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentReads {
    /// Within 7 days, of the requested files.
    pub files: Vec<FileReads>,
    /// Project and path of the files that the caller read last, within 24 hours.
    pub last: Vec<(Uuid, String)>,
}

/// The recent reads of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReads {
    /// Its project.
    pub project: Uuid,
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

    /// The reads of these files within 7 days, and the files that the caller read last in each of
    /// their projects. Files without reads are left out.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn recent_reads(
        &self,
        principal: &str,
        projects: &[Uuid],
        files: &[(Uuid, String)],
    ) -> Result<RecentReads, StoreError> {
        let (owners, paths): (Vec<Uuid>, Vec<String>) = files.iter().cloned().unzip();
        let mut tx = self.begin().await?;
        let files = sqlx::query_as!(
            FileReads,
            r#"select project_id as "project!", path as "path!",
                      extract(epoch from max(last_at) filter (where principal = $4))::bigint
                          as own_last,
                      count(*) as "times!"
               from unnest($2::uuid[], $3::text[]) as asked (project_id, path)
               join file_accesses using (project_id, path)
               where tenant_id = $1 and day > (now() at time zone 'utc')::date - 7
               group by project_id, path"#,
            self.tenant,
            &owners,
            &paths,
            principal
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading recent file accesses"))?;
        let last = sqlx::query!(
            r#"select asked.project_id as "project!", recent.path
               from unnest($2::uuid[]) as asked (project_id), lateral (
                   select path from file_accesses accesses
                   where tenant_id = $1 and accesses.project_id = asked.project_id
                         and principal = $3 and last_at > now() - interval '24 hours'
                   order by last_at desc limit $4) as recent"#,
            self.tenant,
            projects,
            principal,
            LAST_READS
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading a caller's recent files"))?;
        let last = last.into_iter().map(|row| (row.project, row.path));
        Ok(RecentReads {
            files,
            last: last.collect(),
        })
    }
}
