//! Postgres as a worker sees it: always as one tenant.
//!
//! [`Stores`] holds the pool of the role `archway_worker`, which owns nothing and cannot bypass
//! row-level security. A query runs in a transaction of [`TenantStore::begin`] that names its
//! tenant, so one that forgot its filter sees nothing of others.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use uuid::Uuid;

mod accesses;
mod tls_files;
mod indexes;
pub mod memory;
mod mounts;
mod notes;
mod projects;
mod reads;
mod keys;
mod workflows;

pub use accesses::{Access, AccessRecorder};
pub use indexes::{
    CompletedIndex, Document, EncodedText, IndexRow, LEASE, Lease, MountedProject, StoredText,
    TextState,
};
pub use keys::{Blob, ProjectKey, Source};
pub use notes::{Note, NoteId};
pub use projects::ProjectRow;
pub use reads::FileReads;
pub use tls_files::{
    DatabaseFileError, UNTRUSTED_CERTIFICATE, is_untrusted_certificate, read_files,
};
pub use workflows::{NewWorkflow, SessionKey, WorkflowRow};

/// What Postgres calls the end of a statement that took too long.
const STATEMENT_TIMEOUT: &str = "57014";

/// Where a worker's rows are.
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

/// Why a query gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL does not parse. It is not shown: it may hold a password.
    #[error("the worker's database URL is malformed")]
    Url,
    /// A file that the URL names is of no use.
    #[error(transparent)]
    File(#[from] DatabaseFileError),
    /// Postgres refused or did not answer.
    #[error("{what}")]
    Query {
        /// What was asked for.
        what: &'static str,
        /// Postgres's or the pool's word.
        #[source]
        source: sqlx::Error,
    },
    /// Who answers is not believed to be Postgres.
    #[error("{UNTRUSTED_CERTIFICATE}")]
    UntrustedCertificate(#[source] sqlx::Error),
    /// Postgres took longer than the call could wait.
    #[error("{0} took too long")]
    TimedOut(&'static str),
    /// Row-level security does not bind the role.
    #[error(
        "the database role {role} {why}, so row-level security does not bind it: connect as \
         archway_worker, which `archway migrate` makes"
    )]
    UnrestrictedRole {
        /// Who we are to Postgres.
        role: String,
        /// What frees it.
        why: &'static str,
    },
}

impl StoreError {
    /// Whether there was an answer to be had, and not in time: too much was asked for, or others kept
    /// the rows.
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
    /// How to connect, with what the files hold that the URL names.
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

/// The rows of all tenants; only [`Stores::tenant`] reaches any.
#[derive(Clone)]
pub struct Stores {
    pool: PgPool,
}

/// The rows of one tenant. There is no way to ask it about another.
pub struct TenantStore<'a> {
    pool: &'a PgPool,
    tenant: Uuid,
}

impl Stores {
    /// A pool that connects when first asked. An outage at start is no reason not to start.
    pub fn connect(config: &StoreConfig) -> Result<Self, StoreError> {
        Ok(Stores::with_options(config.read()?, config.max_connections))
    }

    /// The same, where the files of the URL were read before.
    pub fn with_options(options: PgConnectOptions, connections: u32) -> Self {
        let options = options.application_name("archway-worker").options([
            ("statement_timeout", "5s"),
            ("idle_in_transaction_session_timeout", "10s"),
        ]);
        Stores {
            pool: pool(options, connections),
        }
    }

    /// The same rows, over so many connections of their own: who does much beside the calls leaves
    /// them theirs.
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

    /// Refuses a role that row-level security does not bind: one that owns the tables, or may do
    /// anything.
    ///
    /// # Errors
    /// [`StoreError::UnrestrictedRole`], or [`StoreError::UntrustedCertificate`] or [`StoreError::Query`] while Postgres gives no answer.
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

    /// Gives the connections back.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl TenantStore<'_> {
    /// Begins a transaction in which row-level security shows this tenant's rows alone.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        let what = "beginning a transaction";
        let mut tx = self.pool.begin().await.map_err(failed(what))?;
        sqlx::query!(
            "select set_config('archway.tenant_id', $1, true)",
            self.tenant.to_string()
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(failed(what))?;
        Ok(tx)
    }
}

fn pool(options: PgConnectOptions, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(2))
        .connect_lazy_with(options)
}

/// For `map_err`: which query it was that failed.
fn failed(what: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |source| StoreError::Query { what, source }
}
