//! What git hosts let a caller read of the projects that they guard.
//!
//! An answer is read again when a pass names a later edition, and every 20 s: it may have ended, or been confirmed. While
//! Postgres is away, a known one counts until the first of its parts ends.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use archway_proto::{failure::Failure, host_account::HostAccount, pass::Pass};
use archway_store::{ReadableAtHost, Stores};
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use super::{ProjectSet, usable};
use crate::projects::ProjectList;

/// How long an answer is used before it is read again.
const FRESH_FOR: Duration = Duration::from_secs(20);
/// Callers of lists whose answers are cached: 5,000 projects take 625 bytes.
const MAX_ANSWERS: u64 = 10_000;

/// The hosts' answers about callers.
#[derive(Clone)]
pub(super) struct Readers {
    stores: Stores,
    answers: moka::sync::Cache<AnswerKey, Arc<HostReads>>,
    numbers: Arc<AtomicU64>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct AnswerKey {
    tenant: Uuid,
    /// A hash of the list of projects.
    list: u64,
    accounts: Box<[HostAccount]>,
}

/// What hosts let a caller read of a list of projects.
#[derive(Clone)]
pub(super) struct HostReads {
    /// Of this answer: no other one has it.
    pub(super) number: u64,
    pub(super) set: ProjectSet,
    edition: i64,
    read_at: Instant,
    /// When the first of its parts ends.
    ends: Instant,
}

impl Readers {
    pub(super) fn new(stores: Stores) -> Readers {
        Readers {
            stores,
            answers: moka::sync::Cache::new(MAX_ANSWERS),
            numbers: Arc::new(AtomicU64::new(1)),
        }
    }

    /// What hosts let the caller read of these projects. Nothing if it has no account.
    ///
    /// # Errors
    /// `unavailable` if it cannot be read.
    pub(super) async fn of(
        &self,
        pass: &Pass,
        list: &ProjectList,
    ) -> Result<Arc<HostReads>, Failure> {
        let accounts = pass.hosted.as_ref().map(|hosted| &*hosted.accounts);
        let accounts = accounts.unwrap_or_default();
        if accounts.is_empty() {
            return Ok(Arc::new(HostReads::nothing()));
        }
        let key = AnswerKey {
            tenant: pass.tenant_id,
            list: list.hash(),
            accounts: accounts.into(),
        };
        let now = Instant::now();
        let known = self.answers.get(&key);
        let known = known.filter(|it| it.edition >= pass.edition() && now < it.ends);
        if let Some(fresh) = known.as_ref().filter(|it| now < it.read_at + FRESH_FOR) {
            return Ok(Arc::clone(fresh));
        }
        let read = self.stores.tenant(pass.tenant_id);
        let read = usable(read.readable_at_hosts(accounts).await);
        match (read, known) {
            (Ok(read), _) => {
                let number = self.numbers.fetch_add(1, Ordering::Relaxed);
                let reads = Arc::new(HostReads::new(number, read, list, now));
                self.answers.insert(key, Arc::clone(&reads));
                Ok(reads)
            }
            (Err(_logged), Some(known)) => {
                // As fresh, so that a Postgres that is away is not queried by every call.
                let known = Arc::new(HostReads {
                    read_at: now,
                    ..(*known).clone()
                });
                self.answers.insert(key, Arc::clone(&known));
                Ok(known)
            }
            (Err(failure), None) => Err(failure),
        }
    }
}

impl HostReads {
    /// Of what was read after `now`.
    fn new(
        number: u64,
        (edition, rows): (i64, Vec<ReadableAtHost>),
        list: &ProjectList,
        now: Instant,
    ) -> HostReads {
        let mut reads = HostReads {
            number,
            edition,
            read_at: now,
            ..HostReads::nothing()
        };
        reads.set = ProjectSet::empty(list.len());
        let ids: std::collections::HashSet<Uuid> = rows.iter().map(|row| row.project).collect();
        for (at, _) in list
            .iter()
            .enumerate()
            .filter(|(_, it)| ids.contains(&it.id))
        {
            reads.set.add(at);
        }
        let left = rows.iter().map(|row| row.seconds_left).min();
        if let Some(left) = left {
            reads.ends = now + Duration::from_secs(u64::try_from(left).unwrap_or(0));
        }
        reads
    }

    /// Nothing, for a caller without an account.
    pub(super) fn nothing() -> HostReads {
        let now = Instant::now();
        HostReads {
            number: 0,
            set: ProjectSet::empty(0),
            edition: 0,
            read_at: now,
            ends: now + FRESH_FOR,
        }
    }
}
