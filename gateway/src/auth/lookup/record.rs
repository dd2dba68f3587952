//! A key's row as the gateway caches it.

use std::time::Duration;

use archway_proto::catalog::Scope;
use tokio::time::Instant;

use crate::{
    auth::{
        key::KeyId,
        versions::{RecordVersion, RecordVersions},
    },
    caller::{CallerAccess, Principal, PrincipalFacts},
    store::ApiKeyRow,
    terms::Terms,
};

/// A key's row in Postgres.
pub(crate) struct KeyRecord {
    pub(crate) secret_hash: Vec<u8>,
    pub(crate) secret_line: String,
    /// False once revoked, or while the tenant is disabled.
    pub(crate) live: bool,
    /// By this machine's clock; `None` for a key that never expires.
    pub(crate) expires_at: Option<Instant>,
    pub(crate) principal: Principal,
    pub(in crate::auth) read: RecordVersion,
    /// Whether the query waited for a look-up slot.
    pub(in crate::auth) used_slot: bool,
}

impl KeyRecord {
    /// The record of a row that was read as of this version, perhaps after it `used_slot`.
    pub(super) fn new(
        id: &KeyId,
        row: ApiKeyRow,
        access: Option<CallerAccess>,
        (read, used_slot): (RecordVersion, bool),
    ) -> KeyRecord {
        let scopes = row
            .scopes
            .iter()
            .filter_map(|name| Scope::parse(name))
            .collect();
        KeyRecord {
            secret_hash: row.secret_hash,
            secret_line: row.secret_line,
            live: row.live,
            expires_at: end_of(read.at, row.expires_in),
            read,
            used_slot,
            principal: Principal::new(PrincipalFacts {
                tenant_id: row.tenant_id,
                tenant: row.tenant_slug,
                name: format!("key:{}", row.lineage),
                credential: id.as_str().to_owned(),
                scopes,
                projects: row.projects,
                families: row.families,
                default_project: row.default_project,
                access,
                pool: row.pool,
                terms: Terms::new(row.agents.unsigned_abs(), row.limits.0),
                version: read.version,
            }),
        }
    }

    /// Whether the key is good now. Check it for each request: a key may expire while its record is
    /// cached.
    pub(crate) fn is_good(&self) -> bool {
        self.live && self.expires_at.is_none_or(|end| Instant::now() < end)
    }

    pub(super) fn is_fresh(&self, id: &KeyId, versions: &RecordVersions) -> bool {
        versions.is_fresh(id.as_str(), self.principal.tenant_id(), self.read)
    }

    pub(super) fn is_current(&self, id: &KeyId, versions: &RecordVersions) -> bool {
        versions.is_current(id.as_str(), self.principal.tenant_id(), self.read)
    }
}

/// When a key expires that had `left` seconds at `read_at`, or a little later. `None` if it never
/// does, or later than the clock can express.
pub(super) fn end_of(read_at: Instant, left: Option<f64>) -> Option<Instant> {
    let left = Duration::try_from_secs_f64(left?.max(0.0)).ok()?;
    read_at.checked_add(left)
}
