//! The rows of who may read the private repositories of connections.

use serde::Serialize;
use serde_json::Value;
use sqlx::types::Json;
use tokio::time::Duration;
use uuid::Uuid;

use super::{SyncStore, SyncStoreError, failed};
use crate::hosts::HostReader;

/// How long a round may take between two answers: a question ends before.
const LEASE_SECONDS: i32 = 300;

/// A connection whose round this process has leased.
#[derive(Clone, Debug)]
pub(crate) struct LeasedPermissions {
    pub(crate) connection_id: Uuid,
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) settings: Value,
    /// For how long an answer counts.
    pub(crate) grace: Duration,
    /// Rounds that failed in a row.
    pub(crate) attempts: u32,
    lease_number: i64,
}

/// A private repository whose readers are due.
#[derive(Debug)]
pub(crate) struct DueReaders {
    pub(crate) project_id: Uuid,
    pub(crate) host_id: String,
    pub(crate) path: String,
    /// Validators of the last answer.
    pub(crate) etags: Vec<String>,
    /// Whether a webhook asked for it.
    pub(crate) is_requested: bool,
    /// When it was said to be due, in microseconds since 1970 by the database's clock.
    pub(crate) asked_at: i64,
}

/// What became of one repository, as `record_readers` takes it.
#[derive(Debug, Serialize)]
pub(crate) struct ReadersRow {
    pub(crate) project_id: Uuid,
    pub(crate) asked_at: i64,
    /// Whether the host answered. If not, its last answer stays valid.
    pub(crate) is_answer: bool,
    /// `None` if they are as they were.
    pub(crate) readers: Option<Vec<i64>>,
    pub(crate) etags: Option<Vec<String>>,
    /// Seconds until it is due again.
    pub(crate) next_seconds: f64,
}

/// How a round ended.
pub(crate) struct RoundEnd<'a> {
    pub(crate) has_failed: bool,
    /// Why it failed, or why a repository had no answer.
    pub(crate) message: Option<&'a str>,
    pub(crate) next: Duration,
    /// For how long the host is not to be asked, whoever asks.
    pub(crate) wait: Duration,
}

impl SyncStore {
    /// Leases the connection whose round is due for longest.
    pub(crate) async fn lease_permissions(
        &self,
    ) -> Result<Option<LeasedPermissions>, SyncStoreError> {
        let row = sqlx::query!(
            r#"select connection_id as "connection_id!", tenant as "tenant!", name as "name!", settings as "settings!",
                      grace_seconds as "grace_seconds!", attempts as "attempts!", lease_number as "lease_number!"
               from lease_permissions($1, $2)"#,
            LEASE_SECONDS,
            self.pool_name
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(failed("leasing a round of permissions"))?;
        Ok(row.map(|row| LeasedPermissions {
            connection_id: row.connection_id,
            tenant: row.tenant,
            name: row.name,
            settings: row.settings,
            grace: Duration::from_secs(u64::try_from(row.grace_seconds).unwrap_or(0)),
            attempts: u32::try_from(row.attempts).unwrap_or(0),
            lease_number: row.lease_number,
        }))
    }

    /// Private repositories whose readers are due, `most` of them.
    pub(crate) async fn due_readers(
        &self,
        leased: &LeasedPermissions,
        most: i32,
    ) -> Result<Vec<DueReaders>, SyncStoreError> {
        let rows = sqlx::query_as!(
            DueReaders,
            r#"select project_id as "project_id!", host_id as "host_id!", coalesce(host_path, '') as "path!",
                      etags as "etags!", is_requested as "is_requested!", asked_at as "asked_at!"
               from due_readers($1, $2)"#,
            leased.connection_id,
            most
        )
        .fetch_all(&self.pool)
        .await;
        rows.map_err(failed("reading whose readers are due"))
    }

    /// Records what hosts answered, and the accounts that they named. Returns whether the lease is still this process's.
    pub(crate) async fn record_readers(
        &self,
        leased: &LeasedPermissions,
        rows: &[ReadersRow],
        accounts: &[HostReader],
    ) -> Result<bool, SyncStoreError> {
        let recorded = sqlx::query_scalar!(
            "select record_readers($1, $2, $3, $4, $5)",
            leased.connection_id,
            leased.lease_number,
            Json(rows) as _,
            Json(accounts) as _,
            LEASE_SECONDS
        )
        .fetch_one(&self.pool)
        .await
        .map_err(failed("recording who may read"))?;
        Ok(recorded == Some(true))
    }

    /// Ends a round.
    pub(crate) async fn end_permissions(
        &self,
        leased: &LeasedPermissions,
        end: &RoundEnd<'_>,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select end_permissions($1, $2, $3, $4, $5, $6)",
            leased.connection_id,
            leased.lease_number,
            end.has_failed,
            end.message,
            end.next.as_secs_f64(),
            end.wait.as_secs_f64()
        );
        self.execute(call, "ending a round of permissions").await
    }

    /// Makes readers due of one repository, by the host's id or else by its path, or of all.
    pub(crate) async fn request_readers(
        &self,
        connection: Uuid,
        host_id: Option<&str>,
        host_path: Option<&str>,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select request_readers($1, $2, $3)",
            connection,
            host_id,
            host_path
        );
        self.execute(call, "making readers due").await
    }

    /// Makes a repository private at once.
    pub(crate) async fn hide_repository(
        &self,
        connection: Uuid,
        host_id: Option<&str>,
        host_path: Option<&str>,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select hide_repository($1, $2, $3)",
            connection,
            host_id,
            host_path
        );
        self.execute(call, "hiding a repository").await
    }
}
