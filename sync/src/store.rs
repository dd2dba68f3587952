//! The rows of sources and mirrors, by functions of the database: the role `archway_sync` has no other right.

mod cleanup;
mod hooks;
mod listings;
mod overview;
mod permissions;
mod process;

use serde_json::Value;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::query::Query;
use sqlx::{PgPool, Postgres};
use tokio::time::Duration;
use uuid::Uuid;

use crate::failure::{SyncFailure, SyncState};
use crate::mirror::Synced;

pub(crate) use cleanup::KnownMirror;
pub(crate) use listings::{KnownSources, LeasedListing, ListingOutcome};
pub(crate) use overview::MirrorsOverview;
pub(crate) use permissions::{DueReaders, LeasedPermissions, ReadersRow, RoundEnd};
pub(crate) use process::SyncProcess;

/// How long a lease is good without being renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// [`LEASE`] in seconds, as the database takes it.
const LEASE_SECONDS: i32 = 60;
/// How long a query waits for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The channel of notifications that a source was added or is due.
const CHANNEL: &str = "archway_sources";
/// The payload if a source was added, or came into use again: the rows of its mirrors are to be made.
pub(crate) const ADDED: &str = "source";

/// The database as `archway sync` sees it.
#[derive(Clone)]
pub struct SyncStore {
    pool: PgPool,
    /// Empty for a volume that several processes share, else the machine's name.
    place: String,
    /// The pool whose tenants' sources are mirrored; `None` for all.
    pool_name: Option<String>,
    holder: Uuid,
    process: SyncProcess,
}

/// A mirror that this process has leased.
#[derive(Clone, Debug)]
pub(crate) struct LeasedMirror {
    pub(crate) project_id: Uuid,
    pub(crate) tenant_id: Uuid,
    pub(crate) tenant: String,
    pub(crate) project: String,
    pub(crate) url: String,
    pub(crate) reference: Option<String>,
    pub(crate) credential: Option<String>,
    pub(crate) ca_file: Option<String>,
    pub(crate) https_proxy: Option<String>,
    /// The settings of its connection, if that has a GitHub App.
    pub(crate) app: Option<Value>,
    /// Whether a listing vouches for it.
    pub(crate) is_listed: bool,
    /// Whether no run has succeeded yet.
    pub(crate) is_first: bool,
    pub(crate) lease_number: i64,
    /// Failed runs in a row.
    pub(crate) attempts: u32,
    /// How long ago a run last brought something; before the first clone, how long ago the host's last push was.
    pub(crate) quiet: Duration,
}

/// What is too busy for another run.
#[derive(Debug)]
pub(crate) struct Busy {
    /// Hosts that have as many runs as they may.
    pub(crate) hosts: Vec<String>,
    /// Hosts that have as many runs, or first clones, as they may.
    pub(crate) hosts_without_clones: Vec<String>,
    /// Whether this process may begin another first clone.
    pub(crate) may_clone: bool,
}

/// Why a query failed.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct SyncStoreError {
    what: &'static str,
    #[source]
    source: sqlx::Error,
}

fn failed(what: &'static str) -> impl Fn(sqlx::Error) -> SyncStoreError {
    move |source| SyncStoreError { what, source }
}

impl SyncStore {
    /// Connects on first use. `place` is empty for a shared volume, else the machine's name.
    pub fn new(options: PgConnectOptions, connections: u32, place: String) -> SyncStore {
        let options = options.application_name("archway-sync").options([
            ("statement_timeout", "10s"),
            ("idle_in_transaction_session_timeout", "10s"),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(CONNECT_TIMEOUT);
        SyncStore {
            pool: pool.connect_lazy_with(options),
            place,
            pool_name: None,
            holder: Uuid::new_v4(),
            process: SyncProcess::default(),
        }
    }

    /// Restricts it to the tenants of one pool.
    pub(crate) fn of_pool(mut self, pool: Option<String>) -> SyncStore {
        self.pool_name = pool;
        self
    }

    /// Puts off due mirrors for which a listing vouches, by so long at most.
    pub(crate) async fn vouch_for_mirrors(&self, by: Duration) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select vouch_for_mirrors($1, $2)",
            self.place,
            by.as_secs_f64()
        );
        self.execute(call, "putting off mirrors").await
    }

    /// Leases a mirror that is due and has its turn.
    pub(crate) async fn lease(&self, busy: &Busy) -> Result<Option<LeasedMirror>, SyncStoreError> {
        let row = sqlx::query!(
            r#"select project_id as "project_id!", tenant_id as "tenant_id!", tenant as "tenant!", project as "project!", url as "url!",
                      reference, credential, ca_file, https_proxy, app_settings,
                      is_listed as "is_listed!", is_first as "is_first!", lease_number as "lease_number!",
                      attempts as "attempts!", quiet_seconds as "quiet_seconds!"
               from lease_mirror($1, $2, $3, $4, $5, $6)"#,
            self.place,
            self.holder,
            &busy.hosts,
            &busy.hosts_without_clones,
            busy.may_clone,
            LEASE_SECONDS
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(failed("leasing a mirror"))?;
        Ok(row.map(|row| LeasedMirror {
            project_id: row.project_id,
            tenant_id: row.tenant_id,
            tenant: row.tenant,
            project: row.project,
            url: row.url,
            reference: row.reference,
            credential: row.credential,
            ca_file: row.ca_file,
            https_proxy: row.https_proxy,
            app: row.app_settings,
            is_listed: row.is_listed,
            is_first: row.is_first,
            lease_number: row.lease_number,
            attempts: u32::try_from(row.attempts).unwrap_or(0),
            quiet: Duration::from_secs(u64::try_from(row.quiet_seconds).unwrap_or(0)),
        }))
    }

    /// Renews a lease and records how far the run is. Returns whether the lease is still this process's.
    pub(crate) async fn renew(
        &self,
        mirror: &LeasedMirror,
        percent: Option<u8>,
        bytes: u64,
    ) -> Result<bool, SyncStoreError> {
        let renewed = sqlx::query_scalar!(
            "select renew_mirror_lease($1, $2, $3, $4, $5, $6)",
            mirror.project_id,
            self.place,
            mirror.lease_number,
            LEASE_SECONDS,
            percent.map(i16::from),
            in_sql(bytes)
        )
        .fetch_one(&self.pool)
        .await
        .map_err(failed("renewing the lease of a mirror"))?;
        Ok(renewed == Some(true))
    }

    /// Records a run that succeeded, and when the next one is due.
    pub(crate) async fn record(
        &self,
        mirror: &LeasedMirror,
        synced: &Synced,
        next: Duration,
    ) -> Result<(), SyncStoreError> {
        let state = match synced.ref_gone {
            true => SyncState::RefGone,
            false => SyncState::Ok,
        };
        let call = sqlx::query!(
            "select record_mirror($1, $2, $3, $4, $5, $6, $7, $8)",
            mirror.project_id,
            self.place,
            mirror.lease_number,
            state.name(),
            synced.changed,
            synced.head,
            in_sql(synced.bytes),
            next.as_secs_f64()
        );
        self.execute(call, "recording a run").await
    }

    /// Records a run that failed, the size of what is there in bytes, and when the next run is due.
    pub(crate) async fn record_failure(
        &self,
        mirror: &LeasedMirror,
        failure: &SyncFailure,
        bytes: Option<u64>,
        next: Duration,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select record_mirror_failure($1, $2, $3, $4, $5, $6, $7)",
            mirror.project_id,
            self.place,
            mirror.lease_number,
            failure.state.name(),
            failure.message,
            bytes.and_then(in_sql),
            next.as_secs_f64()
        );
        self.execute(call, "recording a failed run").await
    }

    /// Ends a lease without a result: the mirror stays due. `bytes` is the size of what is there.
    pub(crate) async fn release(
        &self,
        mirror: &LeasedMirror,
        bytes: Option<u64>,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select release_mirror_lease($1, $2, $3, $4)",
            mirror.project_id,
            self.place,
            mirror.lease_number,
            bytes.and_then(in_sql)
        );
        self.execute(call, "ending the lease of a mirror").await
    }

    /// Starts to receive notifications that a source was added or is due.
    pub(crate) async fn listen(&self) -> Result<PgListener, SyncStoreError> {
        let listen = async {
            let mut listener = PgListener::connect_with(&self.pool).await?;
            listener.listen(CHANNEL).await?;
            Ok(listener)
        };
        let listening = tokio::time::timeout(CONNECT_TIMEOUT, listen).await;
        listening
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))
            .map_err(failed("listening for changed sources"))
    }

    /// Calls a function of the database that returns nothing; `what` says what for.
    async fn execute(
        &self,
        call: Query<'_, Postgres, PgArguments>,
        what: &'static str,
    ) -> Result<(), SyncStoreError> {
        call.execute(&self.pool)
            .await
            .map(drop)
            .map_err(failed(what))
    }

    /// Whether the database answers.
    pub(crate) async fn check(&self) -> Result<(), SyncStoreError> {
        sqlx::query!("select 1 as one")
            .fetch_one(&self.pool)
            .await
            .map(drop)
            .map_err(failed("asking the database"))
    }
}

/// A number of bytes as Postgres takes it.
fn in_sql(bytes: u64) -> Option<i64> {
    i64::try_from(bytes).ok()
}
