//! What git hosts say of who may read private projects, for operators.
//!
//! `archway sync` owns these tables.

use archway_proto::host_account::{AccountKey, HostAccount};
use uuid::Uuid;

use super::error::query;
use super::{TenantError, TenantsTx};

/// A project that is private at its host, which alone says who may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedProject {
    /// Its slug.
    pub project: String,
    /// Its connection.
    pub connection: String,
    /// Seconds since the host was asked for the answer that counts; `None` if it never answered.
    pub age: Option<i64>,
    /// Seconds for which an answer counts.
    pub grace: i64,
    /// Whether the answer names one of the accounts that were asked about.
    pub is_reader: bool,
}

/// How the rounds of a connection with `permissions: host` go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionsState {
    /// Private repositories in use.
    pub private: i64,
    /// Those for which an answer of the host counts.
    pub answered: i64,
    /// Seconds since the oldest of these answers; `None` if there is none.
    pub oldest: Option<i64>,
    /// Why the last round failed, or why a repository had no answer.
    pub message: Option<String>,
}

impl TenantsTx {
    /// The projects of a tenant whose readers a host names, by slug, and whether it names these accounts.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn guarded_projects(
        &mut self,
        tenant: Uuid,
        accounts: &[HostAccount],
    ) -> Result<Vec<GuardedProject>, TenantError> {
        let named = |by: AccountKey| {
            let name = |it: &HostAccount| (it.by == by).then(|| it.name.clone());
            accounts.iter().map(name).collect::<Vec<_>>()
        };
        let connections: Vec<String> = accounts.iter().map(|it| it.connection.clone()).collect();
        let ids: Vec<Option<i64>> = accounts.iter().map(HostAccount::id).collect();
        let rows = sqlx::query_as!(
            GuardedProject,
            r#"select p.slug as project, h.name as connection,
                      extract(epoch from now() - nullif(r.listed_at, '-infinity'))::bigint as age,
                      h.grace_seconds::bigint as "grace!",
                      exists (
                          select from unnest($2::text[], $3::bigint[], $4::text[], $5::text[]) as c (name, id, login, email)
                          where c.name = h.name
                            and (c.id = any (r.readers)
                                 or exists (select from host_accounts a
                                            where a.connection_id = h.connection_id and a.account = any (r.readers)
                                              and (a.login = c.login or a.email = c.email)))
                      ) as "is_reader!"
               from host_permissions h
               join sources s on s.connection_id = h.connection_id and s.visibility = 'private'
               join projects p on p.id = s.project_id and p.removed_at is null
               left join host_readers r on r.project_id = s.project_id
               where h.tenant_id = $1 order by p.slug collate "C""#,
            tenant,
            &connections,
            &ids as &[Option<i64>],
            &named(AccountKey::Login) as &[Option<String>],
            &named(AccountKey::Email) as &[Option<String>],
        )
        .fetch_all(&mut *self.tx)
        .await;
        rows.map_err(query("list what hosts say"))
    }

    /// How the rounds of a connection go; `None` if it has no `permissions: host`.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn permissions_state(
        &mut self,
        connection: Uuid,
    ) -> Result<Option<PermissionsState>, TenantError> {
        let row = sqlx::query_as!(
            PermissionsState,
            r#"select count(p.id) as "private!",
                      count(p.id) filter (where r.listed_at + make_interval(secs => h.grace_seconds) > now()) as "answered!",
                      extract(epoch from now() - min(r.listed_at)
                              filter (where r.listed_at + make_interval(secs => h.grace_seconds) > now()))::bigint as oldest,
                      h.message
               from host_permissions h
               left join sources s on s.connection_id = h.connection_id and s.visibility = 'private'
               left join projects p on p.id = s.project_id and p.removed_at is null
               left join host_readers r on r.project_id = p.id
               where h.connection_id = $1 group by h.connection_id"#,
            connection
        )
        .fetch_optional(&mut *self.tx)
        .await;
        row.map_err(query("read the state of permissions"))
    }
}
