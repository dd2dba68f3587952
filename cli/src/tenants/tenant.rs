//! Administration of tenants: create, list, change, disable, erase.

use std::time::SystemTime;

use uuid::Uuid;

use super::{
    TenantError, TenantsTx,
    error::query,
    moment,
    names::{check_slug, check_text},
};

/// A tenant as administration lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its id.
    pub id: Uuid,
    /// Its slug.
    pub slug: String,
    /// Its display name; the slug unless set.
    pub name: String,
    /// The worker pool that serves it; `shared` unless set.
    pub pool: String,
    /// When it was created.
    pub created_at: SystemTime,
    /// When it was disabled; all its credentials are refused since. `None` while it is in use.
    pub disabled_at: Option<SystemTime>,
    /// How many projects it has, without removed ones.
    pub projects: u64,
    /// How many of its keys are neither revoked nor expired.
    pub live_keys: u64,
}

/// What may change about a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantState {
    /// Its display name.
    pub name: String,
    /// The worker pool that serves it.
    pub pool: String,
    /// Whether all its credentials are refused.
    pub is_disabled: bool,
}

impl TenantsTx {
    /// Creates a tenant; without a name it shows its slug.
    pub async fn create_tenant(
        &mut self,
        slug: &str,
        name: Option<&str>,
    ) -> Result<Uuid, TenantError> {
        check_slug(slug)?;
        let name = name.unwrap_or(slug);
        check_text("name", name)?;
        sqlx::query_scalar!(
            "insert into tenants (slug, name) values ($1, $2) on conflict (slug) do nothing \
             returning id",
            slug,
            name
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(query("create a tenant"))?
        .ok_or_else(|| TenantError::Exists {
            kind: "tenant",
            slug: slug.to_owned(),
        })
    }

    /// All tenants, by slug.
    pub async fn tenants(&mut self) -> Result<Vec<Tenant>, TenantError> {
        let rows = sqlx::query!(
            r#"select id, slug, name, pool,
                      (extract(epoch from created_at) * 1000000)::bigint as "created_at!",
                      (extract(epoch from disabled_at) * 1000000)::bigint as disabled_at,
                      (select count(*) from projects
                       where tenant_id = t.id and removed_at is null) as "projects!",
                      (select count(*) from api_keys
                       where tenant_id = t.id and revoked_at is null
                             and (expires_at is null or expires_at > now())) as "live_keys!"
               from tenants t order by slug collate "C""#
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list tenants"))?;
        let tenants = rows.into_iter().map(|row| Tenant {
            id: row.id,
            slug: row.slug,
            name: row.name,
            pool: row.pool,
            created_at: moment(row.created_at),
            disabled_at: row.disabled_at.map(moment),
            projects: row.projects.unsigned_abs(),
            live_keys: row.live_keys.unsigned_abs(),
        });
        Ok(tenants.collect())
    }

    /// The id of the tenant with this slug.
    pub async fn find_tenant(&mut self, slug: &str) -> Result<Uuid, TenantError> {
        self.tenant = Some(slug.to_owned());
        sqlx::query_scalar!("select id from tenants where slug = $1", slug)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(query("find a tenant"))?
            .ok_or_else(|| self.missing("tenant", slug))
    }

    /// A tenant's display name, its pool, and whether it is disabled.
    pub async fn tenant_state(&mut self, tenant: Uuid) -> Result<TenantState, TenantError> {
        sqlx::query_as!(
            TenantState,
            r#"select name, pool, disabled_at is not null as "is_disabled!" from tenants where id = $1"#,
            tenant
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(query("find a tenant"))
    }

    /// Changes a tenant's display name.
    pub async fn rename_tenant(&mut self, tenant: Uuid, name: &str) -> Result<(), TenantError> {
        check_text("name", name)?;
        sqlx::query!("update tenants set name = $2 where id = $1", tenant, name)
            .execute(&mut *self.tx)
            .await
            .map_err(query("rename a tenant"))?;
        Ok(())
    }

    /// Moves a tenant to another worker pool. Returns whether the pool changed. Gateways route its
    /// calls there within a second. The pool need not have workers.
    pub async fn set_pool(&mut self, tenant: Uuid, pool: &str) -> Result<bool, TenantError> {
        check_slug(pool)?;
        let changed = sqlx::query!(
            "update tenants set pool = $2 where id = $1 and pool <> $2",
            tenant,
            pool
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("move a tenant to another pool"))?;
        Ok(changed.rows_affected() > 0)
    }

    /// Disables or enables a tenant. Returns whether that changed anything. Gateways refuse or accept
    /// its credentials within a second.
    pub async fn set_disabled(
        &mut self,
        tenant: Uuid,
        disabled: bool,
    ) -> Result<bool, TenantError> {
        let changed = sqlx::query!(
            "update tenants set disabled_at = case when $2 then now() end \
             where id = $1 and (disabled_at is not null) <> $2",
            tenant,
            disabled
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("disable or enable a tenant"))?;
        Ok(changed.rows_affected() > 0)
    }

    /// Erases a disabled tenant: all its rows, in every table but the records of administration. This frees its slug.
    ///
    /// # Errors
    /// [`TenantError::InUse`] unless it is disabled.
    pub async fn purge_tenant(&mut self, slug: &str) -> Result<(), TenantError> {
        let tenant = self.find_tenant(slug).await?;
        if !self.tenant_state(tenant).await?.is_disabled {
            return Err(TenantError::InUse {
                kind: "tenant",
                slug: slug.to_owned(),
                first: "disable",
            });
        }
        // Foreign keys delete the remaining rows, with the tenant or with its projects.
        sqlx::query!(
            "with keys as (delete from api_keys where tenant_id = $1) \
             delete from projects where tenant_id = $1",
            tenant
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("erase a tenant's projects and keys"))?;
        sqlx::query!("delete from tenants where id = $1", tenant)
            .execute(&mut *self.tx)
            .await
            .map_err(query("erase a tenant"))?;
        Ok(())
    }
}
