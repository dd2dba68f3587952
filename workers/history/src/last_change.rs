//! Finds the commits that gave files their content at HEAD.
//!
//! The ledger says which commits changed a file. Without one, all files are searched in one walk: each commit
//! is first tested for changes of the files' folders, since most commits change none of them. Files that
//! are not found in time stay unknown, and so do those that predate the end of a shallow clone.

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;
use tokio::time::{Duration, Instant};

use super::frontier::Frontier;
use super::path_history::PathHistory;
use super::path_limiter::PathLimiter;
use super::walk_node::WalkNode;
use super::{History, HistoryError, Side};

/// The commit that gave a file its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// Its id.
    pub commit: ObjectId,
    /// When it was committed, in seconds since 1970.
    pub time: i64,
}

impl History {
    /// The commit that gave each of these files its content at HEAD. A file is its path and its blob at HEAD.
    /// The search takes at most `limit`; a ledger's index, which is made once for all calls, comes before it.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop. Commits not found within the limit are `None`.
    pub fn last_changes(
        &self,
        files: &[(&RepoPath, ObjectId)],
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<Vec<Option<LastChange>>, HistoryError> {
        let head: Vec<ObjectId> = self.head().into_iter().collect();
        let mut by_path = PathHistory::from(self, &head, cancel)?;
        let bounded = cancel.until(Instant::now() + limit);
        let found = match &mut by_path {
            Some(by_path) => {
                let files = files.iter();
                let found = files.map(|file| self.last_change(*file, by_path, &bounded));
                found.collect()
            }
            None => self.last_changes_by_walk(files, &head, &bounded),
        };
        cancel.check()?;
        found
    }

    /// The last change of one file, by the ledger.
    fn last_change(
        &self,
        (path, blob): (&RepoPath, ObjectId),
        commits: &mut PathHistory<'_>,
        cancel: &Cancel,
    ) -> Result<Option<LastChange>, HistoryError> {
        commits.rewind();
        let mut limiter = PathLimiter::of(path.clone());
        loop {
            let node = match commits.next(path, cancel) {
                Ok(Some(node)) => node,
                Ok(None) => return Ok(None),
                Err(error) if error.is_deadline() => return Ok(None),
                Err(error) => return Err(error),
            };
            let entry = changed_entry(&mut limiter, self, &node)?;
            if entry.is_some_and(|side| side.id == blob) {
                return Ok(Some(LastChange::of(self, &node)));
            }
        }
    }

    fn last_changes_by_walk(
        &self,
        files: &[(&RepoPath, ObjectId)],
        head: &[ObjectId],
        cancel: &Cancel,
    ) -> Result<Vec<Option<LastChange>>, HistoryError> {
        let mut search = FileSearch::of(files);
        let mut frontier = Frontier::starting_at(self, head)?;
        while !search.folders.is_empty() && cancel.check().is_ok() {
            let Some(node) = frontier.pop() else {
                break;
            };
            for parent in &node.parents {
                frontier.push(*parent)?;
            }
            if !self.is_shallow_end(self.id_of(node.key)) {
                search.record(self, &node)?;
            }
        }
        Ok(search.found)
    }
}

impl LastChange {
    fn of(history: &History, node: &WalkNode) -> LastChange {
        LastChange {
            commit: history.id_of(node.key),
            time: node.time,
        }
    }
}

/// The files that are still searched, by folder.
struct FileSearch {
    folders: Vec<(PathLimiter, Vec<SearchedFile>)>,
    found: Vec<Option<LastChange>>,
}

/// A file that is searched.
struct SearchedFile {
    /// Its index in the result.
    at: usize,
    limiter: PathLimiter,
    blob: ObjectId,
}

impl FileSearch {
    fn of(files: &[(&RepoPath, ObjectId)]) -> FileSearch {
        let mut folders: Vec<(PathLimiter, Vec<SearchedFile>)> = Vec::new();
        for (at, (path, blob)) in files.iter().enumerate() {
            let folder = path.parent().unwrap_or_else(RepoPath::root);
            let file = SearchedFile {
                at,
                limiter: PathLimiter::of((*path).clone()),
                blob: *blob,
            };
            let known = folders
                .iter_mut()
                .find(|(limiter, _)| *limiter.path() == folder);
            match known {
                Some((_, files)) => files.push(file),
                None => folders.push((PathLimiter::of(folder), vec![file])),
            }
        }
        FileSearch {
            folders,
            found: vec![None; files.len()],
        }
    }

    /// Finds the files that a commit set to their current content.
    fn record(&mut self, history: &History, node: &WalkNode) -> Result<(), HistoryError> {
        for (folder, files) in &mut self.folders {
            if changed_entry(folder, history, node)?.is_none() {
                continue;
            }
            let mut left = Vec::with_capacity(files.len());
            for mut file in files.drain(..) {
                let changed_entry = changed_entry(&mut file.limiter, history, node)?;
                match self.found.get_mut(file.at) {
                    // A change that was undone since, or lost in a merge, does not count.
                    Some(found) if changed_entry.is_some_and(|side| side.id == file.blob) => {
                        *found = Some(LastChange::of(history, node));
                    }
                    _ => left.push(file),
                }
            }
            *files = left;
        }
        self.folders.retain(|(_, files)| !files.is_empty());
        Ok(())
    }
}

/// The path's entry after a commit that changed it. `None` if one of the parents has the same
/// entry, or the commit deleted it.
fn changed_entry(
    limiter: &mut PathLimiter,
    history: &History,
    node: &WalkNode,
) -> Result<Option<Side>, HistoryError> {
    if limiter.is_proven_same(history, node.key) {
        return Ok(None);
    }
    if node.parents.is_empty() {
        return Ok(limiter.sides(history, None, Some(node.tree))?.1);
    }
    let mut changed_entry = None;
    for parent in &node.parents {
        let parent = history.walk_node(*parent)?.tree;
        let (old, new) = limiter.sides(history, Some(parent), Some(node.tree))?;
        if old == new {
            return Ok(None);
        }
        changed_entry = new;
    }
    Ok(changed_entry)
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::{Sandbox, cancel, git, path};

    use super::*;
    use crate::fixtures::history;

    /// The marks of a commit's parents, and the files that it writes.
    type CommitSpec<'a> = (&'a [usize], &'a [(&'a str, &'a str)]);

    /// Creates commits at 100, 200 … on one branch.
    fn repository_of(commits: &[CommitSpec<'_>]) -> Sandbox {
        let app = Sandbox::new();
        let mut stream = String::new();
        for (at, (parents, files)) in commits.iter().enumerate() {
            let mark = at + 1;
            let when = format!("A <a@example.com> {}00 +0000", mark);
            stream += &format!(
                "commit refs/heads/main\nmark :{mark}\nauthor {when}\ncommitter {when}\ndata 1\nx\n"
            );
            let kinds = ["from", "merge", "merge"];
            for (kind, parent) in kinds.iter().zip(*parents) {
                stream += &format!("{kind} :{parent}\n");
            }
            for (path, text) in *files {
                let length = text.len();
                stream += &format!("M 644 inline {path}\ndata {length}\n{text}\n");
            }
        }
        app.git(&["init", "-q", "-b", "main"]).import(&stream);
        app
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    /// When the files were last changed.
    fn changed(app: &Sandbox, names: &[&str]) -> Vec<Option<i64>> {
        let history = history(app);
        let blob = |name: &str| {
            let found = git(&app.root(), &["rev-parse", &format!("HEAD:{name}")]);
            ObjectId::from_hex(found.as_bytes()).unwrap()
        };
        let paths: Vec<_> = names.iter().map(|name| (path(name), blob(name))).collect();
        let files: Vec<_> = paths.iter().map(|(path, blob)| (path, *blob)).collect();
        let changes = history.last_changes(&files, PATIENCE, &cancel());
        let changes = changes.unwrap();
        let time = |change: LastChange| {
            let id = change.commit.to_string();
            let time = git(&app.root(), &["show", "-s", "--format=%ct", &id]);
            assert_eq!(time, change.time.to_string(), "{id}");
            change.time
        };
        changes.into_iter().map(|it| it.map(time)).collect()
    }

    #[test]
    fn the_last_change_is_the_last_commit_that_set_the_content() {
        let app = repository_of(&[
            (&[], &[("adr/a", "1"), ("adr/b", "1"), ("c", "1")]),
            (&[1], &[("adr/b", "2"), ("src/x", "1")]),
            (&[2], &[("adr/a", "2")]),
            (&[3], &[("adr/a", "1")]),
            (&[4], &[("src/x", "2")]),
        ]);
        let names = ["adr/a", "adr/b", "c", "src/x"];
        let expected = [Some(400), Some(200), Some(100), Some(500)];
        assert_eq!(changed(&app, &names), expected);
    }

    #[test]
    fn a_merge_changes_only_files_that_differ_from_all_parents() {
        let app = repository_of(&[
            (&[], &[("a", "1"), ("b", "1"), ("c", "1")]),
            (&[1], &[("a", "2"), ("c", "2")]),
            (&[1], &[("b", "2"), ("c", "3")]),
            // Takes the first parent's `b`, though the other parent is younger.
            (&[2, 3], &[("c", "4"), ("b", "1")]),
        ]);
        let expected = [Some(200), Some(100), Some(400)];
        assert_eq!(changed(&app, &["a", "b", "c"]), expected);
    }

    #[test]
    fn times_past_the_limit_or_shallow_end_are_unknown() {
        let app = repository_of(&[
            (&[], &[("a", "1"), ("b", "1")]),
            (&[1], &[("a", "2")]),
            (&[2], &[("x", "1")]),
        ]);
        let history = history(&app);
        let (a, id) = (path("a"), ObjectId::empty_blob(gix::hash::Kind::Sha1));
        let late = history.last_changes(&[(&a, id)], Duration::ZERO, &cancel());
        assert_eq!(late.unwrap(), [None]);
        let second = git(&app.root(), &["rev-parse", "HEAD~1"]);
        std::fs::write(app.root().join(".git/shallow"), second + "\n").unwrap();
        assert_eq!(changed(&app, &["a", "x"]), [None, Some(300)]);
    }
}
