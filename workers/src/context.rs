//! The context of one tool call: the caller, the deadline, and access to data.

mod heads;
mod projects;
mod read;
mod snapshot;
mod workflow;

use std::sync::Arc;

use archway_architecture::{dependencies::ImportCache, library::Libraries, search::Vectors};
use archway_history::Histories;
use archway_index::search::IndexSearch;
use archway_proto::{
    failure::Failure,
    log::LogLevel,
    pass::Pass,
    v1::{self, call_event::Event},
};
use archway_repo::{Cancel, Repos, Rules, text};
use archway_store::{
    Access, AccessRecorder, ProjectKey, Stores, TenantStore,
    memory::{Author, IdempotencyKey},
};
use archway_symbols::SymbolCache;
use serde_json::Value;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::{
    access::{Families, ProjectAccess},
    blocking::{Blocking, Load},
    chat::Chat,
    projects::Project,
    workflows::Workflows,
};
pub(crate) use projects::{GivenTools, naming_a_project};
pub use snapshot::Snapshot;
pub(crate) use snapshot::moment;
pub(crate) use workflow::WorkflowRecorder;

/// The state that all calls share, created once per worker.
pub(crate) struct SharedState {
    pub(crate) repos: Arc<Repos>,
    pub(crate) histories: Histories,
    /// The projects of tenants, as far as callers may use them.
    pub(crate) access: ProjectAccess,
    pub(crate) stores: Stores,
    pub(crate) index: Arc<IndexSearch>,
    pub(crate) accesses: AccessRecorder,
    /// The imports of files, cached after parsing.
    pub(crate) imports: ImportCache,
    /// The symbols of files, cached after parsing.
    pub(crate) symbols: SymbolCache,
    /// The architecture documents of projects, cached after reading.
    pub(crate) libraries: Libraries,
    /// The vectors of their passages.
    pub(crate) vectors: Vectors,
    /// The workflows of sessions.
    pub(crate) workflows: Workflows,
    pub(crate) blocking: Blocking,
    /// The chat model that judges decisions, if one is configured.
    pub(crate) chat: Option<Chat>,
    /// Maximum size of one result in bytes, for text and for data separately.
    pub(crate) max_result_bytes: usize,
}

/// The context of one call.
pub struct ToolContext {
    shared: Arc<SharedState>,
    pass: Arc<Pass>,
    /// The session of the call, if the gateway named one.
    session: Option<Uuid>,
    /// The idempotency key of its writes.
    key: IdempotencyKey,
    /// The load of the tool's work on files.
    load: Load,
    /// The tool's family; none for other methods.
    families: Families,
    /// The size of the result that the caller asked for, in bytes.
    requested_bytes: usize,
    cancel: Cancel,
    events: mpsc::Sender<v1::CallEvent>,
}

impl ToolContext {
    pub(crate) fn new(
        shared: Arc<SharedState>,
        pass: Arc<Pass>,
        key: IdempotencyKey,
        cancel: Cancel,
        events: mpsc::Sender<v1::CallEvent>,
    ) -> Self {
        ToolContext {
            shared,
            pass,
            session: None,
            key,
            load: Load::Light,
            families: &[],
            requested_bytes: usize::MAX,
            cancel,
            events,
        }
    }

    /// Sets the load of the tool's work on files. Heavy work is queued fairly over tenants.
    #[must_use]
    pub(crate) fn with_load(mut self, load: Load) -> Self {
        self.load = load;
        self
    }

    /// Sets the family of the tool: only projects that the caller may use by it are there.
    #[must_use]
    pub(crate) fn with_families(mut self, families: Families) -> Self {
        self.families = families;
        self
    }

    /// Sets the size of the result that the caller asked for.
    #[must_use]
    pub(crate) fn with_requested_bytes(mut self, bytes: usize) -> Self {
        self.requested_bytes = bytes;
        self
    }

    /// The deadline and cancellation of the call.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Maximum size of the result in bytes, for text and for data separately.
    pub fn max_result_bytes(&self) -> usize {
        self.shared.max_result_bytes.min(self.requested_bytes)
    }

    /// The imports of files, cached after parsing.
    pub(crate) fn imports(&self) -> &ImportCache {
        &self.shared.imports
    }

    /// The symbols of files, cached after parsing.
    pub(crate) fn symbols(&self) -> &SymbolCache {
        &self.shared.symbols
    }

    /// The architecture documents of projects, cached after reading.
    pub(crate) fn libraries(&self) -> &Libraries {
        &self.shared.libraries
    }

    /// The vectors of their passages.
    pub(crate) fn vectors(&self) -> &Vectors {
        &self.shared.vectors
    }

    /// The caches of the projects' histories, for [`History::of`](archway_history::History::of).
    pub(crate) fn histories(&self) -> Histories {
        self.shared.histories.clone()
    }

    /// The path rules of each project: the operator's and those of its own manifest. A project that
    /// can't be opened has the operator's rules only, as nothing of it can be read.
    pub(crate) async fn rules(
        &self,
        projects: &[Arc<Project>],
    ) -> Result<Vec<Arc<Rules>>, Failure> {
        let repos = Arc::clone(&self.shared.repos);
        let (tenant, projects) = (self.pass.tenant.clone(), projects.to_vec());
        let rules = move || {
            let rules = |project: &Arc<Project>| {
                let operators = Arc::clone(&project.rules);
                let opened =
                    repos.open(&tenant, (&project.slug, project.id), Arc::clone(&operators));
                opened.map_or(operators, |repo| repo.rules())
            };
            projects.iter().map(rules).collect()
        };
        // This is quick, whatever the tool's own load is.
        let (blocking, tenant) = (&self.shared.blocking, self.pass.tenant_id);
        blocking.run(tenant, Load::Light, &self.cancel, rules).await
    }

    /// The rows of the caller's tenant.
    pub(crate) fn store(&self) -> TenantStore<'_> {
        self.shared.stores.tenant(self.pass.tenant_id)
    }

    /// The principal that writes, and the idempotency key of the write.
    pub(crate) fn author(&self) -> Author<'_> {
        Author {
            principal: &self.pass.principal,
            key: &self.key,
        }
    }

    /// Records, without delaying the call, that the caller read a file.
    pub fn record_access(&self, project: &Project, path: &str) {
        self.shared.accesses.record(Access {
            tenant_id: self.pass.tenant_id,
            project_id: project.id,
            principal: self.pass.principal.clone(),
            path: path.to_owned(),
        });
    }

    /// The tenant of the call.
    pub(crate) fn tenant(&self) -> Uuid {
        self.pass.tenant_id
    }

    /// The tenant and project that identify a project's index.
    pub(crate) fn project_key(&self, project: &Project) -> ProjectKey {
        ProjectKey {
            tenant: self.pass.tenant_id,
            project: project.id,
        }
    }

    /// Signals the indexer that the project's memory has changed.
    pub(crate) fn project_changed(&self, project: &Project) {
        let project_key = self.project_key(project);
        self.shared.index.signals().changed(project_key);
    }

    /// The principal, as rows of file accesses name it.
    pub(crate) fn principal(&self) -> &str {
        &self.pass.principal
    }

    /// Reports progress to the caller. The event is dropped if the caller reads too slowly.
    pub fn progress(&self, done: f64, total: f64, message: impl Into<String>) {
        let progress = v1::Progress {
            progress: done,
            total: Some(total),
            message: Some(message.into()),
        };
        self.send(Event::Progress(progress));
    }

    /// Sends a log message to the caller, if the caller subscribed to this level. The gateway
    /// forwards up to 64 KiB of JSON. Text that others wrote is escaped here. The message is
    /// dropped if the caller reads too slowly.
    pub fn log(&self, level: LogLevel, mut data: Value) {
        text::escape_json(&mut data);
        self.send(Event::Log(v1::Log {
            level: level.name().to_owned(),
            logger: None,
            data: data.to_string().into(),
        }));
    }

    /// Runs `work` on a blocking thread, after waiting for a permit for this tool's load. `work`
    /// must check [`ToolContext::cancel`] itself.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (blocking, tenant) = (&self.shared.blocking, self.pass.tenant_id);
        blocking.run(tenant, self.load, &self.cancel, work).await
    }

    fn send(&self, event: Event) {
        // A full queue means a slow reader, which must not delay the call.
        let event = v1::CallEvent {
            event: Some(event),
            ..v1::CallEvent::default()
        };
        self.events.try_send(event).ok();
    }

    /// The index of `context_search`.
    pub(crate) fn index(&self) -> &IndexSearch {
        &self.shared.index
    }

    /// The chat model, if one is configured.
    pub(crate) fn chat(&self) -> Option<&Chat> {
        self.shared.chat.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, time::Duration};

    use archway_index::config::{IndexConfig, IndexParts};
    use archway_repo::{CacheBytes, Mounts, Repo, SearchIndexConfig};
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

    /// Heavy work waits until it is true.
    static OPEN: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    const WAIT_LIMIT: Duration = Duration::from_secs(30);
    /// The tenants whose heavy work began, in order.
    static BEGAN: Mutex<Vec<String>> = Mutex::new(Vec::new());

    #[derive(Deserialize, JsonSchema)]
    struct NoArgs {}

    #[derive(Serialize, JsonSchema)]
    struct NoOutput {}

    fn project() -> Project {
        Project::with_slug("site")
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
            access: None,
            hosted: None,
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
        const UNTRUSTED: bool = false;
        type Args = NoArgs;
        type Output = NoOutput;

        fn load(_: &Self::Args) -> Load {
            Load::Heavy
        }

        async fn run(cx: &ToolContext, _args: NoArgs) -> Result<Reply<NoOutput>, Failure> {
            let tenant = cx.pass.tenant.clone();
            let work = move |_: &Repo, _: &Cancel| {
                BEGAN.lock().push(tenant.clone());
                let mut open = OPEN.0.lock();
                OPEN.1.wait_while_for(&mut open, |open| !*open, WAIT_LIMIT);
                Ok(NoOutput {})
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
        type Args = NoArgs;
        type Output = NoOutput;

        async fn run(cx: &ToolContext, _args: NoArgs) -> Result<Reply<NoOutput>, Failure> {
            let done = cx.read(&project(), |_, _| Ok(NoOutput {})).await?;
            Ok(Reply::new(done.value))
        }
    }

    /// A worker with two permits for heavy work per tenant, four threads, and both tools.
    struct WorkerFixture {
        registry: Arc<Registry>,
        shared: Arc<SharedState>,
        metrics: Metrics,
        mounts: tempfile::TempDir,
    }

    impl WorkerFixture {
        fn new() -> WorkerFixture {
            let folder = tempfile::tempdir().unwrap();
            for tenant in ["loud", "calm"] {
                std::fs::create_dir_all(folder.path().join(tenant).join("site")).unwrap();
            }
            let (permits, threads) = (NonZeroUsize::new(2).unwrap(), NonZeroUsize::new(4).unwrap());
            let mounts = Mounts::beneath(folder.path().to_owned());
            let store = StoreConfig {
                url: "postgres://nobody@127.0.0.1:1/none".into(),
                max_connections: 1,
            };
            let stores = Stores::connect(&store).unwrap();
            let metrics = Metrics::new();
            let dropped = metrics.accesses_dropped();
            let (accesses, _recorder) =
                AccessRecorder::new(stores.clone(), CancellationToken::new(), dropped);
            let config = IndexConfig::default();
            let parts = IndexParts::read(&config).unwrap();
            let shared = SharedState {
                index: Arc::new(Index::open(&config, &stores, parts, &metrics.index()).search()),
                repos: Arc::new(
                    Repos::new(
                        mounts,
                        permits,
                        CacheBytes::default(),
                        SearchIndexConfig::default(),
                        metrics.repo(),
                    )
                    .unwrap(),
                ),
                histories: Histories::start(None, metrics.history()).unwrap(),
                access: ProjectAccess::new(stores.clone()),
                workflows: Workflows::new(stores.clone(), crate::workflows::TIMEOUT),
                stores,
                accesses,
                imports: ImportCache::new(),
                symbols: SymbolCache::new(),
                libraries: Libraries::new(),
                vectors: Vectors::new(),
                blocking: Blocking::new(threads, permits, &metrics),
                chat: None,
                max_result_bytes: 1 << 10,
            };
            let registry = Registry::default().with::<Heavy>().unwrap();
            WorkerFixture {
                registry: Arc::new(registry.with::<Light>().unwrap()),
                shared: Arc::new(shared),
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
            let deadline = Instant::now() + WAIT_LIMIT;
            let cancel = Cancel::new(deadline, CancellationToken::new());
            let (events, _reader) = mpsc::channel(1);
            let key = IdempotencyKey::new(None, Uuid::nil());
            ToolContext::new(
                Arc::clone(&self.shared),
                Arc::new(pass),
                key,
                cancel,
                events,
            )
        }

        /// Waits until so many calls wait for a permit and so many began.
        async fn wait_until(&self, waiting: usize, began: usize) {
            let line = format!("archway_worker_calls_waiting{{of=\"turn\"}} {waiting}\n");
            let last = Instant::now() + WAIT_LIMIT;
            while !self.metrics.text().unwrap().contains(&line) || BEGAN.lock().len() != began {
                assert!(Instant::now() < last, "{}", self.metrics.text().unwrap());
                sleep(Duration::from_millis(2)).await;
            }
        }
    }

    #[tokio::test]
    async fn links_lead_to_named_projects_that_the_caller_may_read() {
        let worker = WorkerFixture::new();
        let folder = worker.mounts.path().join("calm/site");
        let links = "linked_projects = ['web', 'hidden', 'nowhere', 'site', 'api', 'web']";
        std::fs::write(folder.join(".archway.toml"), links).unwrap();
        let mut pass = pass("calm");
        let all = ["api", "hidden", "other", "site", "web"].map(Project::with_slug);
        let projects = worker.shared.access.projects();
        projects.insert(pass.tenant_id, Vec::from(all)).await;
        let slugs = async |pass: &Pass, of: &str| {
            let cx = worker.context(pass.clone());
            let linked = cx.linked(&Project::with_slug(of)).await.unwrap();
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
        assert_eq!(slugs(&pass, "site").await, [""; 0], "no manifest, no links");
    }

    #[tokio::test]
    async fn heavy_calls_of_one_tenant_delay_neither_others_nor_light_calls() {
        let worker = WorkerFixture::new();
        let mut calls: Vec<_> = (0..30).map(|_| worker.call("loud", "heavy")).collect();
        worker.wait_until(28, 2).await;
        calls.push(worker.call("calm", "heavy"));
        // Its work begins while the first two still run.
        worker.wait_until(28, 3).await;
        for tenant in ["loud", "calm"] {
            worker.call(tenant, "light").await.unwrap().unwrap();
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
