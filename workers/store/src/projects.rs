//! The tenant's projects. The gateway owns the table; workers only read it.

use uuid::Uuid;

use super::{StoreError, TenantStore, failed};

/// A project as it is stored.
pub struct ProjectRow {
    /// The project's id.
    pub id: Uuid,
    /// The name in arguments and results.
    pub slug: String,
    /// The name for people.
    pub name: Option<String>,
    /// Paths that `read_repo_file` may read; `None` means the defaults.
    pub allow_globs: Option<Vec<String>>,
    /// Paths that are open although their names are blocked.
    pub open_globs: Vec<String>,
    /// Paths that are closed.
    pub close_globs: Vec<String>,
    /// How its mirror is; `None` for a project that `archway sync` does not mirror.
    pub mirror: Option<MirrorState>,
    /// What its host says of it; empty if no connection found it.
    pub hosted: HostedText,
    /// Whether it is private at its host, which alone says who may read it.
    pub is_guarded: bool,
}

/// What a host says of a repository: bounded and escaped by `archway sync`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostedText {
    /// One line of at most 200 characters.
    pub description: Option<String>,
    /// At most 255 bytes.
    pub default_branch: Option<String>,
    /// At most 10.
    pub topics: Vec<String>,
}

/// How a project's mirror is: where there are several, the one that was fetched last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorState {
    /// A name that `archway sync status` shows, such as `cloning`.
    pub state: String,
    /// Since when, in seconds since 1970.
    pub since: i64,
    /// When it was last fetched, likewise; `None` if there is no mirror yet.
    pub fetched_at: Option<i64>,
    /// When a fetch last brought something, likewise.
    pub changed_at: Option<i64>,
    /// How far the first clone is, in percent.
    pub percent: Option<i16>,
    /// Seconds until the next run; 0 if one is due.
    pub next_in: i64,
}

impl TenantStore<'_> {
    /// All projects of the tenant, by slug, and how often its access rules and readers had changed before.
    pub async fn projects(&self) -> Result<(i64, Vec<ProjectRow>), StoreError> {
        let mut tx = self.begin().await?;
        // First: the projects are then of this edition, or of a later one.
        let edition = self.access_edition(&mut tx).await?;
        let rows = sqlx::query!(
            r#"select p.id, p.slug, p.name, p.allow_globs, p.open_globs, p.close_globs,
                      s.project_id is not null as "is_mirrored!",
                      shown_mirror_state(m.state, m.next_at, m.leased_until) as state,
                      extract(epoch from m.since)::bigint as since, extract(epoch from m.fetched_at)::bigint as fetched_at,
                      extract(epoch from m.changed_at)::bigint as changed_at, m.percent as "percent?",
                      s.description as "description?", s.default_branch as "default_branch?",
                      s.topics as "topics?", h.connection_id is not null and s.visibility = 'private' as "is_guarded!",
                      greatest(extract(epoch from m.next_at - now()), 0)::bigint as next_in
               from projects p left join sources s on s.project_id = p.id
               left join host_permissions h on h.connection_id = s.connection_id
               left join lateral (
                   select * from (select state, since, fetched_at, changed_at, percent, next_at, leased_until from mirrors
                                  where project_id = p.id) of_project
                   order by fetched_at desc nulls last limit 1
               ) m on true
               where p.tenant_id = $1 and p.removed_at is null order by p.slug collate "C""#,
            self.tenant
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading projects"))?;
        let projects = rows.into_iter().map(|row| ProjectRow {
            mirror: row.is_mirrored.then(|| MirrorState {
                state: row.state.unwrap_or_else(|| "new".to_owned()),
                since: row.since.unwrap_or(0),
                fetched_at: row.fetched_at,
                changed_at: row.changed_at,
                percent: row.percent,
                next_in: row.next_in.unwrap_or(0),
            }),
            hosted: HostedText {
                description: row.description,
                default_branch: row.default_branch,
                topics: row.topics.unwrap_or_default(),
            },
            id: row.id,
            slug: row.slug,
            name: row.name,
            allow_globs: row.allow_globs,
            open_globs: row.open_globs,
            close_globs: row.close_globs,
            is_guarded: row.is_guarded,
        });
        Ok((edition, projects.collect()))
    }
}
