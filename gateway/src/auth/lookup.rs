//! API key records: from a cache for at most 30 s, else from Postgres.
//!
//! A change notification for a key or its tenant ends the use of older records (`versions`).
//!
//! What a reader would get wrong: the cache serves fresh records, and a second table covers
//! failures. While Postgres is away, a key that it confirmed within the grace stays good. A key that
//! it never confirmed is answered 503, never 401. Ids that were never confirmed have a small table and
//! a few look-up slots of their own, so a flood of made-up keys neither displaces good keys nor takes
//! their connections.
//!
//! A 401 takes equally long for known and unknown ids, or its time would say which ids exist. Each bad
//! key costs one wait for a slot and one query, and then nothing for 5 s.

mod record;

use std::{sync::Arc, time::Duration};

use archway_proto::chain::Chain;
use archway_resilience::Outage;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    access::AccessRules,
    key::KeyId,
    lookup_slots::{LookupSlots, OriginFn, SlotPermit},
    pause::Pause,
    versions::RecordVersions,
};
use crate::store::{StoreError, Stores};

pub(crate) use record::KeyRecord;

/// How long a record is used before it is read again.
pub(super) const FRESH: Duration = Duration::from_secs(30);
/// Reads of a record in one look-up. A change notification that arrives during a read voids it.
pub(super) const READINGS: usize = 3;
/// How long a bad key is refused without a query.
pub(super) const UNKNOWN_FOR: Duration = Duration::from_secs(5);
/// Cached records, about 500 bytes each.
const MOST_KEYS: u64 = 50_000;
const MOST_UNKNOWN: u64 = 10_000;

/// Why there is no record of a key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    /// Postgres has no such id.
    #[error("no such key")]
    Unknown,
    /// The query failed.
    #[error("the key can't be checked now")]
    Unavailable(#[from] StoreError),
    /// No query was sent, since Postgres failed within the last second.
    #[error("the key can't be checked now: postgres failed a moment ago")]
    Paused,
    /// No slot was free in time.
    #[error("the key can't be checked now: too many unknown keys are")]
    Crowded,
    /// Change notifications voided every read.
    #[error("the key can't be checked now: it changes faster than it can be read")]
    Overtaken,
}

/// The key look-up with its caches.
pub(crate) struct Keys {
    stores: Stores,
    fresh: moka::future::Cache<KeyId, Arc<KeyRecord>>,
    confirmed: moka::sync::Cache<KeyId, Arc<KeyRecord>>,
    unknown: moka::sync::Cache<KeyId, ()>,
    /// Known ids whose secret was wrong or whose key was not good: like unknown ids, each costs one
    /// query per [`UNKNOWN_FOR`].
    failing: moka::sync::Cache<KeyId, ()>,
    slots: LookupSlots,
    pause: Pause,
    outage: Outage,
    access: AccessRules,
    versions: Arc<RecordVersions>,
}

impl Keys {
    /// `grace`: how long a key stays good after Postgres confirmed it, while Postgres is away.
    pub(super) fn new(stores: Stores, grace: Duration, access: AccessRules) -> Self {
        let table = |capacity, age| {
            moka::sync::Cache::<KeyId, _>::builder()
                .max_capacity(capacity)
                .time_to_live(age)
        };
        Keys {
            stores,
            fresh: moka::future::Cache::builder()
                .max_capacity(MOST_KEYS)
                .time_to_live(FRESH)
                .build(),
            confirmed: table(MOST_KEYS, grace).build(),
            unknown: bad_ids(),
            failing: bad_ids(),
            slots: LookupSlots::default(),
            pause: Pause::default(),
            outage: Outage::default(),
            versions: access.versions().clone(),
            access,
        }
    }

    /// Returns the record of a key: at most 30 s old or, while Postgres is away, within the grace. A
    /// key that was never confirmed waits for a look-up slot.
    pub(crate) async fn find(
        &self,
        id: &KeyId,
        origin: OriginFn<'_>,
    ) -> Result<Arc<KeyRecord>, Arc<LookupError>> {
        for _reading in 0..READINGS {
            if self.unknown.contains_key(id) {
                return Err(Arc::new(LookupError::Unknown));
            }
            // Concurrent callers share one query.
            let answer = match self.fresh.get(id).await {
                Some(record) => Ok(record),
                None => {
                    self.fresh
                        .try_get_with_by_ref(id, self.read(id, origin))
                        .await
                }
            };
            match answer {
                Ok(record) if record.is_fresh(id, &self.versions) => return Ok(record),
                Ok(_outdated) => self.fresh.invalidate(id).await,
                Err(error) if matches!(*error, LookupError::Unknown) => return Err(error),
                Err(error) => return self.confirmed(id).ok_or(error),
            }
        }
        Err(Arc::new(LookupError::Overtaken))
    }

    /// Makes the 401 of a known id take as long as that of an unknown one, for which `find` waits for
    /// a slot and sends a query, once per [`UNKNOWN_FOR`]. The query's answer is ignored. A `record`
    /// that was read since the call `began` has cost its query, and perhaps its wait.
    ///
    /// # Errors
    /// As `find` for an unknown id.
    pub(crate) async fn spend_as_unknown(
        &self,
        id: &KeyId,
        record: &KeyRecord,
        began: Instant,
        origin: OriginFn<'_>,
    ) -> Result<(), LookupError> {
        if self.failing.contains_key(id) {
            return Ok(());
        }
        let is_read = record.read.at >= began;
        if !is_read && self.paused() {
            return Err(LookupError::Paused);
        }
        if !(is_read && record.used_slot) {
            let _slot = self.slot(origin).await?;
            if !is_read {
                let row = self.stores.find_api_key(id.as_str()).await;
                self.note(&row, true);
                row?;
            }
        }
        self.failing.insert(id.clone(), ());
        Ok(())
    }

    async fn slot(&self, origin: OriginFn<'_>) -> Result<SlotPermit<'_>, LookupError> {
        let slot = self.slots.acquire(origin()).await;
        slot.ok_or(LookupError::Crowded)
    }

    /// The record that Postgres confirmed within the grace, unless a change notification came since.
    fn confirmed(&self, id: &KeyId) -> Option<Arc<KeyRecord>> {
        let record = self.confirmed.get(id)?;
        record.is_current(id, &self.versions).then_some(record)
    }

    /// Drops all that is cached of a key. Its next call reads it again.
    pub(crate) async fn key_changed(&self, id: &KeyId) {
        self.versions.holder_changed(id.as_str());
        self.fresh.invalidate(id).await;
        self.confirmed.invalidate(id);
        self.unknown.invalidate(id);
    }

    async fn read(&self, id: &KeyId, origin: OriginFn<'_>) -> Result<Arc<KeyRecord>, LookupError> {
        if self.paused() {
            return Err(LookupError::Paused);
        }
        let is_unconfirmed = !self.confirmed.contains_key(id);
        // Held until the answer is known.
        let _slot = match is_unconfirmed {
            true => Some(self.slot(origin).await?),
            false => None,
        };
        let read = self.versions.reading();
        let row = self.stores.find_api_key(id.as_str()).await;
        self.note(&row, is_unconfirmed);
        let Some(row) = row? else {
            self.confirmed.invalidate(id);
            if self.versions.is_current(id.as_str(), Uuid::nil(), read) {
                self.unknown.insert(id.clone(), ());
            }
            return Err(LookupError::Unknown);
        };
        let access = self.access.of_key(row.tenant_id, id.as_str()).await?;
        let record = Arc::new(KeyRecord::new(id, row, access, (read, is_unconfirmed)));
        if record.is_current(id, &self.versions) {
            self.confirmed.insert(id.clone(), record.clone());
        }
        Ok(record)
    }

    /// Notes whether Postgres answers. A flood of made-up ids can time out in the pool: of an
    /// unconfirmed id only a broken connection counts as Postgres' failure.
    fn note<T>(&self, answer: &Result<T, StoreError>, is_unconfirmed: bool) {
        match answer {
            Ok(_) => {
                self.pause.answered();
                if self.outage.ended() {
                    tracing::info!("keys are looked up again");
                }
            }
            Err(error) => {
                if self.outage.failed() {
                    tracing::warn!(error = %Chain(error), "key look-up failed");
                }
                if !is_unconfirmed || error.is_broken_connection() {
                    self.pause.failed();
                }
            }
        }
    }

    fn paused(&self) -> bool {
        self.pause.lasts()
    }
}

/// Ids that are refused for a few seconds without a query.
fn bad_ids() -> moka::sync::Cache<KeyId, ()> {
    moka::sync::Cache::builder()
        .max_capacity(MOST_UNKNOWN)
        .time_to_live(UNKNOWN_FOR)
        .build()
}

#[cfg(test)]
mod tests {
    use super::{record::end_of, *};
    use archway_proto::catalog::Scope;

    use crate::auth::{key::KeyText, lookup_slots::Origin};
    use crate::{auth::versions::RecordVersion, caller::Principal};

    const ORIGIN: Origin = Origin {
        source: None,
        is_suspect: false,
    };

    impl Keys {
        /// Caches this record as if Postgres had just confirmed it.
        pub(crate) async fn insert_for_tests(&self, id: &KeyId, record: KeyRecord) {
            let record = Arc::new(record);
            self.confirmed.insert(id.clone(), record.clone());
            self.fresh.insert(id.clone(), record).await;
        }
    }

    async fn find(keys: &Keys, key: &KeyText) -> Result<Arc<KeyRecord>, Arc<LookupError>> {
        keys.find(key.id(), &|| ORIGIN).await
    }

    /// Keys without a Postgres.
    fn without_postgres() -> Keys {
        let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
        let grace = Duration::from_secs(60);
        let versions = Arc::new(RecordVersions::new(grace));
        let stores = Stores::with_options(nowhere, 1);
        Keys::new(stores.clone(), grace, AccessRules::new(stores, versions))
    }

    fn record() -> KeyRecord {
        KeyRecord {
            secret_hash: vec![0; 32],
            secret_line: "a".into(),
            live: true,
            expires_at: None,
            principal: Principal::for_tests(&[Scope::ToolsRead], None),
            read: RecordVersion {
                at: Instant::now(),
                version: 1,
            },
            used_slot: false,
        }
    }

    #[tokio::test]
    async fn without_postgres_a_confirmed_key_is_good_and_a_new_one_undecided() {
        let keys = without_postgres();
        let known = KeyText::generate().unwrap();
        keys.insert_for_tests(known.id(), record()).await;
        keys.fresh.invalidate(known.id()).await;
        assert!(find(&keys, &known).await.is_ok());

        // No query is sent for a second; the answers are the same.
        assert!(keys.paused());
        assert!(find(&keys, &known).await.is_ok());
        let stranger = KeyText::generate().unwrap();
        let error = find(&keys, &stranger).await.err().unwrap();
        assert!(matches!(*error, LookupError::Paused), "{error}");
    }

    #[tokio::test]
    async fn an_unknown_id_is_cached_and_not_queried_again() {
        let keys = without_postgres();
        let stranger = KeyText::generate().unwrap();
        keys.unknown.insert(stranger.id().clone(), ());
        let error = find(&keys, &stranger).await.err().unwrap();
        assert!(matches!(*error, LookupError::Unknown), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_bad_key_costs_one_query_in_a_few_seconds() {
        let keys = without_postgres();
        let cached = read_now(&keys);
        tokio::time::advance(Duration::from_millis(1)).await;
        let began = Instant::now();
        let spend = async |key: &KeyText, record| {
            let spent = keys.spend_as_unknown(key.id(), record, began, &|| ORIGIN);
            spent.await
        };
        let key = KeyText::generate().unwrap();
        // A query fails here.
        assert!(spend(&key, &cached).await.is_err(), "a query was due");
        let read = read_now(&keys);
        assert!(spend(&key, &read).await.is_ok(), "reading it was one");
        assert!(spend(&key, &cached).await.is_ok(), "none for 5 s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_bad_key_waits_for_one_slot_whether_its_id_is_known_or_not() {
        let keys = without_postgres();
        let mut flood = Vec::new();
        while let Some(slot) = keys.slots.acquire(ORIGIN).await {
            flood.push(slot);
        }
        let began = Instant::now();
        let spend = async |record: KeyRecord| {
            let key = KeyText::generate().unwrap();
            let spent = keys.spend_as_unknown(key.id(), &record, began, &|| ORIGIN);
            spent.await
        };
        // Read after a wait: an unknown id would not wait again.
        let waited = KeyRecord {
            used_slot: true,
            ..read_now(&keys)
        };
        assert!(spend(waited).await.is_ok());
        // Read without one, since it was confirmed: an unknown id would have waited.
        let error = spend(read_now(&keys)).await.err().unwrap();
        assert!(matches!(error, LookupError::Crowded), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cached_record_expires_on_time() {
        let now = Instant::now();
        let expiring = KeyRecord {
            expires_at: end_of(now, Some(10.0)),
            ..record()
        };
        tokio::time::advance(Duration::from_millis(9_999)).await;
        assert!(expiring.is_good());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!expiring.is_good());

        assert_eq!(end_of(now, Some(-1.0)), Some(now));
        assert_eq!(end_of(now, Some(f64::INFINITY)), None);
        assert_eq!(end_of(now, None), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_confirmed_key_needs_no_slot() {
        let keys = without_postgres();
        let mut flood = Vec::new();
        while let Some(slot) = keys.slots.acquire(ORIGIN).await {
            flood.push(slot);
        }
        let stranger = KeyText::generate().unwrap();
        let error = find(&keys, &stranger).await.err().unwrap();
        assert!(matches!(*error, LookupError::Crowded), "{error}");
        assert!(!keys.paused());

        // This query is sent, and fails.
        let known = KeyText::generate().unwrap();
        keys.insert_for_tests(known.id(), record()).await;
        keys.fresh.invalidate(known.id()).await;
        assert!(find(&keys, &known).await.is_ok());
        assert!(keys.paused());
        drop(flood);
    }

    /// A record that is read now.
    fn read_now(keys: &Keys) -> KeyRecord {
        KeyRecord {
            read: keys.versions.reading(),
            ..record()
        }
    }

    #[tokio::test]
    async fn a_change_notification_drops_a_key_and_no_other() {
        let keys = without_postgres();
        keys.versions.set_listening(true);
        let (changed, other) = (KeyText::generate().unwrap(), KeyText::generate().unwrap());
        for key in [&changed, &other] {
            keys.insert_for_tests(key.id(), read_now(&keys)).await;
        }
        keys.key_changed(changed.id()).await;
        // It is queried, which fails, and the confirmed record is gone, too.
        assert!(find(&keys, &changed).await.is_err());
        assert!(find(&keys, &other).await.is_ok());
        assert!(keys.paused(), "no query was sent");
    }

    #[tokio::test]
    async fn a_record_read_before_a_change_is_not_used() {
        let keys = without_postgres();
        keys.versions.set_listening(true);
        let key = KeyText::generate().unwrap();
        let outdated = read_now(&keys);
        keys.key_changed(key.id()).await;
        keys.insert_for_tests(key.id(), outdated).await;
        assert!(find(&keys, &key).await.is_err());
    }

    #[tokio::test]
    async fn a_tenants_change_drops_its_keys_and_no_others() {
        let keys = without_postgres();
        keys.versions.set_listening(true);
        let key = KeyText::generate().unwrap();
        keys.insert_for_tests(key.id(), read_now(&keys)).await;
        keys.versions.tenant_changed(Uuid::from_u128(2));
        assert!(find(&keys, &key).await.is_ok());
        assert!(!keys.paused(), "another tenant's key was queried");
        keys.versions.tenant_changed(Uuid::from_u128(1));
        assert!(find(&keys, &key).await.is_err());
    }

    #[tokio::test]
    async fn after_a_gap_in_notifications_a_record_is_read_again() {
        let keys = without_postgres();
        let key = KeyText::generate().unwrap();
        keys.insert_for_tests(key.id(), read_now(&keys)).await;
        keys.versions.set_listening(true);
        assert!(find(&keys, &key).await.is_ok());
        assert!(keys.paused(), "no query was sent");
    }

    #[tokio::test]
    async fn a_pool_timeout_of_an_unconfirmed_key_does_not_pause_queries() {
        let keys = without_postgres();
        let failed = |source| Err::<(), _>(StoreError::query("an api key")(source));
        keys.note(&failed(sqlx::Error::PoolTimedOut), true);
        assert!(!keys.paused());
        keys.note(&failed(sqlx::Error::PoolTimedOut), false);
        assert!(keys.paused());
        keys.note(&Ok(()), true);
        assert!(!keys.paused());
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        keys.note(&failed(sqlx::Error::Io(refused)), true);
        assert!(keys.paused());
    }
}
