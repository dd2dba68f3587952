//! A look at a project: its HEAD and its path rules, without opening it while they are unchanged.
//!
//! A [`Look`] keeps the state of each file that HEAD and the rules were read from. While these
//! states hold, nothing has changed, and the next look costs a few `stat` calls. They follow links,
//! also to the outside: they are only compared, and nothing that they find is shown.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::ObjectId;

use super::error::RepoError;
use super::git::files_of_head;
use super::manifest;
use super::project::Snapshot;
use super::rules::Rules;
use super::seen_file::SeenFiles;

/// HEAD and the path rules of a project, as of one look.
#[derive(Clone, Debug)]
pub struct Look {
    /// HEAD's commit; `None` without git, or before the first commit.
    pub head: Option<ObjectId>,
    /// The fingerprint of all path rules: the operator's and the manifest's.
    pub rules: String,
    /// The device of the project's folder.
    pub device: u64,
    files: SeenFiles,
}

/// The folders of a project, as host paths.
pub(super) struct ProjectFolders<'a> {
    /// `<root>/<tenant>/<project>`, or the linked folder.
    pub(super) mounted: &'a Path,
    /// The folder with the files: the same, or what links lead to.
    pub(super) files: &'a Path,
}

impl Look {
    /// Looks at an opened project.
    ///
    /// # Errors
    /// If the manifest exists and can't be read, or if HEAD can't be read.
    pub(super) fn at(
        snapshot: &Snapshot,
        folders: &ProjectFolders<'_>,
        operator: &Arc<Rules>,
    ) -> Result<Look, RepoError> {
        let files = SeenFiles::at(dependencies(snapshot, folders));
        let snapshot = snapshot.again()?;
        let (_manifest, rules) = snapshot.manifest_and_rules(operator)?;
        Ok(Look {
            head: snapshot.commit(),
            rules: rules.fingerprint(),
            device: snapshot.project().key().device(),
            files: files.confirmed_by(dependencies(&snapshot, folders)),
        })
    }

    /// A look that found this, for tests of other crates. It never holds.
    #[cfg(any(test, feature = "testing"))]
    pub fn found(head: Option<ObjectId>, rules: &str, device: u64) -> Look {
        Look {
            head,
            rules: rules.to_owned(),
            device,
            files: SeenFiles::UNKNOWN,
        }
    }

    /// Whether nothing has changed since this look.
    pub(super) fn still_holds(&self) -> bool {
        self.files.are_unchanged()
    }
}

/// All files and folders that HEAD and the rules depend on. `None` if not all are known: git's data
/// is not used at the moment, or HEAD's reference belongs to one work tree alone.
fn dependencies(snapshot: &Snapshot, folders: &ProjectFolders<'_>) -> Option<Vec<PathBuf>> {
    if snapshot.refused().is_some() {
        return None;
    }
    // A link `current` replaces the folder, unless that is a repository itself.
    let mut paths = vec![folders.mounted.to_owned(), folders.mounted.join("current")];
    paths.extend([".git", manifest::NAME].map(|name| folders.files.join(name)));
    let bare_head = folders.files.join("HEAD");
    let Some(git) = snapshot.git() else {
        paths.push(bare_head);
        return Some(paths);
    };
    // Git looks for a bare repository, whose HEAD is among the files of HEAD, only where there is
    // no `.git`.
    if git.git_dir() != git.common_dir() {
        paths.push(git.git_dir().join("commondir"));
    }
    paths.push(git.common_dir().join("config"));
    paths.extend(files_of_head(&git)?);
    Some(paths)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tokio::time::{Duration, Instant};
    use uuid::Uuid;

    use super::*;
    use crate::RepoError;
    use crate::testing::{Sandbox, git};

    fn look(app: &Sandbox, last: Option<&Look>) -> Option<Look> {
        let rules = Arc::new(Rules::new(&[], &[], None).unwrap());
        app.repos
            .look("acme", ("app", Uuid::nil()), &rules, last)
            .unwrap()
    }

    /// A look that holds: states that are too recent are looked at again.
    fn settled(app: &Sandbox) -> Look {
        let give_up = Instant::now() + Duration::from_secs(10);
        let mut last = look(app, None).unwrap();
        while let Some(next) = look(app, Some(&last)) {
            last = next;
            assert!(
                Instant::now() < give_up,
                "the files never become old enough"
            );
        }
        last
    }

    fn head(folder: &Path) -> ObjectId {
        let id = git(folder, &["rev-parse", "HEAD"]);
        ObjectId::from_hex(id.as_bytes()).unwrap()
    }

    #[test]
    fn a_look_holds_until_head_names_another_commit() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let steps: [&[&str]; 9] = [
            &["commit", "-qm", "two", "--allow-empty"],
            &["pack-refs", "--all"],
            &["commit", "-qm", "three", "--allow-empty"],
            &["checkout", "-qb", "deep/topic"],
            &["commit", "-qm", "four", "--allow-empty"],
            &["checkout", "-q", "--detach", "HEAD~1"],
            &["checkout", "-q", "main"],
            &["update-ref", "refs/heads/main", "HEAD~1"],
            &["symbolic-ref", "refs/heads/main", "refs/heads/deep/topic"],
        ];
        for step in steps {
            let last = settled(&app);
            app.git(step);
            let next = look(&app, Some(&last));
            let now = next.as_ref().unwrap_or(&last);
            assert_eq!(now.head, Some(head(&app.root())), "{step:?}");
        }
        let last = settled(&app);
        app.git(&["update-ref", "refs/heads/deep/topic", "HEAD~2"]);
        let next = look(&app, Some(&last)).unwrap();
        assert_eq!(next.head, Some(head(&app.root())), "of the branch's branch");
    }

    #[test]
    fn a_repository_appears_in_a_folder_and_gets_its_first_commit() {
        let app = Sandbox::new();
        let last = settled(&app);
        assert_eq!(last.head, None);
        app.file("a", "1").git(&["init", "-q"]);
        let last = look(&app, Some(&last)).unwrap();
        assert_eq!(last.head, None);
        let last = look(&app, Some(&last)).unwrap_or(last);
        app.git(&["add", "a"]).git(&["commit", "-qm", "one"]);
        let next = look(&app, Some(&last)).unwrap();
        assert_eq!(next.head, Some(head(&app.root())));
    }

    #[test]
    fn a_changed_manifest_changes_the_rules_and_other_files_change_nothing() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let last = settled(&app);
        app.file("b", "1").file(".git/description", "1");
        assert!(look(&app, Some(&last)).is_none());
        app.file(manifest::NAME, "deny = ['a']");
        let closed = look(&app, Some(&last)).unwrap();
        assert_ne!(closed.rules, last.rules);
        fs::remove_file(app.root().join(manifest::NAME)).unwrap();
        assert_eq!(look(&app, Some(&closed)).unwrap().rules, last.rules);
    }

    #[test]
    fn the_manifest_of_a_bare_repository_is_that_of_head() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        fs::rename(app.root(), app.host("acme/source")).unwrap();
        let (acme, source) = (app.host("acme"), app.host("acme/source"));
        git(&acme, &["clone", "-q", "--bare", "source", "app"]);
        let last = settled(&app);
        fs::write(source.join(manifest::NAME), "deny = ['a']").unwrap();
        git(&source, &["add", "-A"]);
        git(&source, &["commit", "-qm", "two"]);
        git(&source, &["push", "-q", "../app", "main"]);
        let next = look(&app, Some(&last)).unwrap();
        assert_eq!(next.head, Some(head(&source)));
        assert_ne!(next.rules, last.rules);
    }

    #[test]
    fn a_link_that_leads_elsewhere_is_noticed() {
        let app = Sandbox::new();
        for name in ["one", "two"] {
            app.file(&format!("{name}/{name}"), name);
            let folder = app.root().join(name);
            git(&folder, &["init", "-q"]);
            git(&folder, &["add", "-A"]);
            git(&folder, &["commit", "-qm", name]);
        }
        symlink("one", app.root().join("current")).unwrap();
        let last = settled(&app);
        assert_eq!(last.head, Some(head(&app.root().join("one"))));
        fs::remove_file(app.root().join("current")).unwrap();
        symlink("two", app.root().join("current")).unwrap();
        let next = look(&app, Some(&last)).unwrap();
        assert_eq!(next.head, Some(head(&app.root().join("two"))));
    }

    #[test]
    fn a_linked_work_tree_is_followed_by_its_own_head() {
        let app = Sandbox::new();
        app.file("../main/a", "1");
        let main = app.host("acme/main");
        git(&main, &["init", "-q", "-b", "main"]);
        git(&main, &["add", "-A"]);
        git(&main, &["commit", "-qm", "one"]);
        fs::remove_dir(app.root()).unwrap();
        git(&main, &["worktree", "add", "-q", "../app"]);
        let last = settled(&app);
        git(&app.root(), &["commit", "-qm", "two", "--allow-empty"]);
        let next = look(&app, Some(&last)).unwrap();
        assert_eq!(next.head, Some(head(&app.root())));
        assert_ne!(next.head, Some(head(&main)));
    }

    #[test]
    fn git_data_that_is_not_used_is_looked_at_every_time() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        fs::remove_dir_all(app.root().join(".git")).unwrap();
        symlink("/nowhere/at/all", app.root().join(".git")).unwrap();
        let last = look(&app, None).unwrap();
        assert_eq!(last.head, None);
        assert!(look(&app, Some(&last)).is_some());
    }

    #[test]
    fn a_removed_folder_is_absent() {
        let app = Sandbox::new();
        let (last, rules) = (settled(&app), Arc::new(Rules::new(&[], &[], None).unwrap()));
        fs::remove_dir(app.root()).unwrap();
        let gone = app
            .repos
            .look("acme", ("app", Uuid::nil()), &rules, Some(&last));
        assert!(matches!(gone, Err(RepoError::Absent { .. })));
    }

    #[test]
    fn a_look_of_a_quiet_project_is_small() {
        let app = Sandbox::new();
        app.file("a", "1").committed();
        let look = settled(&app);
        let bytes = look.files.heap_size();
        assert!(bytes > 0);
        assert!(
            size_of_val(&look) + look.rules.len() + bytes < 4 << 10,
            "{bytes}"
        );
    }
}
