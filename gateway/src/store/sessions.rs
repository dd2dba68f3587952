//! The rows of sessions that differ from their handle.
//!
//! A principal has at most a thousand ended sessions and as many with a log level. One more end,
//! and all that were issued before now are ended by one row instead; one more level, and the one
//! set longest ago is forgotten. Writers of one principal wait for each other, so the bounds hold;
//! few write at a time, so that look-ups of keys find a connection.

use std::time::Duration;

use sqlx::{Postgres, Transaction};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::{StoreError, Stores, TenantStore, in_time};
use archway_proto::log::LogLevel;

/// Rows of one principal, of each kind.
const MOST_OF_A_KIND: i64 = 1000;

/// Changes read at a time.
pub(crate) const MOST_READ: usize = 10_000;
/// How long a change waits for its turn.
const TURN: Duration = Duration::from_millis(250);

/// A session, or all of a principal's before a moment, as Postgres has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionChange {
    pub(crate) tenant_id: Uuid,
    pub(crate) principal: String,
    /// `None`: all sessions of the principal that were issued before `moment` are ended.
    pub(crate) id: Option<Uuid>,
    pub(crate) ended: bool,
    pub(crate) log_level: Option<LogLevel>,
    /// Otherwise when the session's handle expires. Milliseconds since 1970.
    pub(crate) moment: u64,
    /// When it was written, by Postgres' clock. Microseconds since 1970.
    pub(crate) written: i64,
}

/// A row's session: its owner, its id, and when its handle expires.
struct Session<'a> {
    principal: &'a str,
    id: Uuid,
    /// Milliseconds since 1970.
    expires: u64,
}

impl Stores {
    /// What was written at `since` or later, of all tenants: the earliest [`MOST_READ`] of it, in
    /// the order of writing. In microseconds since 1970 by Postgres' clock.
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
        let rows = in_time("changed sessions", rows).await?;
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

    /// Removes what has expired, of all tenants.
    pub(crate) async fn forget_expired_sessions(&self) -> Result<(), StoreError> {
        let forgotten = sqlx::query!("select forget_expired_sessions()").fetch_one(&self.pool);
        in_time("expired sessions", forgotten).await.map(|_row| ())
    }
}

impl TenantStore<'_> {
    /// Ends a session of a principal. `issued` and `expires` are its handle's, in milliseconds
    /// since 1970.
    pub(crate) async fn end_session(
        &self,
        principal: &str,
        id: Uuid,
        issued: u64,
        expires: u64,
    ) -> Result<SessionChange, StoreError> {
        let (mut tx, _turn) = self.begin_for(principal).await?;
        let ended = in_time(
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
            let ended = Session {
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

    /// Sets the log level of a session, or of the principal's own (id nil).
    pub(crate) async fn set_log_level(
        &self,
        principal: &str,
        id: Uuid,
        expires: u64,
        level: LogLevel,
    ) -> Result<SessionChange, StoreError> {
        let (mut tx, _turn) = self.begin_for(principal).await?;
        in_time(
            "room for a session",
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
        let session = Session {
            principal,
            id,
            expires,
        };
        let change = self.upsert(&mut tx, session, Some(level)).await?;
        commit(tx).await?;
        Ok(change)
    }

    /// A transaction that no other of this principal's sessions runs beside, and its turn.
    async fn begin_for(
        &self,
        principal: &str,
    ) -> Result<(Transaction<'static, Postgres>, OwnedSemaphorePermit), StoreError> {
        let turn = self.stores.session_writers.clone().acquire_owned();
        let Ok(Ok(turn)) = tokio::time::timeout(TURN, turn).await else {
            return Err(StoreError::Crowded);
        };
        let mut tx = self.begin().await?;
        let lock = format!("sessions {} {principal}", self.tenant);
        in_time(
            "a principal's sessions",
            sqlx::query!(
                "select pg_advisory_xact_lock(hashtextextended($1, 0))",
                lock
            )
            .fetch_one(&mut *tx),
        )
        .await?;
        in_time(
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
        Ok((tx, turn))
    }

    /// Ends the session, or sets its level where one is given.
    async fn upsert(
        &self,
        tx: &mut Transaction<'static, Postgres>,
        session: Session<'_>,
        level: Option<LogLevel>,
    ) -> Result<SessionChange, StoreError> {
        let Session {
            principal,
            id,
            expires,
        } = session;
        let row = in_time(
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
        in_time(
            "ended sessions",
            sqlx::query!(
                "delete from sessions where tenant_id = $1 and principal = $2 and ended",
                self.tenant,
                principal
            )
            .execute(&mut **tx),
        )
        .await?;
        // A gateway's clock may be ahead of Postgres'.
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
        let row = in_time("the end of all sessions", row).await?;
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
    in_time("a commit", tx.commit()).await
}
