//! Checks that all of a repository's data is inside its owner's folder.
//!
//! Git follows paths in its files: `.git` may be a file that names a folder, a work tree names the
//! folder it shares, an object store names others to borrow from, and each may be a link. Any of
//! them could lead into another tenant's repository. So all of them are read here first. If one
//! leads outside the boundary (the tenant's folder, or the one linked folder), the project counts
//! as having no repository. A pointer must be parsed exactly as gix parses it, white space
//! included, or gix would open a path that was not checked.

mod contents;

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use uuid::Uuid;

use super::jail::{Jail, file_type};
use super::path::RepoPath;
use super::stamp::Stamp;

/// Maximum size in bytes of a file that names folders.
const MAX_POINTER: u64 = 64 << 10;

/// Maximum size in bytes of a repository's configuration.
const MAX_CONFIG: u64 = 4 << 20;

/// The folder that git's data may not leave.
#[derive(Debug)]
pub(super) struct Boundary {
    pub(super) jail: Jail,
    /// Its host path, for absolute paths in git's files.
    pub(super) host_path: PathBuf,
    /// The project's folder within it.
    pub(super) project: RepoPath,
}

/// The result of inspecting a project's git data.
#[derive(Debug)]
pub(super) struct Findings {
    /// The folder of its data; `None` if it has none, or none that may be used.
    pub(super) git_folder: Option<GitFolder>,
    /// Whether the project's folder is itself a repository, without a work tree.
    pub(super) is_bare: bool,
    /// Why it may not be used.
    pub(super) breach: Option<Breach>,
    /// Why it cannot be used although it is inside: its format is not supported.
    pub(super) unsupported: Option<&'static str>,
    /// The project that `archway sync` mirrors it for; `None` if it says of none.
    pub(super) mirror_of: Option<Uuid>,
    /// All paths that the result depends on, with their state.
    dependencies: Vec<(RepoPath, Option<Stamp>)>,
}

/// A repository's data folder, checked to be inside.
#[derive(Clone, Debug)]
pub(super) struct GitFolder {
    /// Its host path.
    pub(super) host_path: PathBuf,
}

/// Git's data leads outside, or is not what git writes.
#[derive(Debug, thiserror::Error)]
#[error("git's data of the project leads outside its mount, at {at}")]
pub(super) struct Breach {
    /// The file that leads outside.
    at: &'static str,
}

impl Boundary {
    /// Finds the project's repository and inspects everything that its data refers to.
    pub(super) fn inspect(&self) -> Findings {
        let mut inspection = Inspection {
            boundary: self,
            dependencies: Vec::new(),
            unsupported: None,
            mirror_of: None,
        };
        let is_bare = inspection.is_bare();
        let found = inspection.git_folder(is_bare);
        let Inspection {
            dependencies,
            unsupported,
            mirror_of,
            ..
        } = inspection;
        let (git_folder, breach) = match found {
            Ok(folder) => (folder, None),
            Err(breach) => (None, Some(breach)),
        };
        Findings {
            git_folder,
            is_bare,
            breach,
            unsupported,
            mirror_of,
            dependencies,
        }
    }

    /// Whether everything that the findings depend on is unchanged.
    pub(super) fn still_holds(&self, findings: &Findings) -> bool {
        findings
            .dependencies
            .iter()
            .all(|(path, stamp)| self.stamp(path) == *stamp)
    }

    /// The state of a path. Of a folder only the identity counts: git changes its content all the
    /// time.
    fn stamp(&self, path: &RepoPath) -> Option<Stamp> {
        let stat = self.jail.stat_unchecked(path).ok()?;
        Some(match file_type(&stat) {
            FileType::Directory => Stamp::identity(&stat),
            _ => Stamp::of(&stat),
        })
    }

    fn kind_of(&self, path: &RepoPath) -> Option<FileType> {
        self.jail
            .stat_unchecked(path)
            .ok()
            .map(|stat| file_type(&stat))
    }

    /// Resolves `target` from `base`, if it is inside. Git also writes absolute paths.
    fn within(&self, base: &RepoPath, target: &[u8]) -> Option<RepoPath> {
        if !target.starts_with(b"/") {
            return self.jail.resolve_from(base, target).ok();
        }
        let inside = Path::new(OsStr::from_bytes(target))
            .strip_prefix(&self.host_path)
            .ok()?;
        self.jail
            .resolve_from(&RepoPath::root(), inside.as_os_str().as_bytes())
            .ok()
    }
}

/// An inspection of everything that a repository's data refers to.
struct Inspection<'a> {
    boundary: &'a Boundary,
    dependencies: Vec<(RepoPath, Option<Stamp>)>,
    unsupported: Option<&'static str>,
    mirror_of: Option<Uuid>,
}

impl Inspection<'_> {
    /// Whether the folder looks like the result of `git clone --bare`.
    fn is_bare(&mut self) -> bool {
        let mut kind = |name: &[u8]| {
            let path = self.boundary.project.join(name);
            self.depend_on(&path);
            self.boundary.kind_of(&path)
        };
        kind(b".git").is_none()
            && kind(b"HEAD") == Some(FileType::RegularFile)
            && kind(b"objects") == Some(FileType::Directory)
            && kind(b"refs") == Some(FileType::Directory)
    }

    fn git_folder(&mut self, is_bare: bool) -> Result<Option<GitFolder>, Breach> {
        let dot_git = self.boundary.project.join(b".git");
        let folder = match self.boundary.kind_of(&dot_git) {
            None if is_bare => self.boundary.project.clone(),
            None => return Ok(None),
            Some(FileType::Directory) => dot_git,
            Some(FileType::RegularFile) => {
                let target = self.pointer(&dot_git, b"gitdir: ")?.unwrap_or_default();
                let folder = self.boundary.within(&self.boundary.project, &target);
                folder.ok_or(Breach { at: ".git" })?
            }
            Some(_) => return Err(Breach { at: ".git" }),
        };
        self.repository(&folder)?;
        Ok(Some(GitFolder {
            host_path: self.boundary.host_path.join(folder.as_path()),
        }))
    }

    fn repository(&mut self, git: &RepoPath) -> Result<(), Breach> {
        self.depend_on(git);
        let common = match self.pointer(&git.join(b"commondir"), b"")? {
            None => git.clone(),
            Some(target) => self
                .boundary
                .within(git, &target)
                .ok_or(Breach { at: "commondir" })?,
        };
        self.depend_on(&git.join(b"commondir"));
        for name in ["HEAD", "index", "config.worktree"] {
            self.plain(git, name)?;
        }
        for name in ["config", "packed-refs", "shallow"] {
            self.plain(&common, name)?;
        }
        self.unsupported = self.format(&common.join(b"config"))?;
        for folder in [git, &common] {
            for name in ["refs", "logs", "info"] {
                self.only_files(&folder.join(name.as_bytes()), name)?;
            }
        }
        self.objects(&common.join(b"objects"))
    }

    /// Records a path's state, so that a change of it is noticed.
    fn depend_on(&mut self, path: &RepoPath) {
        self.dependencies
            .push((path.clone(), self.boundary.stamp(path)));
    }

    /// Checks that a name, if it exists, is not a link.
    fn plain(&self, folder: &RepoPath, name: &'static str) -> Result<(), Breach> {
        match self
            .boundary
            .jail
            .open(&folder.join(name.as_bytes()), OFlags::PATH)
        {
            Err(Errno::LOOP | Errno::XDEV) => Err(Breach { at: name }),
            _ => Ok(()),
        }
    }

    /// Reads the path after `label` in a file; `None` if there is no such file.
    fn pointer(&self, file: &RepoPath, label: &[u8]) -> Result<Option<Vec<u8>>, Breach> {
        let Some(content) = self.content(file, MAX_POINTER)? else {
            return Ok(None);
        };
        let target = content.strip_prefix(label).ok_or(Breach { at: ".git" })?;
        Ok(Some(target.trim_end().to_owned()))
    }

    /// Reads a whole file of at most `max` bytes; `None` if there is none.
    fn content(&self, file: &RepoPath, max: u64) -> Result<Option<Vec<u8>>, Breach> {
        const AT: Breach = Breach {
            at: "a file that says where data is",
        };
        let fd = match self
            .boundary
            .jail
            .open(file, OFlags::RDONLY | OFlags::NONBLOCK)
        {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(|_unreadable| AT)?,
        };
        let stat = rustix::fs::fstat(&fd).map_err(|_unreadable| AT)?;
        if file_type(&stat) != FileType::RegularFile {
            return Err(AT);
        }
        let mut content = Vec::new();
        let mut limited = std::fs::File::from(fd).take(max + 1);
        let read = limited.read_to_end(&mut content);
        let read = read.map_err(|_unreadable| AT)?;
        // A truncated file could mean something else.
        (read as u64 <= max).then_some(Some(content)).ok_or(AT)
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
        assert_eq!(app.listed(), ["f"], "files are still served");
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
        assert_eq!(head(&app), None, "a borrowed store borrows from outside");
    }

    #[test]
    fn object_stores_that_contain_links_are_rejected() {
        let app = Sandbox::new();
        let foreign = foreign(&app);
        app.file("f", "own").committed();
        let pack = app.root().join(".git/objects/pack");
        fs::remove_dir(&pack).unwrap();
        symlink(foreign.join(".git/objects/pack"), &pack).unwrap();
        assert_eq!(head(&app), None);
    }

    #[test]
    fn a_borrowed_store_may_borrow_by_absolute_path_only() {
        let app = Sandbox::new();
        foreign(&app);
        app.file("f", "own").committed();
        // Four folders deep: from here the path leads to a decoy inside; from the first store, to
        // zeta.
        let (deep, decoy) = (
            app.host("acme/a/b/c/objects"),
            app.host("acme/zeta/app/.git/objects"),
        );
        for folder in [&deep, &decoy] {
            fs::create_dir_all(folder.join("info")).unwrap();
        }
        app.file(".git/objects/info/alternates", "../../../a/b/c/objects\n");
        assert!(head(&app).is_some());
        let nested = deep.join("info/alternates");
        fs::write(&nested, "../../../../zeta/app/.git/objects\n").unwrap();
        assert_eq!(head(&app), None);
        fs::write(&nested, format!("{}\n", decoy.display())).unwrap();
        assert!(head(&app).is_some(), "absolute, and inside");
    }

    #[test]
    fn alternates_are_parsed_exactly_as_gix_follows_them() {
        let app = Sandbox::new();
        let foreign = foreign(&app);
        app.file("f", "own").committed();
        fs::create_dir_all(app.host("acme/other")).unwrap();
        symlink(foreign.join(".git/objects"), app.host("acme/other ")).unwrap();
        for list in [
            "../../../other \n",
            "\"../../../other\"\n",
            "../../../other\r\n",
        ] {
            app.file(".git/objects/info/alternates", list);
            assert_eq!(head(&app), None, "{list:?}");
        }
        let cut = format!("{}../../../other\n", "# long\n".repeat(10_000));
        app.file(".git/objects/info/alternates", cut);
        assert_eq!(head(&app), None, "too long to be read whole");
        app.file(".git/objects/info/alternates", "# none\n\n../../../other\n");
        app.file(
            ".git/objects/info/http-alternates",
            "http://127.0.0.1:1/objects\n",
        );
        assert!(head(&app).is_some());
    }

    #[test]
    fn git_folders_that_contain_links_or_pipes_are_rejected() {
        for (place, is_pipe) in [
            ("objects/aa/bb", false),
            ("objects/info/commit-graph", false),
            ("objects/info/packs", true),
            ("refs/heads/evil", false),
            ("refs/tags", false),
            ("refs/remotes/origin/main", true),
            ("logs/HEAD", false),
            ("info/exclude", false),
            ("packed-refs", false),
            ("shallow", false),
            ("config.worktree", false),
            ("index", false),
        ] {
            let app = Sandbox::new();
            let foreign = foreign(&app);
            app.file("f", "own").committed();
            let at = app.root().join(".git").join(place);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            match is_pipe {
                _ if at.is_dir() => fs::remove_dir_all(&at).unwrap(),
                _ => fs::remove_file(&at).unwrap_or_default(),
            }
            match is_pipe {
                true => rustix::fs::mkfifoat(rustix::fs::CWD, &at, rustix::fs::Mode::RUSR).unwrap(),
                false => symlink(foreign.join(".git").join(place), &at).unwrap(),
            }
            assert_eq!(head(&app), None, "{place}");
            assert!(
                app.repo().git_refused().unwrap().contains("outside"),
                "{place}"
            );
        }
    }

    #[test]
    fn unsupported_formats_are_named() {
        let app = Sandbox::new();
        assert_eq!(app.repo().git_refused(), None);
        app.git(&["init", "-q", "--object-format=sha256"]);
        assert!(app.repo().git().is_none());
        assert!(app.repo().git_refused().unwrap().contains("SHA-256"));
        fs::remove_dir_all(app.root().join(".git")).unwrap();
        app.git(&["init", "-q", "--ref-format=reftable"]);
        assert!(app.repo().git().is_none());
        assert!(app.repo().git_refused().unwrap().contains("references"));
        app.file(".git/config", "[core\n");
        assert!(app.repo().git_refused().unwrap().contains("configuration"));
        fs::remove_dir_all(app.root().join(".git")).unwrap();
        app.git(&["init", "-q"]);
        assert!(app.repo().git().is_some() && app.repo().git_refused().is_none());
    }
}
