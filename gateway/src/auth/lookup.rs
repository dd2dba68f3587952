//! Records of API keys: from a cache that is at most 30 s old, else from Postgres.
//!
//! A record is not believed any more once word came that its key or tenant changed (`editions`).
//!
//! What a reader would get wrong: the cache answers *freshness*, not failure. While Postgres can't
//! be asked, a key that was confirmed within the grace is still good; one that was never seen gets
//! "can't tell", never "no". Ids that were never confirmed have a small table and a few places of
//! their own, so that a flood of invented keys neither displaces a good one nor takes its place at
//! Postgres.

use std::{sync::Arc, time::Duration};

use archway_proto::catalog::Scope;
use tokio::{sync::SemaphorePermit, time::Instant};
use uuid::Uuid;

use super::{
    editions::{Editions, Reading},
    key::KeyId,
    lanes::{Lanes, Who},
    pause::Pause,
};
use crate::{
    caller::{Principal, PrincipalFacts},
    store::{ApiKeyRow, StoreError, Stores},
    terms::Terms,
};

/// How long a record is believed without being read again.
pub(super) const FRESH: Duration = Duration::from_secs(30);
/// How often a record is read again because word of a change overtook it.
pub(super) const READINGS: usize = 3;
pub(super) const UNKNOWN_FOR: Duration = Duration::from_secs(5);
/// Records kept; at about 500 bytes each.
const MOST_KEYS: u64 = 50_000;
const MOST_UNKNOWN: u64 = 10_000;

/// Why there is no record of a key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    #[error("no such key")]
    Unknown,
    #[error("the key can't be checked now")]
    Unavailable(#[from] StoreError),
    #[error("the key can't be checked now: postgres failed a moment ago")]
    Paused,
    #[error("the key can't be checked now: too many unknown keys are")]
    Crowded,
    #[error("the key can't be checked now: it changes faster than it can be read")]
    Overtaken,
}

/// A key as Postgres has it.
pub(crate) struct KeyRecord {
    pub(crate) secret_hash: Vec<u8>,
    pub(crate) secret_line: String,
    /// False once revoked, or while the tenant is disabled.
    pub(crate) live: bool,
    /// By this machine's clock; `None` for a key that never expires.
    pub(crate) expires_at: Option<Instant>,
    pub(crate) principal: Principal,
    pub(super) read: Reading,
}

impl KeyRecord {
    /// Whether the key is good at this moment. To be asked for each request: a record is kept for
    /// longer than a key may have left.
    pub(crate) fn is_good(&self) -> bool {
        self.live && self.expires_at.is_none_or(|end| Instant::now() < end)
    }

    fn is_fresh(&self, id: &KeyId, editions: &Editions) -> bool {
        editions.is_fresh(id.as_str(), self.principal.tenant_id(), self.read)
    }

    fn is_current(&self, id: &KeyId, editions: &Editions) -> bool {
        editions.is_current(id.as_str(), self.principal.tenant_id(), self.read)
    }
}

/// The key look-up with its caches.
pub(crate) struct Keys {
    stores: Stores,
    fresh: moka::future::Cache<KeyId, Arc<KeyRecord>>,
    confirmed: moka::sync::Cache<KeyId, Arc<KeyRecord>>,
    unknown: moka::sync::Cache<KeyId, ()>,
    /// Known ids that came with a secret or at a time that was not good: like unknown ones, each
    /// is asked about once in a while.
    failing: moka::sync::Cache<KeyId, ()>,
    lanes: Lanes,
    pause: Pause,
    editions: Arc<Editions>,
}

impl Keys {
    /// `grace`: how long after Postgres confirmed a key it is good while Postgres can't be asked.
    pub(super) fn new(stores: Stores, grace: Duration, editions: Arc<Editions>) -> Self {
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
            unknown: few_seconds(),
            failing: few_seconds(),
            lanes: Lanes::default(),
            pause: Pause::default(),
            editions,
        }
    }

    /// The record of a key, at most 30 s old or, while Postgres is away, within the grace. A key
    /// that was never confirmed waits for its place.
    pub(crate) async fn find(
        &self,
        id: &KeyId,
        who: Who<'_>,
    ) -> Result<Arc<KeyRecord>, Arc<LookupError>> {
        for _reading in 0..READINGS {
            if self.unknown.contains_key(id) {
                return Err(Arc::new(LookupError::Unknown));
            }
            // Callers that arrive together wait for one question.
            let answer = match self.fresh.get(id).await {
                Some(record) => Ok(record),
                None => self.fresh.try_get_with_by_ref(id, self.ask(id, who)).await,
            };
            match answer {
                Ok(record) if record.is_fresh(id, &self.editions) => return Ok(record),
                Ok(_overtaken) => self.fresh.invalidate(id).await,
                Err(error) if matches!(*error, LookupError::Unknown) => return Err(error),
                Err(error) => return self.confirmed(id).ok_or(error),
            }
        }
        Err(Arc::new(LookupError::Overtaken))
    }

    /// Takes as long for a known id as `find` does for one that nobody has: one question, and then
    /// none for some seconds. What Postgres says is of no interest. A record that was read since the
    /// call `began` has cost its question.
    pub(crate) async fn ask_as_unknown(
        &self,
        id: &KeyId,
        record: &KeyRecord,
        began: Instant,
        who: Who<'_>,
    ) -> Result<(), LookupError> {
        if self.failing.contains_key(id) {
            return Ok(());
        }
        let is_asked = record.read.at >= began;
        if !is_asked && self.paused() {
            return Err(LookupError::Paused);
        }
        // An unknown id would have waited for one, whoever was confirmed lately is not asked to.
        let _place = self.place(who).await?;
        if !is_asked {
            let row = self.stores.find_api_key(id.as_str()).await;
            self.note(&row, true);
            row?;
        }
        self.failing.insert(id.clone(), ());
        Ok(())
    }

    async fn place(&self, who: Who<'_>) -> Result<SemaphorePermit<'_>, LookupError> {
        self.lanes.place(who()).await.ok_or(LookupError::Crowded)
    }

    /// What Postgres confirmed within the grace, unless word came since that it changed.
    fn confirmed(&self, id: &KeyId) -> Option<Arc<KeyRecord>> {
        let record = self.confirmed.get(id)?;
        record.is_current(id, &self.editions).then_some(record)
    }

    /// Forgets what is known of a key. A good one is asked about again at its next call.
    pub(crate) async fn key_changed(&self, id: &KeyId) {
        self.editions.holder_changed(id.as_str());
        self.fresh.invalidate(id).await;
        self.confirmed.invalidate(id);
        self.unknown.invalidate(id);
    }

    async fn ask(&self, id: &KeyId, who: Who<'_>) -> Result<Arc<KeyRecord>, LookupError> {
        if self.paused() {
            return Err(LookupError::Paused);
        }
        let stranger = !self.confirmed.contains_key(id);
        // Held until the answer is known.
        let _place = if stranger {
            Some(self.place(who).await?)
        } else {
            None
        };
        let read = self.editions.reading();
        let row = self.stores.find_api_key(id.as_str()).await;
        self.note(&row, stranger);
        let Some(row) = row? else {
            self.confirmed.invalidate(id);
            if self.editions.is_current(id.as_str(), Uuid::nil(), read) {
                self.unknown.insert(id.clone(), ());
            }
            return Err(LookupError::Unknown);
        };
        let record = Arc::new(record(id, row, read));
        if record.is_current(id, &self.editions) {
            self.confirmed.insert(id.clone(), record.clone());
        }
        Ok(record)
    }

    /// Remembers whether Postgres answers. A stranger's question may fail for want of a connection,
    /// which a flood can bring about: only a connection that broke counts.
    fn note<T>(&self, answer: &Result<T, StoreError>, stranger: bool) {
        match answer {
            Ok(_) => self.pause.answered(),
            Err(error) => {
                tracing::warn!(error = %archway_proto::chain::Chain(error), "key look-up failed");
                if !stranger || error.is_broken_connection() {
                    self.pause.failed();
                }
            }
        }
    }

    fn paused(&self) -> bool {
        self.pause.lasts()
    }
}

fn record(id: &KeyId, row: ApiKeyRow, read: Reading) -> KeyRecord {
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
        principal: Principal::new(PrincipalFacts {
            tenant_id: row.tenant_id,
            tenant: row.tenant_slug,
            name: format!("key:{}", row.lineage),
            credential: id.as_str().to_owned(),
            scopes,
            projects: row.projects,
            families: row.families,
            default_project: row.default_project,
            pool: row.pool,
            terms: Terms::new(row.agents.unsigned_abs(), row.limits.0),
            edition: read.edition,
        }),
    }
}

fn few_seconds() -> moka::sync::Cache<KeyId, ()> {
    moka::sync::Cache::builder()
        .max_capacity(MOST_UNKNOWN)
        .time_to_live(UNKNOWN_FOR)
        .build()
}

/// When a key ends of which Postgres said at `asked`, or a little later, that it has this many
/// seconds left. An end that no clock reaches is none.
fn end_of(asked: Instant, left: Option<f64>) -> Option<Instant> {
    let left = Duration::try_from_secs_f64(left?.max(0.0)).ok()?;
    asked.checked_add(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{key::KeyText, lanes::Lane};

    impl Keys {
        /// Behaves as if Postgres had just confirmed this record.
        pub(crate) async fn know_for_tests(&self, id: &KeyId, record: KeyRecord) {
            let record = Arc::new(record);
            self.confirmed.insert(id.clone(), record.clone());
            self.fresh.insert(id.clone(), record).await;
        }
    }

    async fn find(keys: &Keys, key: &KeyText) -> Result<Arc<KeyRecord>, Arc<LookupError>> {
        keys.find(key.id(), &|| Lane::Strangers).await
    }

    /// Keys over a Postgres that is not there.
    fn orphaned() -> Keys {
        let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
        let grace = Duration::from_secs(60);
        let editions = Arc::new(Editions::new(grace));
        Keys::new(Stores::with_options(nowhere, 1), grace, editions)
    }

    fn record() -> KeyRecord {
        KeyRecord {
            secret_hash: vec![0; 32],
            secret_line: "a".into(),
            live: true,
            expires_at: None,
            principal: Principal::for_tests(&[Scope::ToolsRead], None),
            read: Reading {
                at: Instant::now(),
                edition: 1,
            },
        }
    }

    #[tokio::test]
    async fn without_postgres_a_confirmed_key_is_good_and_an_unknown_one_undecided() {
        let keys = orphaned();
        let known = KeyText::generate().unwrap();
        keys.know_for_tests(known.id(), record()).await;
        keys.fresh.invalidate(known.id()).await;
        assert!(find(&keys, &known).await.is_ok());

        // Postgres is left alone for a moment; the answers are the same.
        assert!(keys.paused());
        assert!(find(&keys, &known).await.is_ok());
        let stranger = KeyText::generate().unwrap();
        let error = find(&keys, &stranger).await.err().unwrap();
        assert!(matches!(*error, LookupError::Paused), "{error}");
    }

    #[tokio::test]
    async fn an_unknown_id_is_remembered_and_asked_no_more() {
        let keys = orphaned();
        let stranger = KeyText::generate().unwrap();
        keys.unknown.insert(stranger.id().clone(), ());
        let error = find(&keys, &stranger).await.err().unwrap();
        assert!(matches!(*error, LookupError::Unknown), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_bad_key_is_asked_about_once_though_its_record_was_not_known() {
        let keys = orphaned();
        let kept = read_now(&keys);
        tokio::time::advance(Duration::from_millis(1)).await;
        let began = Instant::now();
        let ask = async |key: &KeyText, record| {
            let asked = keys.ask_as_unknown(key.id(), record, began, &|| Lane::Strangers);
            asked.await
        };
        let key = KeyText::generate().unwrap();
        // Nobody answers: what is asked fails.
        assert!(
            ask(&key, &kept).await.is_err(),
            "an unknown id would be asked about"
        );
        let read = read_now(&keys);
        assert!(
            ask(&key, &read).await.is_ok(),
            "it was, by reading its record"
        );
        assert!(
            ask(&key, &kept).await.is_ok(),
            "and is not for some seconds"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_kept_record_expires_at_its_moment() {
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
    async fn a_confirmed_key_is_asked_about_whatever_strangers_do() {
        let keys = orphaned();
        let mut flood = Vec::new();
        while let Some(place) = keys.lanes.place(Lane::Strangers).await {
            flood.push(place);
        }
        let stranger = KeyText::generate().unwrap();
        let error = find(&keys, &stranger).await.err().unwrap();
        assert!(matches!(*error, LookupError::Crowded), "{error}");
        assert!(!keys.paused());

        // This one reaches Postgres, and fails.
        let known = KeyText::generate().unwrap();
        keys.know_for_tests(known.id(), record()).await;
        keys.fresh.invalidate(known.id()).await;
        assert!(find(&keys, &known).await.is_ok());
        assert!(keys.paused());
        drop(flood);
    }

    /// A record as if Postgres were asked now.
    fn read_now(keys: &Keys) -> KeyRecord {
        KeyRecord {
            read: keys.editions.reading(),
            ..record()
        }
    }

    #[tokio::test]
    async fn word_of_a_change_drops_a_key_and_no_other() {
        let keys = orphaned();
        keys.editions.set_listening(true);
        let (changed, other) = (KeyText::generate().unwrap(), KeyText::generate().unwrap());
        for key in [&changed, &other] {
            keys.know_for_tests(key.id(), read_now(&keys)).await;
        }
        keys.key_changed(changed.id()).await;
        // It would have to be asked for, and nobody answers: what was confirmed is gone, too.
        assert!(find(&keys, &changed).await.is_err());
        assert!(find(&keys, &other).await.is_ok());
        assert!(keys.paused(), "nobody was asked");
    }

    #[tokio::test]
    async fn a_record_that_a_change_overtook_is_not_believed() {
        let keys = orphaned();
        keys.editions.set_listening(true);
        let key = KeyText::generate().unwrap();
        let overtaken = read_now(&keys);
        keys.key_changed(key.id()).await;
        keys.know_for_tests(key.id(), overtaken).await;
        assert!(find(&keys, &key).await.is_err());
    }

    #[tokio::test]
    async fn a_tenants_change_drops_its_keys_and_no_others() {
        let keys = orphaned();
        keys.editions.set_listening(true);
        let key = KeyText::generate().unwrap();
        keys.know_for_tests(key.id(), read_now(&keys)).await;
        keys.editions.tenant_changed(Uuid::from_u128(2));
        assert!(find(&keys, &key).await.is_ok());
        assert!(!keys.paused(), "another tenant's key was asked for");
        keys.editions.tenant_changed(Uuid::from_u128(1));
        assert!(find(&keys, &key).await.is_err());
    }

    #[tokio::test]
    async fn after_a_gap_in_hearing_a_record_is_asked_for_again_and_good_if_nobody_answers() {
        let keys = orphaned();
        let key = KeyText::generate().unwrap();
        keys.know_for_tests(key.id(), read_now(&keys)).await;
        keys.editions.set_listening(true);
        assert!(find(&keys, &key).await.is_ok());
        assert!(keys.paused(), "what happened meanwhile was not looked for");
    }

    #[tokio::test]
    async fn a_stranger_that_finds_no_connection_says_nothing_of_postgres() {
        let keys = orphaned();
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
