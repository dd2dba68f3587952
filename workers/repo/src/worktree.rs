//! The files of a work tree: opened through the jail, listed from memory while nothing changes.
//!
//! Owns the cached tree of one project. Before use, every folder and rule file in it is checked for
//! changes in parallel; only changed folders are read again. So a call sees everything that was
//! written before it began.

mod indexed;
mod source;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use rayon::ThreadPool;
use rayon::prelude::*;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::cancel::Cancel;
use super::content_cache::{Budget, ContentCache};
use super::error::RepoError;
use super::file::RepoFile;
use super::folder::{Child, Folder, MAX_ENTRIES, Reader};
use super::ignores::Ignores;
use super::jail::Jail;
use super::listing::{Entry, EntryKind, Listing, Stat};
use super::path::RepoPath;
use super::rules::{Kind, Rules};
use super::stamp::modified;

pub(super) use indexed::{IndexedWorkTree, WorkBlobs};
pub(super) use source::WorkFiles;

/// How files are opened: a FIFO must not block, and is rejected once it is open.
pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// How often a call that waits for another's read checks whether it was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// Folders that one thread checks at a time.
const FOLDERS_PER_TASK: usize = 32;

/// A work tree and its caches.
#[derive(Debug)]
pub(super) struct WorkTree {
    pub(super) jail: Jail,
    pub(super) contents: ContentCache,
    tree: Mutex<Option<Arc<Tree>>>,
    indexed: Mutex<Option<Arc<IndexedWorkTree>>>,
    /// Held while folders are read, so that concurrent calls read them once.
    reading: Mutex<()>,
}

/// All folders of a work tree, as read under some rules.
#[derive(Debug)]
struct Tree {
    rules: Arc<Rules>,
    folders: HashMap<RepoPath, Arc<Folder>>,
    listing: Arc<Listing>,
}

impl WorkTree {
    pub(super) fn new(jail: Jail, budget: Arc<Budget>) -> WorkTree {
        WorkTree {
            jail,
            contents: ContentCache::new(budget),
            tree: Mutex::new(None),
            indexed: Mutex::new(None),
            reading: Mutex::new(()),
        }
    }

    /// The current listing. Must not run on a thread of `pool`: a thread that waits for its share
    /// of the work may take up another call's work, and would then wait for its own lock.
    pub(super) fn listing(
        &self,
        rules: &Arc<Rules>,
        pool: &ThreadPool,
        cancel: &Cancel,
    ) -> Result<Arc<Listing>, RepoError> {
        if let Some(tree) = pool.install(|| self.fresh_tree(rules)) {
            return Ok(Arc::clone(&tree.listing));
        }
        let _reading = self.reading_lock(cancel)?;
        if let Some(tree) = pool.install(|| self.fresh_tree(rules)) {
            return Ok(Arc::clone(&tree.listing));
        }
        let old = self.cached_tree(rules);
        let tree = Arc::new(self.read(rules, old.as_deref(), pool, cancel)?);
        self.contents.retain(&tree.listing);
        *self.tree.lock() = Some(Arc::clone(&tree));
        Ok(Arc::clone(&tree.listing))
    }

    /// The number of entries in the cached listing.
    pub(super) fn cached_entries(&self) -> usize {
        let tree = self.tree.lock();
        tree.as_ref().map_or(0, |tree| tree.listing.entries.len())
    }

    /// Opens a regular file, also through links that stay inside. Its own name is already checked,
    /// or needs no check; the target of a link is checked.
    pub(super) fn open_checked(
        &self,
        path: &RepoPath,
        rules: &Rules,
    ) -> Result<RepoFile, RepoError> {
        let refused = |errno| RepoError::opening(path, errno);
        match self.jail.open(path, READ) {
            Err(Errno::LOOP) => {
                let real = self.jail.resolve(path)?;
                rules.admit(&real, path, Kind::File)?;
                let fd = self.jail.open(&real, READ).map_err(refused)?;
                let file = RepoFile::regular(fd, real.clone(), path);
                file.map_err(|error| rules.blocked_if_closed(error, (&real, path), Kind::Directory))
            }
            opened => RepoFile::regular(opened.map_err(refused)?, path.clone(), path),
        }
    }

    /// Resolves a directory and follows links.
    pub(super) fn directory(&self, path: &RepoPath, rules: &Rules) -> Result<RepoPath, RepoError> {
        rules.admit(path, path, Kind::Directory)?;
        let open = |path| self.jail.open(path, OFlags::PATH | OFlags::DIRECTORY);
        let real = match open(path) {
            Err(Errno::LOOP) => self.jail.resolve(path).map_err(RepoError::of_directory)?,
            opened => {
                opened.map_err(|errno| RepoError::opening(path, errno).of_directory())?;
                return Ok(path.clone());
            }
        };
        rules.admit(&real, path, Kind::Directory)?;
        open(&real).map_err(|errno| {
            let error = RepoError::opening(path, errno).of_directory();
            rules.blocked_if_closed(error, (&real, path), Kind::File)
        })?;
        Ok(real)
    }

    /// Size and time of an entry, or of its target if it is a link.
    pub(super) fn stat(&self, entry: &Entry) -> Option<Stat> {
        let stat = match entry.kind {
            EntryKind::File => self.jail.stat(&entry.path),
            EntryKind::LinkToFile | EntryKind::LinkToDirectory => {
                self.jail.stat(&self.jail.resolve(&entry.path).ok()?)
            }
        };
        let stat = stat.ok()?;
        Some(Stat {
            size: u64::try_from(stat.st_size).ok()?,
            modified: modified(&stat),
        })
    }

    /// When a folder was last changed. Its path must have no links.
    pub(super) fn folder_time(&self, folder: &RepoPath) -> Option<SystemTime> {
        Some(modified(&self.jail.stat(folder).ok()?))
    }

    fn cached_tree(&self, rules: &Arc<Rules>) -> Option<Arc<Tree>> {
        let tree = self.tree.lock().clone()?;
        (Arc::ptr_eq(&tree.rules, rules) || tree.rules == *rules).then_some(tree)
    }

    fn fresh_tree(&self, rules: &Arc<Rules>) -> Option<Arc<Tree>> {
        let tree = self.cached_tree(rules)?;
        let folders: Vec<&Arc<Folder>> = tree.folders.values().collect();
        let checks = folders.par_iter().with_min_len(FOLDERS_PER_TASK);
        checks
            .all(|folder| folder.is_fresh(&self.jail, rules))
            .then_some(Arc::clone(&tree))
    }

    fn reading_lock(&self, cancel: &Cancel) -> Result<MutexGuard<'_, ()>, RepoError> {
        loop {
            cancel.check()?;
            if let Some(guard) = self.reading.try_lock_for(CANCEL_POLL) {
                return Ok(guard);
            }
        }
    }

    /// Reads what changed since `old`, level by level: a tree may be deeper than a stack.
    fn read(
        &self,
        rules: &Arc<Rules>,
        old: Option<&Tree>,
        pool: &ThreadPool,
        cancel: &Cancel,
    ) -> Result<Tree, RepoError> {
        let reader = Reader {
            jail: &self.jail,
            rules,
            cancel,
        };
        let root = RepoPath::root();
        let base = old
            .and_then(|tree| tree.folders.get(&root))
            .map(|root| root.above());
        let mut level = vec![(root, base.cloned().unwrap_or_default())];
        let mut folders = HashMap::new();
        let mut entries = 0;
        while !level.is_empty() {
            let visits = || {
                let visits = level
                    .par_iter()
                    .map(|(path, above)| visit(reader, path, above, old));
                visits.collect::<Result<Vec<Option<Arc<Folder>>>, _>>()
            };
            let read = pool.install(visits)?;
            level.clear();
            for folder in read.into_iter().flatten() {
                entries += folder.children.len();
                level.extend(folder.children.iter().filter_map(|child| match child {
                    Child::Folder(path) => Some((path.clone(), Arc::clone(&folder.ignores))),
                    Child::Entry(_) => None,
                }));
                folders.insert(folder.path.clone(), folder);
            }
            if entries > MAX_ENTRIES {
                return Err(RepoError::TooManyEntries { limit: MAX_ENTRIES });
            }
        }
        let listing = Arc::new(Listing {
            entries: entries_by_path(&folders),
        });
        Ok(Tree {
            rules: Arc::clone(rules),
            folders,
            listing,
        })
    }
}

/// Returns the folder as read before if it is unchanged, or reads it again.
fn visit(
    reader: Reader<'_>,
    path: &RepoPath,
    above: &Arc<Ignores>,
    old: Option<&Tree>,
) -> Result<Option<Arc<Folder>>, RepoError> {
    let old = old.and_then(|tree| tree.folders.get(path));
    match old {
        Some(old) if old.is_beneath(above) && old.is_fresh(reader.jail, reader.rules) => {
            Ok(Some(Arc::clone(old)))
        }
        old => Ok(reader
            .read(path, above, old.map(Arc::as_ref))?
            .map(Arc::new)),
    }
}

/// All entries by path: a folder's entries come where its name sorts.
fn entries_by_path(folders: &HashMap<RepoPath, Arc<Folder>>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let Some(root) = folders.get(&RepoPath::root()) else {
        return entries;
    };
    let mut open = vec![root.children.iter()];
    while let Some(children) = open.last_mut() {
        match children.next() {
            Some(Child::Entry(entry)) => entries.push(entry.clone()),
            Some(Child::Folder(path)) => {
                open.extend(folders.get(path).map(|folder| folder.children.iter()));
            }
            None => _ = open.pop(),
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use proptest::prelude::*;
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;
    use uuid::Uuid;

    use super::super::testing::{Sandbox, cancel, path, repos_at};
    use super::super::{Repo, Stopped};
    use super::*;

    /// Waits until the listing is old enough to be trusted, and returns it.
    fn settled(repo: &Repo) -> Arc<Listing> {
        let give_up = Instant::now() + Duration::from_secs(10);
        loop {
            let (one, two) = (
                repo.listing(&cancel()).unwrap(),
                repo.listing(&cancel()).unwrap(),
            );
            if Arc::ptr_eq(&one, &two) {
                return one;
            }
            assert!(
                Instant::now() < give_up,
                "the listing never becomes old enough"
            );
        }
    }

    fn read(repo: &Repo, text: &str) -> Result<String, RepoError> {
        let mut content = String::new();
        repo.open(&path(text))?
            .read_to_string(&mut content)
            .unwrap();
        Ok(content)
    }

    #[test]
    fn hidden_files_are_listed_and_blocked_or_ignored_ones_are_not() {
        let app = Sandbox::new();
        app.file(".gitignore", "*.log\n/build/\n!keep.log\n")
            .file("a.log", "")
            .file("keep.log", "");
        app.file("build/x", "")
            .file("src/build/y", "")
            .file(".github/ci.yml", "");
        app.file(".env", "")
            .file("node_modules/m.js", "")
            .file(".git/info/exclude", "excluded\n");
        app.file("src/excluded", "")
            .file("src/.gitignore", "y\n")
            .file("empty/.gitkeep", "");
        let expected = [
            ".github/ci.yml",
            ".gitignore",
            "empty/.gitkeep",
            "keep.log",
            "src/.gitignore",
        ];
        assert_eq!(app.listed(), expected);
    }

    #[test]
    fn the_deepest_rule_wins_and_a_nested_repository_has_its_own() {
        let app = Sandbox::new();
        app.file(".gitignore", "*.txt\n")
            .file("a/.gitignore", "!*.txt\n")
            .file("a/b.txt", "");
        app.file("c.txt", "")
            .file("sub/.git", "gitdir: elsewhere")
            .file("sub/d.txt", "");
        app.file("a/deep/.gitignore", "e.txt\n")
            .file("a/deep/e.txt", "");
        let expected = [
            ".gitignore",
            "a/.gitignore",
            "a/b.txt",
            "a/deep/.gitignore",
            "sub/d.txt",
        ];
        assert_eq!(app.listed(), expected);
    }

    #[test]
    fn links_that_stay_inside_are_listed_as_the_kind_of_their_target() {
        let app = Sandbox::new();
        app.file("real/file", "x")
            .file(".env", "")
            .link("to-file", "real/file");
        app.link("to-folder", "real")
            .link("to-secret", ".env")
            .link("outside", "../../x");
        app.link("absolute", "/etc/passwd")
            .link("loop", "loop")
            .link("real/up", "..");
        let listing = app.repo().listing(&cancel()).unwrap();
        let kinds: Vec<_> = listing
            .entries
            .iter()
            .map(|entry| (entry.path.display(), entry.kind))
            .collect();
        let expected = [
            ("real/file", EntryKind::File),
            ("real/up", EntryKind::LinkToDirectory),
            ("to-file", EntryKind::LinkToFile),
            ("to-folder", EntryKind::LinkToDirectory),
        ];
        assert_eq!(kinds, expected.map(|(path, kind)| (path.to_owned(), kind)));
    }

    #[test]
    fn the_next_call_sees_every_change_of_a_cached_tree() {
        let app = Sandbox::new();
        app.file("a/one", "")
            .file("b/two", "")
            .file("a/.gitignore", "x\n")
            .link("l", "a/one");
        let repo = app.repo();
        settled(&repo);
        app.file("b/three", "");
        assert!(app.listed().contains(&"b/three".to_owned()), "a new file");
        settled(&repo);
        app.file("a/.gitignore", "one\n");
        assert!(
            !app.listed().contains(&"a/one".to_owned()),
            "a rule file written in place"
        );
        settled(&repo);
        fs::remove_file(app.root().join("a/one")).unwrap();
        assert!(
            !app.listed().contains(&"l".to_owned()),
            "a link whose target is gone"
        );
        settled(&repo);
        fs::remove_dir_all(app.root().join("b")).unwrap();
        assert_eq!(app.listed(), ["a/.gitignore"], "a folder that is gone");
        app.file(".git/HEAD", "")
            .file(".git/info/x", "")
            .file("c", "");
        settled(&repo);
        app.file(".git/info/exclude", "c\n");
        assert_eq!(
            app.listed(),
            ["a/.gitignore"],
            "an exclude file that appears"
        );
    }

    #[test]
    fn unchanged_folders_are_not_read_again() {
        let app = Sandbox::new();
        app.file("a/one", "")
            .file("b/two", "")
            .file(".gitignore", "x\n");
        let repo = app.repo();
        settled(&repo);
        let folder = |text: &str| {
            let work = repo.snapshot.project().work_tree();
            Arc::clone(&work.tree.lock().as_ref().unwrap().folders[&path(text)])
        };
        let (a, b) = (folder("a"), folder("b"));
        app.file("b/three", "").file("new-in-the-root", "");
        assert_eq!(repo.listing(&cancel()).unwrap().entries.len(), 5);
        assert!(Arc::ptr_eq(&a, &folder("a")) && !Arc::ptr_eq(&b, &folder("b")));
    }

    #[test]
    fn other_rules_list_other_files() {
        let app = Sandbox::new();
        app.file("a", "").file("b", "").file(".env", "");
        let globs = |glob: &str| [glob.to_owned()];
        let opened = Rules::new(&globs(".env"), &globs("b"), None).unwrap();
        assert_eq!(app.listed(), ["a", "b"]);
        let listing = app.repo_with(opened).listing(&cancel()).unwrap();
        assert_eq!(super::super::testing::shown(&listing), [".env", "a"]);
    }

    #[test]
    fn listing_stops_when_it_is_cancelled() {
        let app = Sandbox::new();
        app.file("a", "");
        let gone = Cancel::new(
            Instant::now() + Duration::from_secs(9),
            CancellationToken::new(),
        );
        gone.token.cancel();
        let stopped = app.repo().listing(&gone).unwrap_err();
        assert!(matches!(stopped, RepoError::Stopped(Stopped::Cancelled)));
    }

    #[test]
    fn files_open_by_path_or_link_and_both_paths_are_checked() {
        let app = Sandbox::new();
        app.file("real/file", "text")
            .file(".env", "secret")
            .link("dir", "real");
        app.link("hop", "dir/file")
            .link("innocent", ".env")
            .link("x/.env", "../real/file");
        fs::write(app.host("outside"), "outside").unwrap();
        app.link("leaves", "../../outside")
            .link("dangles", "none")
            .link("etc", "/etc");
        let repo = app.repo();
        assert_eq!(read(&repo, "hop").unwrap(), "text");
        assert_eq!(
            repo.open(&path("dir/file")).unwrap().resolved(),
            &path("real/file")
        );
        for text in [".env", "innocent", "x/.env", ".git/never", "secrets/never"] {
            assert!(
                matches!(read(&repo, text), Err(RepoError::Blocked { .. })),
                "{text}"
            );
        }
        for text in ["leaves", "dangles", "etc/passwd", "dangles/more"] {
            assert!(
                matches!(read(&repo, text), Err(RepoError::Outside { .. })),
                "{text}"
            );
        }
        for text in ["real", "real/none", "real/file/more", &"n".repeat(300)] {
            assert!(
                matches!(read(&repo, text), Err(RepoError::NotFound { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn folders_and_fifos_are_not_found_and_do_not_block() {
        let app = Sandbox::new();
        let fifo = app.root().join("fifo");
        let mode = rustix::fs::Mode::from(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(app.root().join("socket")).unwrap();
        for name in ["fifo", "socket"] {
            assert!(
                matches!(read(&app.repo(), name), Err(RepoError::NotFound { .. })),
                "{name}"
            );
        }
        assert!(app.listed().is_empty());
    }

    #[test]
    fn a_name_that_is_not_utf8_opens_by_its_displayed_text() {
        use std::os::unix::ffi::OsStrExt as _;

        let app = Sandbox::new();
        let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
        fs::write(app.root().join(name), "latin").unwrap();
        assert_eq!(app.listed(), [r"caf\xe9"]);
        assert_eq!(read(&app.repo(), r"caf\xe9").unwrap(), "latin");
        app.file(r"caf\xe9", "literal");
        assert_eq!(read(&app.repo(), r"caf\xe9").unwrap(), "literal");
    }

    #[test]
    fn directories_resolve_and_files_do_not() {
        let app = Sandbox::new();
        app.file("a/b/c", "").link("to", "a/b").link("out", "..");
        let directory = |text| app.repo().directory(&path(text));
        assert_eq!(directory("to").unwrap(), path("a/b"));
        assert!(directory(".").unwrap().is_root());
        assert!(matches!(directory("out"), Err(RepoError::Outside { .. })));
        assert!(matches!(directory(".ssh"), Err(RepoError::Blocked { .. })));
        for text in ["a/b/c", "none", "to/none"] {
            let missing = directory(text).unwrap_err();
            assert!(
                matches!(missing, RepoError::DirectoryNotFound { .. }),
                "{text}: {missing:?}"
            );
        }
    }

    #[test]
    fn a_swapped_link_never_leads_outside() {
        let app = Sandbox::new();
        app.file("inside/file", "inside").link("link", "inside");
        fs::create_dir(app.host("outside")).unwrap();
        fs::write(app.host("outside/file"), "outside").unwrap();
        let (link, fresh) = (app.root().join("link"), app.root().join("fresh"));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for target in ["../../outside", "inside"].iter().cycle() {
                    symlink(target, &fresh).unwrap();
                    fs::rename(&fresh, &link).unwrap();
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            let repo = app.repo();
            let mut seen = [0, 0];
            for _ in 0..3000 {
                match read(&repo, "link/file") {
                    Ok(text) => {
                        assert_eq!(text, "inside");
                        seen[0] += 1;
                    }
                    Err(RepoError::Outside { .. }) => seen[1] += 1,
                    Err(other) => panic!("{other:?}"),
                }
            }
            done.store(true, Ordering::Relaxed);
            assert!(
                seen[0] > 0 && seen[1] > 0,
                "both outcomes occurred: {seen:?}"
            );
        });
    }

    /// A change of a tree.
    #[derive(Clone, Debug)]
    enum Step {
        Write(String, String),
        Remove(String),
        Link(String, String),
    }

    fn step() -> impl Strategy<Value = Step> {
        let place = "(a|b)?(/(a|b))?/(f|g|\\.gitignore)";
        prop_oneof![
            (place, "(f|g|a/|!f|/b|\\*)\n").prop_map(|(at, text)| Step::Write(at, text)),
            "(a|b)(/(a|b|f))?".prop_map(Step::Remove),
            ("(a|b)?/l", "(f|a|a/f|\\.\\./b)").prop_map(|(at, to)| Step::Link(at, to)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_cached_tree_lists_what_a_fresh_one_lists(
            steps in prop::collection::vec(step(), 1..12),
            wait in 0usize..12,
        ) {
            let app = Sandbox::new();
            let repo = app.repo();
            for (number, step) in steps.into_iter().enumerate() {
                // Steps that do not apply, such as a file where a folder is, do nothing.
                _ = apply(&app, step);
                if number == wait {
                    settled(&repo);
                }
                let fresh = repos_at(crate::Mounts::beneath(app.host("")));
                let rules = Arc::new(Rules::new(&[], &[], None).unwrap());
                let fresh = fresh.open("acme", ("app", Uuid::nil()), rules).unwrap().listing(&cancel()).unwrap();
                prop_assert_eq!(&repo.listing(&cancel()).unwrap().entries, &fresh.entries);
                let mut sorted = fresh.entries.clone();
                sorted.sort_by(|a, b| a.path.cmp(&b.path));
                prop_assert_eq!(sorted, fresh.entries.clone());
            }
        }
    }

    fn apply(app: &Sandbox, step: Step) -> std::io::Result<()> {
        let at = |text: &str| app.root().join(text.trim_start_matches('/'));
        match step {
            Step::Write(place, text) => {
                fs::create_dir_all(at(&place).parent().unwrap())?;
                fs::write(at(&place), text)
            }
            Step::Remove(place) => {
                fs::remove_file(at(&place)).or_else(|_| fs::remove_dir_all(at(&place)))
            }
            Step::Link(place, target) => {
                fs::create_dir_all(at(&place).parent().unwrap())?;
                symlink(target, at(&place))
            }
        }
    }
}
