//! Where repositories are mounted, and which folder a project currently is.
//!
//! A project is `<root>/<tenant>/<project>`, in the first root that has it. If that is a link, or contains a link `current` to a
//! work tree (as git-sync creates it), the link is followed once per call. It has to stay beneath
//! `<root>/<tenant>`. The names come from a verified pass, but are validated again because they
//! become parts of a path.

use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::boundary::Boundary;
use super::error::RepoError;
use super::jail::Jail;
use super::path::RepoPath;

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Entries read from one folder when looking for projects.
const MAX_ENTRIES: usize = 100_000;

/// The locations of all repositories.
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    /// In the order in which a project is looked for.
    roots: Vec<PathBuf>,
    links: Vec<Link>,
}

/// A folder linked as one project.
#[derive(Clone, Debug)]
struct Link {
    tenant: String,
    project: String,
    path: PathBuf,
}

/// A project's folder, as located for one call.
pub(super) struct Located {
    /// The folder, opened with `O_PATH`.
    pub(super) folder: OwnedFd,
    /// Its host path, for libraries that take paths. Never shown.
    pub(super) host_path: PathBuf,
    /// The folder that belongs to the project's owner: git's data may be anywhere beneath it.
    pub(super) boundary: Boundary,
}

impl Mounts {
    /// Projects at `<root>/<tenant>/<project>`.
    pub fn beneath(root: PathBuf) -> Mounts {
        Mounts {
            roots: vec![root],
            links: Vec::new(),
        }
    }

    /// Adds a folder with projects that the other ones lack.
    #[must_use]
    pub fn and_beneath(mut self, root: PathBuf) -> Mounts {
        self.roots.push(root);
        self
    }

    /// No projects.
    pub fn none() -> Mounts {
        Mounts::default()
    }

    /// Adds the folder `path` as one project, wherever it is.
    #[must_use]
    pub fn link(mut self, tenant: &str, project: &str, path: PathBuf) -> Mounts {
        self.links.push(Link {
            tenant: tenant.to_owned(),
            project: project.to_owned(),
            path,
        });
        self
    }

    /// The folders that must stay readable when the process is confined.
    pub fn folders(&self) -> Vec<PathBuf> {
        let linked = self.links.iter().map(|link| link.path.clone());
        self.roots.iter().cloned().chain(linked).collect()
    }

    /// The folders whose subfolders are the tenants.
    pub(super) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The linked projects as `(tenant, project)`.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, &str)> {
        self.links
            .iter()
            .map(|link| (&*link.tenant, &*link.project))
    }

    /// The path of a project's folder, before any link is followed. It need not exist.
    pub(super) fn host_path(&self, tenant: &str, project: &str) -> Option<PathBuf> {
        if let Some(link) = self.linked(tenant, project) {
            return Some(link.path.clone());
        }
        let mut paths = self
            .roots
            .iter()
            .map(|root| root.join(tenant).join(project));
        let first = paths.next()?;
        if first.symlink_metadata().is_ok() {
            return Some(first);
        }
        let other = paths.find(|path| path.symlink_metadata().is_ok());
        Some(other.unwrap_or(first))
    }

    /// Whether a folder is linked as this project.
    pub(super) fn is_linked(&self, tenant: &str, project: &str) -> bool {
        self.linked(tenant, project).is_some()
    }

    fn linked(&self, tenant: &str, project: &str) -> Option<&Link> {
        let mut links = self.links.iter();
        links.find(|link| link.tenant == tenant && link.project == project)
    }

    pub(super) fn locate(&self, tenant: &str, project: &str) -> Result<Located, RepoError> {
        if let Some(link) = self.linked(tenant, project) {
            return linked(&link.path);
        }
        if !is_name(tenant) || !is_name(project) {
            return Err(RepoError::NotMounted);
        }
        let found = self.roots.iter().map(|root| beneath(root, tenant, project));
        let mut found = found.skip_while(|found| matches!(found, Err(RepoError::NotMounted)));
        found.next().unwrap_or(Err(RepoError::NotMounted))
    }
}

/// The names of folders and links that are valid slugs.
pub(super) fn slugs(folder: std::fs::ReadDir) -> impl Iterator<Item = String> {
    let folders = folder.take(MAX_ENTRIES).filter_map(|entry| {
        let entry = entry.ok()?;
        let kind = entry.file_type().ok()?;
        let may_be = kind.is_dir() || kind.is_symlink();
        entry.file_name().into_string().ok().filter(|_| may_be)
    });
    folders.filter(|name| is_slug(name))
}

/// `[a-z0-9][a-z0-9-]{0,62}`.
pub(super) fn is_slug(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut bytes = name.bytes();
    name.len() <= 63
        && bytes.next().is_some_and(plain)
        && bytes.all(|byte| plain(byte) || byte == b'-')
}

/// One plain component: no separator, no `.` or `..`.
fn is_name(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(['/', '\0'])
}

fn linked(path: &Path) -> Result<Located, RepoError> {
    let open = || rustix::fs::open(path, FOLDER, Mode::empty()).map_err(not_mounted);
    let boundary = Boundary {
        jail: Jail::over_mounts(open()?),
        host_path: path.to_owned(),
        project: RepoPath::root(),
    };
    Ok(Located {
        folder: open()?,
        host_path: path.to_owned(),
        boundary,
    })
}

fn beneath(root: &Path, tenant: &str, project: &str) -> Result<Located, RepoError> {
    let host_path = root.join(tenant);
    let tenant = rustix::fs::open(&host_path, FOLDER | OFlags::NOFOLLOW, Mode::empty());
    let jail = Jail::over_mounts(tenant.map_err(not_mounted)?);
    let mut location = RepoPath::trusted(project.as_bytes());
    let mut folder = follow(&jail, &mut location)?;
    if let Some(current) = current(&jail, &folder, &location)? {
        location = current;
        folder = jail.open(&location, FOLDER).map_err(not_mounted)?;
    }
    Ok(Located {
        folder,
        host_path: host_path.join(location.as_path()),
        boundary: Boundary {
            jail,
            host_path,
            project: location,
        },
    })
}

/// Opens the folder at `location`. If that is a link, `location` becomes its target.
fn follow(jail: &Jail, location: &mut RepoPath) -> Result<OwnedFd, RepoError> {
    match jail.open(location, FOLDER) {
        Err(Errno::LOOP) => {
            *location = jail.resolve(location)?;
            jail.open(location, FOLDER).map_err(not_mounted)
        }
        opened => opened.map_err(not_mounted),
    }
}

/// Returns the work tree that the link `current` leads to. In a folder that is a repository itself,
/// `current` is an ordinary name.
fn current(
    jail: &Jail,
    folder: &OwnedFd,
    location: &RepoPath,
) -> Result<Option<RepoPath>, RepoError> {
    let is_link = rustix::fs::readlinkat(folder, c"current", Vec::new()).is_ok();
    if !is_link || has_entry(folder, c".git") || has_entry(folder, c"HEAD") {
        return Ok(None);
    }
    let target = jail.resolve(&location.join(b"current"))?;
    let is_work_tree = jail
        .open(&target, FOLDER)
        .is_ok_and(|fd| has_entry(&fd, c".git"));
    Ok(is_work_tree.then_some(target))
}

fn has_entry(folder: &OwnedFd, name: &std::ffi::CStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

fn not_mounted(errno: Errno) -> RepoError {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => RepoError::NotMounted,
        errno => RepoError::Io {
            what: "opening a project's folder",
            source: errno.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn location(root: &Path, tenant: &str, project: &str) -> Result<PathBuf, RepoError> {
        let located = Mounts::beneath(root.to_owned()).locate(tenant, project)?;
        Ok(located.host_path.strip_prefix(root).unwrap().to_owned())
    }

    #[test]
    fn git_sync_folders_are_followed_through_current() {
        let temp = tempfile::tempdir().unwrap();
        let app = temp.path().join("acme/app");
        std::fs::create_dir_all(app.join(".worktrees/abc")).unwrap();
        symlink(".worktrees/abc", app.join("current")).unwrap();
        assert_eq!(
            location(temp.path(), "acme", "app").unwrap(),
            Path::new("acme/app")
        );
        std::fs::write(app.join(".worktrees/abc/.git"), "gitdir: x").unwrap();
        let expected = Path::new("acme/app/.worktrees/abc");
        assert_eq!(location(temp.path(), "acme", "app").unwrap(), expected);
    }

    #[test]
    fn a_repository_may_have_a_file_called_current() {
        let temp = tempfile::tempdir().unwrap();
        let app = temp.path().join("acme/app");
        std::fs::create_dir_all(app.join(".git")).unwrap();
        symlink("/etc", app.join("current")).unwrap();
        assert_eq!(
            location(temp.path(), "acme", "app").unwrap(),
            Path::new("acme/app")
        );
    }

    #[test]
    fn links_must_stay_beneath_the_tenant() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("acme/real")).unwrap();
        std::fs::create_dir_all(temp.path().join("acme/sync")).unwrap();
        std::fs::create_dir_all(temp.path().join("zeta/app/.git")).unwrap();
        symlink("real", temp.path().join("acme/alias")).unwrap();
        symlink("../zeta/app", temp.path().join("acme/stolen")).unwrap();
        symlink("../../zeta/app", temp.path().join("acme/sync/current")).unwrap();
        symlink("zeta", temp.path().join("evil")).unwrap();
        assert_eq!(
            location(temp.path(), "acme", "alias").unwrap(),
            Path::new("acme/real")
        );
        for (tenant, project) in [
            ("acme", "stolen"),
            ("acme", "sync"),
            ("evil", "app"),
            ("acme", ".."),
            ("", "acme"),
        ] {
            assert!(
                location(temp.path(), tenant, project).is_err(),
                "{tenant}/{project}"
            );
        }
    }

    #[test]
    fn the_first_folder_that_has_a_project_is_served() {
        let temp = tempfile::tempdir().unwrap();
        let (first, second) = (temp.path().join("trees"), temp.path().join("mirrors"));
        for folder in [
            "trees/acme/both",
            "mirrors/acme/both",
            "mirrors/acme/mirror",
        ] {
            std::fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        let mounts = Mounts::beneath(first.clone()).and_beneath(second.clone());
        for (project, folder) in [("both", &first), ("mirror", &second)] {
            let folder = folder.join("acme").join(project);
            assert_eq!(mounts.locate("acme", project).unwrap().host_path, folder);
            assert_eq!(mounts.host_path("acme", project).unwrap(), folder);
        }
        assert!(matches!(
            mounts.locate("acme", "absent"),
            Err(RepoError::NotMounted)
        ));
        assert_eq!(mounts.folders(), [first, second]);
    }

    #[test]
    fn a_linked_folder_is_the_project_wherever_it_is() {
        let temp = tempfile::tempdir().unwrap();
        let mounts = Mounts::none().link("dev", "here", temp.path().to_owned());
        assert_eq!(mounts.locate("dev", "here").unwrap().host_path, temp.path());
        assert!(matches!(
            mounts.locate("dev", "other"),
            Err(RepoError::NotMounted)
        ));
        assert_eq!(mounts.folders(), [temp.path()]);
    }
}
