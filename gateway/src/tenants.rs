//! Administration: tenants, projects and keys, as the owner of the database.
//!
//! Not on the path of a call: `archway dev`, the administration commands and the tests use it. It
//! runs under the owning role, which row-level security does not bind; a gateway has no such pool.
//! The `ensure_…` functions may be repeated: they find what is there.

use sqlx::PgPool;
use uuid::Uuid;

pub use keys::{IssuedKey, KeyRequest};

mod keys;

/// Why an administrative change was refused.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    /// Not a slug.
    #[error("{0:?} is not a slug: lower-case letters, digits and hyphens, at most 63")]
    Slug(String),
    /// The slug is in use.
    #[error("there already is a {kind} {slug}")]
    Exists {
        /// `tenant` or `project`.
        kind: &'static str,
        /// The slug that was asked for.
        slug: String,
    },
    /// Nothing has this name.
    #[error("there is no {kind} {name}")]
    Missing {
        /// `tenant`, `project` or `key`.
        kind: &'static str,
        /// The slug or id that was asked for.
        name: String,
    },
    /// A key's default project must be one that the key may read.
    #[error("the default project {0} is not among the projects of the key")]
    DefaultOutside(String),
    /// No random bytes could be had.
    #[error("the cryptographic library failed")]
    Crypto,
    /// Postgres failed.
    #[error("asking Postgres to {what}")]
    Query {
        /// What was to be done.
        what: &'static str,
        /// What sqlx said.
        #[source]
        source: sqlx::Error,
    },
}

fn query(what: &'static str) -> impl FnOnce(sqlx::Error) -> TenantError {
    move |source| TenantError::Query { what, source }
}

/// A project as administration lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: Uuid,
    /// Its slug: the folder's name below the tenant's.
    pub slug: String,
    /// Its display name; `None` shows the slug.
    pub name: Option<String>,
}

/// Administration over the owner's pool.
#[derive(Clone, Debug)]
pub struct Tenants {
    owner: PgPool,
}

impl Tenants {
    /// Administration as the role of `owner`, which must own the tables.
    pub fn new(owner: PgPool) -> Self {
        Tenants { owner }
    }

    /// Makes a tenant.
    pub async fn create_tenant(&self, slug: &str) -> Result<Uuid, TenantError> {
        check_slug(slug)?;
        sqlx::query_scalar!(
            "insert into tenants (slug, name) values ($1, $1) on conflict (slug) do nothing \
             returning id",
            slug
        )
        .fetch_optional(&self.owner)
        .await
        .map_err(query("create a tenant"))?
        .ok_or_else(|| TenantError::Exists {
            kind: "tenant",
            slug: slug.to_owned(),
        })
    }

    /// The tenant of this slug, made where there is none.
    pub async fn ensure_tenant(&self, slug: &str) -> Result<Uuid, TenantError> {
        match self.create_tenant(slug).await {
            Err(TenantError::Exists { .. }) => self.find_tenant(slug).await,
            made => made,
        }
    }

    /// The tenant of this slug.
    pub async fn find_tenant(&self, slug: &str) -> Result<Uuid, TenantError> {
        sqlx::query_scalar!("select id from tenants where slug = $1", slug)
            .fetch_optional(&self.owner)
            .await
            .map_err(query("find a tenant"))?
            .ok_or_else(|| TenantError::Missing {
                kind: "tenant",
                name: slug.to_owned(),
            })
    }

    /// Adds a project to a tenant.
    pub async fn add_project(
        &self,
        tenant: Uuid,
        slug: &str,
        name: Option<&str>,
    ) -> Result<Uuid, TenantError> {
        check_slug(slug)?;
        sqlx::query_scalar!(
            "insert into projects (tenant_id, slug, name) values ($1, $2, $3) \
             on conflict (tenant_id, slug) do nothing returning id",
            tenant,
            slug,
            name
        )
        .fetch_optional(&self.owner)
        .await
        .map_err(query("add a project"))?
        .ok_or_else(|| TenantError::Exists {
            kind: "project",
            slug: slug.to_owned(),
        })
    }

    /// The project of this slug, added where there is none; its display name becomes `name`.
    pub async fn ensure_project(
        &self,
        tenant: Uuid,
        slug: &str,
        name: Option<&str>,
    ) -> Result<Uuid, TenantError> {
        check_slug(slug)?;
        sqlx::query_scalar!(
            "insert into projects (tenant_id, slug, name) values ($1, $2, $3) \
             on conflict (tenant_id, slug) do update set name = excluded.name returning id",
            tenant,
            slug,
            name
        )
        .fetch_one(&self.owner)
        .await
        .map_err(query("ensure a project"))
    }

    /// A tenant's projects, by slug.
    pub async fn list_projects(&self, tenant: Uuid) -> Result<Vec<Project>, TenantError> {
        sqlx::query_as!(
            Project,
            "select id, slug, name from projects where tenant_id = $1 \
             order by slug collate \"C\"",
            tenant
        )
        .fetch_all(&self.owner)
        .await
        .map_err(query("list projects"))
    }
}

fn check_slug(slug: &str) -> Result<(), TenantError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = (1..=63).contains(&slug.len())
        && slug.bytes().next().is_some_and(plain)
        && slug.bytes().all(|byte| plain(byte) || byte == b'-');
    fits.then_some(())
        .ok_or_else(|| TenantError::Slug(slug.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_what_the_schema_takes() {
        for good in ["a", "0", "site-2", &"a".repeat(63)] {
            assert!(check_slug(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "A", "a_b", "ä", "a/b", "..", &"a".repeat(64)] {
            assert!(check_slug(bad).is_err(), "{bad}");
        }
    }
}
