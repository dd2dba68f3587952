//! Rows of sessions whose state differs from their handle.
//!
//! A principal has at most 1,000 ended sessions, and 1,000 with a log level. When one more session
//! ends, one row replaces them all: it ends every session issued until now. When one more level is
//! set, the row changed longest ago is deleted. Writers for one principal exclude each other, so
//! the bounds hold. Few write at a time, so that key lookups find a connection.

use std::time::Duration;

use sqlx::{Postgres, Transaction};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::{StoreError, Stores, TenantStore, with_timeout};
use archway_proto::log::LogLevel;

/// Rows of each kind for one principal.
const MOST_OF_A_KIND: i64 = 1000;

/// Changes read at a time.
pub(crate) const MOST_READ: usize = 10_000;
/// How long a change waits for a writer's permit.
const PERMIT_TIMEOUT: Duration = Duration::from_millis(250);

/// The stored change of one session, or of all of a principal's sessions before a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionChange {
    pub(crate) tenant_id: Uuid,
    pub(crate) principal: String,
    /// `None`: all sessions of the principal that were issued before `moment` have ended.
    pub(crate) id: Option<Uuid>,
    pub(crate) ended: bool,
    pub(crate) log_level: Option<LogLevel>,
    /// With an id: when the session's handle expires. Milliseconds since 1970.
    pub(crate) moment: u64,
    /// When it was written, by Postgres' clock. Microseconds since 1970.
    pub(crate) written: i64,
}

/// A session to write: its principal, its id, and when its handle expires.
struct SessionRow<'a> {
    principal: &'a str,
    id: Uuid,
    /// Milliseconds since 1970.
    expires: u64,
}

impl Stores {
    /// Changes of all tenants written at `since` or later, in the order of writing: at most the
    /// first [`MOST_READ`]. `since` is in microseconds since 1970 by Postgres' clock.
    pub(crate) async fn session_changes(
        &self,
        since: i64,
    ) -> Result<Vec<SessionChange>, StoreError> {
        let rows = sqlx::query!(
            r#"select tenant_id as "tenant_id!", principal as "principal!", id,
                      ended as "ended!", log_level,
                      (extract(epoch from moment) * 1e3)::bigint as "moment!",
                      (extract(epoch from changed_at) * 1e6)::bigint as "written!"
               from session_changes(to_timestamp($1::bigint / 1e6::float8), $2)"#,
            since,
            MOST_READ as i64
        )
        .fetch_all(&self.pool);
        let rows = with_timeout("changed sessions", rows).await?;
        let changes = rows.into_iter().map(|row| SessionChange {
            tenant_id: row.tenant_id,
            principal: row.principal,
            id: row.id,
            ended: row.ended,
            log_level: row.log_level.as_deref().and_then(LogLevel::parse),
            moment: row.moment.unsigned_abs(),
            written: row.written,
        });
        Ok(changes.collect())
    }

    /// Deletes expired rows of all tenants.
    pub(crate) async fn forget_expired_sessions(&self) -> Result<(), StoreError> {
        let forgotten = sqlx::query!("select forget_expired_sessions()").fetch_one(&self.pool);
        with_timeout("expired sessions", forgotten)
            .await
            .map(|_row| ())
    }
}

impl TenantStore<'_> {
    /// Ends a session of a principal. `issued` and `expires` are those of its handle, in
    /// milliseconds since 1970.
    pub(crate) async fn end_session(
        &self,
        principal: &str,
        id: Uuid,
        issued: u64,
        expires: u64,
    ) -> Result<SessionChange, StoreError> {
        let (mut tx, _permit) = self.begin_for(principal).await?;
        let ended = with_timeout(
            "the count of ended sessions",
            sqlx::query_scalar!(
                r#"select count(*) as "count!" from sessions
               where tenant_id = $1 and principal = $2 and ended"#,
                self.tenant,
                principal
            )
            .fetch_one(&mut *tx),
        )
        .await?;
        let change = if ended < MOST_OF_A_KIND {
            let ended = SessionRow {
                principal,
                id,
                expires,
            };
            self.upsert(&mut tx, ended, None).await?
        } else {
            self.end_all(&mut tx, principal, issued).await?
        };
        commit(tx).await?;
        Ok(change)
    }

    /// Sets the log level of a session, or of the principal's own session (nil id).
    pub(crate) async fn set_log_level(
        &self,
        principal: &str,
        id: Uuid,
        expires: u64,
        level: LogLevel,
    ) -> Result<SessionChange, StoreError> {
        let (mut tx, _permit) = self.begin_for(principal).await?;
        with_timeout(
            "removal of the oldest log level",
            sqlx::query!(
                "delete from sessions where tenant_id = $1 and principal = $2 and id in ( \
                 select id from sessions where tenant_id = $1 and principal = $2 and not ended \
                 order by changed_at desc offset $3)",
                self.tenant,
                principal,
                MOST_OF_A_KIND - 1
            )
            .execute(&mut *tx),
        )
        .await?;
        let session = SessionRow {
            principal,
            id,
            expires,
        };
        let change = self.upsert(&mut tx, session, Some(level)).await?;
        commit(tx).await?;
        Ok(change)
    }

    /// A transaction that excludes other writers for this principal, and the writer's permit.
    async fn begin_for(
        &self,
        principal: &str,
    ) -> Result<(Transaction<'static, Postgres>, OwnedSemaphorePermit), StoreError> {
        let permit = self.stores.session_writers.clone().acquire_owned();
        let Ok(Ok(permit)) = tokio::time::timeout(PERMIT_TIMEOUT, permit).await else {
            return Err(StoreError::SessionsBusy);
        };
        let mut tx = self.begin().await?;
        let lock = format!("sessions {} {principal}", self.tenant);
        with_timeout(
            "a principal's sessions",
            sqlx::query!(
                "select pg_advisory_xact_lock(hashtextextended($1, 0))",
                lock
            )
            .fetch_one(&mut *tx),
        )
        .await?;
        with_timeout(
            "expired sessions",
            sqlx::query!(
                "delete from sessions \
             where tenant_id = $1 and principal = $2 and expires_at <= now()",
                self.tenant,
                principal
            )
            .execute(&mut *tx),
        )
        .await?;
        Ok((tx, permit))
    }

    /// Ends the session if `level` is `None`, otherwise sets its level.
    async fn upsert(
        &self,
        tx: &mut Transaction<'static, Postgres>,
        session: SessionRow<'_>,
        level: Option<LogLevel>,
    ) -> Result<SessionChange, StoreError> {
        let SessionRow {
            principal,
            id,
            expires,
        } = session;
        let row = with_timeout(
            "a session",
            sqlx::query!(
                r#"insert into sessions (tenant_id, principal, id, ended, log_level, expires_at)
               values ($1, $2, $3, $4, $5, to_timestamp($6::bigint / 1e3::float8))
               on conflict (tenant_id, principal, id) do update set
                   ended = sessions.ended or excluded.ended,
                   log_level = coalesce(excluded.log_level, sessions.log_level),
                   expires_at = excluded.expires_at,
                   changed_at = clock_timestamp()
               returning ended, log_level,
                         (extract(epoch from changed_at) * 1e6)::bigint as "written!""#,
                self.tenant,
                principal,
                id,
                level.is_none(),
                level.map(LogLevel::name),
                i64::try_from(expires).unwrap_or(i64::MAX)
            )
            .fetch_one(&mut **tx),
        )
        .await?;
        Ok(SessionChange {
            tenant_id: self.tenant,
            principal: principal.to_owned(),
            id: Some(id),
            ended: row.ended,
            log_level: row.log_level.as_deref().and_then(LogLevel::parse),
            moment: expires,
            written: row.written,
        })
    }

    async fn end_all(
        &self,
        tx: &mut Transaction<'static, Postgres>,
        principal: &str,
        issued: u64,
    ) -> Result<SessionChange, StoreError> {
        with_timeout(
            "ended sessions",
            sqlx::query!(
                "delete from sessions where tenant_id = $1 and principal = $2 and ended",
                self.tenant,
                principal
            )
            .execute(&mut **tx),
        )
        .await?;
        // A gateway's clock may be ahead of Postgres' clock.
        let row = sqlx::query!(
            r#"insert into session_floors (tenant_id, principal, issued_before)
               values ($1, $2, greatest(now(), to_timestamp(($3::bigint + 1) / 1e3::float8)))
               on conflict (tenant_id, principal) do update set
                   issued_before = excluded.issued_before, changed_at = clock_timestamp()
               returning (extract(epoch from issued_before) * 1e3)::bigint as "moment!",
                         (extract(epoch from changed_at) * 1e6)::bigint as "written!""#,
            self.tenant,
            principal,
            i64::try_from(issued).unwrap_or(i64::MAX - 1)
        )
        .fetch_one(&mut **tx);
        let row = with_timeout("the end of all sessions", row).await?;
        Ok(SessionChange {
            tenant_id: self.tenant,
            principal: principal.to_owned(),
            id: None,
            ended: true,
            log_level: None,
            moment: row.moment.unsigned_abs(),
            written: row.written,
        })
    }
}

async fn commit(tx: Transaction<'static, Postgres>) -> Result<(), StoreError> {
    with_timeout("a commit", tx.commit()).await
}
