//! Workflows of sessions. Rows are ephemeral: they expire 30 minutes after their last use.

use jiff::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{StoreError, Stores, TenantStore, failed};

/// Maximum number of workflows of a tenant. One more replaces the least recently used.
const MAX_ROWS: i64 = 1_000;
/// Maximum size of a tenant's workflow results and arguments, in bytes. The least recently used are
/// emptied.
const MAX_BYTES: i64 = 64 << 20;

/// Identifies the session of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct SessionKey<'a> {
    /// The caller.
    pub principal: &'a str,
    /// The caller's session.
    pub session: Uuid,
}

/// A workflow as stored.
pub struct WorkflowRow {
    /// The prompt's name.
    pub prompt: String,
    /// A JSON object.
    pub arguments: String,
    /// When it was opened, in milliseconds since 1970.
    pub opened_ms: i64,
    /// A JSON array.
    pub results: String,
}

/// A workflow to open.
pub struct NewWorkflow<'a> {
    /// The prompt's name.
    pub prompt: &'a str,
    /// A JSON object.
    pub arguments: &'a str,
    /// The tools whose results it stores.
    pub tools: &'a [String],
}

impl TenantStore<'_> {
    /// Opens a session's workflow, or switches it to another prompt. Stored results stay unless it
    /// had expired.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn open_workflow(
        &self,
        key: SessionKey<'_>,
        workflow: &NewWorkflow<'_>,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        let what = "opening a workflow";
        // Counting comes first; it is cheap because there are never many.
        sqlx::query!(
            "update workflows set principal = $2, session = $3, results = '[]'
             where tenant_id = $1 and (principal, session) = (
                 select principal, session from workflows
                 where tenant_id = $1
                       and $4 <= (select count(*) from workflows where tenant_id = $1)
                       and not exists (
                           select from workflows
                           where tenant_id = $1 and principal = $2 and session = $3
                       )
                 order by touched_at limit 1 for update skip locked
             )",
            self.tenant,
            key.principal,
            key.session,
            MAX_ROWS
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        sqlx::query!(
            "insert into workflows (tenant_id, principal, session, prompt, arguments, tools)
             values ($1, $2, $3, $4, $5, $6)
             on conflict (tenant_id, principal, session) do update
             set prompt = excluded.prompt, arguments = excluded.arguments,
                 tools = excluded.tools, opened_at = now(), touched_at = now(),
                 results = case when workflows.touched_at > now() - interval '30 minutes'
                                then workflows.results else '[]' end",
            self.tenant,
            key.principal,
            key.session,
            workflow.prompt,
            workflow.arguments,
            workflow.tools
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        self.empty_oldest_workflows(&mut tx)
            .await
            .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))
    }

    /// A session's workflow, if it has one that has not expired.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn workflow(&self, key: SessionKey<'_>) -> Result<Option<WorkflowRow>, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query_as!(
            WorkflowRow,
            r#"select prompt, arguments, results,
                      (extract(epoch from opened_at) * 1000)::bigint as "opened_ms!"
               from workflows
               where tenant_id = $1 and principal = $2 and session = $3
                     and touched_at > now() - interval '30 minutes'"#,
            self.tenant,
            key.principal,
            key.session
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(failed("reading a workflow"))
    }

    /// Replaces a session's stored results with what `change` returns, one call at a time. Does
    /// nothing without a workflow, or if `change` returns `None`.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn change_workflow(
        &self,
        key: SessionKey<'_>,
        change: impl FnOnce(&[String], &str) -> Option<String>,
    ) -> Result<(), StoreError> {
        let what = "storing a workflow's result";
        let mut tx = self.begin().await?;
        let row = sqlx::query!(
            "select tools, results from workflows
             where tenant_id = $1 and principal = $2 and session = $3
                   and touched_at > now() - interval '30 minutes'
             for update",
            self.tenant,
            key.principal,
            key.session
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(failed(what))?;
        let Some(results) = row.and_then(|row| change(&row.tools, &row.results)) else {
            return Ok(());
        };
        sqlx::query!(
            "update workflows set results = $4, touched_at = now()
             where tenant_id = $1 and principal = $2 and session = $3",
            self.tenant,
            key.principal,
            key.session,
            results
        )
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        self.empty_oldest_workflows(&mut tx)
            .await
            .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))
    }

    /// Empties the least recently used workflows while the tenant's total is over [`MAX_BYTES`].
    /// One that another call has locked is left to the next.
    async fn empty_oldest_workflows(&self, tx: &mut PgConnection) -> Result<(), sqlx::Error> {
        sqlx::query!(
            "update workflows set arguments = '{}', results = '[]'
             where tenant_id = $1 and (principal, session) in (
                 select w.principal, w.session from workflows w
                 join (
                     select principal, session,
                            sum(octet_length(results) + octet_length(arguments))
                                over (order by touched_at desc, principal, session) as up_to
                     from workflows where tenant_id = $1
                 ) sized using (principal, session)
                 where w.tenant_id = $1 and sized.up_to > $2::bigint
                       and (w.results <> '[]' or w.arguments <> '{}')
                 for update of w skip locked
             )",
            self.tenant,
            MAX_BYTES
        )
        .execute(tx)
        .await?;
        Ok(())
    }
}

impl Stores {
    /// The sessions, by hash, whose workflow was opened or changed since, and the time of the last
    /// change.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn sessions_at_work(
        &self,
        since: Timestamp,
    ) -> Result<Vec<(Uuid, Timestamp)>, StoreError> {
        let since = since.as_millisecond();
        let rows = sqlx::query!(
            r#"select session as "session!",
                      (extract(epoch from touched_at) * 1000)::bigint as "touched_ms!"
               from sessions_at_work(to_timestamp($1::bigint / 1000.0))"#,
            since
        )
        .fetch_all(&self.pool)
        .await
        .map_err(failed("reading active sessions"))?;
        let rows = rows.into_iter();
        let known = rows.filter_map(|row| {
            let touched = Timestamp::from_millisecond(row.touched_ms).ok()?;
            Some((row.session, touched))
        });
        Ok(known.collect())
    }

    /// Erases some of the expired workflows.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn erase_ended_workflows(&self) -> Result<(), StoreError> {
        let erased = sqlx::query_scalar!(r#"select erase_ended_workflows() as "erased!""#);
        let erased = erased.fetch_one(&self.pool).await;
        erased.map_err(failed("erasing workflows"))?;
        Ok(())
    }
}
