//! Whether a project is served, and what an operator can do where it is not.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::tenants::{Project, ReportedMount};
use serde::Serialize;

/// A worker that runs reported within this time.
const FRESH_SECONDS: u64 = 90;
/// Within this time of its creation each worker has looked for a project's folder.
const FIRST_LOOK: Duration = Duration::from_secs(15);

/// What is known of a project. In the order in which advice is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProjectState {
    /// Workers report its folder.
    Served,
    /// An operator removed it.
    Removed,
    /// It was added seconds ago, and workers have not looked yet.
    Waiting,
    /// No worker reports its folder.
    Unseen,
    /// Its URL is not mirrored yet, or workers have not seen its mirror.
    Unmirrored,
    /// The running `dev` does not serve its folder.
    NotTaken,
    /// `dev` remembers its folder, which is gone.
    FolderGone,
    /// `dev` was named no folder for it.
    NoFolder,
}

/// Where a project's repository is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// Below the folder that workers mount.
    Mounted,
    /// At a URL of which there is no mirror yet, or only since a moment ago.
    Unmirrored,
    /// In a folder that the running `dev` remembers, if any.
    OfDev(Option<&'a Path>),
}

impl ProjectState {
    pub(super) fn of(
        project: &Project,
        mounts: &[ReportedMount],
        place: Place<'_>,
    ) -> ProjectState {
        let age = SystemTime::now().duration_since(project.created_at);
        let is_new = age.unwrap_or_default() < FIRST_LOOK;
        match place {
            _ if project.removed_at.is_some() => ProjectState::Removed,
            Place::OfDev(Some(folder)) if !folder.is_dir() => ProjectState::FolderGone,
            _ if mounts.iter().any(is_fresh) => ProjectState::Served,
            Place::OfDev(None) => ProjectState::NoFolder,
            Place::Unmirrored => ProjectState::Unmirrored,
            Place::OfDev(Some(_)) | Place::Mounted if is_new => ProjectState::Waiting,
            Place::OfDev(Some(_)) => ProjectState::NotTaken,
            Place::Mounted => ProjectState::Unseen,
        }
    }

    /// The cell of the state's column.
    pub(super) fn text(self) -> &'static str {
        match self {
            ProjectState::Served => "served",
            ProjectState::Removed => "removed",
            ProjectState::Waiting => "waits for a worker",
            ProjectState::Unseen => "not served",
            ProjectState::Unmirrored => "waits for its mirror",
            ProjectState::NotTaken => "not served: `archway dev` does not serve its folder",
            ProjectState::FolderGone => "not served: its folder is gone",
            ProjectState::NoFolder => "not served: it has no folder",
        }
    }

    /// The cell of the workers' column where none reported lately.
    pub(super) fn without_workers(self, last_seen_seconds: Option<u64>) -> String {
        match (self, last_seen_seconds) {
            (ProjectState::Waiting, None) => "none yet (they look every 5 s)".to_owned(),
            (_, None) => "none".to_owned(),
            (_, Some(seconds)) if seconds < 120 => format!("none for {seconds} s"),
            (_, Some(seconds)) if seconds < 7200 => format!("none for {} min", seconds / 60),
            (_, Some(seconds)) => format!("none for {} h", seconds / 3600),
        }
    }

    /// What to do about it.
    pub(super) fn advice(self) -> Option<&'static str> {
        match self {
            ProjectState::Served | ProjectState::Removed | ProjectState::Waiting => None,
            ProjectState::Unseen => Some(
                "not served: no worker sees the folder <repos>/<tenant>/<project>. Check with \
                 `archway status` that a worker of the tenant's pool runs, and that the folder is \
                 beneath its --repos; or remove the project with `archway project remove`.",
            ),
            ProjectState::Unmirrored => Some(
                "`archway sync status` says how the mirror is that a project waits for. Workers look for it \
                 every 5 s.",
            ),
            ProjectState::NotTaken => Some(
                "`archway dev` does not serve its folder: its log says why. It tries again when it starts.",
            ),
            ProjectState::FolderGone => Some(
                "its folder is gone: bring the folder back and start `archway dev` again, or remove \
                 the project with `archway project remove`.",
            ),
            ProjectState::NoFolder => Some(
                "it has no folder: purge the project (`archway project remove`, then `purge`) and \
                 add it again with --path.",
            ),
        }
    }
}

/// Whether the worker that reported this still runs, as far as is known.
pub(super) fn is_fresh(mount: &ReportedMount) -> bool {
    mount.seconds_ago < FRESH_SECONDS
}

#[cfg(test)]
mod tests {
    use crate::tenants::ProjectSettings;
    use uuid::Uuid;

    use super::*;

    fn project(age_seconds: u64) -> Project {
        Project {
            id: Uuid::nil(),
            slug: "site".into(),
            settings: ProjectSettings::default(),
            created_at: SystemTime::now() - Duration::from_secs(age_seconds),
            removed_at: None,
        }
    }

    fn seen(seconds_ago: u64) -> [ReportedMount; 1] {
        let (worker, instance) = ("w".to_owned(), String::new());
        [ReportedMount {
            worker,
            instance,
            seconds_ago,
        }]
    }

    #[test]
    fn a_project_is_served_while_a_worker_reports_its_folder() {
        let old = project(3600);
        assert_eq!(
            ProjectState::of(&old, &seen(89), Place::Mounted),
            ProjectState::Served
        );
        assert_eq!(
            ProjectState::of(&old, &seen(90), Place::Mounted),
            ProjectState::Unseen
        );
        assert_eq!(
            ProjectState::of(&old, &[], Place::Mounted),
            ProjectState::Unseen
        );
        assert_eq!(
            ProjectState::of(&project(1), &[], Place::Mounted),
            ProjectState::Waiting
        );
        let removed = Project {
            removed_at: Some(SystemTime::now()),
            ..old
        };
        assert_eq!(
            ProjectState::of(&removed, &seen(1), Place::Mounted),
            ProjectState::Removed
        );
    }

    #[test]
    fn beside_dev_the_folder_decides() {
        let (old, there) = (project(3600), tempfile::tempdir().unwrap());
        let (there, gone) = (there.path(), there.path().join("gone"));
        for (folder, mounts, state) in [
            (Some(there), seen(1).as_slice(), ProjectState::Served),
            (Some(there), &[], ProjectState::NotTaken),
            (Some(gone.as_path()), &seen(1), ProjectState::FolderGone),
            (None, &[], ProjectState::NoFolder),
        ] {
            let of_dev = ProjectState::of(&old, mounts, Place::OfDev(folder));
            assert_eq!(of_dev, state, "{folder:?}");
        }
        let new = ProjectState::of(&project(1), &[], Place::OfDev(Some(there)));
        assert_eq!(new, ProjectState::Waiting);
    }

    #[test]
    fn a_project_waits_for_its_mirror_until_a_worker_sees_it() {
        let of =
            |mounts: &[ReportedMount]| ProjectState::of(&project(3600), mounts, Place::Unmirrored);
        assert_eq!(of(&[]), ProjectState::Unmirrored);
        assert_eq!(of(&seen(1)), ProjectState::Served);
    }

    #[test]
    fn how_long_no_worker_saw_it_is_said_in_a_unit_that_fits() {
        let shown = |seconds| ProjectState::Unseen.without_workers(seconds);
        assert_eq!(shown(None), "none");
        assert_eq!(shown(Some(119)), "none for 119 s");
        assert_eq!(shown(Some(600)), "none for 10 min");
        assert_eq!(shown(Some(7200)), "none for 2 h");
    }
}
