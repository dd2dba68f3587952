//! A project's manifest and the path rules it leads to, cached between calls.
//!
//! If the file is unchanged, a call pays for one stat. If the file is a link, every call reads it,
//! because the link's own metadata says nothing about the target. Warnings are logged when new
//! content is first read.

use std::io::Read as _;
use std::sync::Arc;
use std::time::SystemTime;

use gix::ObjectId;
use parking_lot::Mutex;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::commit_tree::CommitTree;
use crate::error::RepoError;
use crate::file::RepoFile;
use crate::jail::file_type;
use crate::manifest::{MAX_BYTES, Manifest, NAME};
use crate::path::RepoPath;
use crate::rules::Rules;
use crate::stamp::ObservedState;
use crate::worktree::WorkTree;

/// The cached manifest of one project.
#[derive(Debug, Default)]
pub(crate) struct ManifestCache(Mutex<CachedManifest>);

/// The result of the last read.
#[derive(Debug, Default)]
struct CachedManifest {
    source: Option<Source>,
    file: ManifestFile,
    manifest: Arc<Manifest>,
    /// The operator's rules, and the same with the manifest's added.
    rules: Option<(Arc<Rules>, Arc<Rules>)>,
}

/// Where the manifest was read, and the state for which that is still valid.
#[derive(Clone, Copy, Debug)]
enum Source {
    WorkTree(ObservedState),
    Commit(Option<ObjectId>),
}

/// The content of the manifest file.
#[derive(Debug, Default, PartialEq)]
enum ManifestFile {
    #[default]
    Missing,
    Text(Vec<u8>),
    /// The beginning of a file that is too large.
    Prefix(Vec<u8>),
    /// A file that is not read, and why.
    Refused(&'static str),
}

/// The manifest, and the operator's rules with the manifest's added.
pub(crate) type ManifestAndRules = (Arc<Manifest>, Arc<Rules>);

impl ManifestCache {
    /// The current manifest of a work tree.
    ///
    /// # Errors
    /// If the file exists and cannot be read, because the paths that it closes are then unknown.
    pub(crate) fn of_work_tree(
        &self,
        project: &str,
        work: &WorkTree,
        operator: &Arc<Rules>,
    ) -> Result<ManifestAndRules, RepoError> {
        let path = RepoPath::trusted(NAME.as_bytes());
        let observed_at = SystemTime::now();
        let stat = work.jail.stat_unchecked(&path);
        let holds = |source| matches!(source, Source::WorkTree(state) if state.still_holds(stat));
        if let Some(current) = self.lookup(holds, operator) {
            return Ok(current);
        }
        let (state, file) = match stat {
            Err(Errno::NOENT) => (ObservedState::Absent, ManifestFile::Missing),
            Err(errno) => return Err(RepoError::opening(&path, errno)),
            Ok(found) => {
                let state = match file_type(&found) {
                    FileType::Symlink => ObservedState::TooRecent,
                    _ => ObservedState::at(observed_at, stat),
                };
                let opened = work.open_checked(&path, operator);
                (state, ManifestFile::read(opened)?)
            }
        };
        Ok(self.put(project, Source::WorkTree(state), file, operator))
    }

    /// The manifest of the commit whose files are served.
    ///
    /// # Errors
    /// As [`ManifestCache::of_work_tree`].
    pub(crate) fn of_commit(
        &self,
        project: &str,
        (commit, tree): (Option<ObjectId>, &CommitTree),
        operator: &Arc<Rules>,
    ) -> Result<ManifestAndRules, RepoError> {
        let holds = |source| matches!(source, Source::Commit(known) if known == commit);
        if let Some(current) = self.lookup(holds, operator) {
            return Ok(current);
        }
        let path = RepoPath::trusted(NAME.as_bytes());
        let file = ManifestFile::read(tree.open_checked(&path, operator))?;
        Ok(self.put(project, Source::Commit(commit), file, operator))
    }

    /// The cached result, if `holds` accepts its source.
    fn lookup(
        &self,
        holds: impl FnOnce(Source) -> bool,
        operator: &Arc<Rules>,
    ) -> Option<ManifestAndRules> {
        let mut cached = self.0.lock();
        let still_holds = cached.source.is_some_and(holds);
        still_holds.then(|| cached.with_operator_rules(operator))
    }

    fn put(
        &self,
        project: &str,
        source: Source,
        file: ManifestFile,
        operator: &Arc<Rules>,
    ) -> ManifestAndRules {
        let mut cached = self.0.lock();
        cached.source = Some(source);
        // Often the content is unchanged: the file was too recent to trust, or another commit has
        // the same.
        if cached.file != file {
            let manifest = file.parse();
            if !manifest.warnings().is_empty() {
                let warnings = manifest.warnings();
                tracing::warn!(project, ?warnings, "manifest has errors");
            }
            cached.file = file;
            cached.manifest = Arc::new(manifest);
            cached.rules = None;
        }
        cached.with_operator_rules(operator)
    }
}

impl CachedManifest {
    /// Equal rules are returned as the same `Arc`, which makes lookups in the caches below quick.
    fn with_operator_rules(&mut self, operator: &Arc<Rules>) -> ManifestAndRules {
        let manifest = Arc::clone(&self.manifest);
        if manifest.deny().is_empty() && manifest.allow().is_empty() {
            return (manifest, Arc::clone(operator));
        }
        let known = self.rules.as_ref().filter(|(base, _)| base == operator);
        if let Some((_, rules)) = known {
            return (manifest, Arc::clone(rules));
        }
        let rules = Arc::new(operator.with(&manifest));
        self.rules = Some((Arc::clone(operator), Arc::clone(&rules)));
        (manifest, rules)
    }
}

impl ManifestFile {
    fn read(opened: Result<RepoFile, RepoError>) -> Result<ManifestFile, RepoError> {
        let mut file = match opened {
            Ok(file) => file,
            Err(RepoError::NotFound { .. }) => return Ok(ManifestFile::Missing),
            // Only a link can lead to a hidden path: the manifest's own name was not checked.
            Err(RepoError::Outside { .. } | RepoError::Blocked { .. }) => {
                return Ok(ManifestFile::Refused(
                    "it is a link to a file that can't be read",
                ));
            }
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        let limit = MAX_BYTES as u64 + 1;
        let read = (&mut file).take(limit).read_to_end(&mut text);
        read.map_err(|source| RepoError::Io {
            what: "cached .archway.toml",
            source,
        })?;
        let is_too_large = text.len() > MAX_BYTES;
        text.truncate(MAX_BYTES);
        Ok(match is_too_large {
            true => ManifestFile::Prefix(text),
            false => ManifestFile::Text(text),
        })
    }

    fn parse(&self) -> Manifest {
        match self {
            ManifestFile::Missing => Manifest::default(),
            ManifestFile::Text(bytes) => Manifest::parse(bytes),
            ManifestFile::Prefix(bytes) => Manifest::from_prefix(bytes),
            ManifestFile::Refused(why) => Manifest::from_warning(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{Mode, mknodat};
    use tokio::time::{Duration, Instant};
    use uuid::Uuid;

    use super::*;
    use crate::testing::{Sandbox, cancel, git, path, shown};
    use crate::{Kind, Repo};

    fn lists(repo: &Repo) -> Vec<String> {
        shown(&repo.listing(&cancel()).unwrap())
    }

    fn opens(repo: &Repo, name: &str) -> bool {
        repo.open(&path(name)).is_ok()
    }

    /// A project with this manifest.
    fn with_manifest(text: &str) -> Sandbox {
        let app = Sandbox::new();
        app.file(NAME, text)
            .file("a", "")
            .file("b", "")
            .file(".env", "");
        app
    }

    fn rules(open: &[&str], close: &[&str]) -> Rules {
        let owned = |globs: &[&str]| globs.iter().map(ToString::to_string).collect::<Vec<_>>();
        Rules::new(&owned(open), &owned(close), None).unwrap()
    }

    #[test]
    fn a_manifest_closes_what_the_operator_opened_and_opens_nothing() {
        let app = with_manifest("deny = ['A']\nallow = ['**']\nopen = ['.env']\n");
        app.file("docs/x", "");
        assert_eq!(app.listed(), [NAME, "b", "docs/x"]);
        let repo = app.repo();
        assert!(!opens(&repo, "a") && opens(&repo, "b") && !opens(&repo, ".env"));
        let operated = app.repo_with(rules(&["a", ".env"], &["b"]));
        assert_eq!(lists(&operated), [NAME, ".env", "docs/x"]);
        assert!(!opens(&operated, "a") && !opens(&operated, "b"));
        let allows = |name| repo.rules().allows_reading(&path(name));
        assert!(allows("src/a.rs") && allows("docs/x"));
    }

    #[test]
    fn the_next_call_applies_a_change_however_recent_it_is() {
        let app = with_manifest("deny = ['a']");
        for (text, listed) in [
            ("deny = ['b']", [NAME, "a"]),
            ("deny = ['a']", [NAME, "b"]),
            ("deny = ['b']", [NAME, "a"]),
        ] {
            app.file(NAME, text);
            assert_eq!(app.listed(), listed);
        }
        fs::remove_file(app.root().join(NAME)).unwrap();
        assert_eq!(app.listed(), ["a", "b"]);
        app.file(NAME, "deny = ['a', 'b']");
        assert_eq!(app.listed(), [NAME]);
    }

    #[test]
    fn the_same_content_under_the_same_rules_is_one_set_of_rules() {
        let app = with_manifest("deny = ['a']");
        let first = app.repo();
        app.file(NAME, "deny = ['a']");
        let again = app.repo();
        assert!(
            Arc::ptr_eq(&first.rules(), &again.rules()),
            "although both were read again"
        );
        assert!(Arc::ptr_eq(&first.manifest(), &again.manifest()));
        let closed = app.repo_with(rules(&[], &["b"]));
        assert!(!opens(&closed, "a") && !opens(&closed, "b"));
        assert!(opens(&app.repo(), "b"), "other rules are not reused");
        assert!(!opens(&again, "a") && opens(&again, "b"));
        let plain = Arc::new(rules(&[], &[]));
        app.file(NAME, "linked_projects = ['x']");
        let open = app
            .repos
            .open("acme", ("app", Uuid::nil()), Arc::clone(&plain))
            .unwrap();
        assert!(Arc::ptr_eq(&open.rules(), &plain), "nothing was added");
    }

    #[test]
    fn an_unchanged_file_is_not_read_again() {
        let app = with_manifest("deny = ['a']");
        let cache = ManifestCache::default();
        let repo = app.repo();
        let work = repo.snapshot.project().work_tree();
        let operator = Arc::new(rules(&[], &[]));
        let load = || cache.of_work_tree("app", work, &operator).unwrap();
        let settled = || {
            matches!(
                cache.0.lock().source,
                Some(Source::WorkTree(ObservedState::Stamped(_)))
            )
        };
        let give_up = Instant::now() + Duration::from_secs(10);
        while !settled() {
            load();
            assert!(
                Instant::now() < give_up,
                "the file never becomes old enough"
            );
        }
        // Replace the cached file without touching the one on disk: a second read would restore it.
        cache.0.lock().file = ManifestFile::Missing;
        assert!(load().1.check(&path("a"), Kind::File).is_err());
        assert_eq!(cache.0.lock().file, ManifestFile::Missing);
    }

    #[test]
    fn a_link_that_stays_inside_is_followed_by_every_call() {
        let app = Sandbox::new();
        app.file("a", "")
            .file("conf/self.toml", "deny = ['a']")
            .link(NAME, "conf/self.toml");
        assert_eq!(app.listed(), [NAME, "conf/self.toml"]);
        app.file("conf/self.toml", "deny = ['x']");
        assert_eq!(app.listed(), [NAME, "a", "conf/self.toml"]);
    }

    #[test]
    fn a_link_to_something_unreadable_is_a_warning_and_closes_nothing() {
        let app = Sandbox::new();
        app.file("a", "")
            .file(".env", "sesame = 1\ndeny = ['a']\n")
            .file("../out", "deny = ['a']");
        for target in [".env", "../out", "/etc/hostname", "nowhere", NAME] {
            app.link(NAME, target);
            let repo = app.repo();
            assert!(opens(&repo, "a"), "{target}");
            assert_eq!(repo.manifest().warnings().len(), 1, "{target}");
            assert!(
                repo.manifest().warnings()[0]
                    .ends_with("it is a link to a file that can't be read")
            );
            fs::remove_file(app.root().join(NAME)).unwrap();
        }
        let large = format!("deny = ['a']\n#{}", "x".repeat(MAX_BYTES));
        app.file(NAME, large);
        assert!(!opens(&app.repo(), "a"));
        assert!(app.repo().warnings()[0].contains("larger than 64 KiB"));
    }

    #[test]
    fn a_folder_or_fifo_is_no_manifest() {
        let app = Sandbox::new();
        app.file(".archway.toml/a", "deny = ['*']");
        assert_eq!(app.listed(), [".archway.toml/a"]);
        assert_eq!(app.repo().warnings(), [""; 0]);
        fs::remove_dir_all(app.root().join(NAME)).unwrap();
        let place = app.root().join(NAME);
        mknodat(rustix::fs::CWD, place, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(app.listed(), [""; 0]);
        assert_eq!(app.repo().warnings(), [""; 0]);
    }

    #[test]
    fn an_existing_but_unreadable_manifest_fails_the_call() {
        let unreadable = RepoError::opening(&path(NAME), Errno::ACCESS);
        assert!(matches!(
            ManifestFile::read(Err(unreadable)),
            Err(RepoError::Unreadable { .. })
        ));
        let exhausted = RepoError::opening(&path(NAME), Errno::MFILE);
        assert!(matches!(
            ManifestFile::read(Err(exhausted)),
            Err(RepoError::Io { .. })
        ));
    }

    #[test]
    fn only_readers_of_the_manifest_see_its_warnings() {
        let app = with_manifest("denny = ['a']");
        assert_eq!(app.repo().warnings().len(), 1);
        assert_eq!(app.repo_with(rules(&[], &[NAME])).warnings(), [""; 0]);
        app.file(NAME, "denny = ['a']\ndeny = ['.archway.*', 'b']");
        let repo = app.repo();
        assert!(repo.warnings().is_empty() && !opens(&repo, NAME) && !opens(&repo, "b"));
    }

    #[test]
    fn a_bare_repository_uses_the_manifest_of_head() {
        let app = with_manifest("deny = ['a']");
        app.committed();
        fs::rename(app.root(), app.host("acme/source")).unwrap();
        git(
            &app.host("acme"),
            &["clone", "-q", "--bare", "source", "app"],
        );
        assert_eq!(app.listed(), [NAME, "b"]);
        let rules = app.repo().rules();
        assert!(Arc::ptr_eq(&rules, &app.repo().rules()) && !opens(&app.repo(), "a"));
        let source = app.host("acme/source");
        fs::write(source.join(NAME), "deny = ['b']").unwrap();
        git(&source, &["commit", "-qam", "two"]);
        git(&source, &["push", "-q", "../app", "main"]);
        assert_eq!(app.listed(), [NAME, "a"]);
    }

    #[test]
    fn a_path_closed_today_is_closed_in_old_commits() {
        let app = with_manifest("deny = ['b']");
        app.committed();
        app.file(NAME, "deny = ['a']")
            .git(&["commit", "-qam", "two"]);
        let yesterday = git(&app.root(), &["rev-parse", "HEAD~1"]);
        let past = app
            .repo()
            .as_of(ObjectId::from_hex(yesterday.as_bytes()).unwrap())
            .unwrap();
        assert!(!opens(&past, "a") && opens(&past, "b"));
        assert_eq!(lists(&past), [NAME, "b"]);
    }
}
