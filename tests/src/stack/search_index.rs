//! The search index of a stack's workers: its size, its folder, and whether it is built.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{Harness, Stack};
use crate::git;

/// How long a build may take on a busy machine.
const BUILD_TIME: Duration = Duration::from_secs(240);
/// A word that no file of a test has, and that makes a search look at every file.
const ABSENT: &str = "no_such_word_anywhere";

/// Where the workers keep their search index.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchCache {
    pub(super) bytes: u64,
    on_disk: bool,
}

impl Default for SearchCache {
    fn default() -> SearchCache {
        SearchCache {
            bytes: 64 << 20,
            on_disk: false,
        }
    }
}

impl SearchCache {
    /// The cache of workers with these repositories: a folder beside them.
    pub(super) fn folder(self, repositories: &Path) -> Option<PathBuf> {
        self.on_disk.then(|| repositories.with_file_name("cache"))
    }
}

impl Harness {
    /// The workers keep their search index on disk, and it has at most this many bytes. With 0 they have none:
    /// every search reads the files.
    #[must_use]
    pub fn search_cache(mut self, bytes: u64) -> Harness {
        self.worker.search = SearchCache {
            bytes,
            on_disk: true,
        };
        self
    }
}

impl Stack {
    /// Replaces the folder of a project by a bare clone of another one.
    pub fn make_mirror(&self, tenant: &str, project: &str, mirror: &str) {
        let [from, to] = [project, mirror].map(|project| self.folder(tenant, project));
        fs::remove_dir_all(&to).unwrap();
        let [source, target] = [&from, &to].map(|path| path.to_str().unwrap());
        git(&from, &["clone", "--quiet", "--bare", source, target]);
    }

    /// Searches all projects of these tenants until the index of each project has at least this many of its
    /// files. Each of the tenants has all of these projects. Requires [`Harness::search_cache`].
    pub async fn until_indexed(&self, tenants: &[&str], projects: &[(&str, usize)]) {
        let deadline = Instant::now() + BUILD_TIME;
        loop {
            for tenant in tenants {
                let arguments = json!({ "pattern": ABSENT, "project": "*" });
                let reply = self.client(tenant).call("grep_codebase", arguments).await;
                assert!(!reply.is_error(), "{}", reply.value());
            }
            let lacking: Vec<&str> = projects
                .iter()
                .filter(|(project, files)| self.indexed(project, *files) < tenants.len())
                .map(|(project, _)| *project)
                .collect();
            if lacking.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "not indexed: {lacking:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The number of tenants whose index has at least this many files of their project of this name.
    fn indexed(&self, project: &str, files: usize) -> usize {
        let tenants = entries(&self.repositories.with_file_name("cache").join("search"));
        let indexes = tenants.iter().flat_map(|tenant| entries(tenant));
        let has_files = |index: &PathBuf| {
            let has_segment = entries(index)
                .iter()
                .any(|file| file.extension().is_some_and(|is| is == "segment"));
            let saved = fs::read(index.join(format!("{project}.files")));
            has_segment && saved.is_ok_and(|saved| number_of_files(&saved) >= files)
        };
        indexes.filter(has_files).count()
    }
}

/// The entries of a folder that may not exist yet.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The number of files that an index saved for a project: each begins with its length, after an
/// introduction and the basis, before a sum of four bytes.
fn number_of_files(saved: &[u8]) -> usize {
    let content = saved.len().checked_sub(4).and_then(|end| saved.get(8..end));
    let (mut rest, mut number) = (content.unwrap_or_default(), 0_usize);
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length));
        rest = after.get(length..).unwrap_or_default();
        number += 1;
    }
    // The basis is no file.
    number.saturating_sub(1)
}
