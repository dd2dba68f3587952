//! Decides whether a record of a credential's holder is older than a change notification about it.
//!
//! A holder is identified by the id of a key or of an issuer's principal, which differ in length.
//! Reads and notifications take numbers from one counter. A record is used if its number is higher
//! than that of the last notification about its holder or tenant. So a read that a change overtook
//! is told apart from a later one, in whatever order they end. A notification costs one number: a
//! flood of them (anyone who may connect to Postgres may notify) affects only the keys that it
//! names.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use moka::{policy::EvictionPolicy, sync::Cache};
use tokio::time::Instant;
use uuid::Uuid;

/// Maximum age of a record while no notifications arrive.
const FRESH_UNHEARD: Duration = Duration::from_secs(5);
/// Holders and tenants whose last change is remembered, at about 100 bytes each.
const MOST_CHANGED: u64 = 50_000;

/// When a record was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordVersion {
    /// Before the query was sent.
    pub(super) at: Instant,
    pub(super) version: u64,
}

/// The numbers of reads and notifications.
pub(super) struct RecordVersions {
    next: AtomicU64,
    holders: Cache<String, u64>,
    tenants: Cache<Uuid, u64>,
    /// When notifications were last missed, or may have been.
    gap: AtomicU64,
    listening: AtomicBool,
}

impl RecordVersions {
    /// `kept`: maximum time for which a record may be used after it was read.
    pub(super) fn new(kept: Duration) -> Self {
        RecordVersions {
            next: AtomicU64::new(1),
            holders: last_used(kept),
            tenants: last_used(kept),
            gap: AtomicU64::new(0),
            listening: AtomicBool::new(false),
        }
    }

    /// The version of a read that starts now.
    pub(super) fn reading(&self) -> RecordVersion {
        RecordVersion {
            at: Instant::now(),
            version: self.number(),
        }
    }

    /// Records whether notifications arrive from now on.
    pub(super) fn set_listening(&self, listening: bool) {
        if listening {
            self.gap.store(self.number(), Ordering::Release);
        }
        self.listening.store(listening, Ordering::Release);
    }

    /// Records a notification about a key or a principal.
    pub(super) fn holder_changed(&self, id: &str) {
        self.holders.insert(id.to_owned(), self.number());
    }

    /// Records a notification about a tenant.
    pub(super) fn tenant_changed(&self, tenant: Uuid) {
        self.tenants.insert(tenant, self.number());
    }

    /// Whether no notification about the holder came since this read started. Pass nil as the
    /// tenant of an unknown key.
    pub(super) fn is_current(&self, id: &str, tenant: Uuid, read: RecordVersion) -> bool {
        let holder = self.holders.get(id).unwrap_or(0);
        let tenant = self.tenants.get(&tenant).unwrap_or(0);
        holder.max(tenant) < read.version
    }

    /// Whether in addition a notification would have arrived, or, while none arrive, the read is
    /// only seconds old.
    pub(super) fn is_fresh(&self, id: &str, tenant: Uuid, read: RecordVersion) -> bool {
        let heard = self.listening.load(Ordering::Acquire);
        let unbroken = self.gap.load(Ordering::Acquire) < read.version;
        unbroken
            && (heard || read.at.elapsed() < FRESH_UNHEARD)
            && self.is_current(id, tenant, read)
    }

    /// The next number, which no read has or will have.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::AcqRel)
    }
}

/// A cache that always admits new entries, unlike one that prefers frequently used ones.
fn last_used<K>(kept: Duration) -> Cache<K, u64>
where
    K: std::hash::Hash + Eq + Send + Sync + 'static,
{
    Cache::builder()
        .max_capacity(MOST_CHANGED)
        .eviction_policy(EvictionPolicy::lru())
        .time_to_live(kept)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: Uuid = Uuid::from_u128(1);

    fn versions() -> RecordVersions {
        let versions = RecordVersions::new(Duration::from_secs(60));
        versions.set_listening(true);
        versions
    }

    #[tokio::test]
    async fn a_read_that_a_notification_overtook_is_not_current() {
        let (versions, key) = (versions(), "a key");
        let before = versions.reading();
        assert!(versions.is_fresh(key, TENANT, before));
        versions.holder_changed(key);
        assert!(!versions.is_current(key, TENANT, before));
        let after = versions.reading();
        assert!(versions.is_fresh(key, TENANT, after));
        versions.tenant_changed(TENANT);
        assert!(!versions.is_current(key, TENANT, after));
    }

    #[tokio::test]
    async fn notifications_about_others_change_nothing() {
        let (versions, key) = (versions(), "a key");
        let read = versions.reading();
        for _ in 0..1000 {
            versions.holder_changed(&Uuid::new_v4().to_string());
            versions.tenant_changed(Uuid::new_v4());
        }
        assert!(versions.is_fresh(key, TENANT, read));
    }

    #[tokio::test(start_paused = true)]
    async fn without_notifications_a_read_is_fresh_for_seconds() {
        let (versions, key) = (versions(), "a key");
        let read = versions.reading();
        tokio::time::advance(FRESH_UNHEARD).await;
        assert!(versions.is_fresh(key, TENANT, read));
        versions.set_listening(false);
        assert!(!versions.is_fresh(key, TENANT, read));
        assert!(versions.is_fresh(key, TENANT, versions.reading()));

        // Changes in the meantime are unknown: everything older is read again.
        let meanwhile = versions.reading();
        versions.set_listening(true);
        assert!(!versions.is_fresh(key, TENANT, meanwhile));
        assert!(versions.is_current(key, TENANT, meanwhile));
    }
}
