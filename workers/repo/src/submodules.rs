//! Submodules: places where a commit has another repository's commit in place of files.
//!
//! Archway fetches none of them. Their files are there where somebody checked them out in a work
//! tree; then they are files as all others.

use std::path::PathBuf;

use gix::ObjectId;
use gix::object::tree::EntryKind as Mode;
use rustix::fs::{Dir, OFlags};

use super::cancel::Cancel;
use super::commit_tree::reach;
use super::error::RepoError;
use super::listing::Listing;
use super::path::RepoPath;
use super::repo::Repo;
use super::rules::Kind;

/// Git's list of submodules.
const LIST: &[u8] = b".gitmodules";
/// Of a longer list nothing is read, in bytes.
const MAX_LIST: u64 = 256 << 10;

/// At most this many submodules are looked up.
const MAX_SUBMODULES: usize = 1000;

/// A submodule whose files are not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    /// Where its files would be.
    pub path: RepoPath,
    /// Its commit's full id, in hexadecimal.
    pub commit: String,
}

impl Repo {
    /// The submodule at this path or above it, if no rule hides it and its files are not here.
    pub fn submodule(&self, path: &RepoPath) -> Option<Submodule> {
        let submodule = gitlink(&self.git()?, self.commit()?, path)?;
        let is_shown = self.rules.check(&submodule.path, Kind::Directory).is_ok();
        (is_shown && self.is_empty(&submodule.path)).then_some(submodule)
    }

    /// The submodules that `.gitmodules` names and whose files are not here, in path order, of the
    /// first [`MAX_SUBMODULES`] that it names.
    ///
    /// # Errors
    /// [`RepoError::Stopped`].
    pub fn submodules(
        &self,
        listing: &Listing,
        cancel: &Cancel,
    ) -> Result<Vec<Submodule>, RepoError> {
        let list = RepoPath::trusted(LIST);
        let entries = &listing.entries;
        let listed = entries.binary_search_by(|entry| entry.path.cmp(&list));
        if listed.is_err() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for path in self.named_in(&list) {
            cancel.check()?;
            found.extend(self.submodule(&path).filter(|it| it.path == path));
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found.dedup();
        Ok(found)
    }

    /// The paths that a list of submodules has; none if it cannot be read.
    fn named_in(&self, list: &RepoPath) -> Vec<RepoPath> {
        let file = self.open(list).ok();
        let bytes = file.and_then(|mut file| file.read_at_most(MAX_LIST).ok()?);
        let no_overrides = gix::config::File::default();
        let parsed = bytes.and_then(|bytes| {
            gix::submodule::File::from_bytes(&bytes, None::<PathBuf>, &no_overrides).ok()
        });
        let Some(parsed) = parsed else {
            return Vec::new();
        };
        let paths = parsed.names().filter_map(|name| parsed.path(name).ok());
        let paths = paths.filter_map(|path| RepoPath::parse(std::str::from_utf8(&path).ok()?).ok());
        paths.take(MAX_SUBMODULES).collect()
    }

    /// Whether no files are at a submodule's path: no work tree, or an empty folder.
    fn is_empty(&self, path: &RepoPath) -> bool {
        let Some(jail) = self.snapshot.jail() else {
            return true;
        };
        let folder = jail.open(path, OFlags::RDONLY | OFlags::DIRECTORY);
        folder.and_then(Dir::new).is_ok_and(|mut entries| {
            entries.all(|entry| {
                entry.is_ok_and(|it| matches!(it.file_name().to_bytes(), b"." | b".."))
            })
        })
    }
}

/// The submodule that a commit has at this path or above it.
fn gitlink(repository: &gix::Repository, commit: ObjectId, path: &RepoPath) -> Option<Submodule> {
    let tree = repository.find_commit(commit).ok()?.tree_id().ok()?;
    let (path, node) = reach(repository, tree.detach(), path).ok()??;
    (node.mode == Mode::Commit).then(|| Submodule {
        path,
        commit: node.id.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Sandbox, cancel, git, path};
    use super::*;

    const COMMIT: &str = "1234567890123456789012345678901234567890";

    /// A repository with submodules at `lib/one` and `two`, and one at `three` that no list has.
    fn app() -> Sandbox {
        let app = Sandbox::new();
        let list = "[submodule \"1\"]\n\tpath = lib/one\n[submodule \"2\"]\n\tpath = two/\n\
                    [submodule \"3\"]\n\tpath = a.rs\n[submodule \"4\"]\n\tpath = ../two\n\
                    [submodule \"5\"]\n\tpath = secrets\n";
        app.file("a.rs", "fn a() {}\n").file(".gitmodules", list);
        app.committed();
        for place in ["lib/one", "two", "three", "secrets"] {
            let entry = format!("160000,{COMMIT},{place}");
            app.git(&["update-index", "--add", "--cacheinfo", &entry]);
        }
        app.git(&["commit", "-qm", "submodules"]);
        app
    }

    fn listed(app: &Sandbox) -> Vec<String> {
        let repo = app.repo();
        let listing = repo.listing(&cancel()).unwrap();
        let found = repo.submodules(&listing, &cancel()).unwrap();
        assert!(found.iter().all(|it| it.commit == COMMIT));
        found.iter().map(|it| it.path.display()).collect()
    }

    /// The submodule of a path.
    fn of(app: &Sandbox, text: &str) -> Option<String> {
        let found = app.repo().submodule(&path(text));
        found.map(|it| it.path.display())
    }

    #[test]
    fn a_work_trees_submodule_is_one_until_it_has_files() {
        let app = app();
        for place in ["lib/one", "two"] {
            std::fs::create_dir_all(app.root().join(place)).unwrap();
        }
        assert_eq!(listed(&app), ["lib/one", "two"]);
        assert_eq!(of(&app, "lib/one/b.rs").unwrap(), "lib/one");
        app.file("lib/one/b.rs", "fn b() {}\n");
        assert_eq!(listed(&app), ["two"]);
        assert_eq!(of(&app, "lib/one"), None);
    }

    #[test]
    fn a_bare_repositorys_submodules_and_paths_in_them_have_no_files() {
        let app = app();
        std::fs::rename(app.root(), app.host("acme/source")).unwrap();
        git(
            &app.host("acme"),
            &["clone", "-q", "--bare", "source", "app"],
        );
        assert_eq!(listed(&app), ["lib/one", "two"]);
        for text in ["three", "three/a.rs", "lib/one/x/y"] {
            assert!(of(&app, text).is_some(), "{text}");
            let opened = app.repo().open(&path(text)).unwrap_err();
            assert!(matches!(opened, RepoError::NotFound { .. }), "{opened:?}");
        }
        for text in ["a.rs", "lib", "secrets"] {
            assert_eq!(of(&app, text), None, "{text}");
        }
        assert_eq!(app.listed(), [".gitmodules", "a.rs"]);
    }
}
