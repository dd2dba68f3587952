//! Which came first: the reading of a holder's record, or word that it changed.
//!
//! Who holds a credential goes by a text: the id of a key, or of an issuer's principal, which are
//! of different lengths. Readings and words are numbered from one counter. A record is believed if its number is higher
//! than that of the last word about its holder or its tenant, so a reading that a change overtook is
//! told from one that came after it, whatever order they end in. What a word costs is one number:
//! a flood of them, and anybody who may connect to Postgres may notify, troubles only the keys
//! that they name.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use moka::{policy::EvictionPolicy, sync::Cache};
use tokio::time::Instant;
use uuid::Uuid;

/// How old a record may be while nobody tells of changes.
const FRESH_UNHEARD: Duration = Duration::from_secs(5);
/// Holders and tenants whose last change is remembered, at about 100 bytes each.
const MOST_CHANGED: u64 = 50_000;

/// When a record was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Before Postgres was asked.
    pub(super) at: Instant,
    pub(super) edition: u64,
}

/// The numbers of readings and words.
pub(super) struct Editions {
    next: AtomicU64,
    holders: Cache<String, u64>,
    tenants: Cache<Uuid, u64>,
    /// When words were last missed, or may have been.
    gap: AtomicU64,
    listening: AtomicBool,
}

impl Editions {
    /// `kept`: how long a record may be believed after it was read.
    pub(super) fn new(kept: Duration) -> Self {
        Editions {
            next: AtomicU64::new(1),
            holders: last_used(kept),
            tenants: last_used(kept),
            gap: AtomicU64::new(0),
            listening: AtomicBool::new(false),
        }
    }

    /// Numbers a reading that begins now.
    pub(super) fn reading(&self) -> Reading {
        Reading {
            at: Instant::now(),
            edition: self.number(),
        }
    }

    /// Whether words are heard from now on.
    pub(super) fn set_listening(&self, listening: bool) {
        if listening {
            self.gap.store(self.number(), Ordering::Release);
        }
        self.listening.store(listening, Ordering::Release);
    }

    /// Notes a word about a key or a principal.
    pub(super) fn holder_changed(&self, id: &str) {
        self.holders.insert(id.to_owned(), self.number());
    }

    /// Notes a word about a tenant.
    pub(super) fn tenant_changed(&self, tenant: Uuid) {
        self.tenants.insert(tenant, self.number());
    }

    /// Whether no word about the holder came since this reading began. For a key of no tenant, one
    /// that is unknown, give nil.
    pub(super) fn is_current(&self, id: &str, tenant: Uuid, read: Reading) -> bool {
        let holder = self.holders.get(id).unwrap_or(0);
        let tenant = self.tenants.get(&tenant).unwrap_or(0);
        holder.max(tenant) < read.edition
    }

    /// Whether a word about the holder would have been heard since, too; or, while none are heard,
    /// whether the reading is seconds old.
    pub(super) fn is_fresh(&self, id: &str, tenant: Uuid, read: Reading) -> bool {
        let heard = self.listening.load(Ordering::Acquire);
        let unbroken = self.gap.load(Ordering::Acquire) < read.edition;
        unbroken
            && (heard || read.at.elapsed() < FRESH_UNHEARD)
            && self.is_current(id, tenant, read)
    }

    /// The next number: no reading has it, nor will have.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::AcqRel)
    }
}

/// A table that always takes what is new, unlike one that keeps what is asked for most.
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

    fn editions() -> Editions {
        let editions = Editions::new(Duration::from_secs(60));
        editions.set_listening(true);
        editions
    }

    #[tokio::test]
    async fn a_reading_that_a_word_overtook_is_not_believed() {
        let (editions, key) = (editions(), "a key");
        let before = editions.reading();
        assert!(editions.is_fresh(key, TENANT, before));
        editions.holder_changed(key);
        assert!(!editions.is_current(key, TENANT, before));
        let after = editions.reading();
        assert!(editions.is_fresh(key, TENANT, after));
        editions.tenant_changed(TENANT);
        assert!(!editions.is_current(key, TENANT, after));
    }

    #[tokio::test]
    async fn words_about_others_change_nothing() {
        let (editions, key) = (editions(), "a key");
        let read = editions.reading();
        for _ in 0..1000 {
            editions.holder_changed(&Uuid::new_v4().to_string());
            editions.tenant_changed(Uuid::new_v4());
        }
        assert!(editions.is_fresh(key, TENANT, read));
    }

    #[tokio::test(start_paused = true)]
    async fn while_no_words_are_heard_a_reading_is_fresh_for_seconds() {
        let (editions, key) = (editions(), "a key");
        let read = editions.reading();
        tokio::time::advance(FRESH_UNHEARD).await;
        assert!(editions.is_fresh(key, TENANT, read));
        editions.set_listening(false);
        assert!(!editions.is_fresh(key, TENANT, read));
        assert!(editions.is_fresh(key, TENANT, editions.reading()));

        // What was said meanwhile is not known: everything older is read again.
        let meanwhile = editions.reading();
        editions.set_listening(true);
        assert!(!editions.is_fresh(key, TENANT, meanwhile));
        assert!(editions.is_current(key, TENANT, meanwhile));
    }
}
