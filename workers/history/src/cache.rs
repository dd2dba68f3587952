//! Caches of histories between calls: each project's graph and ledger, and answers that took long.
//!
//! Caches never change an answer. Answers are keyed by commit, so they never go stale. They are
//! reused only under the same path rules and on an equally deep clone.

// In the order in which a graph is looked up.
mod graphs;
mod folder;
mod ledgers;
mod builder;

use std::any::Any;
use std::io;
use std::sync::Arc;

use gix::ObjectId;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
#[cfg(test)]
use prometheus_client::registry::Registry;
use tokio::time::Duration;

use archway_repo::{CacheFolder, Cancel, Key, Repo, RepoPath, Rules, Stopped};

use super::graph::Graph;
use super::ledger::Ledger;
use super::metrics::HistoryMetrics;
use super::path_history::PathHistories;
use super::reachability::SharedReachability;
use builder::Builder;
use folder::HistoryFolder;
use graphs::Graphs;
use ledgers::Ledgers;

/// Maximum number of projects that wait for a build.
const MAX_WAITING: usize = 64;
/// Number of projects whose next build time is remembered, a few hundred bytes each. A forgotten
/// project is due at once.
const MAX_PROJECTS: u64 = 4096;
/// Number of projects whose reachability walks are cached.
const MAX_REACHABILITY: u64 = 16;
/// Size of all path histories, in KiB.
const MAX_PATH_HISTORY_KIB: u64 = 128 << 10;
/// Unused entries expire after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Unused graphs and ledgers expire after this time if no folder holds them: it may be days until
/// they are built again.
const UNSAVED_IDLE_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// Size of all cached answers, in bytes.
const ANSWER_BYTES: u64 = 64 << 20;
/// Cost of a cached answer beyond its own bytes.
const OVERHEAD: usize = 256;

/// This worker's caches of all projects' histories.
#[derive(Clone)]
pub struct Histories(Arc<Shared>);

struct Shared {
    graphs: Graphs,
    ledgers: Ledgers,
    builder: Builder,
    reachability: Cache<Key, SharedReachability>,
    path_histories: Cache<Key, Arc<PathHistories>>,
    answers: Cache<CacheKey, CachedAnswer>,
    metrics: HistoryMetrics,
}

/// Precomputed data about a project's commits.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    pub(super) graph: Arc<Graph>,
    pub(super) ledger: Arc<Ledger>,
}

/// The caches of one project, for calls under one set of path rules.
pub(crate) struct ProjectCache {
    shared: Arc<Shared>,
    project: Key,
    conditions: Conditions,
}

/// The conditions under which an answer holds. Under any other, it could differ.
#[derive(Clone, PartialEq)]
struct Conditions {
    rules: Arc<Rules>,
    /// Where a shallow clone ended: it may be deepened, while its commits stay the same.
    shallow: Option<Arc<[ObjectId]>>,
}

/// An answer that can be cached.
pub(crate) trait Cacheable: Send + Sync + 'static {
    /// The kind of answer: part of the cache key, and a label of metrics.
    const NAME: &'static str;

    /// About how many bytes it holds.
    fn bytes(&self) -> usize;
}

/// Everything that determines an answer, besides the project and its rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AnswerKey {
    /// The commit at which the answer was computed.
    pub(crate) commit: ObjectId,
    /// The file that the answer is about.
    pub(crate) path: RepoPath,
    /// Other parameters, such as options. Empty if there are none.
    pub(crate) detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CacheKey {
    project: Key,
    kind: &'static str,
    key: AnswerKey,
}

#[derive(Clone)]
struct CachedAnswer {
    conditions: Conditions,
    bytes: u32,
    value: Arc<dyn Any + Send + Sync>,
}

impl Histories {
    /// Starts with empty caches, and with the files that an earlier worker saved in `folder`.
    /// Spawns the builder thread, confined as the calling one.
    ///
    /// # Errors
    /// If the thread can't be started.
    pub fn start(folder: Option<CacheFolder>, metrics: HistoryMetrics) -> io::Result<Histories> {
        let folder = folder.map(|cache| HistoryFolder::at(cache.history()));
        let ledgers = Ledgers::new(folder.clone());
        let graphs = Graphs::new(folder);
        let weigh = |_: &CacheKey, answer: &CachedAnswer| answer.bytes;
        let kib = |_: &Key, path_histories: &Arc<PathHistories>| {
            u32::try_from((path_histories.bytes() >> 10) + 1).unwrap_or(u32::MAX)
        };
        Ok(Histories(Arc::new(Shared {
            builder: Builder::start(graphs.clone(), ledgers.clone(), metrics.clone())?,
            graphs,
            ledgers,
            reachability: Cache::builder()
                .max_capacity(MAX_REACHABILITY)
                .time_to_idle(IDLE_TIMEOUT)
                .build(),
            path_histories: Cache::builder()
                .max_capacity(MAX_PATH_HISTORY_KIB)
                .weigher(kib)
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(IDLE_TIMEOUT)
                .build(),
            answers: Cache::builder()
                .max_capacity(ANSWER_BYTES)
                .weigher(weigh)
                .time_to_idle(IDLE_TIMEOUT)
                .build(),
            metrics,
        })))
    }

    /// Caches in memory only.
    #[cfg(test)]
    pub(crate) fn new() -> Histories {
        Histories::start(None, HistoryMetrics::registered(&mut Registry::default())).unwrap()
    }

    /// The caches for calls on a project, whose repository is `git` and whose clone ends at the
    /// commits in `shallow`.
    pub(super) fn project_cache(
        &self,
        repo: &Repo,
        git: &gix::Repository,
        shallow: Option<Arc<[ObjectId]>>,
    ) -> ProjectCache {
        ProjectCache {
            shared: Arc::clone(&self.0),
            project: repo.key().of_repository(git),
            conditions: Conditions {
                rules: repo.rules(),
                shallow,
            },
        }
    }
}

/// When unused graphs and ledgers expire.
fn idle_timeout(folder: Option<&HistoryFolder>) -> Duration {
    folder.map_or(UNSAVED_IDLE_TIMEOUT, |_| IDLE_TIMEOUT)
}

/// Whether a graph is complete: nothing is left to build.
fn is_complete_graph(graph: &Graph, head: ObjectId) -> bool {
    graph.has_all_filters() && graph.find(&head).is_some()
}

/// Whether a ledger is complete: it never has a commit that its graph lacked.
fn is_complete_ledger(ledger: &Ledger, graph: &Graph, head: ObjectId) -> bool {
    ledger.has(&head) && ledger.len() >= graph.len()
}

impl ProjectCache {
    /// The project's graph and ledger; not for a shallow clone. Queues a background build unless
    /// both cover `head` and all its ancestors.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn indexes(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        cancel: &Cancel,
    ) -> Result<Indexes, Stopped> {
        let (shared, project) = (&self.shared, &self.project);
        let graph = shared.graphs.get(project, git, cancel)?;
        let ledger = shared.ledgers.get(project, cancel)?;
        if let Some(head) = head
            && !(is_complete_graph(&graph, head) && is_complete_ledger(&ledger, &graph, head))
            && shared.graphs.claim(project)
            && !shared.builder.enqueue(project, git)
        {
            shared.graphs.schedule_next(project, Duration::ZERO);
        }
        Ok(Indexes { graph, ledger })
    }

    /// The project's reachability walks.
    pub(super) fn reachability(&self) -> SharedReachability {
        self.shared
            .reachability
            .get_with_by_ref(&self.project, SharedReachability::default)
    }

    /// The path histories for this graph and ledger. `None` if the ledger has no commits.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn path_histories(
        &self,
        graph: &Arc<Graph>,
        ledger: &Arc<Ledger>,
        cancel: &Cancel,
    ) -> Result<Option<Arc<PathHistories>>, Stopped> {
        let cached = self.shared.path_histories.get(&self.project);
        if let Some(cached) = cached.filter(|cached| cached.is_of(graph, ledger)) {
            return Ok(Some(cached));
        }
        let built = PathHistories::of(graph, ledger, cancel)?.map(Arc::new);
        if let Some(built) = &built {
            let project = self.project.clone();
            self.shared
                .path_histories
                .insert(project, Arc::clone(built));
        }
        Ok(built)
    }

    /// The cached answer for `key`, if it was computed under the same path rules, on an equally
    /// deep clone.
    pub(crate) fn get<T: Cacheable>(&self, key: &AnswerKey) -> Option<Arc<T>> {
        let found = self.shared.answers.get(&self.cache_key::<T>(key));
        // Rules are reloaded every few seconds, and usually come out equal.
        let same = found.filter(|found| found.conditions == self.conditions);
        let value = same.and_then(|found| found.value.downcast().ok());
        self.shared.metrics.record_lookup(T::NAME, value.is_some());
        value
    }

    /// Caches an answer.
    pub(crate) fn insert<T: Cacheable>(&self, key: &AnswerKey, value: Arc<T>) {
        let bytes = value.bytes() + key.path.as_bytes().len() + OVERHEAD;
        let answer = CachedAnswer {
            conditions: self.conditions.clone(),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            value,
        };
        let cache_key = self.cache_key::<T>(key);
        self.shared.answers.insert(cache_key, answer);
    }

    fn cache_key<T: Cacheable>(&self, key: &AnswerKey) -> CacheKey {
        CacheKey {
            project: self.project.clone(),
            kind: T::NAME,
            key: key.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::{Sandbox, cancel, git, path};
    use prometheus_client::encoding::text::encode;
    use tokio::time::Instant;

    use super::super::{History, fixtures, graph, ledger};
    use super::*;

    struct TestAnswer(usize);

    impl Cacheable for TestAnswer {
        const NAME: &'static str = "test";

        fn bytes(&self) -> usize {
            self.0
        }
    }

    /// Histories and the registry of their metrics.
    fn counted(folder: Option<CacheFolder>) -> (Histories, Registry) {
        let mut registry = Registry::default();
        let metrics = HistoryMetrics::registered(&mut registry);
        (Histories::start(folder, metrics).unwrap(), registry)
    }

    fn text(registry: &Registry) -> String {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        text
    }

    fn key(repo: &Repo, detail: &str) -> AnswerKey {
        AnswerKey {
            commit: repo.commit().unwrap(),
            path: path("a"),
            detail: detail.to_owned(),
        }
    }

    fn project_cache(histories: &Histories, repo: &Repo) -> ProjectCache {
        histories.project_cache(repo, &repo.git().unwrap(), None)
    }

    /// Waits until there is a graph with filters, and a ledger.
    fn has_all(app: &Sandbox, histories: &Histories) -> bool {
        let last = Instant::now() + Duration::from_secs(30);
        while Instant::now() < last {
            let history = History::of(&app.repo(), histories, &cancel()).unwrap();
            let head = history.head().unwrap();
            if history.graph().has_filters() && history.ledger().has(&head) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }

    #[test]
    fn answers_are_reused_only_under_equal_rules() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let (histories, registry) = counted(None);
        let repo = app.repo();
        let (key, other) = (key(&repo, ""), key(&repo, "lines 1 to 2"));
        project_cache(&histories, &repo).insert(&key, Arc::new(TestAnswer(7)));
        // Reloaded rules are another object with equal content.
        let cached = project_cache(&histories, &app.repo()).get::<TestAnswer>(&key);
        assert_eq!(cached.map(|cached| cached.0), Some(7));
        assert!(
            project_cache(&histories, &repo)
                .get::<TestAnswer>(&other)
                .is_none()
        );
        let closed = Rules::new(&[], &["b".to_owned()], None).unwrap();
        let narrower = project_cache(&histories, &app.repo_with(closed));
        assert!(narrower.get::<TestAnswer>(&key).is_none());
        let text = text(&registry);
        let line = "history_lookups_total{kind=\"test\",outcome=";
        assert!(text.contains(&format!("{line}\"hit\"}} 1")), "{text}");
        assert!(text.contains(&format!("{line}\"miss\"}} 2")), "{text}");
    }

    #[test]
    fn answers_larger_than_the_cache_are_not_cached() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let histories = Histories::new();
        let (repo, bytes) = (app.repo(), usize::try_from(ANSWER_BYTES).unwrap());
        let (project_cache, key) = (project_cache(&histories, &repo), key(&repo, ""));
        project_cache.insert(&key, Arc::new(TestAnswer(bytes)));
        histories.0.answers.run_pending_tasks();
        assert!(project_cache.get::<TestAnswer>(&key).is_none());
    }

    #[test]
    fn graph_and_ledger_are_built_in_the_background_and_saved() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let temp = tempfile::tempdir().unwrap();
        let folder = || Some(CacheFolder::open(temp.path(), &[]).unwrap());
        let (histories, _) = counted(folder());
        assert!(has_all(&app, &histories));
        drop(histories);
        let (next, _) = counted(folder());
        let history = History::of(&app.repo(), &next, &cancel()).unwrap();
        assert!(history.graph().has_filters(), "the graph was saved");
        let head = history.head().unwrap();
        assert!(
            history.ledger().files(&head).is_some(),
            "the ledger was saved"
        );
        app.file("a", "2").git(&["commit", "-qam", "two"]);
        let history = History::of(&app.repo(), &next, &cancel()).unwrap();
        let head = history.head().unwrap();
        let node = history.node(head).unwrap();
        assert_eq!(node.parents.len(), 1, "commits outside the graph are read");
    }

    #[test]
    fn graphs_outlive_the_work_trees_of_their_repository() {
        let app = Sandbox::new();
        let repository = app.host("acme/app/repository");
        std::fs::create_dir(&repository).unwrap();
        for command in ["init -q -b main", "commit -q --allow-empty -m one"] {
            git(&repository, &command.split(' ').collect::<Vec<_>>());
        }
        let (histories, current) = (Histories::new(), app.host("acme/app/current"));
        let show = |name: &str| {
            git(
                &repository,
                &["worktree", "add", "-q", "--detach", &format!("../{name}")],
            );
            std::fs::remove_file(&current).ok();
            std::os::unix::fs::symlink(name, &current).unwrap();
        };
        show("one");
        assert!(has_all(&app, &histories));
        let before = app.repo();
        show("two");
        let repo = app.repo();
        assert_ne!(repo.key(), before.key(), "work trees have different keys");
        let history = History::of(&repo, &histories, &cancel()).unwrap();
        assert!(history.graph().has_filters(), "the graph is reused");
        // A repository in place of another has another key.
        let other = before.key().of_repository(&repo.git().unwrap());
        std::fs::rename(repository.join(".git/objects"), app.host("objects")).unwrap();
        std::fs::create_dir(repository.join(".git/objects")).unwrap();
        assert_ne!(before.key().of_repository(&before.git().unwrap()), other);
    }

    #[test]
    fn a_ledger_is_extended_until_it_covers_the_graph() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let repository = app.repo().git().unwrap();
        let graph = || {
            let built = graph::build(&repository, &Graph::default(), &cancel());
            Graph::checked(built.unwrap().unwrap().0, &cancel()).unwrap()
        };
        let ledger = |graph: &Graph, before: &Ledger| {
            let built = ledger::build(&repository, graph, before, &cancel());
            Ledger::checked(built.unwrap().unwrap().0, &cancel()).unwrap()
        };
        let first = ledger(&graph(), &Ledger::default());
        let more = ["commit-tree", "-p", "HEAD", "-m", "more", "HEAD^{tree}"];
        app.git(&["branch", "more", &git(&app.root(), &more)]);
        let (head, graph) = (app.repo().commit().unwrap(), graph());
        assert!(first.has(&head) && !is_complete_ledger(&first, &graph, head));
        assert!(is_complete_ledger(&ledger(&graph, &first), &graph, head));
    }

    #[test]
    fn a_repositorys_own_complete_graph_is_used() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        app.git(&["commit-graph", "write", "--reachable", "--changed-paths"]);
        let (histories, registry) = counted(None);
        let history = History::of(&app.repo(), &histories, &cancel()).unwrap();
        assert!(history.graph().has_filters());
        drop((history, histories));
        assert!(!text(&registry).contains("part=\"graph\""));
    }

    #[test]
    fn a_head_at_a_forged_self_referencing_tag_does_not_loop() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let tag = app.forge_own_tag();
        app.file(".git/refs/heads/main", format!("{tag}\n"));
        app.file(".git/refs/heads/link", "ref: refs/heads/main\n");
        for head in [&*tag, "ref: refs/heads/main", "ref: refs/heads/link"] {
            app.file(".git/HEAD", format!("{head}\n"));
            let (repo, histories) = (app.repo(), Histories::new());
            assert!(History::of(&repo, &histories, &cancel()).is_ok());
            repo.refresh_status();
            let said = repo.head().unwrap();
            assert_eq!((said.commit, said.dirty), (tag.clone(), None));
        }
    }

    #[test]
    fn shallow_clones_use_no_graph() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        app.git(&["commit-graph", "write", "--reachable"]);
        let head = app.repo().commit().unwrap();
        std::fs::write(app.root().join(".git/shallow"), format!("{head}\n")).unwrap();
        let history = fixtures::history(&app);
        assert_eq!(history.graph().len(), 0);
    }
}
