//! The keys of one issuer, kept: read ahead of time, and again when a token names one that is not
//! known, so that a rotation needs no wait.
//!
//! One task asks the issuer, whoever wants to know: callers ring and wait, so there is never a
//! second question at a time, and a caller that leaves ends none. What a reader would get wrong:
//! "not among the keys" and "nobody can say" are two answers. While the issuer fails, what it last
//! said is good for an hour, and a key that it did not name then may be new: that is not judged.
//! Nor is it while the issuer may not be asked again so soon, if the token may be younger than what
//! is known: its key may be, too.

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

/// How often keys are read, unless the issuer says how long they are good.
const REFRESH: Duration = Duration::from_secs(300);
/// What an issuer may say.
const REFRESH_BOUNDS: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(900));
/// How often unknown keys are asked about.
const ASK_AGAIN: Duration = Duration::from_secs(10);
/// How long keys are good after they were last read.
const GOOD_FOR: Duration = Duration::from_secs(3600);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// For one question, discovery included.
const PATIENCE: Duration = Duration::from_secs(8);
/// A caller hears of the question's end, or gives up.
const WAIT: Duration = Duration::from_secs(9);

/// What asks an issuer.
pub(super) trait Fetch: Send + Sync {
    fn fetch(&self) -> impl Future<Output = Result<FetchedKeys, FetchError>> + Send;
}

/// What an issuer answered.
pub(super) struct FetchedKeys {
    pub(super) keys: KeySet,
    pub(super) max_age: Option<Duration>,
}

/// Nobody can say now whether a key is the issuer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeysUnavailable;

/// The keys of one issuer.
pub(super) struct Keyring<F> {
    issuer: String,
    source: F,
    metrics: Arc<Metrics>,
    state: Mutex<KeyringState>,
    /// Tells callers that a question ended.
    ended: watch::Sender<()>,
    /// Tells the task that a caller asks.
    asked: Notify,
}

struct KeyringState {
    known: Option<CachedKeys>,
    /// A question is under way, or about to be.
    asking: bool,
    /// The last question failed.
    failing: bool,
    /// When an unknown key was last asked about.
    asked: Option<Instant>,
}

struct CachedKeys {
    keys: KeySet,
    /// When the question began to which they are the answer.
    asked: Instant,
    read: Instant,
}

/// The key of a token.
struct KeyQuery<'a> {
    id: Option<&'a str>,
    algorithm: Algorithm,
    /// When the token was issued at the latest; `None` for long ago.
    issued: Option<Instant>,
}

/// What can be said of a key at once.
enum KeyLookup {
    Is(Arc<DecodingKey>),
    IsNot,
    /// The issuer is to be asked.
    Ask,
    /// It was, and its answer is on its way.
    Wait,
    KeysUnavailable,
}

impl<F: Fetch> Keyring<F> {
    /// The keys of an issuer, which [`Keyring::keep`] reads.
    pub(super) fn new(issuer: &str, source: F, metrics: Arc<Metrics>) -> Self {
        Keyring {
            issuer: issuer.to_owned(),
            source,
            metrics,
            state: Mutex::new(KeyringState {
                known: None,
                // The task begins with it.
                asking: true,
                failing: false,
                asked: None,
            }),
            ended: watch::Sender::new(()),
            asked: Notify::new(),
        }
    }

    /// The key of this name that fits the algorithm; `None` if the issuer had none when the token
    /// was issued. `age` is the token's, at the least: `None` for one that no key makes good.
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
        if let KeyLookup::Ask | KeyLookup::Wait = look {
            if let KeyLookup::Ask = look {
                self.asked.notify_one();
            }
            let heard = timeout(WAIT, ended.changed()).await;
            heard
                .map_err(|_elapsed| KeysUnavailable)?
                .map_err(|_gone| KeysUnavailable)?;
            look = self.state.lock().look_again(&query);
        }
        match look {
            KeyLookup::Is(key) => Ok(Some(key)),
            KeyLookup::IsNot => Ok(None),
            KeyLookup::Ask | KeyLookup::Wait | KeyLookup::KeysUnavailable => Err(KeysUnavailable),
        }
    }

    /// Reads the keys, for as long as it is polled.
    pub(super) async fn keep(&self) {
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
            // An error is the time that is over.
            let _asked = timeout(pause, self.asked.notified()).await;
        }
    }

    /// Reads the keys once; for how long they are left alone then.
    async fn read(&self) -> Option<Duration> {
        let asked = Instant::now();
        self.state.lock().asking = true;
        let answer = timeout(PATIENCE, self.source.fetch()).await;
        let answer = answer.unwrap_or(Err(FetchError::TooSlow));
        self.metrics.issuer_read(answer.is_ok());
        let pause = self.state.lock().note(answer, asked, &self.issuer);
        self.ended.send_replace(());
        pause
    }
}

impl KeyringState {
    /// What is known of a key; [`KeyLookup::Ask`] at most once in a while.
    fn look(&mut self, query: &KeyQuery<'_>) -> KeyLookup {
        if let Some(key) = self.key(query) {
            return KeyLookup::Is(key);
        }
        if self.asking {
            return KeyLookup::Wait;
        }
        let is_soon = self.asked.is_some_and(|at| at.elapsed() < ASK_AGAIN);
        if self.failing || is_soon {
            return self.absent(query);
        }
        (self.asked, self.asking) = (Some(Instant::now()), true);
        KeyLookup::Ask
    }

    /// The same after an answer, and nothing is asked again.
    fn look_again(&self, query: &KeyQuery<'_>) -> KeyLookup {
        let key = self.key(query);
        key.map_or_else(|| self.absent(query), KeyLookup::Is)
    }

    /// What can be said of a key that is not known. One that signed a token before the issuer was
    /// asked would be.
    fn absent(&self, query: &KeyQuery<'_>) -> KeyLookup {
        let asked = self.known.as_ref().map(|known| known.asked);
        match self.failing || asked < query.issued {
            true => KeyLookup::KeysUnavailable,
            false => KeyLookup::IsNot,
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

    /// Keeps what the issuer answered to the question that began at `asked`; for how long it is left
    /// alone then.
    fn note(
        &mut self,
        answer: Result<FetchedKeys, FetchError>,
        asked: Instant,
        issuer: &str,
    ) -> Option<Duration> {
        self.asking = false;
        let had_failed = std::mem::replace(&mut self.failing, answer.is_err());
        match answer {
            Ok(FetchedKeys { keys, max_age }) => {
                if had_failed || self.known.is_none() {
                    tracing::info!(issuer, keys = keys.len(), "the issuer's keys were read");
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
                tracing::warn!(issuer, error = %Chain(&error), "the issuer's keys can't be read");
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

    /// A ring whose keys are kept, and its issuer.
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
        let keeping = ring.clone();
        tokio::spawn(async move { keeping.keep().await });
        (ring, issuer)
    }

    /// Whether the key of a token is there that was issued a second ago at the least.
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
    async fn a_rotation_is_in_force_at_once() {
        let (ring, issuer) = kept(&["old"]);
        assert_eq!(find(&ring, "old").await, Ok(true));
        issuer.has(&["new"]);
        assert_eq!(find(&ring, "new").await, Ok(true));
        assert_eq!(find(&ring, "old").await, Ok(false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_unknown_keys_asks_once_in_ten_seconds() {
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
    async fn a_key_that_may_be_newer_than_the_last_answer_is_not_judged_before_the_next_one() {
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
    async fn an_answer_to_a_question_from_before_a_token_does_not_judge_it() {
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
    async fn callers_that_come_together_wait_for_one_answer_and_those_that_leave_end_none() {
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
    async fn while_the_issuer_fails_known_keys_are_good_for_an_hour_and_others_are_not_judged() {
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
    async fn a_gateway_that_starts_before_its_issuer_judges_nothing_until_that_is_there() {
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
    async fn an_issuer_that_hangs_is_given_up() {
        let (ring, issuer) = kept(&["known"]);
        *issuer.slow.lock() = Duration::from_secs(3_600);
        let start = Instant::now();
        assert_eq!(find(&ring, "known").await, Err(KeysUnavailable));
        assert_eq!(start.elapsed(), PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_read_again_every_five_minutes() {
        let (ring, issuer) = kept(&["old"]);
        assert_eq!(find(&ring, "old").await, Ok(true));
        issuer.has(&["new"]);
        pass(301).await;
        assert_eq!(issuer.questions(), 2);
        assert_eq!(find(&ring, "old").await, Ok(false));
    }
}
