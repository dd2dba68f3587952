//! Administration of connections: organisations whose repositories become projects by themselves.
//!
//! `archway sync` owns these tables.

use std::time::SystemTime;

use archway_sync::hosts::ConnectionSettings;
use serde_json::Value;
use uuid::Uuid;

use super::error::query;
use super::sources::LEAST_INTERVAL;
use super::{TenantError, TenantsTx, moment};

/// A connection, and how its listings go.
#[derive(Clone, Debug)]
pub struct ConnectionRow {
    /// Its id.
    pub id: Uuid,
    /// Its name within the tenant.
    pub name: String,
    /// What its operator wrote.
    pub settings: Value,
    /// Repositories that it serves.
    pub served: u32,
    /// Repositories that its filters left out.
    pub left_out: u32,
    /// Why the last listing failed, or was held back.
    pub message: Option<String>,
    /// When a listing last began.
    pub tried_at: Option<SystemTime>,
    /// Whether one is under way.
    pub is_running: bool,
    /// When a listing last succeeded.
    pub listed_at: Option<SystemTime>,
    /// When the next one is due; later than requested if the host wants to be asked less often.
    pub next_at: SystemTime,
}

impl ConnectionRow {
    /// Whether it has exactly these settings.
    pub fn is(&self, settings: &ConnectionSettings) -> bool {
        serde_json::to_value(settings).is_ok_and(|settings| settings == self.settings)
    }
}

impl TenantsTx {
    /// Adds a connection, or replaces the settings of one. Returns whether it is new.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn set_connection(
        &mut self,
        tenant: Uuid,
        settings: &ConnectionSettings,
    ) -> Result<bool, TenantError> {
        let json = serde_json::to_value(settings).unwrap_or_default();
        let added = sqlx::query_scalar!(
            r#"insert into connections as c (tenant_id, name, settings) values ($1, $2, $3)
               on conflict (tenant_id, name) do update
                   set settings = excluded.settings, removed_at = null
               returning (xmax = 0) as "is_new!""#,
            tenant,
            settings.name,
            json
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(query("add a connection"))?;
        Ok(added)
    }

    /// The connections of a tenant, by name.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn connections(&mut self, tenant: Uuid) -> Result<Vec<ConnectionRow>, TenantError> {
        let rows = sqlx::query!(
            r#"select c.id, c.name, c.settings, l.served, l.left_out, l.message,
                      (extract(epoch from l.tried_at) * 1000000)::bigint as tried_at,
                      l.leased_until > now() as "is_running!",
                      (extract(epoch from l.listed_at) * 1000000)::bigint as listed_at,
                      (extract(epoch from greatest(l.next_at, l.not_before)) * 1000000)::bigint as "next_at!"
               from connections c join listings l on l.connection_id = c.id
               where c.tenant_id = $1 and c.removed_at is null order by c.name collate "C""#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list connections"))?;
        let rows = rows.into_iter().map(|row| ConnectionRow {
            id: row.id,
            name: row.name,
            settings: row.settings,
            served: u32::try_from(row.served).unwrap_or(0),
            left_out: u32::try_from(row.left_out).unwrap_or(0),
            message: row.message,
            tried_at: row.tried_at.map(moment),
            is_running: row.is_running,
            listed_at: row.listed_at.map(moment),
            next_at: moment(row.next_at),
        });
        Ok(rows.collect())
    }

    /// One connection.
    ///
    /// # Errors
    /// [`TenantError::Missing`].
    pub async fn find_connection(
        &mut self,
        tenant: Uuid,
        name: &str,
    ) -> Result<ConnectionRow, TenantError> {
        let connections = self.connections(tenant).await?.into_iter();
        let mut named = connections.filter(|connection| connection.name == name);
        named.next().ok_or_else(|| self.missing("connection", name))
    }

    /// The host's id and the slug of each repository that a connection has found. Empty if there is no such
    /// connection.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn found_slugs(
        &mut self,
        tenant: Uuid,
        connection: &str,
    ) -> Result<Vec<(String, String)>, TenantError> {
        let rows = sqlx::query!(
            r#"select s.host_id as "host_id!", p.slug
               from connections c join sources s on s.connection_id = c.id join projects p on p.id = s.project_id
               where c.tenant_id = $1 and c.name = $2"#,
            tenant,
            connection
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list what a connection found"))?;
        Ok(rows
            .into_iter()
            .map(|row| (row.host_id, row.slug))
            .collect())
    }

    /// Removes a connection and its projects. Their rows stay: adding it again brings them back.
    ///
    /// # Errors
    /// [`TenantError::Missing`].
    pub async fn remove_connection(
        &mut self,
        tenant: Uuid,
        name: &str,
    ) -> Result<u64, TenantError> {
        let id = sqlx::query_scalar!(
            "update connections set removed_at = now() \
             where tenant_id = $1 and name = $2 and removed_at is null returning id",
            tenant,
            name
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(query("remove a connection"))?;
        let id = id.ok_or_else(|| self.missing("connection", name))?;
        let removed = sqlx::query!(
            "with marked as ( \
                 update sources s set out_of_use = 'connection' from projects p \
                 where s.connection_id = $1 and s.out_of_use is null and p.id = s.project_id \
                   and p.removed_at is null \
                 returning s.project_id \
             ) \
             update projects p set removed_at = now() from marked \
             where p.id = marked.project_id",
            id
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("remove the projects of a connection"))?;
        Ok(removed.rows_affected())
    }

    /// Has the connections of a tenant listed now, unless one was tried just now; with `accepts_losses`, what is
    /// missing is gone at once.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn request_listings(
        &mut self,
        tenant: Uuid,
        accepts_losses: bool,
    ) -> Result<(), TenantError> {
        sqlx::query!(
            "update listings set accepts_losses = accepts_losses or $2, wants_whole = true, \
                 next_at = greatest(now(), tried_at + make_interval(secs => $3)) where tenant_id = $1",
            tenant,
            accepts_losses,
            LEAST_INTERVAL
        )
        .execute(&mut *self.tx)
        .await
        .map(drop)
        .map_err(query("request listings"))
    }
}
