//! Labels divide a principal's calls into sessions in 2026-07-28, which has no sessions of its own.
//!
//! Clients choose their labels and may choose many: a principal has at most 256 live labels, and
//! all further ones share one session. A label that is unused for ten minutes is dropped.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::caller::SessionKey;

/// Labels of one principal with a session of their own.
const MOST_LIVE: usize = 256;
/// How long after its last use a label is live.
const IDLE: Duration = Duration::from_secs(600);
/// Principals whose labels are stored; the least recently used is dropped first.
const MOST_PRINCIPALS: u64 = 10_000;

/// The live labels of all principals: at most 20 KiB for each.
pub(super) struct Labels {
    live: moka::sync::Cache<SessionKey, Arc<Mutex<LiveLabels>>>,
}

/// When each label was last used.
type LiveLabels = HashMap<SessionKey, Instant>;

impl Labels {
    pub(super) fn new() -> Self {
        Labels {
            live: moka::sync::Cache::builder()
                .max_capacity(MOST_PRINCIPALS)
                .time_to_idle(IDLE)
                .build(),
        }
    }

    /// The session of a label, below the principal's own.
    pub(super) fn session(&self, own: SessionKey, label: &str) -> SessionKey {
        let session = own.child(label);
        let live = self.live.get_with(own, Arc::default);
        let mut live = live.lock();
        let now = Instant::now();
        if let Some(used) = live.get_mut(&session) {
            *used = now;
            return session;
        }
        if live.len() >= MOST_LIVE {
            live.retain(|_, used| now.duration_since(*used) < IDLE);
        }
        if live.len() >= MOST_LIVE {
            // No label is empty, so this session belongs to no label.
            return own.child("");
        }
        live.insert(session, now);
        session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_257th_live_label_shares_a_session_until_others_are_idle() {
        let labels = Labels::new();
        let own = SessionKey::for_tests(1);
        let session = |label: usize| labels.session(own, &label.to_string());
        let first: Vec<_> = (0..MOST_LIVE).map(session).collect();
        let distinct: std::collections::HashSet<_> = first.iter().collect();
        assert_eq!(distinct.len(), MOST_LIVE);
        let shared = session(MOST_LIVE);
        assert_eq!(session(MOST_LIVE + 1), shared);
        assert!(!first.contains(&shared));
        assert_eq!(session(0), first[0]);

        tokio::time::advance(IDLE).await;
        let own_again = session(MOST_LIVE);
        assert_ne!(own_again, shared);
        assert_eq!(session(0), first[0]);
    }

    #[test]
    fn labels_of_two_principals_have_nothing_in_common() {
        let labels = Labels::new();
        let (one, two) = (SessionKey::for_tests(1), SessionKey::for_tests(2));
        for label in 0..MOST_LIVE {
            labels.session(one, &label.to_string());
        }
        assert_eq!(labels.session(two, "a"), two.child("a"));
        assert_ne!(one.child("a"), two.child("a"));
    }
}
