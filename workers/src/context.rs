//! What a tool may use while it runs one call: who asks, until when, and the doors to data.

use std::sync::Arc;

use archway_proto::{
    failure::Failure,
    fault::Fault,
    log::LogLevel,
    pass::Pass,
    v1::{self, call_event::Event},
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    blocking::Blocking,
    projects::{Project, Projects},
    repo::{Cancel, Head, Repo, RepoError, Repos},
    store::{Access, Accesses},
    text,
};

/// The doors a worker opens once, for all calls.
pub(crate) struct Doors {
    pub(crate) repos: Arc<Repos>,
    pub(crate) projects: Projects,
    pub(crate) accesses: Accesses,
    pub(crate) blocking: Blocking,
    /// What one result may hold, in bytes, of text and of data each.
    pub(crate) max_result_bytes: usize,
}

/// One call, as its tool sees it.
pub struct ToolContext {
    doors: Arc<Doors>,
    pass: Arc<Pass>,
    cancel: Cancel,
    events: mpsc::Sender<v1::CallEvent>,
}

/// What was read from a repository, and what it stands on.
pub struct Snapshot<T> {
    /// The answer.
    pub value: T,
    /// The repository it was read from, pinned.
    pub repo: Repo,
    /// HEAD moved twice while the call ran: the answer may mix two states.
    pub moved: bool,
}

impl ToolContext {
    pub(crate) fn new(
        doors: Arc<Doors>,
        pass: Arc<Pass>,
        cancel: Cancel,
        events: mpsc::Sender<v1::CallEvent>,
    ) -> Self {
        ToolContext {
            doors,
            pass,
            cancel,
            events,
        }
    }

    /// Deadline and cancellation of the call.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// What the result may hold, in bytes, of text and of data each.
    pub fn max_result_bytes(&self) -> usize {
        self.doors.max_result_bytes
    }

    /// The project a call means: the one it names, else the caller's default, else the only one
    /// the caller may read.
    pub async fn project(&self, asked: Option<&str>) -> Result<Arc<Project>, Failure> {
        let readable = self.projects().await?;
        if let Some(slug) = asked {
            return readable
                .into_iter()
                .find(|project| project.slug == slug)
                .ok_or_else(|| {
                    Failure::new(
                        Fault::ProjectNotFound,
                        format!(
                            "there is no project {:?} that you may read",
                            text::shown(slug)
                        ),
                        "call list_projects for the slugs you may use",
                    )
                });
        }
        if let Some(default) = self.default_project(&readable) {
            return Ok(default);
        }
        let slugs: Vec<&str> = readable
            .iter()
            .map(|project| project.slug.as_str())
            .collect();
        Err(Failure::new(
            Fault::ProjectRequired,
            "this key can read several projects and has no default",
            "name one in the argument `project`",
        )
        .detail("projects", slugs))
    }

    /// The projects the caller may read, by slug.
    pub async fn projects(&self) -> Result<Vec<Arc<Project>>, Failure> {
        let all = self.doors.projects.of(&self.pass).await?;
        Ok(all
            .iter()
            .filter(|project| self.pass.may_read(&project.slug))
            .cloned()
            .collect())
    }

    /// Which of `readable` a call without `project` means, if that is clear.
    pub fn default_project(&self, readable: &[Arc<Project>]) -> Option<Arc<Project>> {
        match (&self.pass.default_project, readable) {
            (Some(slug), _) => readable
                .iter()
                .find(|project| &project.slug == slug)
                .cloned(),
            (None, [only]) => Some(Arc::clone(only)),
            (None, _) => None,
        }
    }

    /// Runs `read` on a snapshot of `project`, on a blocking thread; once more from the new state
    /// if HEAD moved meanwhile.
    pub async fn read<T: Send + 'static>(
        &self,
        project: &Project,
        read: impl Fn(&Repo, &Cancel) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<Snapshot<T>, Failure> {
        let repos = Arc::clone(&self.doors.repos);
        let (tenant, slug) = (self.pass.tenant.clone(), project.slug.clone());
        let (rules, cancel) = (Arc::clone(&project.rules), self.cancel.clone());
        let snapshot = self
            .doors
            .blocking
            .run(&self.cancel, move || {
                let pin = || repos.open(&tenant, &slug, Arc::clone(&rules));
                let repo = pin()?;
                // An error counts as an answer: it may be the move's doing.
                let first = read(&repo, &cancel);
                if !repo.moved() {
                    return Ok::<_, Failure>(Snapshot {
                        value: first?,
                        repo,
                        moved: false,
                    });
                }
                let repo = pin()?;
                let value = read(&repo, &cancel)?;
                let moved = repo.moved();
                Ok(Snapshot { value, repo, moved })
            })
            .await??;
        self.watch_status(&snapshot.repo);
        Ok(snapshot)
    }

    /// Where HEAD of each project stands; `None` without git, or where it is not mounted.
    pub async fn heads(&self, projects: &[Arc<Project>]) -> Result<Vec<Option<Head>>, Failure> {
        let repos = Arc::clone(&self.doors.repos);
        let (tenant, projects) = (self.pass.tenant.clone(), projects.to_vec());
        let cancel = self.cancel.clone();
        let heads = move || {
            let head = |project: &Arc<Project>| {
                cancel.check().map_err(RepoError::Stopped)?;
                match repos.head(&tenant, &project.slug) {
                    Err(RepoError::NotMounted) => Ok(None),
                    head => Ok(head?),
                }
            };
            projects.iter().map(head).collect()
        };
        self.doors.blocking.run(&self.cancel, heads).await?
    }

    /// Remembers, off the path, that the caller read a file.
    pub fn record_access(&self, project: &Project, path: &str) {
        self.doors.accesses.record(Access {
            tenant_id: self.pass.tenant_id,
            project_id: project.id,
            principal: self.pass.principal.clone(),
            path: path.to_owned(),
        });
    }

    /// Tells the caller how far the call is. Dropped when the caller reads slower than we write.
    pub fn progress(&self, done: f64, total: f64, message: impl Into<String>) {
        let progress = v1::Progress {
            progress: done,
            total: Some(total),
            message: Some(message.into()),
        };
        self.say(Event::Progress(progress));
    }

    /// Tells the caller something that is neither progress nor part of the answer, if it asked to
    /// hear of this level. The gateway passes on up to 64 KiB of JSON; text that others wrote is
    /// escaped here. Dropped when the caller reads slower than we write.
    pub fn log(&self, level: LogLevel, mut data: Value) {
        text::escape_json(&mut data);
        self.say(Event::Log(v1::Log {
            level: level.name().to_owned(),
            logger: None,
            data: data.to_string().into(),
        }));
    }

    fn say(&self, event: Event) {
        // A full queue means a slow reader, which must not hold up the call.
        let event = v1::CallEvent { event: Some(event) };
        self.events.try_send(event).ok();
    }

    /// Whether the work tree is dirty is found out after the answer, never before it.
    fn watch_status(&self, repo: &Repo) {
        if repo.claim_status() {
            let repo = repo.clone();
            drop(tokio::task::spawn_blocking(move || repo.refresh_status()));
        }
    }
}
