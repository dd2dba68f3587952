//! The private folder where graphs and ledgers outlive the worker: building them for a large
//! repository takes minutes, reading them takes seconds.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use archway_repo::{Cancel, Key, Stopped};
use uuid::Uuid;

use super::super::graph::{GraphError, MAX_BYTES, read_file};

/// Size of all files, in bytes.
const MAX_TOTAL: u64 = 2 << 30;
/// Unfinished files are removed after this time.
const MAX_DRAFT_AGE: Duration = Duration::from_secs(3600);
const DRAFT: &str = "new";

/// The folder of graphs and ledgers.
#[derive(Clone, Debug)]
pub(super) struct HistoryFolder {
    path: PathBuf,
}

/// The files that are saved for a project.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Graph,
    Ledger,
}

impl HistoryFolder {
    /// The folder at `path`.
    pub(super) fn at(path: &Path) -> HistoryFolder {
        HistoryFolder {
            path: path.to_owned(),
        }
    }

    /// Loads a saved part of a project. `None` if it is missing or `parse` rejects it.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn load<T>(
        &self,
        project: &Key,
        part: Part,
        parse: impl FnOnce(Vec<u8>) -> Result<T, GraphError>,
        cancel: &Cancel,
    ) -> Result<Option<T>, Stopped> {
        let path = self.file_path(project, part);
        let file = OpenOptions::new().read(true).open(&path);
        let content = file.map_err(GraphError::Io);
        let content = content.and_then(|file| read_file(file, MAX_BYTES, cancel));
        match content.and_then(parse) {
            Ok(parsed) => return Ok(Some(parsed)),
            Err(GraphError::Stopped(stopped)) => return Err(stopped),
            Err(GraphError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(GraphError::Io(error)) => {
                tracing::warn!(%error, ?part, "a cached graph or ledger could not be read");
            }
            Err(error @ (GraphError::Malformed(_) | GraphError::TooLarge)) => {
                tracing::warn!(%error, ?part, "a cached graph or ledger is damaged and will be rebuilt");
                fs::remove_file(&path).ok();
            }
        }
        Ok(None)
    }

    /// Saves a part of a project, replacing the previous one. Evicts the oldest files of others.
    pub(super) fn save(&self, project: &Key, part: Part, file: &[u8]) -> io::Result<()> {
        let file_path = self.file_path(project, part);
        self.evict(&file_path, file.len() as u64)?;
        // Unique names: in containers every worker is process 1.
        let draft = self.path.join(Uuid::new_v4().to_string());
        let draft = draft.with_extension(DRAFT);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = options
            .open(&draft)
            .and_then(|mut open| open.write_all(file))
            .and_then(|()| fs::rename(&draft, file_path));
        if written.is_err() {
            fs::remove_file(&draft).ok();
        }
        written
    }

    /// Evicts the oldest files until `size` bytes fit in place of the file at `path`.
    fn evict(&self, file_path: &Path, size: u64) -> io::Result<()> {
        let mut saved = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A replica may rename or remove the file meanwhile.
            let Ok(about) = entry.metadata() else {
                continue;
            };
            let (path, written) = (entry.path(), about.modified()?);
            let is = |name: &str| path.extension().is_some_and(|is| is == name);
            let is_saved = is(Part::Graph.name()) || is(Part::Ledger.name());
            if is_saved && path != file_path {
                saved.push((written, about.len(), path));
            } else if is(DRAFT) && is_stale(written) {
                fs::remove_file(path).ok();
            }
        }
        saved.sort_unstable();
        let mut total = size + saved.iter().map(|(_, size, _)| size).sum::<u64>();
        for (_, size, path) in saved {
            if total <= MAX_TOTAL {
                break;
            }
            fs::remove_file(path).ok();
            total -= size;
        }
        Ok(())
    }

    fn file_path(&self, project: &Key, part: Part) -> PathBuf {
        let file = self.path.join(project.fingerprint());
        file.with_extension(part.name())
    }
}

impl Part {
    /// The file extension, and a label of metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Graph => "graph",
            Part::Ledger => "ledger",
        }
    }
}

fn is_stale(written: SystemTime) -> bool {
    written.elapsed().is_ok_and(|age| age > MAX_DRAFT_AGE)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use archway_repo::testing::{Sandbox, cancel};

    use super::super::super::graph::Graph;
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn saved_graphs_are_private_and_damaged_ones_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let folder = HistoryFolder::at(temp.path());
        let app = Sandbox::new();
        app.file("a", "1").committed();
        app.git(&["commit-graph", "write", "--reachable"]);
        let graph = fs::read(app.root().join(".git/objects/info/commit-graph")).unwrap();
        let repo = app.repo();
        let key = repo.key();
        let part = Part::Graph;
        let parse = |content| Graph::checked(content, &cancel());
        let load = || folder.load(key, part, parse, &cancel()).unwrap();
        assert!(load().is_none());
        folder.save(key, part, &graph).unwrap();
        assert_eq!(load().unwrap().len(), 1);
        assert_eq!(mode(&folder.file_path(key, part)), 0o600);
        let mut damaged = graph;
        damaged[1100] ^= 1;
        folder.save(key, part, &damaged).unwrap();
        assert!(load().is_none() && !folder.file_path(key, part).exists());
        assert_eq!(
            fs::read_dir(temp.path()).unwrap().count(),
            0,
            "drafts are removed"
        );
    }

    #[test]
    fn saving_leaves_drafts_of_other_workers_alone() {
        let temp = tempfile::tempdir().unwrap();
        let folder = HistoryFolder::at(temp.path());
        // Another worker with the same process id, in a container of its own.
        let others = |number| format!("{}-{number}.{DRAFT}", std::process::id());
        let others: Vec<_> = (0..1000).map(|it| folder.path.join(others(it))).collect();
        for other in &others {
            fs::write(other, "half").unwrap();
        }
        let app = Sandbox::new();
        let saved = folder.save(app.repo().key(), Part::Graph, b"whole");
        assert!(saved.is_ok(), "{saved:?}");
        assert!(others.iter().all(|other| other.exists()));
    }

    #[test]
    fn the_oldest_files_are_evicted_except_the_replaced_one() {
        let temp = tempfile::tempdir().unwrap();
        let folder = HistoryFolder::at(temp.path());
        let saved = |name: &str, part: Part, age: u64| {
            let path = folder.path.join(name).with_extension(part.name());
            let file = fs::File::create(&path).unwrap();
            file.set_len(MAX_TOTAL / 2).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
            path
        };
        let oldest = saved("oldest", Part::Graph, 9);
        let own = saved("own", Part::Ledger, 5);
        folder.evict(&own, MAX_TOTAL / 2).unwrap();
        assert!(oldest.exists() && own.exists());
        folder.evict(&own, MAX_TOTAL / 2 + 1).unwrap();
        assert!(!oldest.exists() && own.exists());
    }
}
