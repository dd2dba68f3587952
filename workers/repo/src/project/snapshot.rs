//! One project as one call sees it, at the commit that HEAD named when the call began.

use std::sync::Arc;
use std::time::SystemTime;

use gix::ObjectId;
use rayon::ThreadPool;
use uuid::Uuid;

use super::Project;
use crate::cancel::Cancel;
use crate::commit_tree::CommitTree;
use crate::error::RepoError;
use crate::file::RepoFile;
use crate::git::Git;
use crate::jail::Jail;
use crate::listing::{Entry, Listing, Stat};
use crate::manifest_cache::ManifestAndRules;
use crate::path::RepoPath;
use crate::rules::{Kind, Rules};
use crate::search_index::SearchIndex;

/// The commit that HEAD names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The commit's full id, in hexadecimal.
    pub commit: String,
    /// Whether the work tree differs from the commit, as of the last check. `None` before the first
    /// check of this commit.
    pub dirty: Option<bool>,
}

/// A project as one call sees it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(super) project: Arc<Project>,
    pub(super) git: Option<Arc<Git>>,
    /// Why existing git data is not used.
    pub(super) refused: Option<&'static str>,
    pub(super) head: Option<ObjectId>,
    /// The files of the commit, if they are served instead of a work tree.
    pub(crate) bare: Option<Arc<CommitTree>>,
    /// The project that `archway sync` mirrors the repository for; `None` if it says of none.
    pub(super) mirror_of: Option<Uuid>,
}

impl Snapshot {
    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    pub(crate) fn head(&self) -> Option<Head> {
        let id = self.head?;
        Some(Head {
            commit: id.to_string(),
            dirty: self.project.status.of(id),
        })
    }

    /// A handle on git's data for the current thread.
    pub(crate) fn git(&self) -> Option<gix::Repository> {
        Some(self.git.as_deref()?.objects())
    }

    /// Whether the repository is the mirror of another project: one that had this slug before.
    pub(crate) fn is_mirror_of_another(&self, project: Uuid) -> bool {
        self.mirror_of.is_some_and(|id| id != project)
    }

    pub(crate) fn refused(&self) -> Option<&'static str> {
        self.refused
    }

    pub(crate) fn commit(&self) -> Option<ObjectId> {
        self.head
    }

    pub(crate) fn is_bare(&self) -> bool {
        self.bare.is_some()
    }

    /// Access to the work tree's files; `None` if files come from a commit.
    pub(crate) fn jail(&self) -> Option<&Jail> {
        self.bare.is_none().then_some(&self.project.work.jail)
    }

    /// The project with the files of `commit` in place of its work tree.
    pub(crate) fn as_of(&self, commit: ObjectId) -> Result<Snapshot, RepoError> {
        let git = self.git.clone();
        let files = CommitTree::of(git.clone().map(|git| (git, commit)))?;
        Ok(Snapshot {
            project: Arc::clone(&self.project),
            git,
            refused: self.refused,
            head: Some(commit),
            bare: Some(Arc::new(files)),
            mirror_of: self.mirror_of,
        })
    }

    /// The same project with the commit that HEAD names now.
    pub(crate) fn again(&self) -> Result<Snapshot, RepoError> {
        let head = self.git.as_deref().map_or(Ok(None), Git::head)?;
        let bare = match self.bare {
            Some(_) => Some(self.project.commit_tree(&self.git, head)?),
            None => None,
        };
        Ok(Snapshot {
            head,
            bare,
            ..self.clone()
        })
    }

    /// The repository's manifest, and the operator's rules with the manifest's added.
    pub(crate) fn manifest_and_rules(
        &self,
        operator: &Arc<Rules>,
    ) -> Result<ManifestAndRules, RepoError> {
        let Project { work, manifest, .. } = &*self.project;
        let name = self.project.name();
        match &self.bare {
            Some(tree) => manifest.of_commit(name, (self.head, tree), operator),
            None => manifest.of_work_tree(name, work, operator),
        }
    }

    /// Whether both have the same folder and commit.
    pub(crate) fn is_same(&self, other: &Snapshot) -> bool {
        self.project.key == other.project.key && self.head == other.head
    }

    pub(crate) fn claim_status(&self) -> bool {
        let commit = self.head.filter(|_| self.bare.is_none());
        commit.is_some_and(|commit| self.project.status.claim(commit))
    }

    pub(crate) fn refresh_status(&self, rules: &Rules) {
        let mut check = self.project.status.begin();
        match self.status(rules) {
            Ok(result) => check.record(result),
            Err(_source_has_host_paths) => {
                tracing::warn!(project = self.project.name(), "status can't be read");
            }
        }
    }

    /// Returns whether the work tree is dirty, and for which commit. `None` if HEAD moved
    /// meanwhile. Changes of closed paths do not count.
    fn status(&self, rules: &Rules) -> Result<Option<(ObjectId, bool)>, RepoError> {
        let Some(git) = &self.git else {
            return Ok(None);
        };
        let before = git.head()?;
        let dirty = git.is_dirty(rules)?;
        let after = git.head()?;
        Ok(before
            .filter(|_| before == after)
            .map(|commit| (commit, dirty)))
    }

    pub(crate) fn listing(
        &self,
        rules: &Arc<Rules>,
        (pool, indexes): (&ThreadPool, &SearchIndex),
        cancel: &Cancel,
    ) -> Result<Arc<Listing>, RepoError> {
        match &self.bare {
            Some(tree) => {
                self.restore(tree, rules, indexes);
                Ok(Arc::clone(&tree.listing(rules, cancel)?.listing))
            }
            None => self.project.work.listing(rules, pool, cancel),
        }
    }

    pub(crate) fn open(&self, path: &RepoPath, rules: &Rules) -> Result<RepoFile, RepoError> {
        rules.admit(path, path, Kind::File)?;
        match &self.bare {
            Some(tree) => tree.open_checked(path, rules),
            None => self.project.work.open_checked(path, rules),
        }
    }

    pub(crate) fn directory(&self, path: &RepoPath, rules: &Rules) -> Result<RepoPath, RepoError> {
        match &self.bare {
            Some(tree) => tree.directory(path, rules),
            None => self.project.work.directory(path, rules),
        }
    }

    /// The blob of a listed file. `None` in a work tree, whose files change.
    pub(crate) fn listed_blob(&self, path: &RepoPath, rules: &Arc<Rules>) -> Option<ObjectId> {
        self.bare.as_ref()?.listed_blob(path, rules)
    }

    pub(crate) fn stat(&self, entry: &Entry) -> Option<Stat> {
        match &self.bare {
            Some(tree) => tree.stat(entry),
            None => self.project.work.stat(entry),
        }
    }

    pub(crate) fn folder_time(&self, folder: &RepoPath) -> Option<SystemTime> {
        match &self.bare {
            Some(tree) => tree.time(),
            None => self.project.work.folder_time(folder),
        }
    }
}
