//! Administration of tenants, projects, keys, limits, memory and the audit trail, as the database's
//! owner.
//!
//! The administration commands, `archway dev` and the tests use it. It runs under the owning role,
//! which row-level security does not bind. No gateway has such a pool, so this code is not in the
//! gateway's crate, although it reads and writes the gateway's tables.
//!
//! All work happens in a [`TenantsTx`], so related changes commit together or not at all. What a
//! reader would get wrong: changes wait for one another on a database-wide lock, so what a change
//! looked up still holds when it writes. Reads wait for nothing and see one point in time.

use archway_gateway::{
    secrets::RootSecret,
    store::{micros, moment},
};
use sqlx::{PgPool, Postgres, Transaction};
use uuid::Uuid;

use crate::host_name::host_name;
use error::query;

pub use access::{AccessError, AccessTerms};
pub use administration::{AdministrationQuery, AdministrationRecord, VerifiedAdministration};
pub use audit::{AuditChain, ExportPosition};
pub use census::{Census, ReportedProcess, ReportedWorker};
pub use connections::ConnectionRow;
pub use error::TenantError;
pub(crate) use error::visible;
pub use indexes::IndexState;
pub use issue::{IssuedKey, generate_key, key_id};
pub use keys::{Key, KeyRequest, KeyState};
pub use limits::{LimitError, LimitOwner, SetLimits};
pub use memory::{MemoryError, MemoryItem};
pub use names::{LONGEST_SLUG, is_project_slug};
pub use permissions::{GuardedProject, PermissionsState};
pub use principals::RevokedPrincipal;
pub use project_lists::{ProjectQuery, ReportedMount};
pub use project_sources::MirroredProject;
pub use projects::{Project, ProjectSettings};
pub use prune::AuditCuts;
pub use sources::{MirrorRow, OutOfUseRow, ProjectSource, SourceRow};
pub use tenant::{Tenant, TenantState};
pub use usage::{UsageQuery, UsageRow};

// The administered objects, then the rules and errors they share.
mod tenant;
mod projects;
mod project_lists;
mod sources;
mod connections;
mod permissions;
mod project_sources;
mod keys;
mod issue;
mod principals;
mod access;
mod limits;
mod indexes;
mod memory;
mod audit;
mod usage;
mod prune;
mod verify;
mod administration;
mod os_user;
mod census;
mod error;
mod names;

/// The key of the advisory lock that changes take. Arbitrary, but the same in every build.
const CHANGING: i64 = 0x6172_6368_7761_7901;
/// How long a change waits for another change's lock.
const LOCK_TIMEOUT: &str = "10s";
/// How long one statement may take. Erasing a large tenant takes longest.
const STATEMENT_TIMEOUT: &str = "5min";

/// Administration through a pool of the database's owner.
#[derive(Clone, Debug)]
pub struct Tenants {
    owner: PgPool,
}

/// One transaction of the database's owner. Dropped without [`TenantsTx::commit`], it changes nothing.
#[derive(Debug)]
pub struct TenantsTx {
    tx: Transaction<'static, Postgres>,
    /// The slug of the tenant that was looked up last: refusals name it.
    tenant: Option<String>,
}

impl Tenants {
    /// Administration as the role of `owner`, which must own the tables.
    pub fn new(owner: PgPool) -> Self {
        Tenants { owner }
    }

    /// Begins a change. Waits at most 10 s for another change to end.
    ///
    /// # Errors
    /// [`TenantError::Busy`] after that time.
    pub async fn begin(&self) -> Result<TenantsTx, TenantError> {
        let failed = query("begin a change");
        let mut tx = self.owner.begin().await.map_err(failed)?;
        sqlx::query!(
            "select set_config('lock_timeout', $1, true) as lock_timeout, \
                    set_config('statement_timeout', $2, true) as statement_timeout, \
                    set_config('archway.os_user', $3, true) as os_user, \
                    set_config('archway.host', $4, true) as host",
            LOCK_TIMEOUT,
            STATEMENT_TIMEOUT,
            os_user::name(),
            host_name("unknown")
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(query("begin a change"))?;
        sqlx::query!("select pg_advisory_xact_lock($1)", CHANGING)
            .execute(&mut *tx)
            .await
            .map_err(query("begin a change"))?;
        Ok(TenantsTx { tx, tenant: None })
    }

    /// Begins a read-only transaction, which sees one point in time whatever changes meanwhile.
    pub async fn read(&self) -> Result<TenantsTx, TenantError> {
        let mut tx = self.owner.begin().await.map_err(query("begin a read"))?;
        sqlx::query!("set transaction isolation level repeatable read, read only")
            .execute(&mut *tx)
            .await
            .map_err(query("begin a read"))?;
        Ok(TenantsTx { tx, tenant: None })
    }

    /// Runs `work` in a transaction of its own and commits it.
    pub async fn change<T>(
        &self,
        work: impl AsyncFnOnce(&mut TenantsTx) -> Result<T, TenantError>,
    ) -> Result<T, TenantError> {
        let mut tx = self.begin().await?;
        let done = work(&mut tx).await?;
        tx.commit().await?;
        Ok(done)
    }

    /// [`TenantsTx::create_tenant`] in a transaction of its own.
    pub async fn create_tenant(&self, slug: &str) -> Result<Uuid, TenantError> {
        self.change(async |tx| tx.create_tenant(slug, None).await)
            .await
    }

    /// [`TenantsTx::add_project`] in a transaction of its own, with the built-in path rules.
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

    /// [`TenantsTx::issue_key`] in a transaction of its own.
    pub async fn issue_key(
        &self,
        tenant: Uuid,
        secret: &RootSecret,
        request: KeyRequest,
    ) -> Result<IssuedKey, TenantError> {
        self.change(async |tx| tx.issue_key(tenant, secret, &request).await)
            .await
    }

    /// [`TenantsTx::revoke_key`] in a transaction of its own.
    pub async fn revoke_key(&self, id: &str) -> Result<(), TenantError> {
        self.change(async |tx| tx.revoke_key(id).await.map(|_changed| ()))
            .await
    }
}

impl TenantsTx {
    /// The refusal of a name that is not there. It names the tenant that was looked up last.
    pub(crate) fn missing(&self, kind: &'static str, name: impl Into<String>) -> TenantError {
        TenantError::Missing {
            kind,
            name: name.into(),
            tenant: self.tenant.clone(),
        }
    }

    /// Commits the transaction.
    pub async fn commit(self) -> Result<(), TenantError> {
        self.tx.commit().await.map_err(query("commit a change"))
    }
}
