//! Where repositories are mounted, and which folder a project currently is.
//!
//! A project is `<root>/<tenant>/<project>`. If that is a link, or contains a link `current` to a
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
    root: Option<PathBuf>,
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
            root: Some(root),
            links: Vec::new(),
        }
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
        self.root.clone().into_iter().chain(linked).collect()
    }

    /// Lists possible projects as `(tenant, project)`: at most `limit`, in no order. Blocks.
    ///
    /// # Errors
    /// If the root cannot be read. A tenant's folder that cannot be read has no projects.
    pub fn names(&self, limit: usize) -> std::io::Result<Vec<(String, String)>> {
        let linked = self.links.iter();
        let mut names: Vec<_> = linked
            .map(|link| (link.tenant.clone(), link.project.clone()))
            .collect();
        if let Some(root) = &self.root {
            for tenant in slugs(std::fs::read_dir(root)?) {
                if names.len() >= limit {
                    break;
                }
                let Ok(folder) = std::fs::read_dir(root.join(&tenant)) else {
                    continue;
                };
                let left = limit - names.len();
                let projects = slugs(folder).take(left);
                names.extend(projects.map(|project| (tenant.clone(), project)));
            }
        }
        names.truncate(limit);
        Ok(names)
    }

    pub(super) fn locate(&self, tenant: &str, project: &str) -> Result<Located, RepoError> {
        let link = self
            .links
            .iter()
            .find(|l| l.tenant == tenant && l.project == project);
        if let Some(link) = link {
            return linked(&link.path);
        }
        let root = self.root.as_deref().ok_or(RepoError::NotMounted)?;
        if !is_name(tenant) || !is_name(project) {
            return Err(RepoError::NotMounted);
        }
        beneath(root, tenant, project)
    }
}

/// The names of folders and links that are valid slugs.
fn slugs(folder: std::fs::ReadDir) -> impl Iterator<Item = String> {
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

    #[test]
    fn only_folders_named_by_slugs_are_projects_up_to_the_limit() {
        let temp = tempfile::tempdir().unwrap();
        for folder in [
            "acme/app",
            "acme/Upper",
            "acme/.git",
            "zeta/one",
            "lost+found",
        ] {
            std::fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        std::fs::write(temp.path().join("acme/file"), "").unwrap();
        symlink("app", temp.path().join("acme/alias")).unwrap();
        let mounts = Mounts::beneath(temp.path().to_owned());
        let mut names = mounts.names(100).unwrap();
        names.sort();
        let expected = [("acme", "alias"), ("acme", "app"), ("zeta", "one")];
        assert_eq!(names, expected.map(|(t, p)| (t.to_owned(), p.to_owned())));
        assert_eq!(mounts.names(2).unwrap().len(), 2);
        assert!(Mounts::beneath("/nowhere/at/all".into()).names(2).is_err());
    }
}
