//! What steers a worker, as its operator says it.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use archway_index::config::IndexConfig;
use archway_proto::pool;
use archway_repo::Mounts;
use archway_store::StoreConfig;

use super::{CacheFolder, CacheFolderError};
use crate::{chat::ChatConfig, workflows};

const MOST_BLOCKING_CALLS: NonZeroUsize = NonZeroUsize::new(400).unwrap();

/// What steers a worker.
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
    /// Threads that search, and searches of one tenant at once (but at least 2); 0 for one per core.
    #[arg(
        long,
        env = "ARCHWAY_SEARCH_THREADS",
        value_name = "N",
        default_value_t = 0
    )]
    pub search_threads: usize,
    /// File contents kept between searches, in bytes, by all projects together.
    #[arg(long, env = "ARCHWAY_SEARCH_CACHE_BYTES", value_name = "BYTES", default_value_t = 64 << 20)]
    pub search_cache_bytes: usize,
    /// Calls that may block on files at once (1 to 400), three quarters of them one tenant's; the rest
    /// take turns by tenant.
    #[arg(
        long,
        env = "ARCHWAY_BLOCKING_CALLS",
        value_name = "N",
        default_value = "64",
        value_parser = blocking_calls
    )]
    pub blocking_calls: NonZeroUsize,
    /// What one result may hold, in bytes, of text and of data each.
    #[arg(long, env = "ARCHWAY_MAX_RESULT_BYTES", value_name = "BYTES", default_value_t = 64 * 1024)]
    pub max_result_bytes: usize,
    /// Folder for what is costly to make again (commit-graphs, and ledgers of the files
    /// that each commit changed), outside the repositories: the worker makes a private one in it, of
    /// 2 GiB at most. Without it all is made again after a restart.
    #[arg(long, env = "ARCHWAY_CACHE_DIR", value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// How long a call waits for what its session works on. No option: a busy machine needs more of it, and
    /// only tests prefer waiting.
    #[arg(skip = WorkerConfig::WORKFLOW_PATIENCE)]
    pub workflow_patience: Duration,
    /// What is found by meaning.
    #[command(flatten)]
    pub index: IndexConfig,
    /// What may correct what rules say of decisions.
    #[command(flatten)]
    pub chat: ChatConfig,
    /// Where its rows are.
    #[command(flatten)]
    pub store: StoreConfig,
}

impl WorkerConfig {
    /// What operators have.
    pub const WORKFLOW_PATIENCE: Duration = workflows::PATIENCE;

    /// The worker's own folder, made where it is missing. Call it before the process is confined,
    /// and leave the worker that folder.
    ///
    /// # Errors
    /// If it lies in a mount, or can't be made.
    pub fn cache_folder(&self, mounts: &Mounts) -> Result<Option<CacheFolder>, CacheFolderError> {
        let open = |named: &PathBuf| CacheFolder::open(named, &mounts.folders());
        self.cache.as_ref().map(open).transpose()
    }

    /// How many threads search: one per core unless it was said.
    pub(super) fn search_threads(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.search_threads)
            .or_else(|| std::thread::available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN)
    }
}

/// Each of them holds a thread, of which Tokio has 512, while others look up names and write rows:
/// with more, calls would wait where no turns are taken.
fn blocking_calls(text: &str) -> Result<NonZeroUsize, &'static str> {
    let calls = text
        .parse()
        .ok()
        .filter(|calls| *calls <= MOST_BLOCKING_CALLS);
    calls.ok_or("a worker takes 1 to 400 of them: for more calls at once, run more workers")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
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
        Line::try_parse_from(line).map(|line| line.config)
    }

    #[test]
    fn a_pool_that_no_gateway_could_route_to_is_refused_with_what_is_allowed() {
        assert_eq!(parse("--pool", "gold-2").unwrap().pool, "gold-2");
        for name in ["", "Gold", "gold 2"] {
            let refused = parse("--pool", name).unwrap_err().to_string();
            assert!(refused.contains("a-z, 0-9"), "{refused}");
        }
    }

    #[test]
    fn a_worker_takes_no_more_blocking_calls_than_it_has_threads_for() {
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
