//! The list of mounted folders, kept up to date by reading only what changed.
//!
//! A folder's time changes when an entry is added, removed or renamed. So a refresh costs one
//! `stat` for each tenant's folder, and it checks a bounded number of them: the next one continues
//! where it stopped.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::mounts::{Mounts, slugs};
use super::stamp::ObservedState;

/// Tenants' folders that one refresh checks.
const TENANTS_PER_REFRESH: usize = 1_000;

/// The names of all mounted folders.
#[derive(Debug)]
pub struct FolderList {
    mounts: Mounts,
    /// Folders listed at most.
    limit: usize,
    roots: Vec<RootFolder>,
}

/// The tenants beneath one folder.
#[derive(Debug)]
struct RootFolder {
    path: PathBuf,
    state: Option<ObservedState>,
    tenants: BTreeMap<String, TenantFolder>,
    /// The tenant that was checked last.
    last: Option<String>,
}

/// The projects in a tenant's folder.
#[derive(Debug, Default)]
struct TenantFolder {
    state: Option<ObservedState>,
    projects: Vec<Box<str>>,
}

impl FolderList {
    /// A list of at most `limit` folders, empty until it is refreshed.
    pub fn new(mounts: Mounts, limit: usize) -> FolderList {
        let root = |path: &PathBuf| RootFolder {
            path: path.clone(),
            state: None,
            tenants: BTreeMap::new(),
            last: None,
        };
        FolderList {
            roots: mounts.roots().iter().map(root).collect(),
            mounts,
            limit,
        }
    }

    /// Reads the folders that have changed. Returns whether the list did. Blocks.
    ///
    /// # Errors
    /// If a root cannot be read. A tenant's folder that cannot be read has no projects.
    pub fn refresh(&mut self) -> std::io::Result<bool> {
        let mut has_changed = false;
        for root in &mut self.roots {
            has_changed |= root.refresh()?;
        }
        Ok(has_changed)
    }

    /// The mounted folders as `(tenant, project)`, up to the limit.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all().take(self.limit)
    }

    /// How many folders are beyond the limit.
    pub fn beyond_limit(&self) -> usize {
        self.all().count().saturating_sub(self.limit)
    }

    /// Each name once, though several roots may have it.
    fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let beneath = self.roots.iter().enumerate().flat_map(|(number, root)| {
            let earlier = self.roots.iter().take(number);
            root.names().filter(move |(tenant, project)| {
                !earlier.clone().any(|root| root.has(tenant, project))
            })
        });
        self.mounts.links().chain(beneath)
    }
}

impl RootFolder {
    fn refresh(&mut self) -> std::io::Result<bool> {
        let mut has_changed = self.refresh_tenants()?;
        let mut due = self.due();
        self.last = due.last().cloned();
        for tenant in due.drain(..) {
            if let Some(folder) = self.tenants.get_mut(&tenant) {
                has_changed |= folder.refresh(&self.path.join(&tenant));
            }
        }
        Ok(has_changed)
    }

    fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tenants.iter().flat_map(|(tenant, folder)| {
            let projects = folder.projects.iter();
            projects.map(move |project| (&**tenant, &**project))
        })
    }

    fn has(&self, tenant: &str, project: &str) -> bool {
        let folder = self.tenants.get(tenant);
        folder.is_some_and(|folder| {
            folder
                .projects
                .binary_search_by(|name| (**name).cmp(project))
                .is_ok()
        })
    }

    /// Reads the root if it has changed.
    fn refresh_tenants(&mut self) -> std::io::Result<bool> {
        let observed_at = SystemTime::now();
        let stat = rustix::fs::stat(&self.path);
        if (self.state).is_some_and(|state| state.still_holds(stat)) {
            return Ok(false);
        }
        let names: Vec<String> = slugs(std::fs::read_dir(&self.path)?).collect();
        self.state = Some(ObservedState::at(observed_at, stat));
        let mut old = std::mem::take(&mut self.tenants);
        let with_folder = |name: String| {
            let folder = old.remove(&name).unwrap_or_default();
            (name, folder)
        };
        self.tenants = names.into_iter().map(with_folder).collect();
        Ok(old.values().any(|gone| !gone.projects.is_empty()))
    }

    /// The tenants to check now: all new ones, and known ones that follow the last one checked.
    fn due(&self) -> Vec<String> {
        let after = match &self.last {
            Some(last) => Bound::Excluded(last.as_str()),
            None => Bound::Unbounded,
        };
        let is_new = |(_, folder): &(&String, &TenantFolder)| folder.state.is_none();
        let following = self.tenants.range::<str, _>((after, Bound::Unbounded));
        let known = following.chain(&self.tenants).filter(|it| !is_new(it));
        let known = known.take(TENANTS_PER_REFRESH.min(self.tenants.len()));
        let new = self.tenants.iter().filter(is_new);
        new.chain(known).map(|(name, _)| name.clone()).collect()
    }
}

impl TenantFolder {
    /// Reads the folder if it has changed. Returns whether its projects did.
    fn refresh(&mut self, path: &Path) -> bool {
        let observed_at = SystemTime::now();
        let stat = rustix::fs::stat(path);
        if (self.state).is_some_and(|state| state.still_holds(stat)) {
            return false;
        }
        self.state = Some(ObservedState::at(observed_at, stat));
        let read = std::fs::read_dir(path).map(slugs);
        let mut projects: Vec<Box<str>> =
            read.map_or_else(|_| Vec::new(), |names| names.map(Into::into).collect());
        projects.sort_unstable();
        let has_changed = projects != self.projects;
        self.projects = projects;
        has_changed
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(list: &FolderList) -> Vec<String> {
        let names = list.names();
        names
            .map(|(tenant, project)| format!("{tenant}/{project}"))
            .collect()
    }

    #[test]
    fn a_project_that_two_folders_have_is_listed_once() {
        let temp = tempfile::tempdir().unwrap();
        for folder in [
            "trees/acme/both",
            "mirrors/acme/both",
            "mirrors/acme/mirror",
        ] {
            fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        let mounts = Mounts::beneath(temp.path().join("trees"));
        let mounts = mounts.and_beneath(temp.path().join("mirrors"));
        let mut list = FolderList::new(mounts, 100);
        assert!(list.refresh().unwrap());
        assert_eq!(names(&list), ["acme/both", "acme/mirror"]);
        assert_eq!(list.beyond_limit(), 0);
        fs::remove_dir(temp.path().join("trees/acme/both")).unwrap();
        assert!(list.refresh().unwrap());
        assert_eq!(names(&list), ["acme/both", "acme/mirror"]);
    }

    #[test]
    fn only_folders_named_by_slugs_are_projects_up_to_the_limit() {
        let temp = tempfile::tempdir().unwrap();
        for folder in [
            "acme/app",
            "acme/Upper",
            "acme/.git",
            "zeta/one",
            "lost+found",
        ] {
            fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        fs::write(temp.path().join("acme/file"), "").unwrap();
        symlink("app", temp.path().join("acme/alias")).unwrap();
        let mounts = Mounts::beneath(temp.path().to_owned());
        let mut list = FolderList::new(mounts.clone(), 100);
        assert!(list.refresh().unwrap());
        assert_eq!(names(&list), ["acme/alias", "acme/app", "zeta/one"]);
        let mut limited = FolderList::new(mounts, 2);
        limited.refresh().unwrap();
        assert_eq!((names(&limited).len(), limited.beyond_limit()), (2, 1));
        let nowhere = Mounts::beneath("/nowhere/at/all".into());
        assert!(FolderList::new(nowhere, 2).refresh().is_err());
    }

    #[test]
    fn a_refresh_finds_what_was_added_and_removed() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::create_dir_all(at("acme/app")).unwrap();
        let mut list = FolderList::new(Mounts::beneath(temp.path().to_owned()), 100);
        assert!(list.refresh().unwrap());
        assert!(!list.refresh().unwrap());
        fs::create_dir(at("acme/site")).unwrap();
        fs::create_dir_all(at("zeta/one")).unwrap();
        assert!(list.refresh().unwrap());
        assert_eq!(names(&list), ["acme/app", "acme/site", "zeta/one"]);
        fs::remove_dir(at("acme/app")).unwrap();
        fs::remove_dir_all(at("zeta")).unwrap();
        assert!(list.refresh().unwrap());
        assert_eq!(names(&list), ["acme/site"]);
    }

    #[test]
    fn every_tenant_is_checked_although_a_refresh_checks_a_part() {
        let temp = tempfile::tempdir().unwrap();
        let tenants = TENANTS_PER_REFRESH + 500;
        for tenant in 0..tenants {
            fs::create_dir(temp.path().join(format!("t{tenant:04}"))).unwrap();
        }
        let mut list = FolderList::new(Mounts::beneath(temp.path().to_owned()), 100);
        list.refresh().unwrap();
        for tenant in ["t0000", "t0999", "t1499"] {
            fs::create_dir(temp.path().join(tenant).join("app")).unwrap();
        }
        // A folder that was read right after its creation is read again.
        let found = (0..3).filter(|_| list.refresh().unwrap()).count();
        assert!(found > 0);
        assert_eq!(names(&list), ["t0000/app", "t0999/app", "t1499/app"]);
    }

    #[test]
    fn linked_folders_come_first_and_need_no_root() {
        let mounts = Mounts::none().link("dev", "here", "/tmp".into());
        let mut list = FolderList::new(mounts, 10);
        assert!(!list.refresh().unwrap());
        assert_eq!(names(&list), ["dev/here"]);
    }
}
