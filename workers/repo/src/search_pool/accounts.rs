//! What tenants owe for their searches: whoever searched much lately lets the others go first.
//!
//! An account grows by the time in which a search of its tenant runs, and shrinks as fast while none
//! does. Who searches for less than half of the time soon owes nothing, however often that is. Each
//! search that begins beside another of its tenant costs [`BESIDE`] more: many at once are short
//! where nobody else is, and would be forgotten before the next ones come. Plain state, under clocks
//! that are given.
//!
//! What a reader would get wrong: it is time, not CPU, that counts. Patient searches take longer
//! where others use the CPU, so that who doesn't stop stays patient, until it rests.

use std::{collections::HashMap, sync::Arc};

use tokio::time::{Duration, Instant};

/// What one may owe and still go first: a search that is slow for once, or two that met by chance.
const FREE: Duration = Duration::from_secs(3);
/// For a search that begins beside another of its tenant.
const BESIDE: Duration = Duration::from_secs(2);
/// Nobody owes more, so that a rest of this length is enough for everybody.
const MOST: Duration = Duration::from_secs(20);

/// The accounts of the tenants that owe something, and of some that did lately.
pub(super) struct Accounts {
    tenants: HashMap<Arc<str>, Account>,
    /// When those that owed nothing were forgotten.
    swept: Instant,
}

struct Account {
    running: usize,
    /// At the time `at`.
    owed: Duration,
    at: Instant,
}

impl Accounts {
    pub(super) fn new(now: Instant) -> Self {
        Accounts {
            tenants: HashMap::new(),
            swept: now,
        }
    }

    /// A search of this tenant begins; whether another is running.
    pub(super) fn begin(&mut self, tenant: &Arc<str>, now: Instant) -> bool {
        self.sweep(now);
        let account = self.tenants.entry(Arc::clone(tenant));
        let account = account.or_insert(Account {
            running: 0,
            owed: Duration::ZERO,
            at: now,
        });
        account.settle(now);
        let is_beside = account.running > 0;
        if is_beside {
            account.owed = (account.owed + BESIDE).min(MOST);
        }
        account.running += 1;
        is_beside
    }

    /// Whether this tenant owes so much that others go first.
    pub(super) fn is_over(&mut self, tenant: &str, now: Instant) -> bool {
        self.tenants.get_mut(tenant).is_some_and(|account| {
            account.settle(now);
            account.owed > FREE
        })
    }

    /// A search that began has ended.
    pub(super) fn end(&mut self, tenant: &str, now: Instant) {
        if let Some(account) = self.tenants.get_mut(tenant) {
            account.settle(now);
            account.running -= 1;
        }
    }

    /// Forgets who owes nothing, once in the time after which that is whoever rested since.
    fn sweep(&mut self, now: Instant) {
        if now.saturating_duration_since(self.swept) < MOST {
            return;
        }
        self.swept = now;
        self.tenants.retain(|_, account| {
            account.settle(now);
            account.running > 0 || !account.owed.is_zero()
        });
    }
}

impl Account {
    fn settle(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at);
        self.owed = match self.running {
            0 => self.owed.saturating_sub(passed),
            _ => self.owed.saturating_add(passed).min(MOST),
        };
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accounts, and a clock that goes when told to.
    struct World {
        accounts: Accounts,
        now: Instant,
        tenant: Arc<str>,
    }

    impl World {
        fn new() -> Self {
            let now = Instant::now();
            World {
                accounts: Accounts::new(now),
                now,
                tenant: "acme".into(),
            }
        }

        fn pass(&mut self, ms: u64) {
            self.now += Duration::from_millis(ms);
        }

        fn begin(&mut self) -> bool {
            self.accounts.begin(&self.tenant, self.now)
        }

        fn end(&mut self) {
            self.accounts.end(&self.tenant, self.now);
        }

        fn is_over(&mut self) -> bool {
            self.accounts.is_over(&self.tenant, self.now)
        }

        /// Searches of `busy` ms, each followed by a rest of `idle`: how many began over the limit.
        fn searches(&mut self, count: usize, busy: u64, idle: u64) -> usize {
            let mut over = 0;
            for _ in 0..count {
                self.begin();
                over += usize::from(self.is_over());
                self.pass(busy);
                self.end();
                self.pass(idle);
            }
            over
        }
    }

    #[test]
    fn who_rests_as_long_as_it_searches_is_never_over() {
        let mut world = World::new();
        assert_eq!(world.searches(1_000, 60, 60), 0);
        assert_eq!(world.searches(100, 2_500, 2_500), 0);
    }

    #[test]
    fn who_searches_without_a_rest_is_over_until_it_rested() {
        let mut world = World::new();
        assert_eq!(world.searches(40, 100, 0), 40 - 31, "3 s are free");
        world.pass(1_001);
        assert!(!world.is_over());
        world.searches(10_000, 100, 0);
        world.pass(16_999);
        assert!(world.is_over());
        world.pass(1);
        assert!(!world.is_over(), "nobody owes more than 20 s");
    }

    #[test]
    fn a_search_that_goes_on_becomes_patient_while_it_runs() {
        let mut world = World::new();
        world.begin();
        world.pass(3_000);
        assert!(!world.is_over());
        world.pass(1);
        assert!(world.is_over());
    }

    #[test]
    fn many_at_once_are_remembered_for_seconds_though_they_were_short() {
        let mut world = World::new();
        assert!(!world.begin());
        for _ in 0..11 {
            assert!(world.begin());
            world.pass(10);
            world.end();
        }
        world.end();
        assert_eq!(world.searches(30, 10, 990), 18, "one a second from then on");
    }

    #[test]
    fn two_that_meet_by_chance_owe_nothing_soon() {
        let mut world = World::new();
        world.begin();
        assert!(world.begin());
        world.pass(20);
        world.end();
        world.end();
        assert!(!world.is_over());
        world.pass(2_020);
        assert_eq!(
            world.accounts.tenants[&world.tenant].owed,
            BESIDE + Duration::from_millis(20)
        );
        assert!(!world.is_over());
        assert_eq!(world.accounts.tenants[&world.tenant].owed, Duration::ZERO);
    }

    #[test]
    fn who_owes_nothing_is_forgotten_and_who_runs_or_owes_is_not() {
        let mut world = World::new();
        let (runs, owes): (Arc<str>, Arc<str>) = ("runs".into(), "owes".into());
        world.searches(1, 10, 0);
        world.accounts.begin(&runs, world.now);
        world.pass(19_000);
        world.accounts.begin(&owes, world.now);
        world.pass(1_000);
        world.accounts.end(&owes, world.now);
        world.accounts.begin(&"new".into(), world.now);
        let mut known: Vec<&str> = world.accounts.tenants.keys().map(|name| &**name).collect();
        known.sort_unstable();
        assert_eq!(known, ["new", "owes", "runs"]);
    }
}
