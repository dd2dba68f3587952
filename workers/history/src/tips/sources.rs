//! Detects changes of the folders and files from which references are read.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use archway_repo::{Cancel, Jail, ObservedState, RepoPath};
use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::super::HistoryError;
use super::PREFIXES;

/// The file of packed references.
const PACKED: &[u8] = b"packed-refs";
/// Maximum number of remembered folders and files. With more, references are read every time.
const MAX_RECORDS: usize = 25_000;

/// The state of everything that references are read from.
#[derive(Debug)]
pub(super) struct Sources(Vec<Source>);

/// The part of it in one git folder.
#[derive(Debug)]
struct Source {
    folder: PathBuf,
    records: Vec<(RepoPath, ObservedState)>,
}

impl Sources {
    /// The state now. `None` if a later check could not detect changes.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn of(
        repository: &gix::Repository,
        cancel: &Cancel,
    ) -> Result<Option<Sources>, HistoryError> {
        let mut sources = Vec::new();
        let mut left = MAX_RECORDS;
        for folder in folders(repository) {
            let Some(source) = Source::of(folder, &mut left, cancel)? else {
                return Ok(None);
            };
            sources.push(source);
        }
        Ok(Some(Sources(sources)))
    }

    /// Whether all of it is unchanged.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn are_unchanged(
        &self,
        repository: &gix::Repository,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        if !folders(repository).eq(self.0.iter().map(|source| source.folder.as_path())) {
            return Ok(false);
        }
        for source in &self.0 {
            if !source.is_unchanged(cancel)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The repository's own git folder, and the one that it shares with other work trees.
fn folders(repository: &gix::Repository) -> impl Iterator<Item = &Path> {
    let (own, common) = (repository.git_dir(), repository.common_dir());
    let shared = Some(common).filter(|common| *common != own);
    std::iter::once(own).chain(shared)
}

fn open(folder: &Path) -> Result<Jail, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Jail::new(rustix::fs::open(folder, flags, Mode::empty())?)
}

impl Source {
    fn of(
        folder: &Path,
        left: &mut usize,
        cancel: &Cancel,
    ) -> Result<Option<Source>, HistoryError> {
        let mut scan = SourceScan {
            at: SystemTime::now(),
            records: Vec::new(),
            folders: Vec::new(),
            max_records: *left,
        };
        let Ok(jail) = open(folder) else {
            return Ok(None);
        };
        let prefixes = PREFIXES.map(|prefix| prefix.trim_end_matches('/').as_bytes());
        for path in [PACKED].into_iter().chain(prefixes) {
            if scan.record(&jail, RepoPath::trusted(path)).is_none() {
                return Ok(None);
            }
        }
        while let Some(path) = scan.folders.pop() {
            cancel.check()?;
            if scan.record_entries(&jail, &path).is_none() {
                return Ok(None);
            }
        }
        *left -= scan.records.len();
        Ok(Some(Source {
            folder: folder.to_owned(),
            records: scan.records,
        }))
    }

    fn is_unchanged(&self, cancel: &Cancel) -> Result<bool, HistoryError> {
        let Ok(jail) = open(&self.folder) else {
            return Ok(false);
        };
        for (path, records) in &self.records {
            cancel.check()?;
            if !records.still_holds(jail.stat_unchecked(path)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A scan of a git folder.
struct SourceScan {
    at: SystemTime,
    records: Vec<(RepoPath, ObservedState)>,
    /// Recorded folders whose entries are not recorded yet.
    folders: Vec<RepoPath>,
    /// Maximum number of records.
    max_records: usize,
}

impl SourceScan {
    /// Records the state of a path. `None` if a later check would prove nothing.
    fn record(&mut self, jail: &Jail, path: RepoPath) -> Option<()> {
        let found = jail.stat_unchecked(&path);
        let kind = found.map(|stat| FileType::from_raw_mode(stat.st_mode));
        match (ObservedState::at(self.at, found), kind) {
            (ObservedState::TooRecent, _) => return None,
            _ if self.records.len() == self.max_records => return None,
            (_, Ok(FileType::Directory)) => self.folders.push(path.clone()),
            (_, Ok(FileType::RegularFile) | Err(Errno::NOENT)) => {}
            // A link may lead to unrecorded files.
            (_, Ok(_) | Err(_)) => return None,
        }
        self.records.push((path, ObservedState::at(self.at, found)));
        Some(())
    }

    /// Records the entries of a recorded folder.
    fn record_entries(&mut self, jail: &Jail, path: &RepoPath) -> Option<()> {
        let fd = jail.open(path, OFlags::RDONLY | OFlags::DIRECTORY).ok()?;
        for entry in Dir::new(fd).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                self.record(jail, path.join(name))?;
            }
        }
        Some(())
    }
}
