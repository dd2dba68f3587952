//! Where the segments of one repository are: files of a folder, or memory.
//!
//! Segments are written under a draft's name and renamed, so that a worker of the same machine sees
//! whole ones only. One worker at a time writes to a folder. It also saves the files of projects there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use archway_trigrams::{Segment, SegmentError, Source, VERSION};
use rustix::fs::FlockOperation;
use uuid::Uuid;

use crate::key::Key;

const SEGMENT: &str = "segment";
const DRAFT: &str = "new";
/// The files of a project.
const SAVED: &str = "files";
/// Projects whose files are saved in one folder: the last ones.
const MAX_PROJECTS: usize = 64;
/// Bytes that are read of saved files: more are none of ours.
const MAX_SAVED: u64 = 1 << 30;
/// A file that whoever writes to the folder holds locked.
const LOCK: &str = "lock";
/// A file whose time says when the index was last used.
pub(super) const USED: &str = "used";

/// Where the segments of one repository are.
#[derive(Debug)]
pub(super) enum SegmentStore {
    Folder(PathBuf),
    Memory,
}

/// A segment that is being written; removed unless it is published.
pub(super) enum Draft {
    File { out: BufWriter<File>, path: PathBuf },
    Memory(Vec<u8>),
}

/// Holds the only right to write to a folder.
pub(super) struct WriteLock {
    _file: Option<File>,
}

impl WriteLock {
    /// Locks the folder of an index. `None` if another process has locked it.
    ///
    /// # Errors
    /// If the folder is gone, or cannot be locked.
    pub(super) fn take(folder: &Path) -> io::Result<Option<WriteLock>> {
        let mut options = writable();
        let file = options
            .truncate(false)
            .create(true)
            .open(folder.join(LOCK))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(WriteLock { _file: Some(file) })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl SegmentStore {
    /// The store of a repository: a folder of its own in that of its tenant.
    pub(super) fn of(key: &Key, folder: Option<&Path>) -> SegmentStore {
        folder.map_or(SegmentStore::Memory, |folder| {
            let tenant = folder.join(key.tenant_fingerprint());
            // Workers of two versions leave each other's segments alone.
            let name = format!("{}-{VERSION}", key.fingerprint());
            SegmentStore::Folder(tenant.join(name))
        })
    }

    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            SegmentStore::Folder(folder) => Some(folder),
            SegmentStore::Memory => None,
        }
    }

    /// The names of all segments.
    ///
    /// # Errors
    /// If the folder cannot be read. One that does not exist has none.
    pub(super) fn names(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match self.folder().map(fs::read_dir) {
            Some(Ok(entries)) => entries,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Some(Err(_)) | None => return Ok(Vec::new()),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry?.path());
        }
        names.retain(|path| has_extension(path, SEGMENT));
        Ok(names)
    }

    /// Takes the only right to write. `None` if another process has it.
    ///
    /// # Errors
    /// If the folder cannot be created or locked.
    pub(super) fn lock(&self) -> io::Result<Option<WriteLock>> {
        let Some(folder) = self.folder() else {
            return Ok(Some(WriteLock { _file: None }));
        };
        fs::create_dir_all(folder)?;
        let lock = WriteLock::take(folder)?;
        if lock.is_some() {
            remove_drafts(folder)?;
        }
        Ok(lock)
    }

    /// Begins a segment.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub(super) fn draft(&self) -> io::Result<Draft> {
        let Some(folder) = self.folder() else {
            return Ok(Draft::Memory(Vec::new()));
        };
        let path = folder
            .join(Uuid::new_v4().to_string())
            .with_extension(DRAFT);
        let file = writable().create_new(true).open(&path)?;
        let out = BufWriter::with_capacity(1 << 20, file);
        Ok(Draft::File { out, path })
    }

    /// Opens a segment by its name.
    ///
    /// # Errors
    /// [`SegmentError`]
    pub(super) fn open(&self, name: &Path) -> Result<Segment, SegmentError> {
        Segment::open(Source::File(File::open(name)?))
    }

    /// Makes the segment visible under the returned name, and opens it.
    ///
    /// # Errors
    /// [`SegmentError`]
    pub(super) fn publish(&self, mut draft: Draft) -> Result<(PathBuf, Segment), SegmentError> {
        draft.flush()?;
        let (name, source) = match &mut draft {
            Draft::File { path, .. } => {
                let name = path.with_extension(SEGMENT);
                fs::rename(path, &name)?;
                let file = File::open(&name)?;
                (name, Source::File(file))
            }
            Draft::Memory(bytes) => {
                let mut bytes = std::mem::take(bytes);
                bytes.shrink_to_fit();
                (
                    PathBuf::from(Uuid::new_v4().to_string()),
                    Source::Memory(bytes),
                )
            }
        };
        Ok((name, Segment::open(source)?))
    }

    /// Reads what was saved for a project. `None` if there is nothing, or no folder.
    pub(super) fn load(&self, project: &str) -> Option<Vec<u8>> {
        let file = File::open(self.saved_path(project)?).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_SAVED).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Saves something for a project, in place of what was saved before.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn save(&self, project: &str, bytes: &[u8]) -> io::Result<()> {
        let (Some(folder), Some(path)) = (self.folder(), self.saved_path(project)) else {
            return Ok(());
        };
        make_room_beside(folder, &path)?;
        let mut draft = self.draft()?;
        draft.write_all(bytes)?;
        draft.flush()?;
        match &draft {
            Draft::File { path: written, .. } => fs::rename(written, path),
            Draft::Memory(_) => Ok(()),
        }
    }

    /// Removes what was saved for a project.
    pub(super) fn remove_saved(&self, project: &str) {
        if let Some(path) = self.saved_path(project) {
            fs::remove_file(path).ok();
        }
    }

    fn saved_path(&self, project: &str) -> Option<PathBuf> {
        Some(self.folder()?.join(format!("{project}.{SAVED}")))
    }

    /// Removes a segment, if it is still there.
    pub(super) fn remove(&self, name: &Path) {
        if self.folder().is_some() {
            fs::remove_file(name).ok();
        }
    }

    /// Records that the index is used now.
    pub(super) fn record_use(&self) {
        if let Some(folder) = self.folder() {
            let path = folder.join(USED);
            let file = writable().create(true).truncate(false).open(&path);
            let recorded = file.and_then(|file| file.set_modified(SystemTime::now()));
            if let Err(error) = recorded.map_err(|error| error.kind()) {
                tracing::debug!(%error, "the use of a search index could not be recorded");
            }
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Draft::File { out, .. } => out.write(bytes),
            Draft::Memory(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Draft::File { out, .. } => out.flush(),
            Draft::Memory(_) => Ok(()),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Draft::File { path, .. } = self {
            // A published one has another name.
            fs::remove_file(path).ok();
        }
    }
}

/// Drafts of a process that ended: only the holder of the lock writes some.
fn remove_drafts(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if has_extension(&path, DRAFT) {
            fs::remove_file(path).ok();
        }
    }
    Ok(())
}

/// Removes the oldest of the other saved files, if there are too many.
fn make_room_beside(folder: &Path, path: &Path) -> io::Result<()> {
    let mut saved = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if has_extension(&entry.path(), SAVED) && entry.path() != path {
            saved.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    saved.sort_unstable();
    let excess = (saved.len() + 1).saturating_sub(MAX_PROJECTS);
    saved
        .iter()
        .take(excess)
        .try_for_each(|(_, path)| fs::remove_file(path))
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|is| is == extension)
}

fn writable() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}
