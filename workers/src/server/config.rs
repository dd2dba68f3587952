//! The options of a worker.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use archway_index::config::IndexConfig;
use archway_proto::pool;
use archway_repo::{CacheBytes, Mounts, RepoError, Repos, SearchIndexConfig, metrics::RepoMetrics};
use archway_store::StoreConfig;

use super::{CacheFolder, CacheFolderError};
use crate::{chat::ChatConfig, workflows};

const MOST_BLOCKING_CALLS: NonZeroUsize = NonZeroUsize::new(400).unwrap();

/// The options of a worker.
#[derive(Clone, Debug, clap::Args)]
pub struct WorkerConfig {
    /// The pool this worker serves.
    #[arg(
        long,
        env = "ARCHWAY_POOL",
        value_name = "NAME",
        default_value = "shared",
        value_parser = pool::checked
    )]
    pub pool: String,
    /// Search threads, and searches of one tenant at once (but at least 2). 0 means one per core.
    #[arg(
        long,
        env = "ARCHWAY_SEARCH_THREADS",
        value_name = "N",
        default_value_t = 0
    )]
    pub search_threads: usize,
    /// Size of the search index of all repositories in bytes, with the compressed text of every
    /// file. The least recently used ones are removed. 0: every search reads every file. Without
    /// --cache the index is in memory, at most 64 MiB.
    #[arg(long, env = "ARCHWAY_SEARCH_CACHE_BYTES", value_name = "BYTES", default_value_t = 2 << 30)]
    pub search_cache_bytes: u64,
    /// Bytes of file contents cached in memory between searches, for all projects together.
    #[arg(long, env = "ARCHWAY_CONTENT_CACHE_BYTES", value_name = "BYTES", default_value_t = 64 << 20)]
    pub content_cache_bytes: usize,
    /// Memory of opened projects (git handles and listings), in bytes. The least recently used ones
    /// are closed to stay below it, and to use at most half of the open files that the system allows.
    #[arg(long, env = "ARCHWAY_PROJECT_CACHE_BYTES", value_name = "BYTES", default_value_t = 256 << 20)]
    pub project_cache_bytes: usize,
    /// Calls that may block on files at once (1 to 400). One tenant may hold three quarters of
    /// them. Waiting calls are served round robin over tenants.
    #[arg(
        long,
        env = "ARCHWAY_BLOCKING_CALLS",
        value_name = "N",
        default_value = "64",
        value_parser = blocking_calls
    )]
    pub blocking_calls: NonZeroUsize,
    /// Maximum size of one result in bytes, for text and for data separately.
    #[arg(long, env = "ARCHWAY_MAX_RESULT_BYTES", value_name = "BYTES", default_value_t = 64 * 1024)]
    pub max_result_bytes: usize,
    /// Folder outside the repositories for data that is expensive to compute: the search index,
    /// commit-graphs, and ledgers of the files that each commit changed. The worker creates private
    /// folders in it: one of at most 2 GiB for histories, and one for the search index. Without it
    /// everything is computed again after a restart.
    #[arg(long, env = "ARCHWAY_CACHE_DIR", value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// How long a call waits for its session's workflow. This is a field and no option: only tests,
    /// which run on busy machines, need a longer wait.
    #[arg(skip = WorkerConfig::WORKFLOW_TIMEOUT)]
    pub workflow_timeout: Duration,
    /// The index of `context_search`.
    #[command(flatten)]
    pub index: IndexConfig,
    /// The chat model that may correct the verdicts of rules about decisions.
    #[command(flatten)]
    pub chat: ChatConfig,
    /// The database.
    #[command(flatten)]
    pub store: StoreConfig,
}

impl WorkerConfig {
    /// The production value of `workflow_timeout`.
    pub const WORKFLOW_TIMEOUT: Duration = workflows::TIMEOUT;

    /// The worker's own cache folder, created if it is missing. Call it before the process is
    /// confined, and allow the worker to use that folder.
    ///
    /// # Errors
    /// If the folder is inside a mount, or can't be created.
    pub fn cache_folder(&self, mounts: &Mounts) -> Result<Option<CacheFolder>, CacheFolderError> {
        let open = |named: &PathBuf| CacheFolder::open(named, &mounts.folders());
        self.cache.as_ref().map(open).transpose()
    }

    /// The repositories at `mounts`, with the threads that search them and their index.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(super) fn repos(
        &self,
        mounts: &Mounts,
        cache: Option<&CacheFolder>,
        metrics: RepoMetrics,
    ) -> Result<Repos, RepoError> {
        let caches = CacheBytes {
            contents: self.content_cache_bytes,
            projects: self.project_cache_bytes,
        };
        let index = SearchIndexConfig {
            folder: cache.map(|cache| cache.search().to_owned()),
            bytes: self.search_cache_bytes,
        };
        Repos::new(
            mounts.clone(),
            self.search_threads(),
            caches,
            index,
            metrics,
        )
    }

    /// The number of search threads: one per core unless configured.
    pub(super) fn search_threads(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.search_threads)
            .or_else(|| std::thread::available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN)
    }
}

/// Each of these calls holds one of Tokio's 512 threads. The other threads resolve names and write
/// rows. With more than 400, calls would wait for Tokio, which is not fair between tenants.
fn blocking_calls(text: &str) -> Result<NonZeroUsize, &'static str> {
    let calls = text
        .parse()
        .ok()
        .filter(|calls| *calls <= MOST_BLOCKING_CALLS);
    calls.ok_or("must be 1 to 400; for more calls at once, run more workers")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        config: WorkerConfig,
    }

    fn parse(option: &str, value: &str) -> Result<WorkerConfig, clap::Error> {
        let line = [
            "worker",
            option,
            value,
            "--database-url",
            "postgres://nowhere",
        ];
        CommandLine::try_parse_from(line).map(|line| line.config)
    }

    #[test]
    fn an_invalid_pool_name_is_rejected_with_the_allowed_characters() {
        assert_eq!(parse("--pool", "gold-2").unwrap().pool, "gold-2");
        for name in ["", "Gold", "gold 2"] {
            let refused = parse("--pool", name).unwrap_err().to_string();
            assert!(refused.contains("a-z, 0-9"), "{refused}");
        }
    }

    #[test]
    fn blocking_calls_are_limited_to_1_through_400() {
        let parse = |calls| parse("--blocking-calls", calls);
        for (calls, taken) in [("1", 1), ("400", 400)] {
            assert_eq!(parse(calls).unwrap().blocking_calls.get(), taken);
        }
        for calls in ["0", "401", "many", "99999999999999999999999"] {
            let refused = parse(calls).unwrap_err().to_string();
            assert!(refused.contains("1 to 400"), "{refused}");
        }
    }
}
