//! Administration: tenants, projects, keys, limits and memory, as the owner of the database.
//!
//! Not on the path of a call: `archway dev`, the administration commands and the tests use it. It
//! runs under the owning role, which row-level security does not bind; a gateway has no such pool.
//!
//! Everything happens in a [`TenantsTx`]: what belongs together is done together or not at all.
//! What a reader would get wrong: those that change wait for one another on a lock of the whole
//! database, so what one of them looked up is still so when it writes; those that only read wait
//! for nobody and see one moment.

use archway_gateway::{
    secrets::RootSecret,
    store::{micros, moment},
};
use sqlx::{PgPool, Postgres, Transaction};
use uuid::Uuid;

use error::query;

pub use audit::{AuditChain, AuditPlace};
pub use census::{Census, GatewaySeen, WorkerSeen};
pub use error::TenantError;
pub use indexes::IndexState;
pub use issue::{IssuedKey, generate_key, key_id};
pub use keys::{Key, KeyRequest, KeyState};
pub use limits::{LimitError, SetLimits, Spender};
pub use memory::{MemoryError, Remembered};
pub use names::{LONGEST_SLUG, is_project_slug};
pub use principals::RevokedPrincipal;
pub use projects::{Project, ProjectSettings};
pub use prune::AuditCuts;
pub use tenant::Tenant;

// What there is, then what is said of all of it.
mod tenant;
mod projects;
mod keys;
mod issue;
mod principals;
mod limits;
mod indexes;
mod memory;
mod audit;
mod prune;
mod verify;
mod census;
mod error;
mod names;

/// Any number, as long as every build takes the same.
const CHANGING: i64 = 0x6172_6368_7761_7901;
/// How long a change waits for another.
const LOCK_TIMEOUT: &str = "10s";
/// How long one statement may take: erasing a large tenant is the longest.
const STATEMENT_TIMEOUT: &str = "5min";

/// Administration over the owner's pool.
#[derive(Clone, Debug)]
pub struct Tenants {
    owner: PgPool,
}

/// One transaction of the owner's. Dropped without [`TenantsTx::commit`], it changed nothing.
#[derive(Debug)]
pub struct TenantsTx {
    tx: Transaction<'static, Postgres>,
}

impl Tenants {
    /// Administration as the role of `owner`, which must own the tables.
    pub fn new(owner: PgPool) -> Self {
        Tenants { owner }
    }

    /// Begins a change. Waits at most 10 s for another that is under way.
    ///
    /// # Errors
    /// [`TenantError::Busy`] after that time.
    pub async fn begin(&self) -> Result<TenantsTx, TenantError> {
        let failed = query("begin a change");
        let mut tx = self.owner.begin().await.map_err(failed)?;
        sqlx::query!(
            "select set_config('lock_timeout', $1, true) as lock_timeout, \
                    set_config('statement_timeout', $2, true) as statement_timeout",
            LOCK_TIMEOUT,
            STATEMENT_TIMEOUT
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(query("begin a change"))?;
        sqlx::query!("select pg_advisory_xact_lock($1)", CHANGING)
            .execute(&mut *tx)
            .await
            .map_err(query("begin a change"))?;
        Ok(TenantsTx { tx })
    }

    /// Begins to read: everything as it was at one moment, whatever others change meanwhile.
    pub async fn read(&self) -> Result<TenantsTx, TenantError> {
        let mut tx = self.owner.begin().await.map_err(query("begin to read"))?;
        sqlx::query!("set transaction isolation level repeatable read, read only")
            .execute(&mut *tx)
            .await
            .map_err(query("begin to read"))?;
        Ok(TenantsTx { tx })
    }

    /// Does one piece of work as a change of its own.
    pub async fn change<T>(
        &self,
        work: impl AsyncFnOnce(&mut TenantsTx) -> Result<T, TenantError>,
    ) -> Result<T, TenantError> {
        let mut tx = self.begin().await?;
        let done = work(&mut tx).await?;
        tx.commit().await?;
        Ok(done)
    }

    /// [`TenantsTx::create_tenant`] as a change of its own.
    pub async fn create_tenant(&self, slug: &str) -> Result<Uuid, TenantError> {
        self.change(async |tx| tx.create_tenant(slug, None).await)
            .await
    }

    /// [`TenantsTx::add_project`] as a change of its own, with the built-in path rules.
    pub async fn add_project(
        &self,
        tenant: Uuid,
        slug: &str,
        name: Option<&str>,
    ) -> Result<Uuid, TenantError> {
        let settings = ProjectSettings {
            name: name.map(str::to_owned),
            ..ProjectSettings::default()
        };
        self.change(async |tx| tx.add_project(tenant, slug, &settings).await)
            .await
    }

    /// [`TenantsTx::issue_key`] as a change of its own.
    pub async fn issue_key(
        &self,
        tenant: Uuid,
        secret: &RootSecret,
        request: KeyRequest,
    ) -> Result<IssuedKey, TenantError> {
        self.change(async |tx| tx.issue_key(tenant, secret, &request).await)
            .await
    }

    /// [`TenantsTx::revoke_key`] as a change of its own.
    pub async fn revoke_key(&self, id: &str) -> Result<(), TenantError> {
        self.change(async |tx| tx.revoke_key(id).await.map(|_changed| ()))
            .await
    }
}

impl TenantsTx {
    /// Makes everything that was done last.
    pub async fn commit(self) -> Result<(), TenantError> {
        self.tx.commit().await.map_err(query("commit a change"))
    }
}
