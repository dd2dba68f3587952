//! Records of issuers' principals in Postgres: their tenant, and their revocations.
//!
//! Queried only for verified tokens, so strangers cannot cause queries at will. Otherwise like
//! `lookup` for keys: a record is at most 30 s old, is dropped when a change notification names its
//! principal or tenant, and stays valid for the grace period while Postgres is unreachable.

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

use super::{
    access::{AccessRules, TenantAccess},
    identity::Identity,
    lookup::{FRESH, LookupError, READINGS, UNKNOWN_FOR},
    pause::Pause,
    versions::{RecordVersion, RecordVersions},
};
use crate::{
    store::{PrincipalRow, Stores},
    terms::Override,
};

/// Records cached, at about 300 bytes each plus the limits of their tenant.
const MOST_PRINCIPALS: u64 = 50_000;
const MOST_UNKNOWN: u64 = 1_000;

/// A tenant's slug and a principal's id.
type PrincipalKey = (String, String);

/// A principal within a tenant, as Postgres has it.
pub(super) struct PrincipalRecord {
    pub(super) tenant_id: Uuid,
    pub(super) pool: String,
    pub(super) limits: Vec<Override>,
    pub(super) access: Arc<TenantAccess>,
    /// False while the tenant is disabled.
    live: bool,
    /// Seconds since 1970.
    revoked_before: Option<f64>,
    pub(super) read: RecordVersion,
}

impl PrincipalRecord {
    /// Whether a token is valid that was issued no earlier than this, in seconds since 1970. The
    /// issuer's clock may be ahead by the leeway, so a token that may predate a revocation is
    /// refused. A token issued within the leeway after it is refused as well.
    pub(super) fn is_good(&self, earliest: f64) -> bool {
        let revoked = self.revoked_before;
        self.live && revoked.is_none_or(|moment| earliest >= moment)
    }
}

/// The look-up and its caches.
pub(super) struct Principals {
    stores: Stores,
    fresh: moka::future::Cache<PrincipalKey, Arc<PrincipalRecord>>,
    confirmed: moka::sync::Cache<PrincipalKey, Arc<PrincipalRecord>>,
    /// Tenants that an issuer may speak for but that do not exist.
    unknown: moka::sync::Cache<String, ()>,
    pause: Pause,
    access: AccessRules,
    versions: Arc<RecordVersions>,
}

impl Principals {
    /// `grace`: how long a record stays valid after Postgres confirmed it, while Postgres is
    /// unreachable.
    pub(super) fn new(stores: Stores, grace: Duration, access: AccessRules) -> Self {
        Principals {
            stores,
            fresh: moka::future::Cache::builder()
                .max_capacity(MOST_PRINCIPALS)
                .time_to_live(FRESH)
                .build(),
            confirmed: moka::sync::Cache::builder()
                .max_capacity(MOST_PRINCIPALS)
                .time_to_live(grace)
                .build(),
            unknown: moka::sync::Cache::builder()
                .max_capacity(MOST_UNKNOWN)
                .time_to_live(UNKNOWN_FOR)
                .build(),
            pause: Pause::default(),
            versions: access.versions().clone(),
            access,
        }
    }

    /// The record of a principal in the tenant of this slug.
    pub(super) async fn find(
        &self,
        tenant: &str,
        who: &Identity,
    ) -> Result<Arc<PrincipalRecord>, Arc<LookupError>> {
        let key = (tenant.to_owned(), who.id().to_owned());
        for _reading in 0..READINGS {
            if self.unknown.contains_key(tenant) {
                return Err(Arc::new(LookupError::Unknown));
            }
            // Concurrent callers share one query.
            let asked = self.fresh.try_get_with_by_ref(&key, self.query(&key));
            match asked.await {
                Ok(record) if self.is_fresh(&key, &record) => return Ok(record),
                Ok(_outdated) => self.fresh.invalidate(&key).await,
                Err(error) if matches!(*error, LookupError::Unknown) => return Err(error),
                Err(error) => return self.confirmed(&key).ok_or(error),
            }
        }
        Err(Arc::new(LookupError::Overtaken))
    }

    fn is_fresh(&self, (_, id): &PrincipalKey, record: &PrincipalRecord) -> bool {
        self.versions.is_fresh(id, record.tenant_id, record.read)
    }

    fn is_current(&self, (_, id): &PrincipalKey, record: &PrincipalRecord) -> bool {
        self.versions.is_current(id, record.tenant_id, record.read)
    }

    /// The record that Postgres confirmed within the grace period, unless a change notification
    /// came since.
    fn confirmed(&self, key: &PrincipalKey) -> Option<Arc<PrincipalRecord>> {
        let record = self.confirmed.get(key)?;
        self.is_current(key, &record).then_some(record)
    }

    async fn query(&self, key: &PrincipalKey) -> Result<Arc<PrincipalRecord>, LookupError> {
        if self.pause.lasts() {
            return Err(LookupError::Paused);
        }
        let read = self.versions.reading();
        let (tenant, id) = key;
        let row = self.stores.find_principal(tenant, id).await;
        match &row {
            Ok(_) => self.pause.answered(),
            Err(error) => {
                let error = archway_proto::chain::Chain(error);
                tracing::warn!(%error, "principal look-up failed");
                self.pause.failed();
            }
        }
        let Some(row) = row? else {
            self.confirmed.invalidate(key);
            self.unknown.insert(tenant.clone(), ());
            return Err(LookupError::Unknown);
        };
        let access = self.access.of(row.tenant_id).await?;
        let record = Arc::new(record(row, access, read));
        if self.is_current(key, &record) {
            self.confirmed.insert(key.clone(), record.clone());
        }
        Ok(record)
    }
}

fn record(row: PrincipalRow, access: Arc<TenantAccess>, read: RecordVersion) -> PrincipalRecord {
    PrincipalRecord {
        tenant_id: row.tenant_id,
        pool: row.pool,
        limits: row.limits.0,
        access,
        live: row.live,
        revoked_before: row.revoked_before,
        read,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn a_token_that_may_predate_a_revocation_is_refused() {
        let record = |live, revoked_before| PrincipalRecord {
            tenant_id: Uuid::nil(),
            pool: String::new(),
            limits: Vec::new(),
            access: Arc::new(TenantAccess::without_rules()),
            live,
            revoked_before,
            read: RecordVersion {
                at: Instant::now(),
                version: 1,
            },
        };
        let revoked = record(true, Some(1_000.5));
        assert!(!revoked.is_good(1_000.0), "a token says whole seconds");
        assert!(revoked.is_good(1_000.5));
        assert!(record(true, None).is_good(0.0));
        assert!(!record(false, None).is_good(2_000.0));
    }
}
