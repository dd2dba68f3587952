//! What is remembered of verified deliveries: which came already, and how many a connection sent.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use archway_resilience::Bucket;
use aws_lc_rs::digest::{Context, SHA256};
use aws_lc_rs::hmac;
use http::HeaderMap;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use uuid::Uuid;

use super::signature::single;
use super::{HookConnection, HookHost};

/// Deliveries that are remembered, of all connections together.
const MAX_DELIVERIES: u64 = 10_000;
/// How long a delivery is remembered.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Deliveries a minute of one connection.
const PER_MINUTE: u32 = 600;
/// Connections whose rate is known.
const MAX_RATES: u64 = 10_000;
const MINUTE: Duration = Duration::from_secs(60);

/// One delivery: a digest of its connection, its id and its body.
///
/// The body is part of it because GitLab gives one id to all events that an event has caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Delivery([u8; 32]);

impl Delivery {
    /// `None` if the delivery has no id.
    pub(super) fn of(
        connection: &HookConnection,
        headers: &HeaderMap,
        tag: &hmac::Tag,
    ) -> Option<Delivery> {
        let id = ids(connection.host)
            .iter()
            .find_map(|name| single(headers, name))?;
        let mut digest = Context::new(&SHA256);
        digest.update(connection.id.as_bytes());
        // The tag has a fixed length, so no id can run over into it.
        digest.update(tag.as_ref());
        digest.update(id);
        digest.finish().as_ref().try_into().ok().map(Delivery)
    }
}

/// The headers that name a delivery; the first that is there does.
fn ids(host: HookHost) -> &'static [&'static str] {
    match host {
        HookHost::GitHub => &["x-github-delivery"],
        HookHost::Gitea => &[
            "x-gitea-delivery",
            "x-forgejo-delivery",
            "x-github-delivery",
        ],
        HookHost::GitLab => &["idempotency-key", "x-gitlab-event-uuid"],
    }
}

/// The deliveries of the last day.
#[derive(Debug)]
pub(super) struct SeenDeliveries(Cache<Delivery, ()>);

impl Default for SeenDeliveries {
    fn default() -> SeenDeliveries {
        let cache = Cache::builder()
            .max_capacity(MAX_DELIVERIES)
            .time_to_live(REMEMBERED)
            // The default policy would rather keep old entries than admit new ones.
            .eviction_policy(EvictionPolicy::lru())
            .build();
        SeenDeliveries(cache)
    }
}

impl SeenDeliveries {
    pub(super) fn contains(&self, delivery: Option<&Delivery>) -> bool {
        delivery.is_some_and(|delivery| self.0.contains_key(delivery))
    }

    pub(super) fn remember(&self, delivery: Option<Delivery>) {
        if let Some(delivery) = delivery {
            self.0.insert(delivery, ());
        }
    }
}

/// A bucket for each connection that was active lately.
#[derive(Debug)]
pub(super) struct HookRates(Cache<Uuid, Arc<Bucket>>);

impl Default for HookRates {
    fn default() -> HookRates {
        let cache = Cache::builder()
            .max_capacity(MAX_RATES)
            // By then a bucket is full again.
            .time_to_idle(MINUTE)
            .eviction_policy(EvictionPolicy::lru())
            .build();
        HookRates(cache)
    }
}

impl HookRates {
    /// Whether a connection may send another delivery now.
    pub(super) fn admit(&self, connection: Uuid) -> bool {
        let size = NonZeroU32::new(PER_MINUTE).unwrap_or(NonZeroU32::MIN);
        let bucket = || Arc::new(Bucket::new(size, MINUTE / PER_MINUTE));
        self.0.get_with(connection, bucket).take(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_sends_600_a_minute_and_no_other_is_affected() {
        let (rates, one) = (HookRates::default(), Uuid::new_v4());
        let admitted = (0..700).filter(|_| rates.admit(one)).count();
        assert_eq!(admitted, 600);
        assert!(rates.admit(Uuid::new_v4()));
        tokio::time::advance(MINUTE / 60).await;
        assert_eq!((0..100).filter(|_| rates.admit(one)).count(), 10);
    }

    #[test]
    fn at_most_ten_thousand_deliveries_are_remembered_the_latest_first() {
        let seen = SeenDeliveries::default();
        let delivery = |number: u64| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            Delivery(bytes)
        };
        for number in 0..MAX_DELIVERIES * 2 {
            seen.remember(Some(delivery(number)));
            seen.0.run_pending_tasks();
        }
        assert_eq!(seen.0.entry_count(), MAX_DELIVERIES);
        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!(seen.0.policy().time_to_live(), Some(day));
        assert!(seen.contains(Some(&delivery(MAX_DELIVERIES * 2 - 1))));
        assert!(!seen.contains(Some(&delivery(0))));
    }
}
