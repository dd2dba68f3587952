//! Reads of repositories, on blocking threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_proto::fault::Fault;
use archway_repo::{Cancel, Repo, RepoError, Repos, Rules, may_pass_when_opened_anew};
use archway_store::MirrorState;
use uuid::Uuid;

use super::snapshot::moment;
use super::{Snapshot, ToolContext};
use crate::blocking::stopped_unexpectedly;
use crate::projects::Project;

const WAIT: &str = "try again after the seconds in `retry_after_seconds`";
/// Bounds of the wait that a failure names, in seconds.
const LEAST_WAIT: i64 = 5;
const LONGEST_WAIT: i64 = 3600;

impl ToolContext {
    /// Runs `read` on a snapshot of `project`, on a blocking thread. If HEAD moved meanwhile, runs
    /// it once more on the new state.
    pub async fn read<T: Send + 'static>(
        &self,
        project: &Project,
        read: impl Fn(&Repo, &Cancel) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<Snapshot<T>, Failure> {
        let (source, cancel) = (self.source(project), self.cancel.clone());
        let snapshot = self.blocking(move || source.read(&read, &cancel)).await??;
        self.record_read(project, &snapshot.repo);
        Ok(snapshot)
    }

    /// [`ToolContext::read`] of several projects, one after the other on one blocking thread. Their
    /// results are in their order; `read` gets those of the projects before.
    ///
    /// # Errors
    /// If no thread became free in time.
    pub(crate) async fn read_each<T: Send + 'static>(
        &self,
        projects: &[Arc<Project>],
        read: impl Fn(&Repo, &Cancel, &[Result<Snapshot<T>, Failure>]) -> Result<T, Failure>
        + Send
        + Sync
        + 'static,
    ) -> Result<Vec<Result<Snapshot<T>, Failure>>, Failure> {
        let sources: Vec<_> = projects.iter().map(|it| self.source(it)).collect();
        let cancel = self.cancel.clone();
        let read = move || {
            let mut found = Vec::with_capacity(sources.len());
            for source in &sources {
                let read = |repo: &Repo, cancel: &Cancel| read(repo, cancel, &found);
                // A panic in one project is no failure of the others.
                let read = catch_unwind(AssertUnwindSafe(|| source.read(read, &cancel)));
                found.push(read.unwrap_or_else(|_panic| Err(stopped_unexpectedly())));
            }
            found
        };
        let found = self.blocking(read).await?;
        for (project, found) in projects.iter().zip(&found) {
            if let Ok(snapshot) = found {
                self.record_read(project, &snapshot.repo);
            }
        }
        Ok(found)
    }

    fn source(&self, project: &Project) -> Source {
        Source {
            repos: Arc::clone(&self.shared.repos),
            tenant: self.pass.tenant.clone(),
            project: project.slug.clone(),
            id: project.id,
            rules: Arc::clone(&project.rules),
            mirror: project.mirror.clone(),
        }
    }

    /// Records that the project was used, and has its status refreshed if that is due.
    fn record_read(&self, project: &Project, repo: &Repo) {
        self.refresh_status_later(repo);
        let key = self.project_key(project);
        self.shared.index.signals().used(key, repo.commit());
    }

    /// Finds out after the answer whether the work tree is dirty, so that no call waits for it.
    fn refresh_status_later(&self, repo: &Repo) {
        if repo.claim_status() {
            let repo = repo.clone();
            drop(tokio::task::spawn_blocking(move || repo.refresh_status()));
        }
    }
}

/// A project and how it is opened.
struct Source {
    repos: Arc<Repos>,
    tenant: String,
    project: String,
    id: Uuid,
    rules: Arc<Rules>,
    mirror: Option<MirrorState>,
}

impl Source {
    fn open(&self) -> Result<Repo, Failure> {
        let rules = Arc::clone(&self.rules);
        let opened = self
            .repos
            .open(&self.tenant, (&self.project, self.id), rules);
        opened.map_err(|error| match (&self.mirror, &error) {
            (Some(mirror), RepoError::NotMounted | RepoError::Absent { .. }) => {
                not_mirrored(mirror)
            }
            _ => error.into(),
        })
    }

    fn snapshot<T>(&self, value: T, repo: Repo, moved: bool) -> Snapshot<T> {
        Snapshot {
            value,
            repo,
            moved,
            synced_at: self.mirror.as_ref().and_then(|mirror| mirror.fetched_at),
        }
    }

    /// Reads, once more if HEAD moved meanwhile: the move may have caused an error, too.
    fn read<T>(
        &self,
        read: impl Fn(&Repo, &Cancel) -> Result<T, Failure>,
        cancel: &Cancel,
    ) -> Result<Snapshot<T>, Failure> {
        let (first, repo) = self.read_state(&read, cancel)?;
        if !repo.moved() {
            return Ok(self.snapshot(first?, repo, false));
        }
        let (second, repo) = self.read_state(&read, cancel)?;
        let moved = repo.moved();
        Ok(self.snapshot(second?, repo, moved))
    }

    /// Reads the state that HEAD names now, once more if its packs were replaced meanwhile.
    fn read_state<T>(
        &self,
        read: impl Fn(&Repo, &Cancel) -> Result<T, Failure>,
        cancel: &Cancel,
    ) -> Result<(Result<T, Failure>, Repo), Failure> {
        let repo = self.open()?;
        match read(&repo, cancel) {
            Err(failure) if may_pass_when_opened_anew(&failure) => {
                repo.close_git();
                let repo = self.open()?;
                Ok((read(&repo, cancel), repo))
            }
            done => Ok((done, repo)),
        }
    }
}

/// The failure of a project whose first clone has not ended.
fn not_mirrored(mirror: &MirrorState) -> Failure {
    let (message, suggestion) = match (mirror.state.as_str(), mirror.percent) {
        ("new" | "ok" | "behind", _) => ("the repository is not cloned yet".to_owned(), WAIT),
        ("cloning", None) => ("the repository is being cloned".to_owned(), WAIT),
        ("cloning", Some(percent)) => {
            (format!("the repository is being cloned: {percent} %"), WAIT)
        }
        ("backing_off", _) => ("the repository's host does not answer".to_owned(), WAIT),
        (state, _) => (
            format!("the repository cannot be cloned: {state}"),
            "ask the operator, who sees the reason by `archway sync status`",
        ),
    };
    Failure::new(Fault::Unavailable, message, suggestion)
        .detail("state", mirror.state.as_str())
        .detail("since", moment(mirror.since))
        .detail(
            "retry_after_seconds",
            mirror.next_in.clamp(LEAST_WAIT, LONGEST_WAIT),
        )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::{Path, PathBuf};

    use archway_repo::testing::{Sandbox, cancel, git, path};

    use super::*;

    /// The bare repository `acme/app` with two packs. Returns the files of the one that has the content of `old.txt`,
    /// but neither HEAD's commit nor its tree.
    fn two_packs() -> (Sandbox, Vec<PathBuf>) {
        let app = Sandbox::new();
        app.file("old.txt", "old").committed();
        std::fs::rename(app.root(), app.host("acme/source")).unwrap();
        let clone = ["clone", "-q", "--bare", "source", "app"];
        git(&app.host("acme"), &clone);
        app.git(&["repack", "-adq"]);
        let entries = std::fs::read_dir(app.root().join("objects/pack")).unwrap();
        let old = entries.map(|entry| entry.unwrap().path()).collect();
        app.file("../source/new.txt", "new");
        let source = app.host("acme/source");
        git(&source, &["add", "-A"]);
        git(&source, &["commit", "-qm", "two"]);
        let as_pack = ["-c", "fetch.unpackLimit=1", "fetch", "-q"];
        app.git(&[&as_pack[..], &["../source", "main:main"]].concat());
        (app, old)
    }

    /// Moves files to another folder.
    fn move_all(files: &[PathBuf], folder: &Path) {
        for file in files {
            std::fs::rename(file, folder.join(file.file_name().unwrap())).unwrap();
        }
    }

    fn old_text(repo: &Repo) -> Result<Vec<u8>, Failure> {
        let text = repo.open(&path("old.txt"))?.read_at_most(10);
        Ok(text.unwrap().unwrap())
    }

    #[test]
    fn a_read_whose_pack_was_removed_is_done_once_more_with_the_new_one() {
        let (app, old) = two_packs();
        let aside = app.host("aside");
        std::fs::create_dir(&aside).unwrap();
        let source = Source {
            repos: Arc::new(app.repos.clone()),
            tenant: "acme".to_owned(),
            project: "app".to_owned(),
            id: Uuid::nil(),
            rules: Arc::new(Rules::new(&[], &[], None).unwrap()),
            mirror: None,
        };
        let reads = Cell::new(0);
        let read = |repo: &Repo, _: &Cancel| {
            reads.set(reads.get() + 1);
            if reads.get() > 1 {
                return old_text(repo);
            }
            // Between the time when git's folder was read and now, its packs were combined.
            move_all(&old, &aside);
            let failed = old_text(repo);
            for file in &old {
                let moved = aside.join(file.file_name().unwrap());
                move_all(&[moved], file.parent().unwrap());
            }
            app.git(&["repack", "-adq"]);
            assert!(old.iter().all(|file| !file.exists()));
            failed
        };
        let done = source.read(read, &cancel()).unwrap();
        assert_eq!((done.value.as_slice(), reads.get()), (&b"old"[..], 2));
    }

    fn failure(state: &str, percent: Option<i16>, next_in: i64) -> Failure {
        not_mirrored(&MirrorState {
            state: state.to_owned(),
            since: 1_767_794_400,
            fetched_at: None,
            changed_at: None,
            percent,
            next_in,
        })
    }

    #[test]
    fn a_project_never_cloned_says_how_far_its_clone_is() {
        let cloning = "the repository is being cloned";
        for (state, percent, message, is_for_agent) in [
            ("new", None, "the repository is not cloned yet", true),
            ("cloning", None, cloning, true),
            ("cloning", Some(43), &*format!("{cloning}: 43 %"), true),
            (
                "backing_off",
                Some(43),
                "the repository's host does not answer",
                true,
            ),
            (
                "no_space",
                None,
                "the repository cannot be cloned: no_space",
                false,
            ),
        ] {
            let failure = failure(state, percent, 30);
            assert_eq!(failure.code, Fault::Unavailable);
            assert_eq!(failure.message, message);
            assert_eq!(failure.suggestion == WAIT, is_for_agent, "{state}");
            assert_eq!(failure.details["state"], state);
            assert_eq!(failure.details["since"], "2026-01-07T14:00:00Z");
        }
    }

    #[test]
    fn a_wait_for_a_clone_is_of_seconds_to_an_hour() {
        for (next_in, wait) in [(0, 5), (30, 30), (6 * 3600, 3600)] {
            let failure = failure("cloning", None, next_in);
            assert_eq!(failure.details["retry_after_seconds"], wait);
        }
    }
}
