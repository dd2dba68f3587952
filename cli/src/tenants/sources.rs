//! Administration of sources: where projects are mirrored from, and how that goes.
//!
//! `archway sync` owns these tables.

use std::time::SystemTime;

use archway_sync::remote::RemoteUrl;
use uuid::Uuid;

use super::error::query;
use super::{TenantError, TenantsTx, moment};

/// A run is begun at most so often at an operator's request, in seconds.
pub(super) const LEAST_INTERVAL: f64 = 10.0;

/// Where a project is mirrored from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectSource {
    /// The remote repository.
    pub remote: RemoteUrl,
    /// The branch, tag or commit; `None` for the remote's own HEAD.
    pub reference: Option<String>,
    /// The name of a file in the folder of credentials.
    pub credential: Option<String>,
    /// A file of certificates that git trusts instead of the system's.
    pub ca_file: Option<String>,
    /// The proxy for https.
    pub https_proxy: Option<String>,
}

/// The source of a project as the database has it.
#[derive(Clone, Debug)]
pub struct SourceRow {
    /// The project's slug.
    pub project: String,
    /// The URL, as [`RemoteUrl::as_str`] writes it.
    pub url: String,
    /// As in [`ProjectSource`].
    pub reference: Option<String>,
    /// As in [`ProjectSource`].
    pub credential: Option<String>,
    /// As in [`ProjectSource`].
    pub ca_file: Option<String>,
    /// As in [`ProjectSource`].
    pub https_proxy: Option<String>,
    /// The connection that found it; `None` if an operator named it.
    pub connection: Option<String>,
}

impl SourceRow {
    /// Whether an operator named exactly this source.
    pub fn is(&self, source: &ProjectSource) -> bool {
        self.connection.is_none()
            && self.url == source.remote.as_str()
            && self.reference == source.reference
            && self.credential == source.credential
            && self.ca_file == source.ca_file
            && self.https_proxy == source.https_proxy
    }
}

/// The mirror of a project at one place.
#[derive(Clone, Debug)]
pub struct MirrorRow {
    /// The project's slug.
    pub project: String,
    /// The remote's host.
    pub host: String,
    /// The machine; empty for a shared volume.
    pub place: String,
    /// A name of `SyncState`.
    pub state: String,
    /// Since when.
    pub since: SystemTime,
    /// Failed runs in a row.
    pub attempts: u32,
    /// Why the last run failed.
    pub message: Option<String>,
    /// HEAD's commit.
    pub head: Option<String>,
    /// The size, in bytes.
    pub bytes: Option<u64>,
    /// How far the running clone is.
    pub percent: Option<u8>,
    /// When a run last succeeded.
    pub fetched_at: Option<SystemTime>,
    /// When a run last began.
    pub tried_at: Option<SystemTime>,
    /// When the next run is due.
    pub next_at: SystemTime,
    /// Whether a run is under way.
    pub is_running: bool,
}

/// A project that its connection put out of use.
#[derive(Clone, Debug)]
pub struct OutOfUseRow {
    /// The project's slug.
    pub project: String,
    /// The remote's host.
    pub host: String,
    /// `gone`, the name of a filter, `named` or `connection`.
    pub reason: String,
    /// Since when.
    pub since: SystemTime,
}

impl TenantsTx {
    /// Has a project mirrored from a remote, instead of what it was mirrored from before.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn set_source(
        &mut self,
        (tenant, project): (Uuid, Uuid),
        source: &ProjectSource,
    ) -> Result<(), TenantError> {
        sqlx::query!(
            "insert into sources (project_id, tenant_id, url, host, reference, credential, ca_file, https_proxy) \
             values ($1, $2, $3, $4, $5, $6, $7, $8) \
             on conflict (project_id) do update set url = excluded.url, host = excluded.host, \
                 reference = excluded.reference, credential = excluded.credential, ca_file = excluded.ca_file, \
                 https_proxy = excluded.https_proxy, connection_id = null, host_id = null, host_path = null, \
                 pushed_at = null, out_of_use = null",
            project,
            tenant,
            source.remote.as_str(),
            source.remote.host(),
            source.reference,
            source.credential,
            source.ca_file,
            source.https_proxy
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("set a source"))?;
        self.make_due(tenant, Some(project)).await
    }

    /// Has a project mirrored no longer. Its mirror is removed.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn remove_source(&mut self, project: Uuid) -> Result<(), TenantError> {
        sqlx::query!("delete from sources where project_id = $1", project)
            .execute(&mut *self.tx)
            .await
            .map(drop)
            .map_err(query("remove a source"))
    }

    /// The sources of a tenant's projects, by slug.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn sources(&mut self, tenant: Uuid) -> Result<Vec<SourceRow>, TenantError> {
        sqlx::query_as!(
            SourceRow,
            r#"select p.slug as project, s.url, s.reference, s.credential, s.ca_file, s.https_proxy,
                      c.name as "connection?"
               from sources s join projects p on p.id = s.project_id
               left join connections c on c.id = s.connection_id
               where s.tenant_id = $1 order by p.slug collate "C""#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list sources"))
    }

    /// The mirrors of a tenant's projects, by project and place. Those of a machine whose process has not been seen
    /// for 5 min are left out; a mirror whose run is overdue by a minute is `behind`.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn mirrors(&mut self, tenant: Uuid) -> Result<Vec<MirrorRow>, TenantError> {
        let rows = sqlx::query!(
            r#"select p.slug as project, s.host, coalesce(m.place, '') as "place!",
                      coalesce(shown_mirror_state(m.state, m.next_at, m.leased_until), 'new') as "state!",
                      (extract(epoch from coalesce(m.since, s.created_at)) * 1000000)::bigint as "since!",
                      coalesce(m.attempts, 0) as "attempts!", m.message as "message?", m.head as "head?",
                      m.bytes as "bytes?", m.percent as "percent?",
                      (extract(epoch from m.fetched_at) * 1000000)::bigint as fetched_at,
                      (extract(epoch from m.tried_at) * 1000000)::bigint as tried_at,
                      (extract(epoch from coalesce(m.next_at, now())) * 1000000)::bigint as "next_at!",
                      coalesce(m.leased_until > now(), false) as "is_running!"
               from sources s join projects p on p.id = s.project_id and p.removed_at is null
               left join mirrors m on m.project_id = s.project_id and (m.place = '' or exists (
                   select from sync_processes sp
                   where sp.place = m.place and sp.seen_at > now() - interval '5 minutes'))
               where s.tenant_id = $1 order by p.slug collate "C", m.place collate "C""#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list mirrors"))?;
        Ok(rows
            .into_iter()
            .map(|row| MirrorRow {
                project: row.project,
                host: row.host,
                place: row.place,
                state: row.state,
                since: moment(row.since),
                attempts: u32::try_from(row.attempts).unwrap_or(0),
                message: row.message,
                head: row.head,
                bytes: row.bytes.and_then(|bytes| u64::try_from(bytes).ok()),
                percent: row.percent.and_then(|percent| u8::try_from(percent).ok()),
                fetched_at: row.fetched_at.map(moment),
                tried_at: row.tried_at.map(moment),
                next_at: moment(row.next_at),
                is_running: row.is_running,
            })
            .collect())
    }

    /// The projects of a tenant that its connections put out of use, by slug.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn out_of_use(&mut self, tenant: Uuid) -> Result<Vec<OutOfUseRow>, TenantError> {
        let rows = sqlx::query!(
            r#"select p.slug as project, s.host, s.out_of_use as "reason!",
                      (extract(epoch from p.removed_at) * 1000000)::bigint as "since!"
               from sources s join projects p on p.id = s.project_id
               where s.tenant_id = $1 and s.out_of_use is not null and p.removed_at is not null
               order by p.slug collate "C""#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list projects that are out of use"))?;
        let rows = rows.into_iter().map(|row| OutOfUseRow {
            project: row.project,
            host: row.host,
            reason: row.reason,
            since: moment(row.since),
        });
        Ok(rows.collect())
    }

    /// Makes the mirrors of a tenant, or of one of its projects, due at once, unless one was tried just now. Returns
    /// the time of the request, by the clock that runs are recorded with.
    ///
    /// # Errors
    /// [`TenantError::Missing`].
    pub async fn request_sync(
        &mut self,
        tenant: Uuid,
        project: Option<&str>,
    ) -> Result<SystemTime, TenantError> {
        let project = match project {
            Some(slug) => Some(self.find_project(tenant, slug).await?.id),
            None => None,
        };
        self.make_due(tenant, project).await?;
        let now = sqlx::query_scalar!(
            r#"select (extract(epoch from now()) * 1000000)::bigint as "now!""#
        );
        let now = now.fetch_one(&mut *self.tx).await;
        now.map(moment).map_err(query("read the time"))
    }

    async fn make_due(&mut self, tenant: Uuid, project: Option<Uuid>) -> Result<(), TenantError> {
        sqlx::query!(
            "update mirrors m set is_requested = true, \
                 next_at = greatest(now(), m.tried_at + make_interval(secs => $3)) \
             where m.tenant_id = $1 and ($2::uuid is null or m.project_id = $2)",
            tenant,
            project,
            LEAST_INTERVAL
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("request a sync"))?;
        sqlx::query!("select pg_notify('archway_sources', '')")
            .execute(&mut *self.tx)
            .await
            .map_err(query("notify archway sync"))?;
        Ok(())
    }
}
