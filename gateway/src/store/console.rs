//! What the operator's page reads about the whole installation, through functions of migration 0033 that answer nothing
//! else. Each answer is bounded by rows; the caller sets a deadline.

use serde::Serialize;

use super::{StoreError, Stores, with_timeout};

pub(crate) use calls::{AuditedCall, CallFilter, CallPosition, CallsPage};
pub(crate) use tenants::{KeyRow, Listed, ProjectRow, TenantLimit, TenantRow, UsageRow};

mod calls;
mod tenants;

/// Rows of calls by hour, tool, outcome and duration that are read at most.
const MOST_HOURS: i32 = 20_000;
/// Processes that are listed at most.
const MOST_PROCESSES: i32 = 200;
/// Rows of mirrors, listings and quotas that are listed at most.
const MOST: i32 = 50;

/// Calls of an hour of one tool, with one outcome, that took about as long.
#[derive(Clone, Debug)]
pub(crate) struct HourCalls {
    /// When the hour began: seconds since 1970.
    pub(crate) hour: i64,
    pub(crate) tool: String,
    pub(crate) outcome: String,
    /// They took 2^(bucket/4) / 4 ms at least, and less than 2^((bucket+1)/4) / 4 ms.
    pub(crate) bucket: i16,
    pub(crate) calls: i64,
}

/// A process that was there within the hour.
#[derive(Clone, Debug)]
pub(crate) struct ProcessRow {
    /// `gateway`, `worker` or `sync`.
    pub(crate) kind: String,
    pub(crate) name: String,
    /// The host, or the worker's host and port; empty if it is not known.
    pub(crate) host: String,
    pub(crate) pool: Option<String>,
    pub(crate) version: Option<String>,
    /// Since it was last there.
    pub(crate) seconds: i64,
    /// Whether that is recent enough to count on it.
    pub(crate) lives: bool,
    /// JSON of what a gateway says about itself; empty for others.
    pub(crate) report: String,
}

/// The state of all mirrors and listings.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyncOverview {
    /// How many there are by state.
    pub(crate) states: Vec<(String, i64)>,
    /// Those that are not well, at most 50.
    pub(crate) unwell: Vec<UnwellSync>,
}

/// A mirror or a listing that is not well.
#[derive(Clone, Debug)]
pub(crate) struct UnwellSync {
    pub(crate) state: String,
    pub(crate) tenant: String,
    /// The project, or `connection NAME`.
    pub(crate) name: String,
    pub(crate) message: Option<String>,
    /// Since it last succeeded, or was added.
    pub(crate) seconds: i64,
}

/// What a tenant has spent of its limit by the month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct QuotaRow {
    pub(crate) tenant: String,
    pub(crate) units: i64,
    pub(crate) quota: i32,
}

impl Stores {
    /// The calls of the last 24 hours of the whole installation.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_hours(&self) -> Result<Vec<HourCalls>, StoreError> {
        let rows = sqlx::query_as!(
            HourCalls,
            r#"select hour as "hour!", tool as "tool!", outcome as "outcome!", bucket as "bucket!",
                      calls as "calls!"
               from console_hours($1)"#,
            MOST_HOURS
        )
        .fetch_all(&self.pool);
        with_timeout("the calls of the last day", rows).await
    }

    /// Gateways, workers and `archway sync` processes, the living ones first: at most 200.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_processes(&self) -> Result<Vec<ProcessRow>, StoreError> {
        let rows = sqlx::query_as!(
            ProcessRow,
            r#"select kind as "kind!", name as "name!", host as "host!", pool, version, seconds as "seconds!",
                      lives as "lives!", report as "report!"
               from console_processes($1)"#,
            MOST_PROCESSES
        )
        .fetch_all(&self.pool);
        with_timeout("the processes that are there", rows).await
    }

    /// The state of mirrors and of the listings of connections.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_syncs(&self) -> Result<SyncOverview, StoreError> {
        let rows = sqlx::query!(
            r#"select state as "state!", many, tenant, name, message, seconds from console_syncs($1)"#,
            MOST
        )
        .fetch_all(&self.pool);
        let rows = with_timeout("the state of mirrors", rows).await?;
        let mut overview = SyncOverview::default();
        for row in rows {
            match (row.many, row.tenant, row.name) {
                (Some(many), ..) => overview.states.push((row.state, many)),
                (None, Some(tenant), Some(name)) => overview.unwell.push(UnwellSync {
                    state: row.state,
                    tenant,
                    name,
                    message: row.message,
                    seconds: row.seconds.unwrap_or(0),
                }),
                _ => {}
            }
        }
        Ok(overview)
    }

    /// Tenants that have spent at least this share of their limit by the month, the nearest first: at most 50.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_quotas(&self, share: f64) -> Result<Vec<QuotaRow>, StoreError> {
        let rows = sqlx::query_as!(
            QuotaRow,
            r#"select tenant as "tenant!", units as "units!", quota as "quota!" from console_quotas($1, $2)"#,
            share,
            MOST
        )
        .fetch_all(&self.pool);
        with_timeout("the quotas of the month", rows).await
    }
}
