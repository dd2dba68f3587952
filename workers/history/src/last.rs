//! Finds when files got their content at HEAD, for many files in one walk.
//!
//! Each commit is first tested for changes of the files' folders: most have none. Files that are
//! not found in time stay unknown, and so do those that predate the end of a shallow clone.

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;

use super::frontier::Frontier;
use super::scope::Scope;
use super::steps::Step;
use super::{History, HistoryError, Side};

impl History {
    /// When each of these files was committed with its content at HEAD, in seconds since 1970. A
    /// file is its path and its blob at HEAD.
    ///
    /// # Errors
    /// If an object can't be read. A stopped call is not an error: the rest stays `None`.
    pub fn last_changes(
        &self,
        files: &[(&RepoPath, ObjectId)],
        cancel: &Cancel,
    ) -> Result<Vec<Option<i64>>, HistoryError> {
        let mut sought = Sought::of(files);
        let head: Vec<ObjectId> = self.head().into_iter().collect();
        let mut frontier = Frontier::at(self, &head)?;
        while !sought.folders.is_empty() && cancel.check().is_ok() {
            let Some(step) = frontier.take() else {
                break;
            };
            for parent in &step.parents {
                frontier.join(*parent)?;
            }
            if !self.is_cut(self.id_of(step.spot)) {
                sought.look(self, &step)?;
            }
        }
        Ok(sought.found)
    }
}

/// The files that are still searched, by folder.
struct Sought {
    folders: Vec<(Scope, Vec<File>)>,
    found: Vec<Option<i64>>,
}

/// A file that is searched.
struct File {
    /// Its index in the result.
    at: usize,
    scope: Scope,
    blob: ObjectId,
}

impl Sought {
    fn of(files: &[(&RepoPath, ObjectId)]) -> Sought {
        let mut folders: Vec<(Scope, Vec<File>)> = Vec::new();
        for (at, (path, blob)) in files.iter().enumerate() {
            let folder = path.parent().unwrap_or_else(RepoPath::root);
            let file = File {
                at,
                scope: Scope::of((*path).clone()),
                blob: *blob,
            };
            let known = folders
                .iter_mut()
                .find(|(scope, _)| *scope.path() == folder);
            match known {
                Some((_, files)) => files.push(file),
                None => folders.push((Scope::of(folder), vec![file])),
            }
        }
        Sought {
            folders,
            found: vec![None; files.len()],
        }
    }

    /// Finds the files that a commit set to their current content.
    fn look(&mut self, history: &History, step: &Step) -> Result<(), HistoryError> {
        for (folder, files) in &mut self.folders {
            if made(folder, history, step)?.is_none() {
                continue;
            }
            let mut left = Vec::with_capacity(files.len());
            for mut file in files.drain(..) {
                let made = made(&mut file.scope, history, step)?;
                match self.found.get_mut(file.at) {
                    // A change that was undone since, or lost in a merge, does not count.
                    Some(found) if made.is_some_and(|side| side.id == file.blob) => {
                        *found = Some(step.time);
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
fn made(scope: &mut Scope, history: &History, step: &Step) -> Result<Option<Side>, HistoryError> {
    if scope.is_known_same(history, step.spot) {
        return Ok(None);
    }
    if step.parents.is_empty() {
        return Ok(scope.sides(history, None, Some(step.tree))?.1);
    }
    let mut made = None;
    for parent in &step.parents {
        let parent = history.step(*parent)?.tree;
        let (old, new) = scope.sides(history, Some(parent), Some(step.tree))?;
        if old == new {
            return Ok(None);
        }
        made = new;
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::{Sandbox, cancel, git, path};

    use super::*;
    use crate::Histories;
    use tokio::time::Instant;

    /// The marks of a commit's parents, and the files that it writes.
    type Made<'a> = (&'a [usize], &'a [(&'a str, &'a str)]);

    /// Creates commits at 100, 200 … on one branch.
    fn made_of(commits: &[Made<'_>]) -> Sandbox {
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

    /// When the files were last changed, as far as is found until the deadline.
    fn changed(app: &Sandbox, names: &[&str], cancel: &Cancel) -> Vec<Option<i64>> {
        let repo = app.repo();
        let history = History::of(&repo, &Histories::new(), cancel).unwrap();
        let blob = |name: &str| {
            let found = git(&app.root(), &["rev-parse", &format!("HEAD:{name}")]);
            ObjectId::from_hex(found.as_bytes()).unwrap()
        };
        let paths: Vec<_> = names.iter().map(|name| (path(name), blob(name))).collect();
        let files: Vec<_> = paths.iter().map(|(path, blob)| (path, *blob)).collect();
        history.last_changes(&files, cancel).unwrap()
    }

    #[test]
    fn a_file_was_changed_by_the_last_commit_that_made_it_what_it_is() {
        let app = made_of(&[
            (&[], &[("adr/a", "1"), ("adr/b", "1"), ("c", "1")]),
            (&[1], &[("adr/b", "2"), ("src/x", "1")]),
            (&[2], &[("adr/a", "2")]),
            (&[3], &[("adr/a", "1")]),
            (&[4], &[("src/x", "2")]),
        ]);
        let names = ["adr/a", "adr/b", "c", "src/x"];
        let expected = [Some(400), Some(200), Some(100), Some(500)];
        assert_eq!(changed(&app, &names, &cancel()), expected);
    }

    #[test]
    fn a_merge_changed_what_none_of_its_parents_has_and_nothing_else() {
        let app = made_of(&[
            (&[], &[("a", "1"), ("b", "1"), ("c", "1")]),
            (&[1], &[("a", "2"), ("c", "2")]),
            (&[1], &[("b", "2"), ("c", "3")]),
            // Takes the first parent's `b`, though the other parent is younger.
            (&[2, 3], &[("c", "4"), ("b", "1")]),
        ]);
        let expected = [Some(200), Some(100), Some(400)];
        assert_eq!(changed(&app, &["a", "b", "c"], &cancel()), expected);
    }

    #[test]
    fn what_a_shallow_clone_or_the_time_does_not_reach_is_unknown() {
        let app = made_of(&[
            (&[], &[("a", "1"), ("b", "1")]),
            (&[1], &[("a", "2")]),
            (&[2], &[("x", "1")]),
        ]);
        let late = cancel();
        let late = Cancel::new(Instant::now(), late.token.clone());
        let repo = app.repo();
        let history = History::of(&repo, &Histories::new(), &cancel()).unwrap();
        let (a, id) = (path("a"), ObjectId::empty_blob(gix::hash::Kind::Sha1));
        assert_eq!(history.last_changes(&[(&a, id)], &late).unwrap(), [None]);
        let second = git(&app.root(), &["rev-parse", "HEAD~1"]);
        std::fs::write(app.root().join(".git/shallow"), second + "\n").unwrap();
        assert_eq!(changed(&app, &["a", "x"], &cancel()), [None, Some(300)]);
    }
}
