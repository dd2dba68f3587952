//! A search of a project as one call sees it, by its index as far as that goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::ThreadPool;

use super::Snapshot;
use crate::cancel::Cancel;
use crate::commit_tree::{CommitBlobs, CommitFiles, CommitTree};
use crate::error::RepoError;
use crate::rules::Rules;
use crate::search::{self, MatchRange, Matches, Query};
use crate::search_index::{ProjectIndex, SearchIndex, Selection};
use crate::search_pool::SearchThreads;
use crate::worktree::{IndexedWorkTree, WorkBlobs, WorkFiles};

/// What a search uses besides the project.
pub(crate) struct SearchResources<'a> {
    pub(crate) rules: &'a Arc<Rules>,
    /// Threads that list a work tree.
    pub(crate) pool: &'a ThreadPool,
    pub(crate) indexes: &'a SearchIndex,
    pub(crate) threads: &'a SearchThreads<'a>,
    pub(crate) cancel: &'a Cancel,
}

impl Snapshot {
    /// Searches all files that the rules leave.
    ///
    /// # Errors
    /// As for [`search::search`], or if the files cannot be listed.
    pub(crate) fn search(
        &self,
        query: (&Query, MatchRange),
        resources: &SearchResources<'_>,
    ) -> Result<Matches, RepoError> {
        match &self.bare {
            Some(tree) => self.search_commit(tree, query, resources),
            None => self.search_work_tree(query, resources),
        }
    }

    fn search_commit(
        &self,
        tree: &Arc<CommitTree>,
        query: (&Query, MatchRange),
        resources: &SearchResources<'_>,
    ) -> Result<Matches, RepoError> {
        let Some(git) = tree.git() else {
            return Ok(Matches::default());
        };
        let (index, project) = (self.index(resources.indexes), self.project.name());
        self.restore(tree, resources.rules, resources.indexes);
        let listing = tree.listing(resources.rules, resources.cancel)?;
        let select = |index| {
            let files = (project, &listing.indexed);
            Selection::of(index, files, &query.0.pattern, resources.cancel)
        };
        let selection = index.as_ref().map(select).transpose()?;
        let missing = selection.as_ref().map_or(0, Selection::missing);
        let files = CommitFiles {
            git,
            listing: &listing,
            selection,
        };
        let found = search::search(
            &files,
            &listing.listing,
            query,
            resources.threads,
            resources.cancel,
        );
        // What a commit that is no longer HEAD has alone is not indexed: it is rarely searched twice.
        let is_wanting = missing > 0 || !listing.is_saved();
        if let Some(index) = index.filter(|_| is_wanting && self.is_head(tree)) {
            let tenant = self.project.key.tenant();
            let basis = tree.basis(resources.rules).unwrap_or_default();
            let source = CommitBlobs::new(git, &listing, (project, basis));
            (resources.indexes).request(&index, tenant, source);
        }
        found
    }

    fn search_work_tree(
        &self,
        query: (&Query, MatchRange),
        resources: &SearchResources<'_>,
    ) -> Result<Matches, RepoError> {
        let work = self.project.work_tree();
        let listing = work.listing(resources.rules, resources.pool, resources.cancel)?;
        let index = self.index(resources.indexes);
        let project = self.project.name();
        let indexed = |index: &Arc<ProjectIndex>| {
            work.indexed(&listing, |basis| index.saved_files(project, basis))
        };
        let indexed = index.as_ref().map(indexed);
        let select = |(index, indexed): (_, &Arc<IndexedWorkTree>)| {
            let files = (project, &indexed.files);
            Selection::of(index, files, &query.0.pattern, resources.cancel)
        };
        let selection = index.as_ref().zip(indexed.as_ref());
        let selection = selection.map(select).transpose()?;
        let indexed = indexed.as_deref().zip(selection);
        let unknown = indexed.as_ref().map_or(0, |(indexed, selection)| {
            indexed.unread + selection.missing()
        });
        let files = WorkFiles {
            work,
            indexed,
            changed: AtomicUsize::new(unknown),
        };
        let found = search::search(&files, &listing, query, resources.threads, resources.cancel);
        let unknown = files.changed.load(Ordering::Relaxed);
        if let Some(index) = index.as_ref().filter(|_| unknown > 0) {
            let source = WorkBlobs::new(work, &listing, project);
            (resources.indexes).request(index, self.project.key.tenant(), source);
        }
        found
    }

    /// Uses the listing of HEAD that the index has saved, unless there is one. Those of other commits are not
    /// saved.
    pub(super) fn restore(
        &self,
        tree: &Arc<CommitTree>,
        rules: &Arc<Rules>,
        indexes: &SearchIndex,
    ) {
        let project = self.project.name();
        if self.is_head(tree) {
            tree.restore(rules, |basis| {
                self.index(indexes)?.saved_files(project, basis)
            });
        }
    }

    /// Whether these are the files of the commit that HEAD named when the project was last opened.
    fn is_head(&self, tree: &Arc<CommitTree>) -> bool {
        let head = self.project.bare.lock();
        head.as_ref().is_some_and(|head| Arc::ptr_eq(head, tree))
    }

    /// The search index of the project's texts. `None` if this worker has none.
    fn index(&self, indexes: &SearchIndex) -> Option<Arc<ProjectIndex>> {
        let git = self.git();
        indexes.of(&self.project.key.of_index(git.as_ref()))
    }
}
