//! Confinement by the kernel (Landlock) of a thread and every thread or process it starts
//! afterwards.
//!
//! Confined threads can read the mounts, write files beneath folders of their own, if any, and
//! reach nothing else in the file system. This is the second line of defence behind the
//! [`Jail`](crate::Jail): it also binds libraries that open files themselves, as gix does. Running
//! threads stay unconfined, so call it before building a runtime. Sockets stay open: a worker has
//! to reach its database, by TCP or a unix socket.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
};

/// Files that host name lookup reads. A file that replaces one of them later cannot be read.
const NAME_RESOLUTION: [&str; 5] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/host.conf",
];

/// The newest Landlock version handled. Version 9 adds connecting to unix sockets.
const VERSION: ABI = ABI::V8;

/// How much of the confinement this kernel enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// All rights are enforced.
    Full,
    /// Reading outside the mounts is denied; this kernel does not know some other rights.
    Partial,
    /// The kernel has no Landlock, so nothing is enforced.
    Absent,
}

/// Why a thread could not be confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// A folder or file that must stay readable cannot be opened.
    #[error("opening {}, which must stay readable", path.display())]
    Open {
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: landlock::PathFdError,
    },
    /// The kernel rejected the ruleset.
    #[error("confining the thread")]
    Refused(#[from] landlock::RulesetError),
}

/// Confines the calling thread permanently: it can read what is beneath `folders`, and create,
/// read, rename and remove files and folders beneath each of `own`.
///
/// # Errors
/// If a folder is missing, or the kernel has Landlock but rejects the ruleset. On a kernel without
/// Landlock the call succeeds and returns [`Confinement::Absent`].
pub fn confine(folders: &[PathBuf], own: &[&Path]) -> Result<Confinement, ConfineError> {
    // Without Execute, which the crate counts as a right to read.
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(VERSION))?
        .create()?;
    for folder in folders {
        ruleset = ruleset.add_rule(PathBeneath::new(open(folder)?, reading))?;
    }
    for own in own {
        let files = AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::RemoveFile;
        let writing = files | AccessFs::MakeDir | AccessFs::RemoveDir;
        ruleset = ruleset.add_rule(PathBeneath::new(open(own)?, reading | writing))?;
    }
    let resolution = NAME_RESOLUTION.iter().map(Path::new);
    let resolution = resolution.filter(|file| file.exists());
    for file in resolution {
        ruleset = ruleset.add_rule(PathBeneath::new(open(file)?, AccessFs::ReadFile))?;
    }
    Ok(match ruleset.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => Confinement::Full,
        RulesetStatus::PartiallyEnforced => Confinement::Partial,
        RulesetStatus::NotEnforced => Confinement::Absent,
    })
}

fn open(path: &Path) -> Result<PathFd, ConfineError> {
    PathFd::new(path).map_err(|source| ConfineError::Open {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Runs `work` on a confined thread of its own.
    fn confined<T: Send>(folder: &Path, work: impl FnOnce(Confinement) -> T + Send) -> T {
        let folders = [folder.to_owned()];
        std::thread::scope(|scope| {
            scope
                .spawn(|| work(confine(&folders, &[]).unwrap()))
                .join()
                .unwrap()
        })
    }

    #[test]
    fn a_confined_thread_reads_the_mounts_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "text").unwrap();
        confined(temp.path(), |level| {
            assert_eq!(fs::read_to_string(&file).unwrap(), "text");
            assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
            if level != Confinement::Absent {
                assert!(fs::read("/etc/passwd").is_err());
                assert!(fs::read_dir("/").is_err());
                assert!(fs::write(&file, "other").is_err());
                assert!(std::process::Command::new("/bin/true").status().is_err());
            }
        });
        assert!(
            fs::read("/etc/passwd").is_ok(),
            "only that thread is confined"
        );
    }

    #[test]
    fn child_threads_are_confined_and_can_still_resolve_names() {
        let temp = tempfile::tempdir().unwrap();
        confined(temp.path(), |level| {
            std::thread::scope(|scope| {
                let read = scope
                    .spawn(|| fs::read("/etc/passwd").is_err())
                    .join()
                    .unwrap();
                assert!(read || level == Confinement::Absent);
                assert!(!Path::new("/etc/hosts").exists() || fs::read("/etc/hosts").is_ok());
            });
        });
    }

    #[test]
    fn the_own_folder_is_writable_and_the_mounts_stay_read_only() {
        let temp = tempfile::tempdir().unwrap();
        let (mount, own) = (temp.path().join("mount"), temp.path().join("own"));
        fs::create_dir(&mount).unwrap();
        fs::create_dir(&own).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let level = confine(std::slice::from_ref(&mount), &[own.as_path()]).unwrap();
                fs::write(own.join("draft"), "text").unwrap();
                fs::rename(own.join("draft"), own.join("file")).unwrap();
                assert_eq!(fs::read_to_string(own.join("file")).unwrap(), "text");
                fs::remove_file(own.join("file")).unwrap();
                fs::create_dir(own.join("folder")).unwrap();
                fs::remove_dir(own.join("folder")).unwrap();
                if level != Confinement::Absent {
                    assert!(fs::write(mount.join("file"), "text").is_err());
                    assert!(fs::create_dir(mount.join("folder")).is_err());
                    assert!(std::os::unix::fs::symlink("/etc", own.join("link")).is_err());
                }
            });
        });
    }

    #[test]
    fn a_missing_folder_is_named() {
        let refused = confine(&[PathBuf::from("/nowhere/at/all")], &[]).unwrap_err();
        assert!(refused.to_string().contains("/nowhere/at/all"));
    }
}
