//! What git hosts said of who may read the private repositories of a tenant. `archway sync` owns the tables.

use archway_proto::host_account::{AccountKey, HostAccount};
use uuid::Uuid;

use super::{StoreError, TenantStore, failed};

/// A project that a host lets an account read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadableAtHost {
    /// The project's id.
    pub project: Uuid,
    /// Seconds for which the host's answer still counts: above 0.
    pub seconds_left: i64,
}

impl TenantStore<'_> {
    /// The projects that hosts let any of these accounts read, by answers that still count, and how often what hosts
    /// say had changed before. An account that no host has named reads none.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn readable_at_hosts(
        &self,
        accounts: &[HostAccount],
    ) -> Result<(i64, Vec<ReadableAtHost>), StoreError> {
        let what = "reading what hosts let a caller read";
        let of = |text: fn(&HostAccount) -> String| accounts.iter().map(text).collect::<Vec<_>>();
        let named = |by: AccountKey| {
            let name = |it: &HostAccount| (it.by == by).then(|| it.name.clone());
            accounts.iter().map(name).collect::<Vec<_>>()
        };
        let mut tx = self.begin().await?;
        // First: what is read then is of this edition, or of a later one.
        let edition = self.access_edition(&mut tx).await?;
        let rows = sqlx::query_as!(
            ReadableAtHost,
            r#"select r.project_id as "project!",
                      extract(epoch from max(r.listed_at) + make_interval(secs => max(h.grace_seconds)) - now())::bigint
                          as "seconds_left!"
               from unnest($2::text[], $3::bigint[], $4::text[], $5::text[]) as c (connection, id, login, email)
               join host_permissions h on h.tenant_id = $1 and h.name = c.connection
               join lateral (
                   select c.id as account where c.id is not null
                   union all
                   select a.account from host_accounts a where a.connection_id = h.connection_id and a.login = c.login
                   union all
                   select a.account from host_accounts a where a.connection_id = h.connection_id and a.email = c.email
               ) known on true
               join host_readers r on r.connection_id = h.connection_id and r.readers @> array[known.account]
               where r.listed_at + make_interval(secs => h.grace_seconds) > now() + interval '1 second'
               group by r.project_id"#,
            self.tenant,
            &of(|it| it.connection.clone()),
            &accounts.iter().map(HostAccount::id).collect::<Vec<_>>() as &[Option<i64>],
            &named(AccountKey::Login) as &[Option<String>],
            &named(AccountKey::Email) as &[Option<String>],
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed(what))?;
        tx.commit().await.map_err(failed(what))?;
        Ok((edition, rows))
    }
}
