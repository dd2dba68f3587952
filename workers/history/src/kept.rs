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

pub use folder::{CacheFolder, CacheFolderError};

use archway_repo::{Cancel, Key, Repo, RepoPath, Rules, Stopped};

use super::graph::Graph;
use super::ledger::Ledger;
use super::metrics::HistoryMetrics;
use super::path_history::Courses;
use super::reachable::Reach;
use builder::Builder;
use graphs::Graphs;
use ledgers::Ledgers;

/// Maximum number of projects that wait for a build.
const MAX_WAITING: usize = 64;
/// Number of projects whose next build time is remembered, a few hundred bytes each. A forgotten
/// project is due at once.
const MAX_PROJECTS: u64 = 4096;
/// Number of projects whose reachability walks are cached.
const MAX_REACHES: u64 = 16;
/// Size of all path histories, in KiB.
const MAX_COURSES_KIB: u64 = 128 << 10;
/// Unused entries expire after this time.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// Unused graphs and ledgers expire after this time if no folder holds them: it may be days until
/// they are built again.
const UNSAVED_IDLE: Duration = Duration::from_secs(24 * 60 * 60);
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
    reaches: Cache<Key, Reach>,
    courses: Cache<Key, Arc<Courses>>,
    answers: Cache<Address, Answer>,
    metrics: HistoryMetrics,
}

/// Precomputed data about a project's commits.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) graph: Arc<Graph>,
    pub(super) ledger: Arc<Ledger>,
}

/// The caches of one project, for calls under one set of path rules.
pub(crate) struct Kept {
    shared: Arc<Shared>,
    project: Key,
    basis: Basis,
}

/// The conditions under which an answer holds. Under any other, it could differ.
#[derive(Clone, PartialEq)]
struct Basis {
    rules: Arc<Rules>,
    /// Where a shallow clone ended: it may be deepened, while its commits stay the same.
    shallow: Option<Arc<[ObjectId]>>,
}

/// An answer that can be cached.
pub(crate) trait Keepable: Send + Sync + 'static {
    /// The kind of answer: part of the cache key, and a label of metrics.
    const NAME: &'static str;

    /// About how many bytes it holds.
    fn bytes(&self) -> usize;
}

/// Everything that determines an answer, besides the project and its rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    /// The commit at which the answer was computed.
    pub(crate) commit: ObjectId,
    /// The file that the answer is about.
    pub(crate) path: RepoPath,
    /// Other parameters, such as options. Empty if there are none.
    pub(crate) detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Address {
    project: Key,
    kind: &'static str,
    question: Question,
}

#[derive(Clone)]
struct Answer {
    basis: Basis,
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
        let ledgers = Ledgers::new(folder.clone());
        let graphs = Graphs::new(folder);
        let weigh = |_: &Address, answer: &Answer| answer.bytes;
        let kib = |_: &Key, courses: &Arc<Courses>| {
            u32::try_from((courses.bytes() >> 10) + 1).unwrap_or(u32::MAX)
        };
        Ok(Histories(Arc::new(Shared {
            builder: Builder::start(graphs.clone(), ledgers.clone(), metrics.clone())?,
            graphs,
            ledgers,
            reaches: Cache::builder()
                .max_capacity(MAX_REACHES)
                .time_to_idle(IDLE)
                .build(),
            courses: Cache::builder()
                .max_capacity(MAX_COURSES_KIB)
                .weigher(kib)
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(IDLE)
                .build(),
            answers: Cache::builder()
                .max_capacity(ANSWER_BYTES)
                .weigher(weigh)
                .time_to_idle(IDLE)
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
    pub(super) fn kept(
        &self,
        repo: &Repo,
        git: &gix::Repository,
        shallow: Option<Arc<[ObjectId]>>,
    ) -> Kept {
        Kept {
            shared: Arc::clone(&self.0),
            project: repo.key().of_repository(git),
            basis: Basis {
                rules: repo.rules(),
                shallow,
            },
        }
    }
}

/// When unused graphs and ledgers expire.
fn idle(folder: Option<&CacheFolder>) -> Duration {
    folder.map_or(UNSAVED_IDLE, |_| IDLE)
}

/// Whether a graph is complete: nothing is left to build.
fn is_good(graph: &Graph, head: ObjectId) -> bool {
    graph.has_all_filters() && graph.find(&head).is_some()
}

/// Whether a ledger is complete: it never has a commit that its graph lacked.
fn is_whole(ledger: &Ledger, graph: &Graph, head: ObjectId) -> bool {
    ledger.has(&head) && ledger.len() >= graph.len()
}

impl Kept {
    /// The project's graph and ledger; not for a shallow clone. Queues a background build unless
    /// both cover `head` and all its ancestors.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn known(
        &self,
        git: &gix::Repository,
        head: Option<ObjectId>,
        cancel: &Cancel,
    ) -> Result<Known, Stopped> {
        let (shared, project) = (&self.shared, &self.project);
        let graph = shared.graphs.get(project, git, cancel)?;
        let ledger = shared.ledgers.get(project, cancel)?;
        if let Some(head) = head
            && !(is_good(&graph, head) && is_whole(&ledger, &graph, head))
            && shared.graphs.claim(project)
            && !shared.builder.ask(project, git)
        {
            shared.graphs.rest(project, Duration::ZERO);
        }
        Ok(Known { graph, ledger })
    }

    /// The project's reachability walks.
    pub(super) fn reach(&self) -> Reach {
        self.shared
            .reaches
            .get_with_by_ref(&self.project, Reach::default)
    }

    /// The path histories for this graph and ledger. `None` if the ledger has no commits.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn courses(
        &self,
        graph: &Arc<Graph>,
        ledger: &Arc<Ledger>,
        cancel: &Cancel,
    ) -> Result<Option<Arc<Courses>>, Stopped> {
        let held = self.shared.courses.get(&self.project);
        if let Some(held) = held.filter(|held| held.is_of(graph, ledger)) {
            return Ok(Some(held));
        }
        let made = Courses::of(graph, ledger, cancel)?.map(Arc::new);
        if let Some(made) = &made {
            let project = self.project.clone();
            self.shared.courses.insert(project, Arc::clone(made));
        }
        Ok(made)
    }

    /// The cached answer for `key`, if it was computed under the same path rules, on an equally
    /// deep clone.
    pub(crate) fn get<T: Keepable>(&self, question: &Question) -> Option<Arc<T>> {
        let found = self.shared.answers.get(&self.address::<T>(question));
        // Rules are reloaded every few seconds, and usually come out equal.
        let same = found.filter(|found| found.basis == self.basis);
        let value = same.and_then(|found| found.value.downcast().ok());
        self.shared.metrics.looked_up(T::NAME, value.is_some());
        value
    }

    /// Caches an answer.
    pub(crate) fn keep<T: Keepable>(&self, question: &Question, value: Arc<T>) {
        let bytes = value.bytes() + question.path.as_bytes().len() + OVERHEAD;
        let answer = Answer {
            basis: self.basis.clone(),
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            value,
        };
        let address = self.address::<T>(question);
        self.shared.answers.insert(address, answer);
    }

    fn address<T: Keepable>(&self, question: &Question) -> Address {
        Address {
            project: self.project.clone(),
            kind: T::NAME,
            question: question.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::{Sandbox, cancel, git, path};
    use prometheus_client::encoding::text::encode;
    use tokio::time::Instant;

    use super::super::{History, graph, ledger};
    use super::*;

    struct Told(usize);

    impl Keepable for Told {
        const NAME: &'static str = "told";

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

    fn question(repo: &Repo, detail: &str) -> Question {
        Question {
            commit: repo.commit().unwrap(),
            path: path("a"),
            detail: detail.to_owned(),
        }
    }

    fn kept(histories: &Histories, repo: &Repo) -> Kept {
        histories.kept(repo, &repo.git().unwrap(), None)
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
    fn an_answer_is_given_again_under_the_same_rules_only() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let (histories, registry) = counted(None);
        let repo = app.repo();
        let (asked, other) = (question(&repo, ""), question(&repo, "lines 1 to 2"));
        kept(&histories, &repo).keep(&asked, Arc::new(Told(7)));
        // Reloaded rules are another object with equal content.
        let told = kept(&histories, &app.repo()).get::<Told>(&asked);
        assert_eq!(told.map(|told| told.0), Some(7));
        assert!(kept(&histories, &repo).get::<Told>(&other).is_none());
        let closed = Rules::new(&[], &["b".to_owned()], None).unwrap();
        let narrower = kept(&histories, &app.repo_with(closed));
        assert!(narrower.get::<Told>(&asked).is_none());
        let text = text(&registry);
        let line = "history_lookups_total{kind=\"told\",outcome=";
        assert!(text.contains(&format!("{line}\"hit\"}} 1")), "{text}");
        assert!(text.contains(&format!("{line}\"miss\"}} 2")), "{text}");
    }

    #[test]
    fn answers_that_are_larger_than_all_may_be_are_not_kept() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let histories = Histories::new();
        let (repo, bytes) = (app.repo(), usize::try_from(ANSWER_BYTES).unwrap());
        let (kept, asked) = (kept(&histories, &repo), question(&repo, ""));
        kept.keep(&asked, Arc::new(Told(bytes)));
        histories.0.answers.run_pending_tasks();
        assert!(kept.get::<Told>(&asked).is_none());
    }

    #[test]
    fn graph_and_ledger_are_made_in_the_background_and_outlive_the_worker() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let temp = tempfile::tempdir().unwrap();
        let folder = || Some(CacheFolder::open(temp.path(), &[]).unwrap());
        let (histories, _) = counted(folder());
        assert!(has_all(&app, &histories));
        drop(histories);
        let (next, _) = counted(folder());
        let history = History::of(&app.repo(), &next, &cancel()).unwrap();
        assert!(history.graph().has_filters(), "it was saved");
        let head = history.head().unwrap();
        assert!(history.ledger().files(&head).is_some(), "so was the ledger");
        app.file("a", "2").git(&["commit", "-qam", "two"]);
        let history = History::of(&app.repo(), &next, &cancel()).unwrap();
        let head = history.head().unwrap();
        let node = history.node(head).unwrap();
        assert_eq!(node.parents.len(), 1, "what it lacks is read");
    }

    #[test]
    fn what_is_known_of_a_repository_outlives_the_work_trees_that_are_made_of_it() {
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
        assert_ne!(repo.key(), before.key(), "files are another folder's");
        let history = History::of(&repo, &histories, &cancel()).unwrap();
        assert!(history.graph().has_filters(), "it is there at once");
        // A repository in place of another has another key.
        let other = before.key().of_repository(&repo.git().unwrap());
        std::fs::rename(repository.join(".git/objects"), app.host("objects")).unwrap();
        std::fs::create_dir(repository.join(".git/objects")).unwrap();
        assert_ne!(before.key().of_repository(&before.git().unwrap()), other);
    }

    #[test]
    fn a_ledger_that_lacks_a_commit_of_the_graph_is_gone_on_with() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let repository = app.repo().git().unwrap();
        let graph = || {
            let made = graph::build(&repository, &Graph::default(), &cancel());
            Graph::checked(made.unwrap().unwrap().0, &cancel()).unwrap()
        };
        let ledger = |graph: &Graph, before: &Ledger| {
            let made = ledger::build(&repository, graph, before, &cancel());
            Ledger::checked(made.unwrap().unwrap().0, &cancel()).unwrap()
        };
        let first = ledger(&graph(), &Ledger::default());
        let more = ["commit-tree", "-p", "HEAD", "-m", "more", "HEAD^{tree}"];
        app.git(&["branch", "more", &git(&app.root(), &more)]);
        let (head, graph) = (app.repo().commit().unwrap(), graph());
        assert!(first.has(&head) && !is_whole(&first, &graph, head));
        assert!(is_whole(&ledger(&graph, &first), &graph, head));
    }

    #[test]
    fn a_repositorys_own_graph_is_used_as_it_is() {
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
    fn a_head_that_names_a_forged_tag_of_itself_holds_up_nobody() {
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
    fn a_shallow_clone_is_told_without_a_graph() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        app.git(&["commit-graph", "write", "--reachable"]);
        let head = app.repo().commit().unwrap();
        std::fs::write(app.root().join(".git/shallow"), format!("{head}\n")).unwrap();
        let history = History::of(&app.repo(), &Histories::new(), &cancel()).unwrap();
        assert_eq!(history.graph().len(), 0);
    }
}
