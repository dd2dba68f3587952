//! Postgres as the gateway uses it: one connection pool under the role `archway_gateway`.
//!
//! A tenant's rows are accessible through [`TenantStore`] only, whose transactions set the tenant
//! for row-level security. Queries that run before the tenant is known, the lookups of keys and
//! principals, are `SECURITY DEFINER` functions. The server's `statement_timeout` bounds a query;
//! sqlx has no timeout of its own. Over TCP a lost server costs each caller the acquire timeout.

use std::{sync::Arc, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
    types::Json,
};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::terms::Override;

pub(crate) use audit::AuditRows;
pub(crate) use catalogs::LARGEST_CATALOG;
pub(crate) use health::Health;
pub(crate) use listener::{ListenEvent, Listener};
pub use overview::{IndexOverview, LimitSet, LimitsOverview, UnfinishedIndex};
pub(crate) use principals::PrincipalRow;
pub(crate) use sessions::{MOST_READ, SessionChange};
pub use timestamps::{micros, moment};
pub(crate) use usage::MonthSums;

mod access;
mod audit;
mod catalogs;
pub(crate) mod console;
mod gateways;
mod health;
mod listener;
mod timestamps;
mod overview;
mod principals;
mod sessions;
mod usage;

const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);
/// With the wait for a connection. Longer than the server's limit: it applies if the network loses the server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Concurrent writers of sessions. They wait for each other, so that key lookups need not.
const SESSION_WRITERS: usize = 2;
const STATEMENT_TIMEOUT: &str = "2s";

/// Configuration of the gateway's database.
#[derive(Clone, Debug, clap::Args)]
pub struct StoreConfig {
    /// Postgres, as the role `archway_gateway`: `postgres://archway_gateway:…@host/archway`.
    #[arg(
        long,
        env = "ARCHWAY_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub database_url: SecretString,
    /// Connections at most, plus one that listens for changes. Key lookups and changes of sessions
    /// use them: a few carry thousands of calls a second.
    #[arg(
        long,
        env = "ARCHWAY_DATABASE_CONNECTIONS",
        value_name = "N",
        default_value = "8"
    )]
    pub database_connections: u32,
}

/// Why a query failed. Contains no address and no SQL.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL does not parse.
    #[error("the database URL is not valid")]
    Url(#[source] sqlx::Error),
    /// A query failed, or no connection became available in time.
    #[error("querying Postgres for {what}")]
    Query {
        /// What the query was for.
        what: &'static str,
        /// The error from sqlx.
        #[source]
        source: sqlx::Error,
    },
    /// No answer arrived in time.
    #[error("Postgres did not answer in time for {what}")]
    Timeout {
        /// What the query was for.
        what: &'static str,
    },
    /// Too many concurrent writers.
    #[error("too many sessions are being changed at once")]
    SessionsBusy,
    /// Row-level security does not apply to the role.
    #[error(
        "the database role {role} {why}, so row-level security does not bind it: connect as \
         archway_gateway, which `archway migrate` makes"
    )]
    Unbound {
        /// The role that Postgres reports.
        role: String,
        /// Why it is exempt.
        why: &'static str,
    },
}

impl StoreError {
    /// Whether the connection is broken or timed out: Postgres, or the pool, gave no answer.
    pub(crate) fn is_broken_connection(&self) -> bool {
        matches!(
            self,
            StoreError::Query {
                source: sqlx::Error::Io(_) | sqlx::Error::Tls(_),
                ..
            } | StoreError::Timeout { .. }
        )
    }

    /// Whether a row was rejected because the row that it references does not exist.
    pub(crate) fn is_missing_reference(&self) -> bool {
        let StoreError::Query { source, .. } = self else {
            return false;
        };
        let refused = source.as_database_error();
        refused.is_some_and(sqlx::error::DatabaseError::is_foreign_key_violation)
    }

    /// Whether Postgres would reject the same data again: SQLSTATE classes 22 (data) and 23
    /// (constraints).
    pub(crate) fn is_refusal(&self) -> bool {
        let StoreError::Query { source, .. } = self else {
            return false;
        };
        let code = source.as_database_error().and_then(|error| error.code());
        code.is_some_and(|code| code.starts_with("22") || code.starts_with("23"))
    }

    /// For `map_err`: names what the query was for.
    pub(crate) fn query(what: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
        move |source| StoreError::Query { what, source }
    }
}

/// The gateway's connection pool. Connects on first use, so a gateway starts without Postgres.
#[derive(Clone, Debug)]
pub struct Stores {
    pool: PgPool,
    options: PgConnectOptions,
    session_writers: Arc<Semaphore>,
    health: Arc<Health>,
}

/// The answer, unless it takes longer than [`ANSWER_TIMEOUT`].
async fn with_timeout<T>(
    what: &'static str,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(ANSWER_TIMEOUT, answer).await {
        Ok(answer) => answer.map_err(StoreError::query(what)),
        Err(_elapsed) => Err(StoreError::Timeout { what }),
    }
}

impl Stores {
    /// A pool with this configuration.
    pub fn new(config: &StoreConfig) -> Result<Self, StoreError> {
        let url = config.database_url.expose_secret();
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            let problem = "it must begin with postgres://".into();
            return Err(StoreError::Url(sqlx::Error::Configuration(problem)));
        }
        let options = url.parse().map_err(StoreError::Url)?;
        Ok(Stores::with_options(options, config.database_connections))
    }

    /// A pool of at most `connections`, under the role that `options` name.
    pub fn with_options(options: PgConnectOptions, connections: u32) -> Self {
        let options = options.options([
            ("statement_timeout", STATEMENT_TIMEOUT),
            // A gateway that hangs inside a transaction must not block others.
            ("idle_in_transaction_session_timeout", STATEMENT_TIMEOUT),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(options.clone());
        Stores {
            pool,
            options,
            session_writers: Arc::new(Semaphore::new(SESSION_WRITERS)),
            health: Arc::default(),
        }
    }

    /// The rows of one tenant.
    pub fn tenant(&self, tenant: Uuid) -> TenantStore<'_> {
        TenantStore {
            stores: self,
            tenant,
        }
    }

    /// The last known state of Postgres.
    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// Rejects a role that row-level security does not bind: an owner of the tables, or one that bypasses it.
    ///
    /// # Errors
    /// [`StoreError::Unbound`], or [`StoreError::Query`] while Postgres gives no answer.
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
        .fetch_one(&self.pool);
        let found = with_timeout("its own role", found).await?;
        let why = match (found.superuser, found.bypasses, found.owns) {
            (true, _, _) => "is a superuser, or may become one",
            (_, true, _) => "may bypass row-level security",
            (_, _, true) => "owns the tables, or may become their owner",
            (false, false, false) => return Ok(()),
        };
        Err(StoreError::Unbound {
            role: found.role,
            why,
        })
    }

    /// The record of an API key. `None` for an unknown id.
    pub(crate) async fn find_api_key(&self, id: &str) -> Result<Option<ApiKeyRow>, StoreError> {
        let found = sqlx::query_as!(
            ApiKeyRow,
            r#"select tenant_id as "tenant_id!", tenant_slug as "tenant_slug!", pool as "pool!",
                      lineage as "lineage!", secret_hash as "secret_hash!",
                      secret_line as "secret_line!", scopes as "scopes!", projects, families,
                      default_project, agents as "agents!",
                      limits as "limits!: Json<Vec<Override>>", live as "live!",
                      extract(epoch from expires_at)::float8 - extract(epoch from now())::float8
                          as expires_in
               from find_api_key($1)"#,
            id,
        )
        .fetch_optional(&self.pool);
        with_timeout("an api key", found).await
    }
}

/// The row that `find_api_key` returns.
pub(crate) struct ApiKeyRow {
    pub(crate) tenant_id: Uuid,
    pub(crate) tenant_slug: String,
    pub(crate) pool: String,
    pub(crate) lineage: Uuid,
    pub(crate) secret_hash: Vec<u8>,
    pub(crate) secret_line: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) projects: Option<Vec<String>>,
    pub(crate) families: Option<Vec<String>>,
    pub(crate) default_project: Option<String>,
    pub(crate) agents: i32,
    /// Limits of the key and its tenant that differ from the defaults.
    pub(crate) limits: Json<Vec<Override>>,
    /// False once revoked, or while the tenant is disabled.
    pub(crate) live: bool,
    /// Seconds until the key expires by Postgres' clock, negative once it has; `None` for never.
    pub(crate) expires_in: Option<f64>,
}

/// Storage as one tenant sees it; it offers no access to another tenant's rows.
#[derive(Debug)]
pub struct TenantStore<'a> {
    stores: &'a Stores,
    tenant: Uuid,
}

impl TenantStore<'_> {
    /// A transaction in which row-level security shows only this tenant's rows.
    pub async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        let mut tx = with_timeout("a transaction", self.stores.pool.begin()).await?;
        let tenant = self.tenant.to_string();
        let named = sqlx::query_scalar!("select set_config('archway.tenant_id', $1, true)", tenant)
            .fetch_one(&mut *tx);
        with_timeout("a tenant's transaction", named).await?;
        Ok(tx)
    }
}
