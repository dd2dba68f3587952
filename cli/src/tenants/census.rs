//! The state of the whole installation in the database: counts, and workers and gateways that
//! reported recently.

use archway_gateway::store::{IndexOverview, LimitsOverview};

use super::{TenantError, TenantsTx, error::query};

/// Counts of tenants, projects and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Tenants, disabled ones included.
    pub tenants: u64,
    /// Disabled tenants.
    pub disabled_tenants: u64,
    /// Projects that are served.
    pub projects: u64,
    /// Projects that were removed but not purged.
    pub removed_projects: u64,
    /// Keys neither revoked nor expired.
    pub live_keys: u64,
    /// Expired keys.
    pub expired_keys: u64,
    /// Revoked keys.
    pub revoked_keys: u64,
}

/// A worker that reported its folders within the last 90 s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedWorker {
    /// Its name.
    pub name: String,
    /// The host and port where it runs, which distinguish workers of one name; empty if unknown.
    pub instance: String,
    /// The pool it belongs to.
    pub pool: String,
    /// How many projects it serves.
    pub projects: u64,
    /// Seconds since it reported, by the database's clock.
    pub seconds_ago: u64,
}

/// The most gateways, and the most processes of sync, that are listed.
const MOST_PROCESSES: i64 = 64;

/// A process with an admin port that reported lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedProcess {
    /// Its name.
    pub name: String,
    /// Its host's name.
    pub host: String,
    /// `address:port` of its admin port, as it reported.
    pub admin: String,
}

impl TenantsTx {
    /// Counts tenants, projects and keys.
    pub async fn census(&mut self) -> Result<Census, TenantError> {
        let row = sqlx::query!(
            r#"select t.all as "tenants!", t.disabled as "disabled_tenants!",
                      p.all - p.removed as "projects!", p.removed as "removed_projects!",
                      k.all - k.expired - k.revoked as "live_keys!",
                      k.expired as "expired_keys!", k.revoked as "revoked_keys!"
               from (select count(*) as all, count(disabled_at) as disabled from tenants) t,
                    (select count(*) as all, count(removed_at) as removed from projects) p,
                    (select count(*) as all, count(revoked_at) as revoked,
                            count(*) filter (where revoked_at is null and expires_at <= now())
                                as expired
                     from api_keys) k"#
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(query("count tenants, projects and keys"))?;
        Ok(Census {
            tenants: row.tenants.unsigned_abs(),
            disabled_tenants: row.disabled_tenants.unsigned_abs(),
            projects: row.projects.unsigned_abs(),
            removed_projects: row.removed_projects.unsigned_abs(),
            live_keys: row.live_keys.unsigned_abs(),
            expired_keys: row.expired_keys.unsigned_abs(),
            revoked_keys: row.revoked_keys.unsigned_abs(),
        })
    }

    /// The state of all projects' indexes.
    pub async fn index_overview(&mut self) -> Result<IndexOverview, TenantError> {
        let read = IndexOverview::read(&mut *self.tx).await;
        read.map_err(query("read the state of indexes"))
    }

    /// The limits that differ from the defaults.
    pub async fn limits_overview(&mut self) -> Result<LimitsOverview, TenantError> {
        let read = LimitsOverview::read(&mut *self.tx).await;
        read.map_err(query("list limits"))
    }

    /// Workers that reported a project within the last 90 s, by name.
    pub async fn reported_workers(&mut self) -> Result<Vec<ReportedWorker>, TenantError> {
        let rows = sqlx::query!(
            r#"select worker as "worker!", instance as "instance!", pool as "pool!",
                      count(*) as "projects!",
                      extract(epoch from now() - max(seen_at))::bigint as "seconds_ago!"
               from mounted_folders
               where seen_at > now() - interval '90 seconds'
               group by worker, instance, pool
               order by worker collate "C", instance collate "C", pool collate "C""#
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list workers"))?;
        let workers = rows.into_iter().map(|row| ReportedWorker {
            name: row.worker,
            instance: row.instance,
            pool: row.pool,
            projects: row.projects.unsigned_abs(),
            // A worker that reports during this query may be ahead of the transaction's clock.
            seconds_ago: row.seconds_ago.max(0).unsigned_abs(),
        });
        Ok(workers.collect())
    }

    /// Gateways that reported within the last 30 s, by name: at most 64 of them, and the total count.
    pub async fn reported_gateways(&mut self) -> Result<(Vec<ReportedProcess>, u64), TenantError> {
        let rows = sqlx::query!(
            r#"select name, host, admin, count(*) over () as "all_rows!"
               from gateways where seen_at > now() - interval '30 seconds'
               order by name collate "C", admin collate "C" limit $1"#,
            MOST_PROCESSES
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list gateways"))?;
        let total = rows.first().map_or(0, |row| row.all_rows.unsigned_abs());
        let gateways = rows.into_iter().map(|row| ReportedProcess {
            name: row.name,
            host: row.host,
            admin: row.admin,
        });
        Ok((gateways.collect(), total))
    }

    /// Processes of `archway sync` that reported within the last 90 s, by name: at most 64 of them. If none did, those
    /// that reported last and did not end by themselves.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn reported_syncs(&mut self) -> Result<Vec<ReportedProcess>, TenantError> {
        sqlx::query_as!(
            ReportedProcess,
            r#"select name, host as "host!", admin as "admin!" from sync_processes
               where admin is not null and host is not null
                 and (seen_at > now() - interval '90 seconds' or not exists (
                     select from sync_processes where seen_at > now() - interval '90 seconds'))
               order by name collate "C", admin collate "C" limit $1"#,
            MOST_PROCESSES
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list processes of sync"))
    }
}
