//! Opens paths beneath one directory descriptor. Every file is opened through here.
//!
//! The kernel resolves the path (`openat2`), so no check can race with a swap: without links on its
//! path, a file costs one system call. Links are followed in user space, component by component,
//! without lookups outside. The resulting path is checked and then opened as a path *without*
//! links. So what is opened is what was checked; a link swapped in meanwhile is an error.
//!
//! If the kernel has no `openat2`, the same is done with a descriptor per component.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::error::RepoError;
use super::links;
use super::path::RepoPath;

pub(super) use open_folder::OpenFolder;

mod open_folder;

/// Retries of `openat2`: it returns `EAGAIN` while something is renamed.
const RETRIES: usize = 16;

/// A directory that paths cannot leave.
#[derive(Debug)]
pub struct Jail {
    root: OwnedFd,
    device: Device,
    /// Set once the kernel reported that it has no `openat2`.
    by_component: AtomicBool,
}

/// Which file systems may be entered.
#[derive(Clone, Copy, Debug)]
enum Device {
    Any,
    Only(u64),
}

impl Jail {
    /// A jail within one file system.
    pub fn new(root: OwnedFd) -> Result<Jail, Errno> {
        let device = Device::Only(rustix::fs::fstat(&root)?.st_dev);
        Ok(Jail {
            root,
            device,
            by_component: AtomicBool::new(false),
        })
    }

    /// A jail whose folders may be mount points, such as a tenant's projects.
    pub(super) fn over_mounts(root: OwnedFd) -> Jail {
        Jail {
            root,
            device: Device::Any,
            by_component: AtomicBool::new(false),
        }
    }

    /// Opens a path without links. Returns `ELOOP` if there is a link on it.
    pub fn open(&self, path: &RepoPath, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        if self.by_component.load(Ordering::Relaxed) {
            return self.open_by_component(path, flags);
        }
        match self.open_by_kernel(path, flags) {
            Err(Errno::NOSYS) => {
                self.by_component.store(true, Ordering::Relaxed);
                self.open_by_component(path, flags)
            }
            opened => opened,
        }
    }

    /// The metadata of a path without links.
    pub fn stat(&self, path: &RepoPath) -> Result<Stat, Errno> {
        rustix::fs::fstat(self.open(path, OFlags::PATH)?)
    }

    /// The metadata of `path` for comparison with an earlier state: quick, and not confined. It may
    /// look through a link that was swapped in, so the result must never be shown.
    pub fn stat_unchecked(&self, path: &RepoPath) -> Result<Stat, Errno> {
        rustix::fs::statat(&self.root, path.for_kernel(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Follows the links on `path`. The result had no links when it was resolved.
    ///
    /// # Errors
    /// [`RepoError::Outside`] if a link leaves, is absolute, dangles or loops.
    pub(super) fn resolve(&self, path: &RepoPath) -> Result<RepoPath, RepoError> {
        self.resolve_from(&RepoPath::root(), path.as_bytes())
    }

    /// Follows `target` like a link in the folder `base`.
    pub(super) fn resolve_from(
        &self,
        base: &RepoPath,
        target: &[u8],
    ) -> Result<RepoPath, RepoError> {
        links::follow(base, target, |path| {
            let parent = path.parent().unwrap_or_else(RepoPath::root);
            let folder = self.open(&parent, OFlags::PATH | OFlags::DIRECTORY)?;
            match rustix::fs::readlinkat(&folder, path.name(), Vec::new()) {
                Ok(target) => Ok(Some(target.into_bytes())),
                // Not a link. If it becomes one before it is opened, opening fails.
                Err(Errno::INVAL) => Ok(None),
                Err(errno) => Err(errno),
            }
        })
    }

    fn open_by_kernel(&self, path: &RepoPath, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        if matches!(self.device, Device::Only(_)) {
            resolve |= ResolveFlags::NO_XDEV;
        }
        let path = path.for_kernel();
        for _ in 0..RETRIES {
            match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                opened => return opened,
            }
        }
        Err(Errno::AGAIN)
    }

    fn open_by_component(&self, path: &RepoPath, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut names = path.components();
        let Some(last) = names.next_back() else {
            return rustix::fs::openat(&self.root, c".", flags, Mode::empty());
        };
        let mut folder: Option<OwnedFd> = None;
        for name in names {
            let above = folder.as_ref().map_or(self.root.as_fd(), |fd| fd.as_fd());
            folder = Some(self.open_name(above, name, OFlags::PATH | OFlags::DIRECTORY)?);
        }
        let above = folder.as_ref().map_or(self.root.as_fd(), |fd| fd.as_fd());
        self.open_name(above, last, flags)
    }

    fn open_name(
        &self,
        above: BorrowedFd<'_>,
        name: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(above, name, flags, Mode::empty());
        let fd = match opened {
            Err(Errno::NOTDIR) if is_link(above, name) => return Err(Errno::LOOP),
            opened => opened?,
        };
        let stat = rustix::fs::fstat(&fd)?;
        match self.device {
            Device::Only(device) if stat.st_dev != device => Err(Errno::XDEV),
            Device::Only(_) | Device::Any if file_type(&stat) == FileType::Symlink => {
                Err(Errno::LOOP)
            }
            Device::Only(_) | Device::Any => Ok(fd),
        }
    }
}

/// The file type in `stat`.
pub(super) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn is_link(above: BorrowedFd<'_>, name: &[u8]) -> bool {
    rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| file_type(&stat) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    /// Two jails of the same folder: with `openat2`, and walking by component.
    fn jails(folder: &Path) -> [Jail; 2] {
        [false, true].map(|by_component| {
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            let root = rustix::fs::open(folder, flags, Mode::empty()).unwrap();
            let jail = Jail::new(root).unwrap();
            jail.by_component.store(by_component, Ordering::Relaxed);
            jail
        })
    }

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn tree() -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/file"), "inside").unwrap();
        std::fs::write(temp.path().join("outside"), "outside").unwrap();
        for (target, link) in [
            ("a/b", "inner"),
            ("../inner/file", "a/hop"),
            ("../outside", "leaves"),
            ("/etc/passwd", "absolute"),
            ("/proc/self/root", "magic"),
            ("loop", "loop"),
            ("a/none", "dangles"),
            ("a/../../root/a", "leaves-and-returns"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        temp
    }

    #[test]
    fn plain_paths_open_and_links_do_not() {
        let temp = tree();
        for jail in jails(&temp.path().join("root")) {
            assert!(jail.open(&path("a/b/file"), OFlags::RDONLY).is_ok());
            assert!(
                jail.open(&RepoPath::root(), OFlags::RDONLY | OFlags::DIRECTORY)
                    .is_ok()
            );
            for link in [
                "inner/file",
                "inner",
                "a/hop",
                "leaves",
                "absolute",
                "magic/etc/passwd",
            ] {
                let refused = jail.open(&path(link), OFlags::RDONLY).unwrap_err();
                assert_eq!(refused, Errno::LOOP, "{link}");
            }
            assert_eq!(
                jail.open(&path("a/x"), OFlags::RDONLY).unwrap_err(),
                Errno::NOENT
            );
        }
    }

    #[test]
    fn links_that_stay_inside_resolve_to_paths_without_links() {
        let temp = tree();
        for jail in jails(&temp.path().join("root")) {
            assert_eq!(jail.resolve(&path("a/hop")).unwrap(), path("a/b/file"));
            assert_eq!(jail.resolve(&path("inner/file")).unwrap(), path("a/b/file"));
        }
    }

    #[test]
    fn links_that_leave_dangle_loop_or_are_absolute_are_outside() {
        let temp = tree();
        for jail in jails(&temp.path().join("root")) {
            for link in [
                "leaves",
                "absolute",
                "magic",
                "loop",
                "dangles",
                "leaves-and-returns",
            ] {
                let refused = jail.resolve(&path(link)).unwrap_err();
                assert!(
                    matches!(refused, RepoError::Outside { .. }),
                    "{link}: {refused:?}"
                );
            }
            let missing = jail.resolve(&path("inner/none")).unwrap_err();
            assert!(
                matches!(missing, RepoError::NotFound { .. }),
                "the link itself is fine"
            );
        }
    }
}
