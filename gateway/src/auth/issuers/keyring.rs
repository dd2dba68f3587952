//! The cached keys of one issuer: refreshed ahead of time, and again when a token names an unknown
//! key, so that a rotation takes effect at once.
//!
//! One task fetches from the issuer. Callers notify it and wait, so there is never a second fetch
//! at a time, and a caller that leaves cancels none. What a reader would get wrong: "not among the
//! keys" and "unknown at the moment" are two answers. While the issuer fails, its last keys are
//! good for an hour, and a key that is not among them may be new, so the token is not judged. It is
//! not judged either while a new fetch is not allowed yet, if the token may be younger than the
//! cached keys: its key may be, too.

use std::{sync::Arc, time::Duration};

use archway_proto::chain::Chain;
use jsonwebtoken::{Algorithm, DecodingKey};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout},
};

use super::{fetch::FetchError, keyset::KeySet};
use crate::metrics::Metrics;

/// Refresh interval, unless the issuer sets another by `max-age`.
const REFRESH: Duration = Duration::from_secs(300);
/// Bounds on the interval that an issuer may set.
const REFRESH_BOUNDS: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(900));
/// Minimum interval between fetches that unknown keys cause.
const FETCH_INTERVAL: Duration = Duration::from_secs(10);
/// How long keys are valid after the last successful fetch.
const GOOD_FOR: Duration = Duration::from_secs(3600);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// Timeout of one fetch, discovery included.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long a caller waits for a fetch.
const WAIT: Duration = Duration::from_secs(9);

/// Fetches the keys of an issuer.
pub(super) trait Fetch: Send + Sync {
    fn fetch(&self) -> impl Future<Output = Result<FetchedKeys, FetchError>> + Send;
}

/// An issuer's answer.
pub(super) struct FetchedKeys {
    pub(super) keys: KeySet,
    pub(super) max_age: Option<Duration>,
}

/// Whether a key is the issuer's cannot be decided at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeysUnavailable;

/// The keys of one issuer.
pub(super) struct Keyring<F> {
    issuer: String,
    source: F,
    metrics: Arc<Metrics>,
    state: Mutex<KeyringState>,
    /// Tells callers that a fetch ended.
    ended: watch::Sender<()>,
    /// Tells the task that a caller needs a fetch.
    asked: Notify,
}

struct KeyringState {
    known: Option<CachedKeys>,
    /// A fetch is in progress, or about to start.
    fetching: bool,
    /// The last fetch failed.
    failing: bool,
    /// When an unknown key last caused a fetch.
    asked: Option<Instant>,
}

struct CachedKeys {
    keys: KeySet,
    /// When the fetch started that returned them.
    asked: Instant,
    read: Instant,
}

/// The key of a token.
struct KeyQuery<'a> {
    id: Option<&'a str>,
    algorithm: Algorithm,
    /// The latest time at which the token can have been issued; `None` for long ago.
    issued: Option<Instant>,
}

/// The result of a look-up in the cache.
enum KeyLookup {
    Found(Arc<DecodingKey>),
    Absent,
    /// A fetch is needed.
    Fetch,
    /// A fetch is in progress.
    Fetching,
    KeysUnavailable,
}

impl<F: Fetch> Keyring<F> {
    /// The keys of an issuer, which [`Keyring::run`] refreshes.
    pub(super) fn new(issuer: &str, source: F, metrics: Arc<Metrics>) -> Self {
        Keyring {
            issuer: issuer.to_owned(),
            source,
            metrics,
            state: Mutex::new(KeyringState {
                known: None,
                // The task starts with a fetch.
                fetching: true,
                failing: false,
                asked: None,
            }),
            ended: watch::Sender::new(()),
            asked: Notify::new(),
        }
    }

    /// Where the keys come from.
    pub(super) fn source(&self) -> &F {
        &self.source
    }

    /// The key of this name that fits the algorithm; `None` if the issuer had no such key when the
    /// token was issued. `age` is the token's minimum age, `None` if no key can make it valid.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
        age: Option<Duration>,
    ) -> Result<Option<Arc<DecodingKey>>, KeysUnavailable> {
        let query = KeyQuery {
            id,
            algorithm,
            issued: age.and_then(|age| Instant::now().checked_sub(age)),
        };
        let mut ended = self.ended.subscribe();
        let mut look = self.state.lock().look(&query);
        if let KeyLookup::Fetch | KeyLookup::Fetching = look {
            if let KeyLookup::Fetch = look {
                self.asked.notify_one();
            }
            let heard = timeout(WAIT, ended.changed()).await;
            heard
                .map_err(|_elapsed| KeysUnavailable)?
                .map_err(|_gone| KeysUnavailable)?;
            look = self.state.lock().look_again(&query);
        }
        match look {
            KeyLookup::Found(key) => Ok(Some(key)),
            KeyLookup::Absent => Ok(None),
            KeyLookup::Fetch | KeyLookup::Fetching | KeyLookup::KeysUnavailable => {
                Err(KeysUnavailable)
            }
        }
    }

    /// Refreshes the keys for as long as it is polled.
    pub(super) async fn run(&self) {
        let mut retry = FIRST_RETRY;
        loop {
            let pause = match self.read().await {
                Some(pause) => {
                    retry = FIRST_RETRY;
                    pause
                }
                None => {
                    let longer = (retry * 2).min(LONGEST_RETRY);
                    std::mem::replace(&mut retry, longer)
                }
            };
            // An error means that the time is over.
            let _asked = timeout(pause, self.asked.notified()).await;
        }
    }

    /// Fetches the keys once. Returns the time until the next fetch, or `None` if it failed.
    async fn read(&self) -> Option<Duration> {
        let asked = Instant::now();
        self.state.lock().fetching = true;
        let answer = timeout(PATIENCE, self.source.fetch()).await;
        let answer = answer.unwrap_or(Err(FetchError::TooSlow));
        self.metrics.issuer_read(answer.is_ok());
        let pause = self.state.lock().note(answer, asked, &self.issuer);
        self.ended.send_replace(());
        pause
    }
}

impl KeyringState {
    /// Looks a key up. Returns [`KeyLookup::Fetch`] at most once per [`FETCH_INTERVAL`].
    fn look(&mut self, query: &KeyQuery<'_>) -> KeyLookup {
        if let Some(key) = self.key(query) {
            return KeyLookup::Found(key);
        }
        if self.fetching {
            return KeyLookup::Fetching;
        }
        let is_soon = self.asked.is_some_and(|at| at.elapsed() < FETCH_INTERVAL);
        if self.failing || is_soon {
            return self.absent(query);
        }
        (self.asked, self.fetching) = (Some(Instant::now()), true);
        KeyLookup::Fetch
    }

    /// The same after a fetch, and without starting another.
    fn look_again(&self, query: &KeyQuery<'_>) -> KeyLookup {
        let key = self.key(query);
        key.map_or_else(|| self.absent(query), KeyLookup::Found)
    }

    /// The result for a key that is not cached. A key that signed a token before the last fetch
    /// started would be among its result.
    fn absent(&self, query: &KeyQuery<'_>) -> KeyLookup {
        let asked = self.known.as_ref().map(|known| known.asked);
        match self.failing || asked < query.issued {
            true => KeyLookup::KeysUnavailable,
            false => KeyLookup::Absent,
        }
    }

    fn key(&self, query: &KeyQuery<'_>) -> Option<Arc<DecodingKey>> {
        self.usable()?.find(query.id, query.algorithm)
    }

    fn usable(&self) -> Option<&KeySet> {
        let known = self.known.as_ref();
        let known = known.filter(|known| known.read.elapsed() < GOOD_FOR);
        known.map(|known| &known.keys)
    }

    /// Stores the result of the fetch that started at `asked`. Returns the time until the next
    /// fetch.
    fn note(
        &mut self,
        answer: Result<FetchedKeys, FetchError>,
        asked: Instant,
        issuer: &str,
    ) -> Option<Duration> {
        self.fetching = false;
        let had_failed = std::mem::replace(&mut self.failing, answer.is_err());
        match answer {
            Ok(FetchedKeys { keys, max_age }) => {
                if had_failed || self.known.is_none() {
                    tracing::info!(issuer, keys = keys.len(), "issuer's keys fetched");
                }
                self.known = Some(CachedKeys {
                    keys,
                    asked,
                    read: Instant::now(),
                });
                let (least, most) = REFRESH_BOUNDS;
                Some(max_age.map_or(REFRESH, |age| age.clamp(least, most)))
            }
            Err(error) => {
                tracing::warn!(issuer, error = %Chain(&error), "issuer's keys could not be fetched");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::{super::keyset::tests::ed, *};

    const ED: Algorithm = Algorithm::EdDSA;

    /// An issuer with keys of these names, or one that fails.
    #[derive(Default)]
    struct Issuer {
        keys: Mutex<Option<Vec<String>>>,
        questions: AtomicUsize,
        slow: Mutex<Duration>,
    }

    impl Fetch for Arc<Issuer> {
        async fn fetch(&self) -> Result<FetchedKeys, FetchError> {
            self.questions.fetch_add(1, Ordering::SeqCst);
            let slow = *self.slow.lock();
            tokio::time::sleep(slow).await;
            let names = self.keys.lock().clone().ok_or(FetchError::TooLarge)?;
            let keys: Vec<_> = names.iter().map(|name| ed(name)).collect();
            let text = json!({ "keys": keys }).to_string();
            Ok(FetchedKeys {
                keys: KeySet::parse(text.as_bytes(), &[ED])?,
                max_age: None,
            })
        }
    }

    impl Issuer {
        fn has(&self, names: &[&str]) {
            *self.keys.lock() = Some(names.iter().map(|&name| name.to_owned()).collect());
        }

        fn fail(&self) {
            *self.keys.lock() = None;
        }

        fn questions(&self) -> usize {
            self.questions.load(Ordering::SeqCst)
        }
    }

    /// A keyring with a running task, and its issuer.
    fn kept(names: &[&str]) -> (Arc<Keyring<Arc<Issuer>>>, Arc<Issuer>) {
        let issuer = Arc::new(Issuer::default());
        if !names.is_empty() {
            issuer.has(names);
        }
        let ring = Arc::new(Keyring::new(
            "https://a.example",
            issuer.clone(),
            Arc::new(Metrics::new()),
        ));
        let running = ring.clone();
        tokio::spawn(async move { running.run().await });
        (ring, issuer)
    }

    /// Looks up the key of a token that was issued at least a second ago.
    async fn find(ring: &Keyring<Arc<Issuer>>, name: &str) -> Result<bool, KeysUnavailable> {
        find_of(ring, name, 1).await
    }

    async fn find_of(
        ring: &Keyring<Arc<Issuer>>,
        name: &str,
        age: u64,
    ) -> Result<bool, KeysUnavailable> {
        let age = Some(Duration::from_secs(age));
        let found = ring.find(Some(name), ED, age).await;
        found.map(|key| key.is_some())
    }

    async fn pass(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_rotation_takes_effect_at_once() {
        let (ring, issuer) = kept(&["old"]);
        assert_eq!(find(&ring, "old").await, Ok(true));
        issuer.has(&["new"]);
        assert_eq!(find(&ring, "new").await, Ok(true));
        assert_eq!(find(&ring, "old").await, Ok(false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_unknown_keys_fetches_once_in_10_seconds() {
        let (ring, issuer) = kept(&["known"]);
        for number in 0..1_000 {
            assert_eq!(find(&ring, &number.to_string()).await, Ok(false));
            assert_eq!(find(&ring, "known").await, Ok(true));
        }
        assert_eq!(issuer.questions(), 2, "the first one, and one more");
        pass(10).await;
        issuer.has(&["known", "new"]);
        assert_eq!(find(&ring, "new").await, Ok(true));
        assert_eq!(issuer.questions(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_may_be_new_is_not_judged_before_the_next_fetch() {
        let (ring, issuer) = kept(&["old"]);
        assert_eq!(find(&ring, "old").await, Ok(true));
        pass(60).await;
        assert_eq!(find(&ring, "stranger").await, Ok(false), "asked for it");
        pass(2).await;
        issuer.has(&["old", "new"]);
        assert_eq!(find_of(&ring, "new", 1).await, Err(KeysUnavailable));
        assert_eq!(find_of(&ring, "stranger", 3).await, Ok(false));
        let of_none = ring.find(Some("new"), ED, None).await;
        assert!(matches!(of_none, Ok(None)), "no key makes its token good");
        assert_eq!(issuer.questions(), 2, "for all of them");
        pass(8).await;
        assert_eq!(find_of(&ring, "new", 9).await, Ok(true));
        assert_eq!(issuer.questions(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_that_began_before_a_token_does_not_judge_it() {
        let (ring, issuer) = kept(&["old"]);
        assert_eq!(find(&ring, "old").await, Ok(true));
        *issuer.slow.lock() = Duration::from_secs(4);
        let late = async {
            pass(2).await;
            (find_of(&ring, "b", 0).await, find_of(&ring, "c", 5).await)
        };
        let (asks, late) = tokio::join!(find_of(&ring, "a", 0), late);
        assert_eq!(asks, Ok(false));
        assert_eq!(late, (Err(KeysUnavailable), Ok(false)));
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_callers_share_a_fetch_and_leaving_cancels_none() {
        let (ring, issuer) = kept(&["old"]);
        assert_eq!(find(&ring, "old").await, Ok(true));
        issuer.has(&["new"]);
        *issuer.slow.lock() = Duration::from_secs(2);
        {
            let leaves = ring.find(Some("new"), ED, None);
            assert!(timeout(Duration::from_secs(1), leaves).await.is_err());
        }
        let (one, other) = tokio::join!(find(&ring, "new"), find(&ring, "new"));
        assert_eq!((one, other), (Ok(true), Ok(true)));
        assert_eq!(issuer.questions(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn during_an_outage_known_keys_last_an_hour_and_others_are_unjudged() {
        let (ring, issuer) = kept(&["known"]);
        assert_eq!(find(&ring, "known").await, Ok(true));
        issuer.fail();
        assert_eq!(find(&ring, "new").await, Err(KeysUnavailable));
        pass(3_500).await;
        assert_eq!(find(&ring, "known").await, Ok(true));
        pass(101).await;
        assert_eq!(find(&ring, "known").await, Err(KeysUnavailable));
        issuer.has(&["known"]);
        pass(10).await;
        assert_eq!(find(&ring, "known").await, Ok(true));
    }

    #[tokio::test(start_paused = true)]
    async fn before_the_first_successful_fetch_nothing_is_judged() {
        let (ring, issuer) = kept(&[]);
        assert_eq!(find(&ring, "known").await, Err(KeysUnavailable));
        let before = issuer.questions();
        for _ in 0..100 {
            assert_eq!(find(&ring, "known").await, Err(KeysUnavailable));
        }
        assert_eq!(issuer.questions(), before, "its task asks, not its callers");
        issuer.has(&["known"]);
        pass(2).await;
        assert_eq!(find(&ring, "known").await, Ok(true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_issuer_times_out() {
        let (ring, issuer) = kept(&["known"]);
        *issuer.slow.lock() = Duration::from_secs(3_600);
        let start = Instant::now();
        assert_eq!(find(&ring, "known").await, Err(KeysUnavailable));
        assert_eq!(start.elapsed(), PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_refreshed_every_5_minutes() {
        let (ring, issuer) = kept(&["old"]);
        assert_eq!(find(&ring, "old").await, Ok(true));
        issuer.has(&["new"]);
        pass(301).await;
        assert_eq!(issuer.questions(), 2);
        assert_eq!(find(&ring, "old").await, Ok(false));
    }
}
