//! Sessions that differ from their handle: ended ones, and those with a log level.
//!
//! A copy of a table in Postgres, which `changes` keeps up to date, so that a call reads memory
//! only. Its bounds are those of the table, per principal: at most a thousand log levels, of which
//! the oldest is dropped first, and a thousand ends, which are then replaced by one floor. Beyond a
//! total of 200,000 rows, a principal that ends another session has all its older sessions ended
//! instead, which costs its clients an `initialize`.

use std::collections::HashMap;

use archway_proto::log::LogLevel;
use parking_lot::RwLock;
use uuid::Uuid;

use super::handle::{self, Handle};
use crate::store::SessionChange;

/// Rows stored for all principals, of about 100 bytes each.
const MOST_ROWS: usize = 200_000;
/// Rows of one principal: the sum of both bounds in Postgres.
const MOST_OF_ONE: usize = 2_000;

/// The table.
#[derive(Default)]
pub(super) struct ChangedSessions {
    state: RwLock<SessionTable>,
}

#[derive(Default)]
struct SessionTable {
    owners: HashMap<Uuid, HashMap<String, OwnerSessions>>,
    rows: usize,
}

/// The sessions of one principal.
#[derive(Default)]
struct OwnerSessions {
    /// Sessions issued before it are ended; milliseconds since 1970.
    floor: u64,
    sessions: HashMap<Uuid, SessionRow>,
}

#[derive(Clone, Copy)]
struct SessionRow {
    ended: bool,
    log_level: Option<LogLevel>,
    /// Milliseconds since 1970.
    expires: u64,
    /// By Postgres' clock.
    written: i64,
}

impl ChangedSessions {
    /// Whether the session was ended.
    pub(super) fn is_ended(&self, tenant: Uuid, principal: &str, handle: Handle) -> bool {
        let state = self.state.read();
        let owner = state.owner(tenant, principal);
        owner.is_some_and(|owner| {
            let row = owner.sessions.get(&handle.id());
            handle.issued() < owner.floor || row.is_some_and(|row| row.ended)
        })
    }

    /// The log level that a session's client set.
    pub(super) fn log_level(&self, tenant: Uuid, principal: &str, id: Uuid) -> Option<LogLevel> {
        let state = self.state.read();
        let row = state.owner(tenant, principal)?.sessions.get(&id)?;
        (handle::now() < row.expires)
            .then_some(row.log_level)
            .flatten()
    }

    /// Applies changes read from Postgres.
    pub(super) fn apply(&self, changes: Vec<SessionChange>) {
        let mut state = self.state.write();
        for change in changes {
            state.apply(change);
        }
    }

    /// Drops expired rows.
    pub(super) fn sweep(&self) {
        self.state.write().sweep(handle::now());
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.state.read().rows
    }
}

impl SessionTable {
    fn owner(&self, tenant: Uuid, principal: &str) -> Option<&OwnerSessions> {
        self.owners.get(&tenant)?.get(principal)
    }

    fn apply(&mut self, change: SessionChange) {
        let full = self.rows >= MOST_ROWS;
        let owners = self.owners.entry(change.tenant_id).or_default();
        let owner = owners.entry(change.principal).or_default();
        let before = owner.sessions.len();
        match change.id {
            Some(id) if !full || owner.sessions.contains_key(&id) => {
                let row = SessionRow {
                    ended: change.ended,
                    log_level: change.log_level,
                    expires: change.moment,
                    written: change.written,
                };
                owner.put(id, row);
            }
            // A log level may be dropped, an end may not.
            Some(_) if !change.ended => {}
            Some(id) => owner.raise(floor_for(id, change.written)),
            None => owner.raise(change.moment),
        }
        self.rows = self.rows + owner.sessions.len() - before;
    }

    fn sweep(&mut self, now: u64) {
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

impl OwnerSessions {
    /// Stores a row unless a newer one is stored. When full, drops the oldest log level, or
    /// replaces all rows by a floor if all of them are ends.
    fn put(&mut self, id: Uuid, row: SessionRow) {
        let known = self.sessions.get(&id);
        if known.is_some_and(|known| row.written < known.written) {
            return;
        }
        if known.is_none() && self.sessions.len() >= MOST_OF_ONE {
            let levels = self.sessions.iter().filter(|(_, row)| !row.ended);
            let oldest = levels.min_by_key(|(_, row)| row.written);
            match oldest.map(|(id, _)| *id) {
                Some(oldest) => self.sessions.remove(&oldest),
                None if row.ended => return self.raise(floor_for(id, row.written)),
                None => return,
            };
        }
        self.sessions.insert(id, row);
    }

    /// Ends all sessions issued before `floor`, and drops their rows.
    fn raise(&mut self, floor: u64) {
        self.floor = self.floor.max(floor);
        self.sessions.retain(|id, _| issued_after(*id, floor));
    }
}

/// The floor that ends a session together with all that are older than its end. Derived from the
/// time of writing, so that reading the row again yields the same floor.
fn floor_for(id: Uuid, written: i64) -> u64 {
    (written.unsigned_abs() / 1000).max(handle::issued(id)) + 1
}

/// Whether a row is still needed above a floor. The principal's own session has no handle and hence
/// no time of issue.
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
            ended: true,
            log_level: None,
            moment: handle::now() + handle::LIFETIME_MS,
            written: i64::try_from(handle::now()).unwrap() * 1000,
        }
    }

    #[test]
    fn an_end_applies_only_to_its_owners_session() {
        let (changed, handle) = (ChangedSessions::default(), Handle::issue());
        changed.apply(vec![ended(handle.id())]);
        assert!(changed.is_ended(TENANT, "key:1", handle));
        assert!(!changed.is_ended(TENANT, "key:2", handle));
        assert!(!changed.is_ended(Uuid::from_u128(2), "key:1", handle));
        assert!(!changed.is_ended(TENANT, "key:1", Handle::issue()));
    }

    #[test]
    fn a_floor_ends_older_sessions_and_replaces_their_rows() {
        let changed = ChangedSessions::default();
        let old: Vec<_> = (0..5).map(|_| Handle::issue()).collect();
        changed.apply(old.iter().map(|handle| ended(handle.id())).collect());
        let floor = SessionChange {
            id: None,
            moment: handle::now() + 1,
            ..ended(Uuid::nil())
        };
        changed.apply(vec![floor]);
        assert!(
            old.iter()
                .all(|&old| changed.is_ended(TENANT, "key:1", old))
        );
        assert_eq!(changed.len(), 0);
    }

    /// A full table: a thousand ends of each principal.
    fn full() -> ChangedSessions {
        let changed = ChangedSessions::default();
        let others = (0..MOST_ROWS).map(|number| SessionChange {
            principal: format!("key:other-{}", number / 1000),
            ..ended(Uuid::now_v7())
        });
        changed.apply(others.collect());
        assert_eq!(changed.len(), MOST_ROWS);
        changed
    }

    #[test]
    fn a_full_table_costs_an_owner_only_its_own_older_sessions() {
        let changed = full();
        let (before, alive) = (Handle::issue(), Handle::issue());
        let end = ended(before.id());
        changed.apply(vec![end.clone()]);
        assert_eq!(changed.len(), MOST_ROWS);
        assert!(changed.is_ended(TENANT, "key:1", before));
        assert!(!changed.is_ended(TENANT, "key:other-0", alive));

        // Reading the row again ends no newer session.
        let newer = Handle::issued_at_for_tests(end.written.unsigned_abs() / 1000 + 2);
        changed.apply(vec![end]);
        assert!(!changed.is_ended(TENANT, "key:1", newer));
    }

    #[test]
    fn too_many_ends_of_one_owner_become_one_floor() {
        let changed = ChangedSessions::default();
        let ends: Vec<_> = (0..=MOST_OF_ONE).map(|_| Handle::issue()).collect();
        changed.apply(ends.iter().map(|end| ended(end.id())).collect());
        assert!(changed.len() <= 1, "{}", changed.len());
        assert!(
            ends.iter()
                .all(|&end| changed.is_ended(TENANT, "key:1", end))
        );
    }

    #[test]
    fn the_oldest_log_level_of_an_owner_is_dropped_first() {
        let changed = ChangedSessions::default();
        let level = |written: i64| SessionChange {
            ended: false,
            log_level: Some(LogLevel::Info),
            written,
            ..ended(Uuid::now_v7())
        };
        let levels: Vec<_> = (0..=MOST_OF_ONE as i64).map(level).collect();
        let (first, last) = (levels[0].id.unwrap(), levels[MOST_OF_ONE].id.unwrap());
        let end = ended(Uuid::now_v7());
        changed.apply(levels);
        changed.apply(vec![end]);
        assert_eq!(changed.len(), MOST_OF_ONE);
        assert_eq!(changed.log_level(TENANT, "key:1", first), None);
        assert_eq!(
            changed.log_level(TENANT, "key:1", last),
            Some(LogLevel::Info)
        );
    }

    #[test]
    fn a_row_that_is_read_late_replaces_no_newer_one() {
        let changed = ChangedSessions::default();
        let handle = Handle::issue();
        let end = ended(handle.id());
        let before = SessionChange {
            ended: false,
            written: end.written - 1,
            ..end.clone()
        };
        changed.apply(vec![end, before]);
        assert!(changed.is_ended(TENANT, "key:1", handle));
    }

    #[test]
    fn expired_rows_are_dropped() {
        let changed = ChangedSessions::default();
        let gone = SessionChange {
            moment: handle::now() - 1,
            ..ended(Uuid::now_v7())
        };
        changed.apply(vec![gone]);
        changed.sweep();
        assert_eq!(changed.len(), 0);
    }
}
