//! A worker's access to Postgres, always as one tenant.
//!
//! [`Stores`] owns the pool of the role `archway_worker`, which owns no tables and cannot bypass
//! row-level security. Each query runs in a transaction of [`TenantStore::begin`] that sets its
//! tenant, so a query that forgets its filter still sees no other tenant's rows.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    AssertSqlSafe, PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use uuid::Uuid;

mod access;
mod accesses;
mod tls_files;
mod indexes;
pub mod memory;
mod mounts;
mod notes;
mod project_changes;
mod projects;
mod reads;
mod readers;
mod keys;
mod workflows;

pub use accesses::{Access, AccessRecorder};
pub use indexes::{
    CompletedIndex, Document, EncodedText, IndexRow, LEASE, Lease, MountedProject, RecordedIndex,
    RecordedText, StoredText, TextState,
};
pub use keys::{Blob, ProjectKey, Source};
pub use notes::{Note, NoteId, NoteList};
pub use project_changes::{ProjectChange, ProjectChanges};
pub use projects::{HostedText, MirrorState, ProjectRow};
pub use readers::ReadableAtHost;
pub use reads::{FileReads, RecentReads};
pub use tls_files::{
    DatabaseFileError, UNTRUSTED_CERTIFICATE, is_untrusted_certificate, read_files,
};
pub use workflows::{NewWorkflow, SessionKey, WorkflowRow};

/// Postgres' error code for a statement timeout.
const STATEMENT_TIMEOUT: &str = "57014";

/// The worker's database connection.
#[derive(Clone, Debug, clap::Args)]
pub struct StoreConfig {
    /// Postgres, as the role `archway_worker`: `postgres://archway_worker:…@host/archway`.
    #[arg(
        long = "database-url",
        value_name = "URL",
        env = "ARCHWAY_DATABASE_URL",
        hide_env_values = true
    )]
    pub url: SecretString,
    /// Connections of calls at most; indexing has 3 of its own.
    #[arg(
        long = "database-connections",
        value_name = "N",
        env = "ARCHWAY_DATABASE_CONNECTIONS",
        default_value_t = 8
    )]
    pub max_connections: u32,
}

/// Why a query failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL does not parse. It is not shown because it may contain a password.
    #[error("the worker's database URL is malformed")]
    Url,
    /// A file that the URL names cannot be used.
    #[error(transparent)]
    File(#[from] DatabaseFileError),
    /// Postgres rejected the query or did not answer.
    #[error("{what}")]
    Query {
        /// The failed operation.
        what: &'static str,
        /// The cause, from Postgres or the pool.
        #[source]
        source: sqlx::Error,
    },
    /// The server's certificate is not trusted.
    #[error("{UNTRUSTED_CERTIFICATE}")]
    UntrustedCertificate(#[source] sqlx::Error),
    /// The query did not finish within the call's time limit.
    #[error("{0} took too long")]
    TimedOut(&'static str),
    /// Row-level security does not restrict the role.
    #[error(
        "the database role {role} {why}, so row-level security does not bind it: connect as \
         archway_worker, which `archway migrate` makes"
    )]
    UnrestrictedRole {
        /// The worker's own role.
        role: String,
        /// Why it is unrestricted.
        why: &'static str,
    },
}

impl StoreError {
    /// Whether the query timed out: it was too expensive, or other transactions held the rows.
    pub fn is_late(&self) -> bool {
        match self {
            StoreError::TimedOut(_) => true,
            StoreError::Query { source, .. } => source
                .as_database_error()
                .is_some_and(|error| error.code().as_deref() == Some(STATEMENT_TIMEOUT)),
            StoreError::Url
            | StoreError::File(_)
            | StoreError::UntrustedCertificate(_)
            | StoreError::UnrestrictedRole { .. } => false,
        }
    }
}

impl StoreConfig {
    /// Reads the connection options and the files that the URL names.
    pub fn read(&self) -> Result<PgConnectOptions, StoreError> {
        Ok(read_files(self.options()?)?)
    }

    fn options(&self) -> Result<PgConnectOptions, StoreError> {
        let url = self.url.expose_secret();
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(StoreError::Url);
        }
        url.parse().map_err(|_may_hold_a_password| StoreError::Url)
    }
}

/// The rows of all tenants; [`Stores::tenant`] gives access to those of one.
#[derive(Clone)]
pub struct Stores {
    pool: PgPool,
}

/// The rows of one tenant. It cannot access another tenant's rows.
pub struct TenantStore<'a> {
    pool: &'a PgPool,
    tenant: Uuid,
}

impl Stores {
    /// Creates a pool that connects on first use. A worker starts even while Postgres is down.
    pub fn connect(config: &StoreConfig) -> Result<Self, StoreError> {
        Ok(Stores::with_options(config.read()?, config.max_connections))
    }

    /// As [`Stores::connect`], with options whose files were already read.
    pub fn with_options(options: PgConnectOptions, connections: u32) -> Self {
        let options = options.application_name("archway-worker").options([
            ("statement_timeout", "5s"),
            ("idle_in_transaction_session_timeout", "10s"),
        ]);
        Stores {
            pool: pool(options, connections),
        }
    }

    /// The same rows through a pool of `connections` of its own, so that background work leaves
    /// calls their connections.
    pub fn with_own_pool(&self, connections: u32) -> Stores {
        let options = PgConnectOptions::clone(&self.pool.connect_options());
        Stores {
            pool: pool(options, connections),
        }
    }

    /// The rows of one tenant.
    pub fn tenant(&self, tenant: Uuid) -> TenantStore<'_> {
        TenantStore {
            pool: &self.pool,
            tenant,
        }
    }

    /// Rejects a role that row-level security does not restrict: a superuser, or one that owns the
    /// tables or may bypass it.
    ///
    /// # Errors
    /// [`StoreError::UnrestrictedRole`]; [`StoreError::UntrustedCertificate`] or
    /// [`StoreError::Query`] if Postgres gives no answer.
    pub async fn check_role(&self) -> Result<(), StoreError> {
        let found = sqlx::query!(
            r#"select current_user::text as "role!",
                      exists (select from pg_roles all_powerful
                              where all_powerful.rolsuper
                                and pg_has_role(all_powerful.oid, 'member')) as "superuser!",
                      exists (select from pg_roles unbound
                              where unbound.rolbypassrls
                                and pg_has_role(unbound.oid, 'member')) as "bypasses!",
                      exists (select from pg_class
                              where relnamespace = 'public'::regnamespace and relrowsecurity
                                and pg_has_role(relowner, 'member')) as "owns!"
               from pg_roles where rolname = current_user"#,
        )
        .fetch_one(&self.pool)
        .await
        .map_err(|source| match is_untrusted_certificate(&source) {
            true => StoreError::UntrustedCertificate(source),
            false => failed("reading its own role")(source),
        })?;
        let why = match (found.superuser, found.bypasses, found.owns) {
            (true, _, _) => "is a superuser, or may become one",
            (_, true, _) => "may bypass row-level security",
            (_, _, true) => "owns the tables, or may become their owner",
            (false, false, false) => return Ok(()),
        };
        Err(StoreError::UnrestrictedRole {
            role: found.role,
            why,
        })
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl TenantStore<'_> {
    /// Begins a transaction in which row-level security shows only this tenant's rows.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        self.begin_with("").await
    }

    /// As [`TenantStore::begin`], and runs `settings`, statements that begin with `;`.
    async fn begin_with(
        &self,
        settings: &'static str,
    ) -> Result<Transaction<'static, Postgres>, StoreError> {
        // All in one round trip. The text of a UUID needs no quoting.
        let tenant = self.tenant.hyphenated();
        let begin = format!("begin; set local archway.tenant_id = '{tenant}'{settings}");
        self.pool
            .begin_with(AssertSqlSafe(begin))
            .await
            .map_err(failed("beginning a transaction"))
    }
}

fn pool(options: PgConnectOptions, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(2))
        .connect_lazy_with(options)
}

/// For `map_err`: names the operation that failed.
fn failed(what: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |source| StoreError::Query { what, source }
}
