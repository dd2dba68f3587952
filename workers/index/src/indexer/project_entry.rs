//! What the indexer knows about one mounted folder, and when it reads that again.

use std::sync::Arc;

use archway_repo::Look;
use archway_store::{MountedProject, ProjectKey};
use gix::ObjectId;
use tokio::time::{Duration, Instant};

/// How long a project that was used, or whose HEAD changed, is active.
pub(super) const ACTIVE_FOR: Duration = Duration::from_secs(60 * 60);
/// How often an active project is looked at, at most: every scan.
pub(super) const ACTIVE_LOOK: Duration = Duration::from_millis(1500);
/// The interval of looks at others: the shortest, and the longest without its spread.
pub(super) const QUIET_LOOK: (Duration, Duration) = (ACTIVE_LOOK, Duration::from_secs(30));
/// Within these bounds, the interval is this for each project: 100 looks a second.
const LOOK_SHARE: Duration = Duration::from_millis(10);
/// Up to two thirds of the interval are added, by project: looks are spread over time.
const SPREAD: (u32, u32) = (2, 3);
/// How often a row is read while notifications are received: in case one was lost.
pub(super) const ROW_LIFETIME: Duration = Duration::from_secs(300);
/// The same without notifications, and for folders that are not projects.
pub(super) const UNNOTIFIED_ROW_LIFETIME: Duration = Duration::from_secs(30);
/// The same without notifications, for an active project.
pub(super) const UNNOTIFIED_ACTIVE_LIFETIME: Duration = Duration::from_secs(5);

/// How soon folders that are no projects are checked after a project changed that is not known.
pub(super) const UNKNOWN_DELAY: Duration = Duration::from_secs(1);

/// What is known about one folder.
pub(super) struct ProjectEntry {
    /// `None` if the folder is no project, or not known to be one.
    pub(super) row: Option<Arc<MountedProject>>,
    /// Whether the row may differ from Postgres', so that no work may be derived from it.
    pub(super) is_row_outdated: bool,
    pub(super) row_due: Instant,
    /// `None` before the first look, and while the project can't be read.
    pub(super) look: Option<Look>,
    pub(super) look_due: Instant,
    /// Whether the folder has responded: a run on one that hangs would delay all others.
    pub(super) is_reached: bool,
    active_until: Option<Instant>,
}

/// The work that a project needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// The index is not of HEAD's commit, or not by the present path rules; or chunks are lost.
    Documents,
    /// Only vectors are missing; until they exist, words rank the project.
    Vectors,
}

impl ProjectEntry {
    /// A folder that was just found.
    pub(super) fn new(now: Instant) -> ProjectEntry {
        ProjectEntry {
            row: None,
            is_row_outdated: true,
            row_due: now,
            look: None,
            look_due: now,
            is_reached: false,
            active_until: None,
        }
    }

    /// The project's ids, if the folder is a project.
    pub(super) fn project_key(&self) -> Option<ProjectKey> {
        Some(self.row.as_ref()?.project_key)
    }

    fn is_active(&self, now: Instant) -> bool {
        self.active_until.is_some_and(|until| now < until)
    }

    /// Has the row read by the next scan.
    pub(super) fn mark_outdated(&mut self, now: Instant) {
        self.is_row_outdated = true;
        self.row_due = now;
    }

    /// The work that the project needs, as far as its row and its look say.
    pub(super) fn work(
        &self,
        is_lost: impl FnOnce(ProjectKey) -> bool,
    ) -> Option<(ProjectKey, Work)> {
        let is_known = self.is_reached && !self.is_row_outdated;
        let row = self.row.as_ref().filter(|_| is_known)?;
        let documents = Some((row.project_key, Work::Documents));
        let (Some(indexed), Some(_rules)) = (&row.indexed, &row.rules) else {
            return documents;
        };
        if is_lost(row.project_key) {
            return documents;
        }
        let look = self.look.as_ref()?;
        let is_of_head = commit(indexed.as_deref()) == look.head;
        let is_by_rules = row.rules_fingerprint.as_ref() == Some(&look.rules);
        if row.is_requested || !is_of_head || !is_by_rules {
            return documents;
        }
        row.lacks_vectors
            .then_some((row.project_key, Work::Vectors))
    }

    /// Records the row as it was read; `None` if the folder is no project. `is_notified`: changes of it
    /// will be signalled. `spread` is this project's part of an interval.
    pub(super) fn set_row(
        &mut self,
        row: Option<Arc<MountedProject>>,
        is_notified: bool,
        spread: Duration,
    ) {
        let now = Instant::now();
        let lifetime = match (&row, is_notified) {
            (None, _) => UNNOTIFIED_ROW_LIFETIME,
            (Some(_), true) => ROW_LIFETIME + spread,
            (Some(_), false) if self.is_active(now) => UNNOTIFIED_ACTIVE_LIFETIME,
            (Some(_), false) => UNNOTIFIED_ROW_LIFETIME + spread,
        };
        self.row_due = now + lifetime;
        self.is_row_outdated = false;
        let (old, new) = (self.row.as_ref(), row.as_ref());
        let is_requested = new.is_some_and(|row| row.is_requested);
        if old.map(|row| &row.rules) != new.map(|row| &row.rules) {
            // A look is by the operator's rules. The first ones are spread over time.
            self.look = None;
            let has_index = new.is_some_and(|row| row.indexed.is_some());
            let may_wait = old.is_none() && has_index && !is_requested;
            self.look_due = if may_wait { now + spread } else { now };
        } else if is_requested {
            self.look_due = now;
        }
        self.row = row;
    }

    /// Records a look; `None` if nothing has changed since the last one. The next one follows after
    /// `quiet`, unless the project is active.
    pub(super) fn set_look(&mut self, look: Option<Look>, quiet: Duration) {
        let now = Instant::now();
        self.is_reached = true;
        if let Some(look) = look {
            let old = self.look.as_ref();
            if old.is_some_and(|old| old.head != look.head) {
                self.active_until = Some(now + ACTIVE_FOR);
            }
            self.look = Some(look);
        }
        let interval = match self.is_active(now) {
            true => ACTIVE_LOOK,
            false => quiet,
        };
        self.look_due = now + interval;
    }

    /// Records that a call read the project at this HEAD. Returns whether the last look saw another.
    pub(super) fn set_used(&mut self, head: Option<ObjectId>) -> bool {
        let now = Instant::now();
        self.look_due = self.look_due.min(now + ACTIVE_LOOK);
        self.active_until = Some(now + ACTIVE_FOR);
        let has_moved = self.look.as_ref().is_some_and(|look| look.head != head);
        if has_moved {
            self.look_due = now;
        }
        has_moved
    }
}

/// The interval of looks at a quiet project that is one of so many, and its part of a spread. `chance`
/// is from 0 to 999.
pub(super) fn quiet_interval(projects: usize, chance: u32) -> (Duration, Duration) {
    let projects = u32::try_from(projects).unwrap_or(u32::MAX);
    let base = LOOK_SHARE
        .saturating_mul(projects)
        .clamp(QUIET_LOOK.0, QUIET_LOOK.1);
    let spread = (base - QUIET_LOOK.0) * SPREAD.0 / SPREAD.1 * chance / 1000;
    (base + spread, spread)
}

/// Parses a commit's id. One that does not parse equals none.
fn commit(id: Option<&str>) -> Option<ObjectId> {
    ObjectId::from_hex(id?.as_bytes()).ok()
}
