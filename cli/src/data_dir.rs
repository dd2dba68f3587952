//! The folder with all data of `dev`: private, and claimed by one process at a time.
//!
//! What a reader would get wrong: the claim is the lock on `archway.lock`, not the file itself, which
//! remains afterwards. The kernel releases the lock however its holder ends. Permissions are changed
//! only after the lock is held, and only in a folder that is empty or contains that file: `--data /tmp`
//! must not make `/tmp` private.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::digest;
use rustix::process::{Pid, test_kill_process};

/// The file with the root secret of `dev`.
pub(crate) const ROOT_SECRET: &str = "root-secret";
/// The folder of credentials for remote repositories.
pub(crate) const CREDENTIALS: &str = "credentials";
const LOCK: &str = "archway.lock";

/// A data folder that this process has claimed, until the value and all clones are dropped.
#[derive(Clone, Debug)]
pub struct DataDir {
    path: PathBuf,
    // Open for its lock only.
    lock: Arc<File>,
}

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process has claimed it.
    #[error(
        "data folder {} is in use by another `archway dev` ({}); stop that one, or choose another \
         folder with --data", path.display(), holder(*.pid)
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The process id of that process, if it could be read.
        pid: Option<u32>,
    },
    /// It contains other files, and none of Archway's.
    #[error(
        "{} is not empty and not a data folder of Archway; choose an empty or a new folder with --data",
        .0.display()
    )]
    NotOurs(PathBuf),
    /// The default folder needs a home directory, and there is none.
    #[error("no home directory is known; name a data folder with --data")]
    NoHome,
    /// The operating system refused.
    #[error("{what} {}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

impl DataDir {
    /// Creates the folder if it is missing (mode 0700), and claims it.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        make(path)?;
        let path = resolve(path)?;
        let lock = claim(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o700))
            .map_err(failed("making private the data folder", &path))?;
        let lock = Arc::new(lock);
        Ok(DataDir { path, lock })
    }

    /// Whether the folder at this path is still the claimed one. After it is deleted, the lock is on an
    /// unlinked file, and another process may claim a new folder at its path. If the folder cannot
    /// be examined for another reason, it exists, and counts as claimed.
    pub fn is_still_claimed(&self) -> bool {
        let file = |data: fs::Metadata| (data.dev(), data.ino());
        let held = self.lock.metadata().map(file);
        match self.path.join(LOCK).symlink_metadata().map(file) {
            Ok(named) => held.is_ok_and(|held| held == named),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// The folder without `--data`: `/var/lib/archway` for root, else the platform's folder for user
    /// data.
    pub fn default_path() -> Result<PathBuf, DataDirError> {
        if rustix::process::geteuid().is_root() {
            return Ok(PathBuf::from("/var/lib/archway"));
        }
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let data_home = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
        user_path(home, data_home).ok_or(DataDirError::NoHome)
    }

    /// The folder: absolute, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Eight hexadecimal digits derived from the folder's path, for names in folders that several data
    /// folders share.
    pub fn fingerprint(&self) -> String {
        short_hash(self.path.as_os_str().as_bytes())
    }

    /// The fingerprint of a folder that another process may have claimed; `None` if it does not
    /// exist.
    pub(crate) fn fingerprint_of(path: &Path) -> Option<String> {
        Some(short_hash(resolve(path).ok()?.as_os_str().as_bytes()))
    }

    /// The process that has claimed the folder at this path, or `None`. The lock is tried only if the
    /// process in its file is alive, so that this check never makes a start fail.
    pub(crate) fn holder_of(path: &Path) -> Option<u32> {
        let lock = File::open(path.join(LOCK)).ok()?;
        let pid: u32 = read(path, LOCK).ok()??.trim().parse().ok()?;
        let process = Pid::from_raw(pid.try_into().ok()?)?;
        let is_alive = !matches!(test_kill_process(process), Err(rustix::io::Errno::SRCH));
        let is_locked = || matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock));
        (is_alive && is_locked()).then_some(pid)
    }

    /// Reads a file of the folder; `None` if it does not exist.
    pub fn read(&self, name: &str) -> Result<Option<String>, DataDirError> {
        read(&self.path, name)
    }

    /// Writes a file that only its owner may read (mode 0600), atomically.
    pub fn write(&self, name: &str, text: &str) -> Result<(), DataDirError> {
        write(&self.path, name, text)
    }
}

/// [`DataDir::read`] for a folder that another process may have claimed.
pub(crate) fn read(folder: &Path, name: &str) -> Result<Option<String>, DataDirError> {
    let path = folder.join(name);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("reading", &path)(error)),
    }
}

/// [`DataDir::write`] for a folder that another process may have claimed.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> Result<(), DataDirError> {
    let path = folder.join(name);
    let draft = folder.join(format!("{name}.new"));
    write_synced(&draft, text).map_err(failed("writing", &draft))?;
    fs::rename(&draft, &path).map_err(failed("writing", &path))
}

/// Eight hexadecimal digits of the SHA-256 of `bytes`: to distinguish names, not for secrets.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    let hash = digest::digest(&digest::SHA256, bytes);
    let first = hash.as_ref().iter().take(4);
    first.map(|byte| format!("{byte:02x}")).collect()
}

fn make(path: &Path) -> Result<(), DataDirError> {
    if let Some(parent) = path.parent() {
        // The umask applies: if this process is root, PostgreSQL's user must be able to pass through.
        fs::create_dir_all(parent).map_err(failed("making", parent))?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(failed("making the data folder", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the operator's own folder, not a tenant's path"
)]
fn resolve(path: &Path) -> Result<PathBuf, DataDirError> {
    path.canonicalize()
        .map_err(failed("finding the data folder", path))
}

fn claim(folder: &Path) -> Result<File, DataDirError> {
    let path = folder.join(LOCK);
    let mut entries = fs::read_dir(folder).map_err(failed("reading the data folder", folder))?;
    if entries.next().is_some() && !path.exists() {
        return Err(DataDirError::NotOurs(folder.to_owned()));
    }
    let failed = |error| failed("locking", &path)(error);
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    let mut lock = options.open(&path).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = lock
                .read_to_string(&mut text)
                .ok()
                .and_then(|_| text.trim().parse().ok());
            return Err(DataDirError::InUse {
                path: folder.to_owned(),
                pid,
            });
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    lock.set_len(0).map_err(failed)?;
    lock.rewind().map_err(failed)?;
    writeln!(lock, "{}", std::process::id()).map_err(failed)?;
    Ok(lock)
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// A relative `XDG_DATA_HOME` is ignored, as the XDG specification says.
fn user_path(home: Option<PathBuf>, data_home: Option<PathBuf>) -> Option<PathBuf> {
    let home = home.filter(|home| home.is_absolute());
    let base = if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library/Application Support"))
    } else {
        let data_home = data_home.filter(|path| path.is_absolute());
        data_home.or_else(|| home.map(|home| home.join(".local/share")))
    };
    base.map(|base| base.join("archway"))
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "pid unknown".to_owned(), |pid| format!("pid {pid}"))
}

fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> DataDirError + 'a {
    move |source| DataDirError::Io {
        what,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_folder_and_its_files_are_private() {
        let home = tempfile::tempdir().unwrap();
        let data = DataDir::open(&home.path().join("a/b")).unwrap();
        data.write("api-key", "awy_x").unwrap();
        assert_eq!(mode(data.path()), 0o700);
        assert_eq!(mode(&data.path().join("api-key")), 0o600);
        assert_eq!(data.read("api-key").unwrap().as_deref(), Some("awy_x"));
        assert_eq!(data.read("nothing").unwrap(), None);
        assert!(!data.path().join("api-key.new").exists());
    }

    #[test]
    fn a_second_claim_is_refused_with_the_pid_until_the_first_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let first = DataDir::open(home.path()).unwrap();
        let refusal = DataDir::open(home.path()).unwrap_err();
        let pid = std::process::id();
        assert_eq!(DataDir::holder_of(home.path()), Some(pid));
        assert!(matches!(refusal, DataDirError::InUse { pid: Some(named), .. } if named == pid));
        assert!(
            refusal.to_string().contains(&format!("(pid {pid})")),
            "{refusal}"
        );
        drop(first);
        assert_eq!(DataDir::holder_of(home.path()), None);
        DataDir::open(home.path()).unwrap();
    }

    #[test]
    fn a_deleted_folder_is_no_longer_claimed_even_if_recreated() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("data");
        let first = DataDir::open(&path).unwrap();
        assert!(first.is_still_claimed());
        fs::remove_dir_all(&path).unwrap();
        assert!(!first.is_still_claimed());
        let second = DataDir::open(&path).unwrap();
        assert!(second.is_still_claimed());
        assert!(!first.is_still_claimed());
    }

    #[test]
    fn a_folder_with_other_files_is_refused_and_unchanged() {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
        fs::write(home.path().join("thesis.tex"), "").unwrap();
        assert!(matches!(
            DataDir::open(home.path()),
            Err(DataDirError::NotOurs(_))
        ));
        assert_eq!(mode(home.path()), 0o755);
        assert!(!home.path().join(LOCK).exists());
    }

    #[test]
    fn the_fingerprint_is_unique_and_stable() {
        let home = tempfile::tempdir().unwrap();
        let a = DataDir::open(&home.path().join("a")).unwrap().fingerprint();
        let b = DataDir::open(&home.path().join("b")).unwrap().fingerprint();
        assert_ne!(a, b);
        assert_eq!(a.len(), 8);
        assert_eq!(
            a,
            DataDir::open(&home.path().join("a")).unwrap().fingerprint()
        );
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn the_default_follows_the_xdg_rules() {
        let path =
            |home: &str, data: Option<&str>| user_path(Some(home.into()), data.map(Into::into));
        assert_eq!(
            path("/home/u", None),
            Some("/home/u/.local/share/archway".into())
        );
        assert_eq!(path("/home/u", Some("/data")), Some("/data/archway".into()));
        assert_eq!(
            path("/home/u", Some("data")),
            Some("/home/u/.local/share/archway".into())
        );
        assert_eq!(path("", None), None);
    }
}
