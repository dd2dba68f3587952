//! Sums of the last day's calls by tenant, for the admin port. The database's trigger counts what gateways append to
//! the audit trail; no gateway reads or writes the rows themselves.

use std::{collections::HashMap, time::SystemTime};

use serde::Serialize;
use uuid::Uuid;

use super::{StoreError, Stores, moment, with_timeout};

/// Tenants with a limit by the month that are read at most; further ones are not held to it.
const MOST_QUOTAS: i32 = 10_000;

/// The calls of the last 24 hours, from the full hour in which they began. Its JSON is an interface: members are
/// added, never renamed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct UsageOverview {
    /// Calls of all tenants.
    pub(crate) calls: u64,
    /// Tenants with calls, listed or not.
    pub(crate) tenants_with_calls: u64,
    /// The tenants with the most calls, those first: 100 at `/usage`.
    pub(crate) tenants: Vec<TenantUsage>,
}

/// The sums of one tenant's calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TenantUsage {
    /// The tenant's slug.
    pub(crate) tenant: String,
    /// Calls, refused ones included.
    pub(crate) calls: i64,
    /// Units of the limits.
    pub(crate) units: i64,
    /// Bytes of the messages that answered.
    pub(crate) bytes_out: i64,
    /// Estimated: four bytes are one, rounded up for each call.
    pub(crate) tokens: i64,
    /// Milliseconds, in all.
    pub(crate) duration_ms: f64,
    /// Calls without an audit record, which are in no other sum.
    pub(crate) missing: i64,
}

/// What tenants with a limit by the month have spent of it.
#[derive(Debug)]
pub(crate) struct MonthSums {
    /// When the month ends.
    pub(crate) ends: SystemTime,
    /// The day on which the next one begins, in UTC: `2026-12-01`.
    pub(crate) next: String,
    /// Units by tenant.
    pub(crate) units: HashMap<Uuid, u64>,
}

impl Stores {
    /// The units that limited tenants have spent since the month began.
    ///
    /// # Errors
    /// If Postgres does not answer within 5 s.
    pub(crate) async fn month_sums(&self) -> Result<MonthSums, StoreError> {
        let rows = sqlx::query!(
            r#"select tenant_id, units, ends as "ends!", next as "next!" from month_sums($1)"#,
            MOST_QUOTAS
        )
        .fetch_all(&self.pool);
        let rows = with_timeout("the sums of the month", rows).await?;
        let mut sums = MonthSums {
            ends: SystemTime::UNIX_EPOCH,
            next: String::new(),
            units: HashMap::with_capacity(rows.len()),
        };
        for row in rows {
            sums.ends = moment(row.ends);
            sums.next = row.next;
            if let (Some(tenant), Some(units)) = (row.tenant_id, row.units) {
                sums.units.insert(tenant, units.unsigned_abs());
            }
        }
        Ok(sums)
    }

    /// The sums of the last 24 hours, of at most so many tenants.
    ///
    /// # Errors
    /// If Postgres does not answer within 5 s.
    pub(crate) async fn usage_overview(
        &self,
        most_tenants: i32,
    ) -> Result<UsageOverview, StoreError> {
        let rows = sqlx::query!(
            r#"select tenant as "tenant!", calls as "calls!", units as "units!", bytes_out as "bytes_out!",
                      tokens as "tokens!", duration_ms as "duration_ms!", missing as "missing!",
                      all_tenants as "all_tenants!", all_calls as "all_calls!"
               from usage_overview($1)"#,
            most_tenants
        )
        .fetch_all(&self.pool);
        let rows = with_timeout("the usage of the last day", rows).await?;
        let first = rows.first();
        Ok(UsageOverview {
            calls: first.map_or(0, |row| row.all_calls.unsigned_abs()),
            tenants_with_calls: first.map_or(0, |row| row.all_tenants.unsigned_abs()),
            tenants: rows
                .into_iter()
                .map(|row| TenantUsage {
                    tenant: row.tenant,
                    calls: row.calls,
                    units: row.units,
                    bytes_out: row.bytes_out,
                    tokens: row.tokens,
                    duration_ms: row.duration_ms,
                    missing: row.missing,
                })
                .collect(),
        })
    }
}
