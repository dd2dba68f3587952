//! Sessions that differ from what their handle says: ended ones, and those with a log level.
//!
//! A copy of what Postgres keeps, brought up to date by `changes`, so that a call looks at memory
//! only. Bounded twice: Postgres keeps at most a thousand rows a principal, and past a total of
//! 200,000 a principal that brings more has all its older sessions ended instead, which costs its
//! clients an `initialize` and nobody else anything.

use std::collections::HashMap;

use archway_proto::log::LogLevel;
use parking_lot::RwLock;
use uuid::Uuid;

use super::handle::{self, Handle};
use crate::store::SessionChange;

/// Rows kept for all principals: about 100 bytes each.
const MOST_ROWS: usize = 200_000;

/// The table.
#[derive(Default)]
pub(super) struct Changed {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    owners: HashMap<Uuid, HashMap<String, Owner>>,
    rows: usize,
}

/// What is known of one principal's sessions.
#[derive(Default)]
struct Owner {
    /// Sessions issued before it are ended; milliseconds since 1970.
    floor: u64,
    sessions: HashMap<Uuid, Row>,
}

#[derive(Clone, Copy)]
struct Row {
    deleted: bool,
    log_level: Option<LogLevel>,
    /// Milliseconds since 1970.
    expires: u64,
}

impl Changed {
    /// Whether the session was ended.
    pub(super) fn is_ended(&self, tenant: Uuid, principal: &str, handle: Handle) -> bool {
        let state = self.state.read();
        let owner = state.owner(tenant, principal);
        owner.is_some_and(|owner| {
            let row = owner.sessions.get(&handle.id());
            handle.issued() < owner.floor || row.is_some_and(|row| row.deleted)
        })
    }

    /// The log level that the client of a session asked for.
    pub(super) fn log_level(&self, tenant: Uuid, principal: &str, id: Uuid) -> Option<LogLevel> {
        let state = self.state.read();
        let row = state.owner(tenant, principal)?.sessions.get(&id)?;
        (handle::now() < row.expires)
            .then_some(row.log_level)
            .flatten()
    }

    /// Takes what Postgres has, and forgets what has expired.
    pub(super) fn take(&self, changes: Vec<SessionChange>) {
        let now = handle::now();
        let mut state = self.state.write();
        for change in changes {
            state.take(change, now);
        }
        state.forget(now);
    }

    /// How many sessions and floors are known.
    pub(super) fn len(&self) -> usize {
        self.state.read().rows
    }
}

impl State {
    fn owner(&self, tenant: Uuid, principal: &str) -> Option<&Owner> {
        self.owners.get(&tenant)?.get(principal)
    }

    fn take(&mut self, change: SessionChange, now: u64) {
        let full = self.rows >= MOST_ROWS;
        let owners = self.owners.entry(change.tenant_id).or_default();
        let owner = owners.entry(change.principal).or_default();
        match change.id {
            Some(id) if !full || owner.sessions.contains_key(&id) => {
                let row = Row {
                    deleted: change.deleted,
                    log_level: change.log_level,
                    expires: change.moment,
                };
                if owner.sessions.insert(id, row).is_none() {
                    self.rows += 1;
                }
            }
            // A preference may be forgotten, an end may not.
            Some(_) if !change.deleted => {}
            Some(id) => {
                self.rows -= owner.sessions.len();
                owner.sessions.clear();
                owner.floor = now.max(handle::issued(id) + 1);
            }
            None => {
                let floor = change.moment;
                owner.floor = owner.floor.max(floor);
                let before = owner.sessions.len();
                owner.sessions.retain(|id, _| issued_after(*id, floor));
                self.rows -= before - owner.sessions.len();
            }
        }
    }

    fn forget(&mut self, now: u64) {
        let oldest = now.saturating_sub(handle::LIFETIME_MS);
        self.owners.retain(|_, owners| {
            owners.retain(|_, owner| {
                owner.sessions.retain(|_, row| now < row.expires);
                !owner.sessions.is_empty() || oldest < owner.floor
            });
            !owners.is_empty()
        });
        let owners = self.owners.values().flat_map(HashMap::values);
        self.rows = owners.map(|owner| owner.sessions.len()).sum();
    }
}

/// Whether a session's row is still of use under a floor. The principal's own has no handle, and
/// so no time.
fn issued_after(id: Uuid, floor: u64) -> bool {
    id.is_nil() || handle::issued(id) >= floor
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: Uuid = Uuid::from_u128(1);

    fn ended(id: Uuid) -> SessionChange {
        SessionChange {
            tenant_id: TENANT,
            principal: "key:1".to_owned(),
            id: Some(id),
            deleted: true,
            log_level: None,
            moment: handle::now() + handle::LIFETIME_MS,
            written: 0,
        }
    }

    #[test]
    fn an_end_is_the_owners_alone() {
        let (changed, handle) = (Changed::default(), Handle::issue());
        changed.take(vec![ended(handle.id())]);
        assert!(changed.is_ended(TENANT, "key:1", handle));
        assert!(!changed.is_ended(TENANT, "key:2", handle));
        assert!(!changed.is_ended(Uuid::from_u128(2), "key:1", handle));
        assert!(!changed.is_ended(TENANT, "key:1", Handle::issue()));
    }

    #[test]
    fn a_floor_ends_what_was_issued_before_it_and_takes_its_rows_along() {
        let changed = Changed::default();
        let old: Vec<_> = (0..5).map(|_| Handle::issue()).collect();
        changed.take(old.iter().map(|handle| ended(handle.id())).collect());
        let floor = SessionChange {
            id: None,
            moment: handle::now() + 1,
            ..ended(Uuid::nil())
        };
        changed.take(vec![floor]);
        assert!(
            old.iter()
                .all(|&old| changed.is_ended(TENANT, "key:1", old))
        );
        assert_eq!(changed.len(), 0);
    }

    #[test]
    fn past_the_bound_an_owner_loses_its_own_sessions_and_nobody_elses() {
        let changed = Changed::default();
        let mut others: Vec<_> = (0..MOST_ROWS).map(|_| ended(Uuid::now_v7())).collect();
        for other in &mut others {
            other.principal = "key:2".to_owned();
        }
        changed.take(others);
        let (before, alive) = (Handle::issue(), Handle::issue());
        changed.take(vec![ended(before.id())]);
        assert_eq!(changed.len(), MOST_ROWS);
        assert!(changed.is_ended(TENANT, "key:1", before));
        assert!(!changed.is_ended(TENANT, "key:2", alive));
    }

    #[test]
    fn what_has_expired_is_forgotten() {
        let changed = Changed::default();
        let gone = SessionChange {
            moment: handle::now() - 1,
            ..ended(Uuid::now_v7())
        };
        changed.take(vec![gone]);
        assert_eq!(changed.len(), 0);
    }
}
