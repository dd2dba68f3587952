//! What a tool may use while it runs one call: who asks, until when, and the doors to data.

mod asked;
mod heads;
mod projects;
mod snapshot;
mod workflow;

use std::sync::Arc;

use archway_architecture::{dependencies::ImportCache, library::Libraries, search::Vectors};
use archway_history::Histories;
use archway_index::meaning::Meaning;
use archway_proto::{
    failure::Failure,
    log::LogLevel,
    pass::Pass,
    v1::{self, call_event::Event},
};
use archway_repo::{Cancel, Repo, Repos, Rules, text};
use archway_store::{
    Access, Accesses, Shelf, Stores, TenantStore,
    memory::{Author, WriteKey},
};
use serde_json::Value;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::{
    blocking::Blocking,
    chat::Chat,
    projects::{Project, Projects},
    workflows::Workflows,
};
pub use snapshot::Snapshot;
pub(crate) use workflow::Keeper;

/// The doors a worker opens once, for all calls.
pub(crate) struct Doors {
    pub(crate) repos: Arc<Repos>,
    pub(crate) histories: Histories,
    pub(crate) projects: Projects,
    pub(crate) stores: Stores,
    pub(crate) meaning: Arc<Meaning>,
    pub(crate) accesses: Accesses,
    /// What files import, as parsed before.
    pub(crate) imports: ImportCache,
    /// The architecture documents of projects, as read before.
    pub(crate) libraries: Libraries,
    /// Vectors of their passages.
    pub(crate) vectors: Vectors,
    /// What sessions work on.
    pub(crate) workflows: Workflows,
    pub(crate) blocking: Blocking,
    /// Asked about decisions, where one is set up.
    pub(crate) chat: Option<Chat>,
    /// What one result may hold, in bytes, of text and of data each.
    pub(crate) max_result_bytes: usize,
}

/// One call, as its tool sees it.
pub struct ToolContext {
    doors: Arc<Doors>,
    pass: Arc<Pass>,
    /// The session it belongs to, if the gateway said so.
    session: Option<Uuid>,
    /// Under which it writes, if it does.
    key: WriteKey,
    /// The tool's.
    weight: u32,
    cancel: Cancel,
    events: mpsc::Sender<v1::CallEvent>,
}

impl ToolContext {
    pub(crate) fn new(
        doors: Arc<Doors>,
        pass: Arc<Pass>,
        key: WriteKey,
        cancel: Cancel,
        events: mpsc::Sender<v1::CallEvent>,
    ) -> Self {
        ToolContext {
            doors,
            pass,
            session: None,
            key,
            weight: 1,
            cancel,
            events,
        }
    }

    /// For a tool that weighs so much: heavy work takes turns.
    #[must_use]
    pub(crate) fn of_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Deadline and cancellation of the call.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// What the result may hold, in bytes, of text and of data each.
    pub fn max_result_bytes(&self) -> usize {
        self.doors.max_result_bytes
    }

    /// What files import, as parsed before.
    pub(crate) fn imports(&self) -> &ImportCache {
        &self.doors.imports
    }

    /// The architecture documents of projects, as read before.
    pub(crate) fn libraries(&self) -> &Libraries {
        &self.doors.libraries
    }

    /// Vectors of their passages.
    pub(crate) fn vectors(&self) -> &Vectors {
        &self.doors.vectors
    }

    /// What is kept of the projects' histories, for [`History::of`](archway_history::History::of).
    pub(crate) fn histories(&self) -> Histories {
        self.doors.histories.clone()
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
            .blocking(move || {
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

    /// Which paths of each project exist for readers, by the operator's rules and by what it says
    /// about itself; by the operator's alone where it can't be opened, and so nothing of it be read.
    pub(crate) async fn rules(
        &self,
        projects: &[Arc<Project>],
    ) -> Result<Vec<Arc<Rules>>, Failure> {
        let repos = Arc::clone(&self.doors.repos);
        let (tenant, projects) = (self.pass.tenant.clone(), projects.to_vec());
        let rules = move || {
            let rules = |project: &Arc<Project>| {
                let operators = Arc::clone(&project.rules);
                let opened = repos.open(&tenant, &project.slug, Arc::clone(&operators));
                opened.map_or(operators, |repo| repo.rules())
            };
            projects.iter().map(rules).collect()
        };
        // Quick, whatever the tool's own work weighs.
        let (blocking, tenant) = (&self.doors.blocking, self.pass.tenant_id);
        blocking.run(tenant, 1, &self.cancel, rules).await
    }

    /// The rows of the caller's tenant.
    pub(crate) fn store(&self) -> TenantStore<'_> {
        self.doors.stores.tenant(self.pass.tenant_id)
    }

    /// Who writes, and under which key it is done once.
    pub(crate) fn author(&self) -> Author<'_> {
        Author {
            principal: &self.pass.principal,
            key: &self.key,
        }
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

    /// Whose call it is.
    pub(crate) fn tenant(&self) -> Uuid {
        self.pass.tenant_id
    }

    /// Where the index of a project stands.
    pub(crate) fn shelf(&self, project: &Project) -> Shelf {
        Shelf {
            tenant: self.pass.tenant_id,
            project: project.id,
        }
    }

    /// Who calls, as rows of what was read have it.
    pub(crate) fn principal(&self) -> &str {
        &self.pass.principal
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

    /// Runs work on a blocking thread, after the turn that a tool of this weight takes. It has to look
    /// at [`ToolContext::cancel`] itself.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (blocking, tenant) = (&self.doors.blocking, self.pass.tenant_id);
        blocking.run(tenant, self.weight, &self.cancel, work).await
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

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, time::Duration};

    use archway_index::config::{IndexConfig, IndexParts};
    use archway_repo::Mounts;
    use archway_store::{StoreConfig, Stores};
    use parking_lot::{Condvar, Mutex};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use tokio::{
        task::JoinHandle,
        time::{Instant, sleep},
    };
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;

    use super::*;
    use crate::{
        metrics::Metrics,
        server::Index,
        tools::{Registry, Reply, Tool},
    };

    /// Until it is open, heavy work stands still.
    static OPEN: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    const PATIENCE: Duration = Duration::from_secs(30);
    /// The tenants whose heavy work began, in order.
    static BEGAN: Mutex<Vec<String>> = Mutex::new(Vec::new());

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    #[derive(Serialize, JsonSchema)]
    struct Done {}

    fn project() -> Project {
        project_of("site")
    }

    fn project_of(slug: &str) -> Project {
        Project {
            id: Uuid::nil(),
            slug: slug.to_owned(),
            name: slug.to_owned(),
            rules: Arc::new(Rules::new(&[], &[], None).unwrap()),
        }
    }

    fn pass(tenant: &str) -> Pass {
        Pass {
            tenant_id: Uuid::from_u128(u128::from(tenant.as_bytes()[0])),
            tenant: tenant.to_owned(),
            principal: "key:test".to_owned(),
            projects: None,
            default_project: None,
            families: None,
            scopes: vec![archway_proto::catalog::Scope::ToolsRead],
            pool: "shared".to_owned(),
        }
    }

    struct Heavy;

    impl Tool for Heavy {
        const NAME: &'static str = "heavy";
        const TITLE: &'static str = "Heavy";
        const DESCRIPTION: &'static str = "Says whose it is and waits at the gate.";
        const FAMILY: &'static str = "test";
        const PER_MINUTE: Option<u32> = None;
        const WEIGHT: u32 = 5;
        const UNTRUSTED: bool = false;
        type Args = Nothing;
        type Output = Done;

        async fn run(cx: &ToolContext, _args: Nothing) -> Result<Reply<Done>, Failure> {
            let tenant = cx.pass.tenant.clone();
            let work = move |_: &Repo, _: &Cancel| {
                BEGAN.lock().push(tenant.clone());
                let mut open = OPEN.0.lock();
                OPEN.1.wait_while_for(&mut open, |open| !*open, PATIENCE);
                Ok(Done {})
            };
            let done = cx.read(&project(), work).await?;
            Ok(Reply::new(done.value))
        }
    }

    struct Light;

    impl Tool for Light {
        const NAME: &'static str = "light";
        const TITLE: &'static str = "Light";
        const DESCRIPTION: &'static str = "Reads nothing.";
        const FAMILY: &'static str = "test";
        const PER_MINUTE: Option<u32> = None;
        const UNTRUSTED: bool = false;
        type Args = Nothing;
        type Output = Done;

        async fn run(cx: &ToolContext, _args: Nothing) -> Result<Reply<Done>, Failure> {
            let done = cx.read(&project(), |_, _| Ok(Done {})).await?;
            Ok(Reply::new(done.value))
        }
    }

    /// A worker with two turns for each tenant and four places, and both tools.
    struct Bench {
        registry: Arc<Registry>,
        doors: Arc<Doors>,
        metrics: Metrics,
        mounts: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Bench {
            let folder = tempfile::tempdir().unwrap();
            for tenant in ["loud", "calm"] {
                std::fs::create_dir_all(folder.path().join(tenant).join("site")).unwrap();
            }
            let (turns, places) = (NonZeroUsize::new(2).unwrap(), NonZeroUsize::new(4).unwrap());
            let mounts = Mounts::beneath(folder.path().to_owned());
            let store = StoreConfig {
                url: "postgres://nobody@127.0.0.1:1/none".into(),
                max_connections: 1,
            };
            let stores = Stores::connect(&store).unwrap();
            let metrics = Metrics::new();
            let dropped = metrics.accesses_dropped();
            let (accesses, _nobody_records) =
                Accesses::new(stores.clone(), CancellationToken::new(), dropped);
            let config = IndexConfig::default();
            let parts = IndexParts::read(&config).unwrap();
            let doors = Doors {
                meaning: Arc::new(Index::open(&config, &stores, parts, &metrics.index()).meaning()),
                repos: Arc::new(Repos::new(mounts, turns, 0).unwrap()),
                histories: Histories::start(None, metrics.history()).unwrap(),
                projects: Projects::new(stores.clone()),
                workflows: Workflows::new(stores.clone(), crate::workflows::PATIENCE),
                stores,
                accesses,
                imports: ImportCache::new(),
                libraries: Libraries::new(),
                vectors: Vectors::new(),
                blocking: Blocking::new(places, turns, &metrics),
                chat: None,
                max_result_bytes: 1 << 10,
            };
            let registry = Registry::default().with::<Heavy>().unwrap();
            Bench {
                registry: Arc::new(registry.with::<Light>().unwrap()),
                doors: Arc::new(doors),
                metrics,
                mounts: folder,
            }
        }

        fn call(&self, tenant: &str, tool: &'static str) -> JoinHandle<Result<Value, Failure>> {
            let cx = self.context(pass(tenant));
            let registry = Arc::clone(&self.registry);
            tokio::spawn(async move { registry.call(cx, tool, serde_json::json!({})).await })
        }

        fn context(&self, pass: Pass) -> ToolContext {
            let deadline = Instant::now() + PATIENCE;
            let cancel = Cancel::new(deadline, CancellationToken::new());
            let (events, _nobody_reads) = mpsc::channel(1);
            let key = WriteKey::new(None, Uuid::nil());
            ToolContext::new(Arc::clone(&self.doors), Arc::new(pass), key, cancel, events)
        }

        /// Waits until so many wait for a turn and so many work.
        async fn stands_at(&self, waiting: usize, began: usize) {
            let line = format!("archway_worker_calls_waiting{{of=\"turn\"}} {waiting}\n");
            let last = Instant::now() + PATIENCE;
            while !self.metrics.text().unwrap().contains(&line) || BEGAN.lock().len() != began {
                assert!(Instant::now() < last, "{}", self.metrics.text().unwrap());
                sleep(Duration::from_millis(2)).await;
            }
        }
    }

    #[tokio::test]
    async fn linked_are_the_projects_that_it_names_and_the_caller_may_read() {
        let bench = Bench::new();
        let folder = bench.mounts.path().join("calm/site");
        let links = "linked_projects = ['web', 'hidden', 'nowhere', 'site', 'api', 'web']";
        std::fs::write(folder.join(".archway.toml"), links).unwrap();
        let mut pass = pass("calm");
        let all = ["api", "hidden", "other", "site", "web"].map(project_of);
        let projects = &bench.doors.projects;
        projects.learn(pass.tenant_id, Vec::from(all)).await;
        let slugs = async |pass: &Pass, of: &str| {
            let cx = bench.context(pass.clone());
            let linked = cx.linked(&project_of(of)).await.unwrap();
            linked
                .iter()
                .map(|project| project.slug.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(slugs(&pass, "site").await, ["api", "hidden", "web"]);
        pass.projects = Some(["site", "api", "other", "web"].map(str::to_owned).to_vec());
        assert_eq!(slugs(&pass, "site").await, ["api", "web"]);
        pass.projects = Some(vec!["site".to_owned()]);
        assert_eq!(slugs(&pass, "site").await, [""; 0]);
        pass.projects = None;
        std::fs::remove_file(folder.join(".archway.toml")).unwrap();
        assert_eq!(slugs(&pass, "site").await, [""; 0], "it links to none");
    }

    #[tokio::test]
    async fn thirty_heavy_calls_of_one_tenant_hold_up_neither_anothers_nor_light_ones() {
        let bench = Bench::new();
        let mut calls: Vec<_> = (0..30).map(|_| bench.call("loud", "heavy")).collect();
        bench.stands_at(28, 2).await;
        calls.push(bench.call("calm", "heavy"));
        // It began while the first two still work.
        bench.stands_at(28, 3).await;
        for tenant in ["loud", "calm"] {
            bench.call(tenant, "light").await.unwrap().unwrap();
        }
        *OPEN.0.lock() = true;
        OPEN.1.notify_all();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        let began = BEGAN.lock();
        assert_eq!(began.get(2).map(String::as_str), Some("calm"), "{began:?}");
        assert_eq!(began.len(), 31);
    }
}
