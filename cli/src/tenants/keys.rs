//! Administration of existing API keys: list, change, revoke.
//!
//! Nothing here knows a secret: the database stores its HMAC, and which line of the root secret keyed
//! it. `issue.rs` creates keys.

use std::time::SystemTime;

use archway_proto::catalog::Scope;
use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query, micros, moment, names::check_text};

/// The most projects that a key can be restricted to. Every call's pass carries them, and the pass
/// has to fit into a request's headers.
pub(super) const MOST_PROJECTS: usize = 200;

/// What a key may do, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRequest {
    /// A name for people.
    pub label: String,
    /// Its scopes. A key without any is valid and may do nothing.
    pub scopes: Vec<Scope>,
    /// Slugs of the projects that it may read, at most 200; `None` for all of the tenant's.
    pub projects: Option<Vec<String>>,
    /// The tool families that it covers; `None` for all.
    pub families: Option<Vec<String>>,
    /// The project of calls that name none; must be among `projects`.
    pub default_project: Option<String>,
    /// How many agents share it: 1 to 10,000.
    pub agents: u32,
    /// When it ends; `None`: when it is revoked.
    pub expires_at: Option<SystemTime>,
}

impl Default for KeyRequest {
    /// A key that reads, and writes memory: for all projects, for one agent, until revoked.
    fn default() -> Self {
        KeyRequest {
            label: String::new(),
            scopes: vec![Scope::ToolsRead, Scope::MemoryWrite],
            projects: None,
            families: None,
            default_project: None,
            agents: 1,
            expires_at: None,
        }
    }
}

/// Whether a key is good, by Postgres' clock. A disabled tenant's keys are refused regardless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Neither expired nor revoked.
    Live,
    /// Past its end.
    Expired,
    /// Revoked.
    Revoked,
}

/// A key as administration lists it.
#[derive(Clone, Debug)]
pub struct Key {
    /// The public part.
    pub id: String,
    /// The tenant it belongs to.
    pub tenant: Uuid,
    /// The same for a key and its successors by rotation.
    pub lineage: Uuid,
    /// What it may do.
    pub terms: KeyRequest,
    /// When it was issued.
    pub created_at: SystemTime,
    /// Whether it is good now.
    pub state: KeyState,
}

/// A row of `api_keys` without its hash.
struct KeyRow {
    id: String,
    tenant_id: Uuid,
    lineage: Uuid,
    label: String,
    scopes: Vec<String>,
    projects: Option<Vec<String>>,
    families: Option<Vec<String>>,
    default_project: Option<String>,
    agents: i32,
    created_at: i64,
    expires_at: Option<i64>,
    revoked: bool,
    expired: bool,
}

impl TenantsTx {
    /// A tenant's keys, the oldest first.
    pub async fn keys(&mut self, tenant: Uuid) -> Result<Vec<Key>, TenantError> {
        let rows = sqlx::query_as!(
            KeyRow,
            r#"select id, tenant_id, lineage, label, scopes, projects, families, default_project,
                      agents, (extract(epoch from created_at) * 1000000)::bigint as "created_at!",
                      (extract(epoch from expires_at) * 1000000)::bigint as expires_at,
                      revoked_at is not null as "revoked!",
                      coalesce(expires_at <= now(), false) as "expired!"
               from api_keys k where tenant_id = $1 order by k.created_at, id collate "C""#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list keys"))?;
        Ok(rows.into_iter().map(Key::from).collect())
    }

    /// The labels of a tenant's live keys.
    pub async fn live_labels(&mut self, tenant: Uuid) -> Result<Vec<String>, TenantError> {
        let keys = self.keys(tenant).await?.into_iter();
        let live = keys.filter(|key| key.state == KeyState::Live);
        Ok(live.map(|key| key.terms.label).collect())
    }

    /// The key with this id, of any tenant.
    pub async fn find_key(&mut self, id: &str) -> Result<Key, TenantError> {
        let row = sqlx::query_as!(
            KeyRow,
            r#"select id, tenant_id, lineage, label, scopes, projects, families, default_project,
                      agents, (extract(epoch from created_at) * 1000000)::bigint as "created_at!",
                      (extract(epoch from expires_at) * 1000000)::bigint as expires_at,
                      revoked_at is not null as "revoked!",
                      coalesce(expires_at <= now(), false) as "expired!"
               from api_keys where id = $1"#,
            id
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(query("find a key"))?;
        row.map(Key::from).ok_or_else(|| self.missing("key", id))
    }

    /// Replaces the terms of a key. Gateways apply them within a second.
    pub async fn set_key(&mut self, id: &str, terms: &KeyRequest) -> Result<(), TenantError> {
        let key = self.find_key(id).await?;
        let terms = self.checked(key.tenant, terms).await?;
        sqlx::query!(
            "update api_keys set label = $2, scopes = $3, projects = $4, families = $5, \
                 default_project = $6, agents = $7, \
                 expires_at = timestamptz 'epoch' + $8::bigint * interval '1 microsecond' \
             where id = $1",
            id,
            terms.label,
            &scope_names(&terms.scopes),
            terms.projects.as_deref(),
            terms.families.as_deref(),
            terms.default_project,
            i32::try_from(terms.agents).unwrap_or(i32::MAX),
            terms.expires_at.map(micros)
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("change a key"))?;
        Ok(())
    }

    /// Revokes a key for good. Returns whether it was not revoked before. Gateways refuse it within a
    /// second.
    pub async fn revoke_key(&mut self, id: &str) -> Result<bool, TenantError> {
        self.find_key(id).await?;
        let changed = sqlx::query!(
            "update api_keys set revoked_at = now() where id = $1 and revoked_at is null",
            id
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("revoke a key"))?;
        Ok(changed.rows_affected() > 0)
    }

    /// The terms in their stored order, checked against the tenant's current projects: a project may
    /// have been removed since a key got them.
    pub async fn checked(
        &mut self,
        tenant: Uuid,
        terms: &KeyRequest,
    ) -> Result<KeyRequest, TenantError> {
        let terms = terms.clone().sorted();
        check_text("label", &terms.label)?;
        for (what, list) in [("project", &terms.projects), ("family", &terms.families)] {
            if list.as_ref().is_some_and(Vec::is_empty) {
                return Err(TenantError::Nothing(what));
            }
        }
        let narrowed = terms.projects.as_ref().map_or(0, Vec::len);
        if narrowed > MOST_PROJECTS {
            return Err(TenantError::Projects(narrowed));
        }
        if !(1..=10_000).contains(&terms.agents) {
            return Err(TenantError::Agents(terms.agents));
        }
        if let (Some(projects), Some(default)) = (&terms.projects, &terms.default_project)
            && !projects.contains(default)
        {
            return Err(TenantError::DefaultOutside(default.clone()));
        }
        let named = terms.projects.iter().flatten();
        for slug in named.chain(&terms.default_project) {
            self.find_project(tenant, slug).await?;
        }
        Ok(terms)
    }
}

impl KeyRequest {
    /// The same terms with each list sorted and without duplicates, so that equal terms compare equal.
    #[must_use]
    pub fn sorted(mut self) -> KeyRequest {
        self.scopes.sort_unstable();
        self.scopes.dedup();
        for list in [&mut self.projects, &mut self.families]
            .into_iter()
            .flatten()
        {
            list.sort_unstable();
            list.dedup();
        }
        self
    }
}

impl From<KeyRow> for Key {
    fn from(row: KeyRow) -> Key {
        let state = match (row.revoked, row.expired) {
            (true, _) => KeyState::Revoked,
            (false, true) => KeyState::Expired,
            (false, false) => KeyState::Live,
        };
        let scopes = row.scopes.iter();
        let terms = KeyRequest {
            label: row.label,
            scopes: scopes.filter_map(|name| Scope::parse(name)).collect(),
            projects: row.projects,
            families: row.families,
            default_project: row.default_project,
            agents: row.agents.unsigned_abs(),
            expires_at: row.expires_at.map(moment),
        };
        Key {
            id: row.id,
            tenant: row.tenant_id,
            lineage: row.lineage,
            terms: terms.sorted(),
            created_at: moment(row.created_at),
            state,
        }
    }
}

pub(super) fn scope_names(scopes: &[Scope]) -> Vec<String> {
    scopes.iter().map(|scope| scope.name().to_owned()).collect()
}
