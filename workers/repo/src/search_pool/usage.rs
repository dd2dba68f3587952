//! What tenants owe for their searches: whoever searched much lately lets the others go first.
//!
//! An tenant grows by the time in which a search of its tenant runs, and shrinks as fast while none
//! does. Who searches for less than half of the time soon owes nothing, however often that is. Each
//! search that begins beside another of its tenant costs [`CONCURRENT_COST`] more: many at once are short
//! where nobody else is, and would be forgotten before the next ones come. Plain state, under clocks
//! that are given.
//!
//! What a reader would get wrong: it is time, not CPU, that counts. Patient searches take longer
//! where others use the CPU, so that who doesn't stop stays patient, until it rests.

use std::{collections::HashMap, sync::Arc};

use tokio::time::{Duration, Instant};

/// What one may owe and still go first: a search that is slow for once, or two that met by chance.
const HEAVY_ABOVE: Duration = Duration::from_secs(3);
/// For a search that begins beside another of its tenant.
const CONCURRENT_COST: Duration = Duration::from_secs(2);
/// Nobody owes more, so that a rest of this length is enough for everybody.
const MAX_USAGE: Duration = Duration::from_secs(20);

/// The usage of the tenants that owe something, and of some that did lately.
pub(super) struct SearchUsage {
    tenants: HashMap<Arc<str>, TenantUsage>,
    /// When those that owed nothing were forgotten.
    swept: Instant,
}

struct TenantUsage {
    running: usize,
    /// At the time `at`.
    used: Duration,
    updated_at: Instant,
}

impl SearchUsage {
    pub(super) fn new(now: Instant) -> Self {
        SearchUsage {
            tenants: HashMap::new(),
            swept: now,
        }
    }

    /// A search of this tenant begins; whether another is running.
    pub(super) fn begin(&mut self, tenant: &Arc<str>, now: Instant) -> bool {
        self.sweep(now);
        let tenant = self.tenants.entry(Arc::clone(tenant));
        let tenant = tenant.or_insert(TenantUsage {
            running: 0,
            used: Duration::ZERO,
            updated_at: now,
        });
        tenant.update(now);
        let is_concurrent = tenant.running > 0;
        if is_concurrent {
            tenant.used = (tenant.used + CONCURRENT_COST).min(MAX_USAGE);
        }
        tenant.running += 1;
        is_concurrent
    }

    /// Whether this tenant owes so much that others go first.
    pub(super) fn is_heavy(&mut self, tenant: &str, now: Instant) -> bool {
        self.tenants.get_mut(tenant).is_some_and(|tenant| {
            tenant.update(now);
            tenant.used > HEAVY_ABOVE
        })
    }

    /// A search that began has ended.
    pub(super) fn end(&mut self, tenant: &str, now: Instant) {
        if let Some(tenant) = self.tenants.get_mut(tenant) {
            tenant.update(now);
            tenant.running -= 1;
        }
    }

    /// Forgets who owes nothing, once in the time after which that is whoever rested since.
    fn sweep(&mut self, now: Instant) {
        if now.saturating_duration_since(self.swept) < MAX_USAGE {
            return;
        }
        self.swept = now;
        self.tenants.retain(|_, tenant| {
            tenant.update(now);
            tenant.running > 0 || !tenant.used.is_zero()
        });
    }
}

impl TenantUsage {
    fn update(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.updated_at);
        self.used = match self.running {
            0 => self.used.saturating_sub(passed),
            _ => self.used.saturating_add(passed).min(MAX_USAGE),
        };
        self.updated_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SearchUsage, and a clock that goes when told to.
    struct UsageFixture {
        usage: SearchUsage,
        now: Instant,
        tenant: Arc<str>,
    }

    impl UsageFixture {
        fn new() -> Self {
            let now = Instant::now();
            UsageFixture {
                usage: SearchUsage::new(now),
                now,
                tenant: "acme".into(),
            }
        }

        fn pass(&mut self, ms: u64) {
            self.now += Duration::from_millis(ms);
        }

        fn begin(&mut self) -> bool {
            self.usage.begin(&self.tenant, self.now)
        }

        fn end(&mut self) {
            self.usage.end(&self.tenant, self.now);
        }

        fn is_heavy(&mut self) -> bool {
            self.usage.is_heavy(&self.tenant, self.now)
        }

        /// Searches of `busy` ms, each followed by a rest of `idle`: how many began over the limit.
        fn searches(&mut self, count: usize, busy: u64, idle: u64) -> usize {
            let mut over = 0;
            for _ in 0..count {
                self.begin();
                over += usize::from(self.is_heavy());
                self.pass(busy);
                self.end();
                self.pass(idle);
            }
            over
        }
    }

    #[test]
    fn who_rests_as_long_as_it_searches_is_never_over() {
        let mut fixture = UsageFixture::new();
        assert_eq!(fixture.searches(1_000, 60, 60), 0);
        assert_eq!(fixture.searches(100, 2_500, 2_500), 0);
    }

    #[test]
    fn who_searches_without_a_rest_is_over_until_it_rested() {
        let mut fixture = UsageFixture::new();
        assert_eq!(fixture.searches(40, 100, 0), 40 - 31, "3 s are free");
        fixture.pass(1_001);
        assert!(!fixture.is_heavy());
        fixture.searches(10_000, 100, 0);
        fixture.pass(16_999);
        assert!(fixture.is_heavy());
        fixture.pass(1);
        assert!(!fixture.is_heavy(), "nobody owes more than 20 s");
    }

    #[test]
    fn a_search_that_goes_on_becomes_patient_while_it_runs() {
        let mut fixture = UsageFixture::new();
        fixture.begin();
        fixture.pass(3_000);
        assert!(!fixture.is_heavy());
        fixture.pass(1);
        assert!(fixture.is_heavy());
    }

    #[test]
    fn many_at_once_are_remembered_for_seconds_though_they_were_short() {
        let mut fixture = UsageFixture::new();
        assert!(!fixture.begin());
        for _ in 0..11 {
            assert!(fixture.begin());
            fixture.pass(10);
            fixture.end();
        }
        fixture.end();
        assert_eq!(
            fixture.searches(30, 10, 990),
            18,
            "one a second from then on"
        );
    }

    #[test]
    fn two_that_meet_by_chance_owe_nothing_soon() {
        let mut fixture = UsageFixture::new();
        fixture.begin();
        assert!(fixture.begin());
        fixture.pass(20);
        fixture.end();
        fixture.end();
        assert!(!fixture.is_heavy());
        fixture.pass(2_020);
        assert_eq!(
            fixture.usage.tenants[&fixture.tenant].used,
            CONCURRENT_COST + Duration::from_millis(20)
        );
        assert!(!fixture.is_heavy());
        assert_eq!(fixture.usage.tenants[&fixture.tenant].used, Duration::ZERO);
    }

    #[test]
    fn who_owes_nothing_is_forgotten_and_who_runs_or_owes_is_not() {
        let mut fixture = UsageFixture::new();
        let (runs, owes): (Arc<str>, Arc<str>) = ("runs".into(), "owes".into());
        fixture.searches(1, 10, 0);
        fixture.usage.begin(&runs, fixture.now);
        fixture.pass(19_000);
        fixture.usage.begin(&owes, fixture.now);
        fixture.pass(1_000);
        fixture.usage.end(&owes, fixture.now);
        fixture.usage.begin(&"new".into(), fixture.now);
        let mut known: Vec<&str> = fixture.usage.tenants.keys().map(|name| &**name).collect();
        known.sort_unstable();
        assert_eq!(known, ["new", "owes", "runs"]);
    }
}
