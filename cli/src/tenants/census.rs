//! What the database says of the whole installation: counts, and the workers that reported.

use archway_gateway::store::{IndexOverview, LimitsOverview};

use super::{TenantError, TenantsTx, error::query};

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Tenants, disabled ones included.
    pub tenants: u64,
    /// Of these, disabled.
    pub disabled_tenants: u64,
    /// Projects that are served.
    pub projects: u64,
    /// Projects that were removed and not erased.
    pub removed_projects: u64,
    /// Keys neither revoked nor expired.
    pub live_keys: u64,
    /// Keys whose time is over.
    pub expired_keys: u64,
    /// Keys that were revoked.
    pub revoked_keys: u64,
}

/// A worker that reported its folders within the last 90 s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSeen {
    /// Its name.
    pub name: String,
    /// Its pool.
    pub pool: String,
    /// How many projects it sees.
    pub projects: u64,
    /// How long ago it reported, in seconds by the clock of the database.
    pub seconds_ago: u64,
}

/// Gateways that are told at most.
const MOST_GATEWAYS: i64 = 64;

/// A gateway that said within the last 30 s that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewaySeen {
    /// Its name.
    pub name: String,
    /// What its host calls itself.
    pub host: String,
    /// `address:port` of its admin port, as it said.
    pub admin: String,
}

impl TenantsTx {
    /// Counts everything.
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
        .map_err(query("count"))?;
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

    /// How the indexes of all projects stand.
    pub async fn index_overview(&mut self) -> Result<IndexOverview, TenantError> {
        let read = IndexOverview::read(&mut *self.tx).await;
        read.map_err(query("read how indexes stand"))
    }

    /// What may be spent other than by default.
    pub async fn limits_overview(&mut self) -> Result<LimitsOverview, TenantError> {
        let read = LimitsOverview::read(&mut *self.tx).await;
        read.map_err(query("list limits"))
    }

    /// The workers that reported lately and see a project, by name.
    pub async fn workers_seen(&mut self) -> Result<Vec<WorkerSeen>, TenantError> {
        let rows = sqlx::query!(
            r#"select worker, pool, count(*) as "projects!",
                      extract(epoch from now() - max(seen_at))::bigint as "seconds_ago!"
               from worker_mounts
               where seen_at > now() - interval '90 seconds'
               group by worker, pool order by worker collate "C", pool collate "C""#
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list workers"))?;
        let workers = rows.into_iter().map(|row| WorkerSeen {
            name: row.worker,
            pool: row.pool,
            projects: row.projects.unsigned_abs(),
            // One that reports while this is read may be ahead of it.
            seconds_ago: row.seconds_ago.max(0).unsigned_abs(),
        });
        Ok(workers.collect())
    }

    /// The gateways that run, by name, at most 64; and how many there are.
    pub async fn gateways_seen(&mut self) -> Result<(Vec<GatewaySeen>, u64), TenantError> {
        let rows = sqlx::query!(
            r#"select name, host, admin, count(*) over () as "all_rows!"
               from gateways where seen_at > now() - interval '30 seconds'
               order by name collate "C", admin collate "C" limit $1"#,
            MOST_GATEWAYS
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list gateways"))?;
        let total = rows.first().map_or(0, |row| row.all_rows.unsigned_abs());
        let gateways = rows.into_iter().map(|row| GatewaySeen {
            name: row.name,
            host: row.host,
            admin: row.admin,
        });
        Ok((gateways.collect(), total))
    }
}
