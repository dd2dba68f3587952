//! Where a repository's data lies, and that none of it is outside.
//!
//! Git follows what its files say: `.git` may be a file that names a folder, a work tree names
//! the folder it shares, an object store names others to borrow from, and any of it may be a
//! link. Each could lead into somebody else's repository. So all of them are read here first;
//! where one leads outside the fence (the tenant's folder, or the one folder that was linked),
//! the project counts as having no repository.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, OFlags};
use rustix::io::Errno;

use super::jail::{Jail, file_type};
use super::path::RepoPath;
use super::stamp::Stamp;

/// How many object stores may be borrowed from, directly or not.
const MAX_ALTERNATES: usize = 16;

/// How large git's small files may be.
const MAX_POINTER: u64 = 64 << 10;

/// The folder that git's data may not leave.
#[derive(Debug)]
pub(super) struct Fence {
    pub(super) jail: Jail,
    /// Where it is on this host, for absolute paths in git's files.
    pub(super) host: PathBuf,
    /// The project's folder within it.
    pub(super) project: RepoPath,
}

/// What was found of a project's repository.
#[derive(Debug)]
pub(super) struct Findings {
    /// Where its data lies; `None` if it has none, or none that may be used.
    pub(super) place: Option<GitFolder>,
    /// Whether the project's folder is a repository itself, without a work tree.
    pub(super) is_bare: bool,
    /// Why it may not be used.
    pub(super) breach: Option<Breach>,
    /// Everything that was believed, as it was.
    witnesses: Vec<(RepoPath, Option<Stamp>)>,
}

/// A repository's data, found to be inside.
#[derive(Clone, Debug)]
pub(super) struct GitFolder {
    /// Where it is on this host.
    pub(super) host: PathBuf,
}

/// Git's data leads outside, or is not what git writes.
#[derive(Debug, thiserror::Error)]
#[error("git's data of the project leads outside its mount, at {at}")]
pub(super) struct Breach {
    /// What leads outside.
    at: &'static str,
}

impl Fence {
    /// Looks for the project's repository, and at all that its data refers to.
    pub(super) fn survey(&self) -> Findings {
        let mut survey = Survey {
            fence: self,
            witnesses: Vec::new(),
        };
        let is_bare = survey.is_bare();
        let found = survey.git_folder(is_bare);
        let witnesses = survey.witnesses;
        let (place, breach) = match found {
            Ok(place) => (place, None),
            Err(breach) => (None, Some(breach)),
        };
        Findings {
            place,
            is_bare,
            breach,
            witnesses,
        }
    }

    /// Whether everything that was believed still stands.
    pub(super) fn still_holds(&self, findings: &Findings) -> bool {
        findings
            .witnesses
            .iter()
            .all(|(path, stamp)| self.stamp(path) == *stamp)
    }

    /// Folders change all the time while git works; which folder it is, doesn't.
    fn stamp(&self, path: &RepoPath) -> Option<Stamp> {
        let stat = self.jail.glance(path).ok()?;
        Some(match file_type(&stat) {
            FileType::Directory => Stamp::identity(&stat),
            _ => Stamp::of(&stat),
        })
    }

    fn kind_of(&self, path: &RepoPath) -> Option<FileType> {
        self.jail.glance(path).ok().map(|stat| file_type(&stat))
    }

    /// Where `target` leads from `base`, if that is inside. Git writes absolute paths as well.
    fn within(&self, base: &RepoPath, target: &[u8]) -> Option<RepoPath> {
        if !target.starts_with(b"/") {
            return self.jail.resolve_from(base, target).ok();
        }
        let inside = Path::new(OsStr::from_bytes(target))
            .strip_prefix(&self.host)
            .ok()?;
        self.jail
            .resolve_from(&RepoPath::root(), inside.as_os_str().as_bytes())
            .ok()
    }
}

/// A look at all that a repository's data refers to.
struct Survey<'a> {
    fence: &'a Fence,
    witnesses: Vec<(RepoPath, Option<Stamp>)>,
}

impl Survey<'_> {
    /// Whether the folder is what `git clone --bare` makes.
    fn is_bare(&mut self) -> bool {
        let mut kind = |name: &[u8]| {
            let path = self.fence.project.join(name);
            self.witness(&path);
            self.fence.kind_of(&path)
        };
        kind(b".git").is_none()
            && kind(b"HEAD") == Some(FileType::RegularFile)
            && kind(b"objects") == Some(FileType::Directory)
            && kind(b"refs") == Some(FileType::Directory)
    }

    fn git_folder(&mut self, is_bare: bool) -> Result<Option<GitFolder>, Breach> {
        let dot_git = self.fence.project.join(b".git");
        let place = match self.fence.kind_of(&dot_git) {
            None if is_bare => self.fence.project.clone(),
            None => return Ok(None),
            Some(FileType::Directory) => dot_git,
            Some(FileType::RegularFile) => {
                let target = self.pointer(&dot_git, b"gitdir: ")?.unwrap_or_default();
                let place = self.fence.within(&self.fence.project, &target);
                place.ok_or(Breach { at: ".git" })?
            }
            Some(_) => return Err(Breach { at: ".git" }),
        };
        self.repository(&place)?;
        Ok(Some(GitFolder {
            host: self.fence.host.join(place.as_path()),
        }))
    }

    fn repository(&mut self, git: &RepoPath) -> Result<(), Breach> {
        self.witness(git);
        let common = match self.pointer(&git.join(b"commondir"), b"")? {
            None => git.clone(),
            Some(target) => self
                .fence
                .within(git, &target)
                .ok_or(Breach { at: "commondir" })?,
        };
        self.witness(&git.join(b"commondir"));
        self.plain(git, "HEAD")?;
        self.plain(git, "index")?;
        for name in ["config", "packed-refs", "refs", "refs/heads"] {
            self.plain(&common, name)?;
        }
        self.objects(&common.join(b"objects"))
    }

    /// The object store, and those it borrows from.
    fn objects(&mut self, store: &RepoPath) -> Result<(), Breach> {
        let mut stores = vec![store.clone()];
        let mut next = 0;
        while let Some(store) = stores.get(next).cloned() {
            next += 1;
            self.without_links(&store)?;
            self.without_links(&store.join(b"pack"))?;
            let list = store.join(b"info/alternates");
            self.witness(&list);
            self.plain(&store, "info")?;
            for target in self.lines(&list)? {
                let other = self.fence.within(&store, &target);
                let other = other.ok_or(Breach {
                    at: "objects/info/alternates",
                })?;
                if !stores.contains(&other) {
                    stores.push(other);
                }
            }
            if stores.len() > MAX_ALTERNATES {
                return Err(Breach {
                    at: "objects/info/alternates",
                });
            }
        }
        Ok(())
    }

    /// Remembers what a path is, so that a change of it is noticed.
    fn witness(&mut self, path: &RepoPath) {
        self.witnesses.push((path.clone(), self.fence.stamp(path)));
    }

    /// A name that must not be a link, if it is there.
    fn plain(&self, folder: &RepoPath, name: &'static str) -> Result<(), Breach> {
        match self
            .fence
            .jail
            .open(&folder.join(name.as_bytes()), OFlags::PATH)
        {
            Err(Errno::LOOP | Errno::XDEV) => Err(Breach { at: name }),
            _ => Ok(()),
        }
    }

    /// A folder that is no link and holds none.
    fn without_links(&self, folder: &RepoPath) -> Result<(), Breach> {
        const AT: Breach = Breach { at: "objects" };
        let fd = match self
            .fence
            .jail
            .open(folder, OFlags::RDONLY | OFlags::DIRECTORY)
        {
            Err(Errno::NOENT) => return Ok(()),
            opened => opened.map_err(|_unreadable| AT)?,
        };
        for entry in Dir::new(fd).map_err(|_unreadable| AT)? {
            let entry = entry.map_err(|_unreadable| AT)?;
            if entry.file_type() == FileType::Symlink {
                return Err(AT);
            }
        }
        Ok(())
    }

    /// What a file that names a path says, after `label`. `None` if there is no such file.
    fn pointer(&self, file: &RepoPath, label: &[u8]) -> Result<Option<Vec<u8>>, Breach> {
        let Some(content) = self.content(file)? else {
            return Ok(None);
        };
        let target = content.strip_prefix(label).ok_or(Breach { at: ".git" })?;
        Ok(Some(target.trim_ascii_end().to_owned()))
    }

    fn lines(&self, file: &RepoPath) -> Result<Vec<Vec<u8>>, Breach> {
        let content = self.content(file)?.unwrap_or_default();
        let lines = content
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::trim_ascii_end);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        Ok(lines.map(<[u8]>::to_owned).collect())
    }

    fn content(&self, file: &RepoPath) -> Result<Option<Vec<u8>>, Breach> {
        const AT: Breach = Breach {
            at: "a file that names a folder",
        };
        let fd = match self
            .fence
            .jail
            .open(file, OFlags::RDONLY | OFlags::NONBLOCK)
        {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(|_unreadable| AT)?,
        };
        let mut content = Vec::new();
        let mut limited = std::fs::File::from(fd).take(MAX_POINTER);
        limited
            .read_to_end(&mut content)
            .map_err(|_unreadable| AT)?;
        Ok(Some(content))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::testing::{Sandbox, git};
    use super::*;

    fn head(app: &Sandbox) -> Option<String> {
        app.repo().head().map(|head| head.commit)
    }

    /// Another tenant's repository, which nothing of `acme` may reach.
    fn foreign(app: &Sandbox) -> PathBuf {
        let folder = app.host("zeta/app");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("f"), "foreign").unwrap();
        git(&folder, &["init", "-q"]);
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-qm", "foreign"]);
        folder
    }

    #[test]
    fn a_gitdir_outside_the_tenant_counts_as_no_repository() {
        let app = Sandbox::new();
        let foreign = foreign(&app);
        app.file("f", "own");
        for target in [
            "../../zeta/app/.git",
            foreign.join(".git").to_str().unwrap(),
        ] {
            app.file(".git", format!("gitdir: {target}\n"));
            assert_eq!(head(&app), None, "{target}");
        }
        fs::remove_file(app.root().join(".git")).unwrap();
        symlink(foreign.join(".git"), app.root().join(".git")).unwrap();
        assert_eq!(head(&app), None, "a link");
        assert_eq!(app.listed(), ["f"], "files are served all the same");
    }

    #[test]
    fn a_work_tree_may_share_a_repository_of_its_tenant() {
        let app = Sandbox::new();
        fs::create_dir_all(app.host("acme/main")).unwrap();
        let main = app.host("acme/main");
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-qm", "one", "--allow-empty"]);
        fs::remove_dir(app.root()).unwrap();
        git(
            &main,
            &["worktree", "add", "-q", app.root().to_str().unwrap()],
        );
        assert_eq!(head(&app), Some(git(&main, &["rev-parse", "HEAD"])));
        let private = fs::read_dir(main.join(".git/worktrees"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        fs::write(
            private.path().join("commondir"),
            "../../../../../zeta/app/.git",
        )
        .unwrap();
        foreign(&app);
        assert_eq!(
            head(&app),
            None,
            "commondir was changed while the project was in use"
        );
    }

    #[test]
    fn borrowed_objects_stay_inside_at_every_step() {
        let app = Sandbox::new();
        foreign(&app);
        app.file("f", "own").committed();
        let other = app.host("acme/other");
        fs::create_dir_all(other.join("objects/info")).unwrap();
        let alternates = ".git/objects/info/alternates";
        assert!(head(&app).is_some());
        app.file(alternates, "../../../other/objects\n");
        assert!(head(&app).is_some(), "inside the tenant");
        let deeper = other.join("objects/info/alternates");
        fs::write(deeper, "../../../zeta/app/.git/objects\n").unwrap();
        assert_eq!(head(&app), None, "borrowed by what is borrowed from");
    }

    #[test]
    fn object_stores_that_hold_links_are_refused() {
        let app = Sandbox::new();
        let foreign = foreign(&app);
        app.file("f", "own").committed();
        let pack = app.root().join(".git/objects/pack");
        fs::remove_dir(&pack).unwrap();
        symlink(foreign.join(".git/objects/pack"), &pack).unwrap();
        assert_eq!(head(&app), None);
    }
}
