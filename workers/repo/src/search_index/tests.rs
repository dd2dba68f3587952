//! The index through the path of a search: real repositories, real folders, two workers.

mod answers;
mod limits;
mod priority;
mod saved_files;
mod mishaps;
mod replaced;
mod storage;

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use tokio::time::Instant;
use uuid::Uuid;

use super::*;
use crate::search::{Excluded, MatchRange, Query, SearchPattern};
use crate::testing::{Sandbox, cancel, git, repos_at};
use crate::{CacheBytes, Glob, Mounts, Repo, Repos, Rules};

const LIMIT: u64 = 1 << 30;
/// Longer than the rest after a build that failed.
const PATIENCE: Duration = Duration::from_secs(150);

/// A worker with an index.
struct Worker {
    repos: Repos,
    metrics: RepoMetrics,
}

impl Worker {
    fn start(app: &Sandbox, cache: Option<&Path>, bytes: u64) -> Worker {
        let metrics = RepoMetrics::default();
        let config = SearchIndexConfig {
            folder: cache.map(Path::to_owned),
            bytes,
        };
        let repos = Repos::new(
            Mounts::beneath(app.host(".")),
            NonZeroUsize::MIN,
            CacheBytes::default(),
            config,
            metrics.clone(),
        );
        Worker {
            repos: repos.unwrap(),
            metrics,
        }
    }

    fn repo(&self, project: &str) -> Repo {
        let rules = Rules::new(&[], &[], None).unwrap();
        self.repos
            .open("acme", (project, Uuid::nil()), Arc::new(rules))
            .unwrap()
    }

    fn index(&self, repo: &Repo) -> Arc<ProjectIndex> {
        let git = repo.git();
        let key = repo.key().of_index(git.as_ref());
        self.repos.0.search_index.of(&key).unwrap()
    }

    /// The number of files that a search would have to read whatever the pattern is.
    fn unknown(&self, project: &str) -> usize {
        let repo = self.repo(project);
        let (index, pattern) = (self.index(&repo), query("a").pattern);
        let missing = |files| {
            let selection = Selection::of(&index, (project, files), &pattern, &cancel());
            selection.unwrap().missing()
        };
        match &repo.snapshot.bare {
            Some(tree) => {
                let listing = tree.listing(&repo.rules, &cancel()).unwrap();
                missing(&listing.indexed)
            }
            None => {
                let listing = repo.listing(&cancel()).unwrap();
                let work = repo
                    .snapshot
                    .project()
                    .work_tree()
                    .indexed(&listing, |_| None);
                missing(&work.files) + work.unread
            }
        }
    }

    /// The number of files of a mirror that a search of this pattern would not read.
    fn counted(&self, mirror: &str, pattern: &str) -> usize {
        let repo = self.repo(mirror);
        let tree = repo.snapshot.bare.as_ref().unwrap();
        let listing = tree.listing(&repo.rules, &cancel()).unwrap();
        let (index, files) = (self.index(&repo), (mirror, &listing.indexed));
        let selection = Selection::of(&index, files, &query(pattern).pattern, &cancel()).unwrap();
        let positions = 0..listing.listing.entries.len();
        positions
            .filter(|position| selection.known_count(*position).is_some())
            .count()
    }

    /// Searches until a build has indexed all files.
    fn build(&self, project: &str) {
        let give_up = Instant::now() + PATIENCE;
        while self.unknown(project) > 0 {
            search(&self.repo(project), &query("a"));
            assert!(
                Instant::now() < give_up,
                "{} unknown",
                self.unknown(project)
            );
            std::thread::yield_now();
        }
    }
}

fn query(pattern: &str) -> Query {
    Query {
        pattern: SearchPattern::regex(pattern.to_owned(), true),
        glob: None,
        excluded: &Excluded::NONE,
        context: 1,
    }
}

fn search(repo: &Repo, query: &Query) -> String {
    let range = MatchRange::of(0, 50);
    format!("{:?}", repo.search(query, range, &cancel()).unwrap())
}

/// The answers to some patterns.
fn answers(repo: &Repo) -> Vec<String> {
    let patterns = [
        "needle",
        "needle 4242$",
        "[a-z]+ [0-9]{3}$",
        "absent",
        "one|two",
    ];
    patterns
        .map(|pattern| search(repo, &query(pattern)))
        .to_vec()
}

/// The answers of a worker without an index that has just started.
fn scanned(app: &Sandbox, project: &str) -> Vec<String> {
    let scan = repos_at(Mounts::beneath(app.host(".")));
    let rules = Rules::new(&[], &[], None).unwrap();
    answers(
        &scan
            .open("acme", (project, Uuid::nil()), Arc::new(rules))
            .unwrap(),
    )
}

/// Polls until this many builds have ended, well or badly.
fn until_ended(worker: &Worker, builds: u64) {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let (built, failed, _) = worker.metrics.index_counts();
        if built + failed >= builds {
            return;
        }
        assert!(Instant::now() < give_up, "{built} built, {failed} failed");
        std::thread::yield_now();
    }
}

fn mirrored(app: &Sandbox) {
    git(
        &app.host("acme"),
        &["clone", "-q", "--bare", "app", "mirror"],
    );
}

fn segment_files(cache: &Path) -> Vec<PathBuf> {
    let folders = |path: PathBuf| {
        fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let repositories = folders(cache.to_owned()).flat_map(folders);
    let files = repositories.flat_map(folders);
    files
        .filter(|file| file.extension().is_some_and(|is| is == "segment"))
        .collect()
}
