//! What the indexer knows about each mounted folder, and when it reads that again.
//!
//! A folder has a row in Postgres if it is a project, and a look at its repository. Both are read
//! again when a signal says so, or when they are due: soon for a project that was used or changed
//! within an hour, else seldom and spread over time, so that a quiet project costs almost nothing.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use archway_repo::Look;
use archway_store::{MountedProject, ProjectKey};
use tokio::time::{Duration, Instant};

use super::project_entry::{ProjectEntry, UNKNOWN_DELAY, Work, quiet_interval};
use crate::signals::PendingSignals;

/// All mounted folders.
#[derive(Default)]
pub(super) struct ProjectTable {
    /// By `<tenant>/<project>`; slugs contain no slash.
    folders: BTreeMap<String, ProjectEntry>,
    by_key: HashMap<ProjectKey, String>,
    hasher: RandomState,
}

/// A project to look at.
pub(super) struct DueLook {
    pub(super) project: Arc<MountedProject>,
    /// The look before.
    pub(super) last: Option<Look>,
}

impl ProjectTable {
    /// Replaces the list of folders. What is known about those that remain is kept.
    pub(super) fn set_folders<'a>(&mut self, names: impl Iterator<Item = (&'a str, &'a str)>) {
        let now = Instant::now();
        let mut old = std::mem::take(&mut self.folders);
        let entry = |name: String| match old.remove_entry(&name) {
            Some(known) => known,
            None => (name, ProjectEntry::new(now)),
        };
        let names = names.map(|(tenant, project)| format!("{tenant}/{project}"));
        self.folders = names.map(entry).collect();
        for row in old.into_values().filter_map(|gone| gone.row) {
            self.by_key.remove(&row.project_key);
        }
    }

    /// The ids of all projects.
    pub(super) fn keys(&self) -> impl Iterator<Item = ProjectKey> {
        self.by_key.keys().copied()
    }

    /// The rows of all projects.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Arc<MountedProject>> {
        self.folders.values().filter_map(|entry| entry.row.as_ref())
    }

    /// The row of a project.
    pub(super) fn row(&self, project_key: ProjectKey) -> Option<&Arc<MountedProject>> {
        self.folders
            .get(self.by_key.get(&project_key)?)?
            .row
            .as_ref()
    }

    /// The device of a project's folder, if it is known.
    pub(super) fn device(&self, project_key: ProjectKey) -> Option<u64> {
        let entry = self.folders.get(self.by_key.get(&project_key)?)?;
        Some(entry.look.as_ref()?.device)
    }

    /// Whether this project is mounted.
    pub(super) fn contains(&self, project_key: ProjectKey) -> bool {
        self.by_key.contains_key(&project_key)
    }

    /// Up to `limit` folders `(tenant, project)` whose rows are due.
    pub(super) fn due_rows(&self, limit: usize) -> Vec<(String, String)> {
        let now = Instant::now();
        let due = self
            .folders
            .iter()
            .filter(|(_, entry)| entry.row_due <= now);
        let names = due.filter_map(|(name, _)| name.split_once('/'));
        let names = names.map(|(tenant, project)| (tenant.to_owned(), project.to_owned()));
        names.take(limit).collect()
    }

    /// Records the rows of the `asked` folders; those without a row are no projects. `is_notified`:
    /// changes of them will be signalled. Returns whether projects were added or removed.
    pub(super) fn rows_read(
        &mut self,
        asked: &[(String, String)],
        rows: Vec<MountedProject>,
        is_notified: bool,
    ) -> bool {
        let mut has_changed = false;
        let name = |row: &MountedProject| format!("{}/{}", row.tenant, row.project);
        let mut rows: HashMap<String, _> = rows.into_iter().map(|row| (name(&row), row)).collect();
        for (tenant, project) in asked {
            let name = format!("{tenant}/{project}");
            let (_, spread) = self.quiet_interval(&name);
            let Some(entry) = self.folders.get_mut(&name) else {
                continue;
            };
            let old = entry.project_key();
            entry.set_row(rows.remove(&name).map(Arc::new), is_notified, spread);
            let new = entry.project_key();
            if old != new {
                old.and_then(|gone| self.by_key.remove(&gone));
                new.and_then(|added| self.by_key.insert(added, name));
                has_changed = true;
            }
        }
        has_changed
    }

    /// Up to `limit` projects to look at now, those first that are due for longest. A project without
    /// an index is looked at once: then it is indexed anyway.
    pub(super) fn due_looks(&self, limit: usize) -> Vec<DueLook> {
        let now = Instant::now();
        let due = self.folders.values().filter(|entry| entry.look_due <= now);
        let due = due.filter_map(|entry| Some((entry, entry.row.as_ref()?)));
        let mut due: Vec<_> = due
            .filter(|(entry, row)| is_indexed(row) || !entry.is_reached)
            .collect();
        due.sort_unstable_by_key(|(entry, _)| entry.look_due);
        due.truncate(limit);
        let due = due.into_iter().map(|(entry, row)| DueLook {
            project: Arc::clone(row),
            last: entry.look.clone(),
        });
        due.collect()
    }

    /// Records a look; `None` if nothing has changed since the last one.
    pub(super) fn looked(&mut self, project_key: ProjectKey, look: Option<Look>) {
        if let Some((entry, quiet)) = self.entry(project_key) {
            entry.set_look(look, quiet);
        }
    }

    /// Records that a project can't be read, because its folder is stuck or for another reason: its
    /// index stays as it is.
    pub(super) fn unreadable(&mut self, project_key: ProjectKey, is_stuck: bool) {
        self.looked(project_key, None);
        if let Some((entry, _)) = self.entry(project_key) {
            entry.look = None;
            entry.is_reached = !is_stuck;
        }
    }

    /// Has a project's row read by the next scan.
    pub(super) fn mark_outdated(&mut self, project_key: ProjectKey) {
        if let Some((entry, _)) = self.entry(project_key) {
            entry.mark_outdated(Instant::now());
        }
    }

    /// Applies signals. Returns whether anything is due now; a change of a project with an active
    /// run is read after the run.
    pub(super) fn apply(
        &mut self,
        signals: &PendingSignals,
        is_running: impl Fn(ProjectKey) -> bool,
    ) -> bool {
        let now = Instant::now();
        let mut is_due = false;
        for (&project_key, head) in &signals.used {
            if let Some((entry, _)) = self.entry(project_key) {
                is_due |= entry.set_used(*head);
            }
        }
        let known = signals.changed.iter().filter(|key| self.contains(**key));
        let known: Vec<ProjectKey> = known.copied().collect();
        // An unknown project may be that of a folder without a row.
        let has_unknown = known.len() < signals.changed.len();
        for project_key in &known {
            if let Some((entry, _)) = self.entry(*project_key) {
                is_due |= !entry.is_row_outdated && !is_running(*project_key);
                entry.mark_outdated(now);
                entry.look_due = now;
            }
        }
        if has_unknown || signals.all || !signals.tenants.is_empty() {
            for entry in self.folders.values_mut() {
                match &entry.row {
                    // Other workers' projects change all the time.
                    None => entry.row_due = entry.row_due.min(now + UNKNOWN_DELAY),
                    Some(row) if signals.tenants.contains(&row.project_key.tenant) => {
                        entry.mark_outdated(now);
                    }
                    Some(_) if signals.all => entry.row_due = now,
                    Some(_) => {}
                }
            }
        }
        is_due || signals.all || !signals.tenants.is_empty()
    }

    /// All projects that need work.
    pub(super) fn waiting(
        &self,
        is_lost: impl Fn(ProjectKey) -> bool,
    ) -> impl Iterator<Item = (ProjectKey, Work)> {
        self.folders
            .values()
            .filter_map(move |entry| entry.work(&is_lost))
    }

    fn entry(&mut self, project_key: ProjectKey) -> Option<(&mut ProjectEntry, Duration)> {
        let name = self.by_key.get(&project_key)?;
        let (quiet, _) = self.quiet_interval(name);
        Some((self.folders.get_mut(name)?, quiet))
    }

    /// How often a folder's project is looked at while it is quiet, and its part of a spread.
    fn quiet_interval(&self, name: &str) -> (Duration, Duration) {
        let chance = u32::try_from(self.hasher.hash_one(name) % 1000).unwrap_or(0);
        quiet_interval(self.folders.len(), chance)
    }
}

/// Whether a project has an index of any commit, and rules to read it by.
pub(super) fn is_indexed(row: &MountedProject) -> bool {
    row.indexed.is_some() && row.rules.is_some()
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::*;
    use crate::indexer::project_entry::{
        ROW_LIFETIME, UNNOTIFIED_ACTIVE_LIFETIME, UNNOTIFIED_ROW_LIFETIME,
    };

    /// The longest part of a spread.
    const MAX_SPREAD: Duration = Duration::from_secs(20);
    const SECOND: Duration = Duration::from_secs(1);
    const MINUTE: Duration = Duration::from_secs(60);

    fn id(byte: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[byte; 20])
    }

    fn key(tenant: u128, project: u128) -> ProjectKey {
        MountedProject::found(tenant, project).project_key
    }

    /// A table of these mounted projects, whose rows and first looks were read.
    fn table(rows: &[MountedProject]) -> ProjectTable {
        let mut table = ProjectTable::default();
        table.set_folders(rows.iter().map(|row| (&*row.tenant, &*row.project)));
        read_rows(&mut table, rows, true);
        for row in rows {
            table.looked(row.project_key, Some(Look::found(None, "", 1)));
        }
        table
    }

    /// Reads the rows that are due. Returns how many.
    fn read_rows(table: &mut ProjectTable, rows: &[MountedProject], is_notified: bool) -> usize {
        let due = table.due_rows(100);
        let is_due = |row: &&MountedProject| {
            due.iter()
                .any(|(tenant, project)| (tenant, project) == (&row.tenant, &row.project))
        };
        table.rows_read(
            &due,
            rows.iter().filter(is_due).cloned().collect(),
            is_notified,
        );
        due.len()
    }

    fn work(table: &ProjectTable) -> Vec<(ProjectKey, Work)> {
        table.waiting(|_| false).collect()
    }

    fn used(project_key: ProjectKey, head: Option<ObjectId>) -> PendingSignals {
        PendingSignals {
            used: HashMap::from([(project_key, head)]),
            ..PendingSignals::default()
        }
    }

    fn changed(project_key: ProjectKey) -> PendingSignals {
        PendingSignals {
            changed: [project_key].into(),
            ..PendingSignals::default()
        }
    }

    /// Adds folders: with few projects all are looked at by every scan.
    fn put_among_many(table: &mut ProjectTable) {
        let others: Vec<String> = (2..10_000).map(|project| format!("p{project}")).collect();
        let others = others.iter().map(|project| ("t1", project.as_str()));
        table.set_folders([("t1", "p1")].into_iter().chain(others));
    }

    /// Lets time pass scan by scan. Returns the seconds between the looks at the only project.
    async fn looks(table: &mut ProjectTable, during: Duration) -> Vec<u64> {
        let (mut last, mut between) = (Instant::now(), Vec::new());
        let until = last + during;
        while Instant::now() < until {
            tokio::time::advance(2 * SECOND).await;
            for due in table.due_looks(10) {
                table.looked(due.project.project_key, None);
                between.push((Instant::now() - last).as_secs());
                last = Instant::now();
            }
        }
        between
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_project_is_looked_at_within_a_minute_a_used_one_by_every_scan() {
        let mut table = table(&[MountedProject::found(1, 1)]);
        put_among_many(&mut table);
        looks(&mut table, MINUTE).await;
        let quiet = looks(&mut table, 10 * MINUTE).await;
        assert!(
            quiet
                .iter()
                .skip(1)
                .all(|seconds| (30..=52).contains(seconds)),
            "{quiet:?}"
        );
        table.apply(&used(key(1, 1), None), |_| false);
        let active = looks(&mut table, 59 * MINUTE).await;
        assert!(active.len() > 1_700 && active.iter().all(|seconds| *seconds == 2));
        looks(&mut table, 2 * MINUTE).await;
        let quiet = looks(&mut table, 10 * MINUTE).await;
        assert!(quiet.len() < 20, "an hour after its last use: {quiet:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn every_scan_looks_at_all_projects_where_there_are_few() {
        let mut table = table(&[MountedProject::found(1, 1)]);
        assert_eq!(looks(&mut table, MINUTE).await.len(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_project_whose_head_moved_is_active() {
        let mut table = table(&[MountedProject::found(1, 1)]);
        put_among_many(&mut table);
        table.looked(key(1, 1), Some(Look::found(Some(id(1)), "", 1)));
        let active = looks(&mut table, MINUTE).await;
        assert_eq!(active.len(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_saw_another_head_has_the_project_looked_at_now() {
        let mut table = table(&[MountedProject::found(1, 1)]);
        assert!(!table.apply(&used(key(1, 1), None), |_| false));
        assert_eq!(table.due_looks(10).len(), 0);
        assert!(table.apply(&used(key(1, 1), Some(id(1))), |_| false));
        assert_eq!(table.due_looks(10).len(), 1);
        assert!(
            !table.apply(&used(key(9, 9), Some(id(1))), |_| false),
            "it is not mounted"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn first_looks_are_spread_over_time() {
        let rows = (0..5_000).map(|project| MountedProject::found(1, project));
        let rows: Vec<_> = rows.collect();
        let mut table = ProjectTable::default();
        table.set_folders(rows.iter().map(|row| (&*row.tenant, &*row.project)));
        table.rows_read(&table.due_rows(5_000), rows, true);
        let now = table.due_looks(5_000).len();
        tokio::time::advance(MAX_SPREAD).await;
        assert!(now < 500 && table.due_looks(5_000).len() == 5_000, "{now}");
    }

    #[tokio::test(start_paused = true)]
    async fn rows_are_read_when_notified_or_when_they_are_old() {
        let rows = [MountedProject::found(1, 1), MountedProject::found(2, 1)];
        let mut table = table(&rows);
        tokio::time::advance(ROW_LIFETIME - SECOND).await;
        assert_eq!(read_rows(&mut table, &rows, true), 0);
        assert!(table.apply(&changed(key(2, 1)), |_| false));
        assert_eq!(read_rows(&mut table, &rows, true), 1);
        let tenants = PendingSignals {
            tenants: [key(1, 1).tenant].into(),
            ..PendingSignals::default()
        };
        assert!(table.apply(&tenants, |_| false));
        assert_eq!(read_rows(&mut table, &rows, true), 1);
        let all = PendingSignals {
            all: true,
            ..PendingSignals::default()
        };
        assert!(table.apply(&all, |_| false));
        assert_eq!(read_rows(&mut table, &rows, true), 2);
        tokio::time::advance(ROW_LIFETIME + MAX_SPREAD).await;
        assert_eq!(read_rows(&mut table, &rows, true), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn without_notifications_rows_are_read_more_often_and_those_in_use_most() {
        let rows = [MountedProject::found(1, 1), MountedProject::found(2, 1)];
        let mut table = table(&rows);
        tokio::time::advance(ROW_LIFETIME + MAX_SPREAD).await;
        table.apply(&used(key(2, 1), None), |_| false);
        assert_eq!(read_rows(&mut table, &rows, false), 2);
        tokio::time::advance(UNNOTIFIED_ACTIVE_LIFETIME).await;
        assert_eq!(read_rows(&mut table, &rows, false), 1);
        tokio::time::advance(UNNOTIFIED_ROW_LIFETIME + MAX_SPREAD).await;
        assert_eq!(read_rows(&mut table, &rows, false), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_folder_becomes_a_project_soon_after_a_project_was_added() {
        let row = MountedProject::found(1, 1);
        let mut table = ProjectTable::default();
        table.set_folders([("t1", "p1")].into_iter());
        assert_eq!(read_rows(&mut table, &[], true), 1);
        tokio::time::advance(2 * SECOND).await;
        assert_eq!(read_rows(&mut table, &[], true), 0);
        for _ in 0..2 {
            assert!(!table.apply(&changed(key(1, 1)), |_| false));
        }
        tokio::time::advance(UNKNOWN_DELAY).await;
        assert_eq!(read_rows(&mut table, &[row], true), 1);
        assert!(table.contains(key(1, 1)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_work_follows_from_row_and_look() {
        let whole = MountedProject::found(1, 1);
        assert_eq!(work(&table(std::slice::from_ref(&whole))), []);
        let documents = [(key(1, 1), Work::Documents)];
        let unindexed = MountedProject {
            indexed: None,
            ..whole.clone()
        };
        let unruled = MountedProject {
            rules: None,
            ..whole.clone()
        };
        let requested = MountedProject {
            is_requested: true,
            ..whole.clone()
        };
        let other_rules = MountedProject {
            rules_fingerprint: None,
            ..whole.clone()
        };
        let behind = MountedProject {
            indexed: Some(Some(id(1).to_string())),
            ..whole.clone()
        };
        for row in [unindexed, unruled, requested, other_rules, behind] {
            let table = table(std::slice::from_ref(&row));
            assert_eq!(work(&table), documents, "{row:?}");
        }
        let lacking = MountedProject {
            lacks_vectors: true,
            ..whole.clone()
        };
        assert_eq!(work(&table(&[lacking])), [(key(1, 1), Work::Vectors)]);
        let lost = table(&[whole]).waiting(|_| true).collect::<Vec<_>>();
        assert_eq!(lost, documents);
    }

    #[tokio::test(start_paused = true)]
    async fn a_project_without_an_index_is_indexed_once_its_folder_responds() {
        let unindexed = MountedProject {
            indexed: None,
            ..MountedProject::found(1, 1)
        };
        let mut table = ProjectTable::default();
        table.set_folders([("t1", "p1")].into_iter());
        read_rows(&mut table, &[unindexed], true);
        assert_eq!((work(&table), table.due_looks(10).len()), (vec![], 1));
        table.unreadable(key(1, 1), true);
        assert_eq!((work(&table), table.due_looks(10).len()), (vec![], 0));
        tokio::time::advance(2 * SECOND).await;
        assert_eq!(table.due_looks(10).len(), 1);
        table.looked(key(1, 1), None);
        assert_eq!(work(&table), [(key(1, 1), Work::Documents)]);
        tokio::time::advance(MINUTE).await;
        assert_eq!(table.due_looks(10).len(), 0, "its run reads it");
    }

    #[tokio::test(start_paused = true)]
    async fn an_outdated_row_and_an_unreadable_project_give_no_work() {
        let requested = MountedProject {
            is_requested: true,
            ..MountedProject::found(1, 1)
        };
        let mut table = table(std::slice::from_ref(&requested));
        table.unreadable(key(1, 1), false);
        assert_eq!(work(&table), []);
        table.looked(key(1, 1), Some(Look::found(None, "", 1)));
        table.mark_outdated(key(1, 1));
        assert_eq!(work(&table), [], "the run may have done it");
        assert_eq!(read_rows(&mut table, &[requested], true), 1);
        assert_eq!(work(&table), [(key(1, 1), Work::Documents)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_during_a_run_is_read_after_it() {
        let mut table = table(&[MountedProject::found(1, 1)]);
        assert!(!table.apply(&changed(key(1, 1)), |_| true));
        assert_eq!(table.due_rows(10).len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn removed_folders_are_forgotten_and_others_stay() {
        let mut table = table(&[MountedProject::found(1, 1), MountedProject::found(1, 2)]);
        table.set_folders([("t1", "p2")].into_iter());
        assert!(!table.contains(key(1, 1)) && table.contains(key(1, 2)));
        assert_eq!(table.due_rows(10).len(), 0);
    }
}
