//! Recent search usage of each tenant: heavy users yield to the others.
//!
//! A tenant's usage grows while one of its searches runs, by the elapsed time, and shrinks at the
//! same rate otherwise. A tenant that searches for less than half of the time soon has no usage,
//! however often it searches. Each search that begins while another of its tenant runs adds
//! [`CONCURRENT_COST`]: many concurrent searches are short on an idle machine, and their usage
//! would vanish before the next ones. All times are passed in.
//!
//! Usage is wall time, not CPU time. Low-priority searches take longer while others use the CPU, so
//! a tenant that never pauses stays at low priority.

use std::{collections::HashMap, sync::Arc};

use tokio::time::{Duration, Instant};

/// Usage up to which a tenant has normal priority: one slow search, or two that overlap by chance.
const HEAVY_ABOVE: Duration = Duration::from_secs(3);
/// Added for a search that begins while another of its tenant runs.
const CONCURRENT_COST: Duration = Duration::from_secs(2);
/// Maximum usage, so a pause of this length resets any tenant.
const MAX_USAGE: Duration = Duration::from_secs(20);

/// Usage of the tenants with recent searches.
pub(super) struct SearchUsage {
    tenants: HashMap<Arc<str>, TenantUsage>,
    /// When tenants without usage were last removed.
    swept: Instant,
}

struct TenantUsage {
    running: usize,
    /// As of `updated_at`.
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

    /// Records the begin of a search. Returns whether another search of the tenant is running.
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

    /// Whether the tenant's usage is so high that others go first.
    pub(super) fn is_heavy(&mut self, tenant: &str, now: Instant) -> bool {
        self.tenants.get_mut(tenant).is_some_and(|tenant| {
            tenant.update(now);
            tenant.used > HEAVY_ABOVE
        })
    }

    /// Records the end of a search.
    pub(super) fn end(&mut self, tenant: &str, now: Instant) {
        if let Some(tenant) = self.tenants.get_mut(tenant) {
            tenant.update(now);
            tenant.running -= 1;
        }
    }

    /// Removes tenants without usage. Every tenant that paused since the last sweep has none by
    /// then.
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

    /// Usage of one tenant under a manual clock.
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

        /// Runs searches of `busy` ms, each followed by `idle` ms. Returns how many began while
        /// heavy.
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
    fn equal_search_and_idle_time_is_never_heavy() {
        let mut fixture = UsageFixture::new();
        assert_eq!(fixture.searches(1_000, 60, 60), 0);
        assert_eq!(fixture.searches(100, 2_500, 2_500), 0);
    }

    #[test]
    fn continuous_searching_is_heavy_until_a_pause() {
        let mut fixture = UsageFixture::new();
        assert_eq!(fixture.searches(40, 100, 0), 40 - 31, "3 s are free");
        fixture.pass(1_001);
        assert!(!fixture.is_heavy());
        fixture.searches(10_000, 100, 0);
        fixture.pass(16_999);
        assert!(fixture.is_heavy());
        fixture.pass(1);
        assert!(!fixture.is_heavy(), "usage is at most 20 s");
    }

    #[test]
    fn a_long_search_becomes_heavy_while_it_runs() {
        let mut fixture = UsageFixture::new();
        fixture.begin();
        fixture.pass(3_000);
        assert!(!fixture.is_heavy());
        fixture.pass(1);
        assert!(fixture.is_heavy());
    }

    #[test]
    fn many_short_concurrent_searches_count_for_seconds() {
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
            "heavy for the first 18 s"
        );
    }

    #[test]
    fn two_overlapping_searches_soon_have_no_usage() {
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
    fn idle_tenants_are_removed_and_active_or_heavy_ones_kept() {
        let mut fixture = UsageFixture::new();
        let (runs, recent): (Arc<str>, Arc<str>) = ("runs".into(), "recent".into());
        fixture.searches(1, 10, 0);
        fixture.usage.begin(&runs, fixture.now);
        fixture.pass(19_000);
        fixture.usage.begin(&recent, fixture.now);
        fixture.pass(1_000);
        fixture.usage.end(&recent, fixture.now);
        fixture.usage.begin(&"new".into(), fixture.now);
        let mut known: Vec<&str> = fixture.usage.tenants.keys().map(|name| &**name).collect();
        known.sort_unstable();
        assert_eq!(known, ["new", "recent", "runs"]);
    }
}
