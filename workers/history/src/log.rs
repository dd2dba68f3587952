//! A log: the commits that match a query, each with its files, page by page.
//!
//! Three views: all commits; those that changed a folder; those that changed a file, which is
//! followed through renames. A path that is missing where the log begins counts as a file until a
//! commit shows that it was a folder.

mod query;
mod start;
mod view;
mod filter;
mod changed_text;
mod file_list;
mod saved;

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;
pub use query::LogQuery;

use self::file_list::FileList;
use self::filter::CommitFilter;
use self::view::View;
use super::blobs::Blobs;
use super::change::Changes;
use super::changed_file::ChangedFile;
use super::cursor::{LastCommit, LogCursor};
use super::followed_file::CommitEffect;
use super::walk::{Dates, LogWalk, Plan};
use super::walk_node::WalkNode;
use super::{CommitInfo, History, HistoryError};

/// Maximum number of files that are listed for a commit.
pub(crate) const MAX_FILES: usize = 200;

/// A commit of a log.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// The author, committer's time and message.
    pub commit_info: CommitInfo,
    /// The shortest unambiguous prefix of its id, as git abbreviates ids.
    pub short: String,
    /// The differences from the first parent, by path; at most [`MAX_FILES`].
    pub files: Vec<ChangedFile>,
    /// The total number of differences.
    pub files_total: usize,
    /// Rename detection was cut short: some renames may be listed as added and deleted.
    pub renames_cut: bool,
}

/// A log in progress.
pub struct Log<'a> {
    history: &'a History,
    walk: LogWalk<'a>,
    view: View,
    /// The path of the query, if it is a file or not known yet.
    path: Option<RepoPath>,
    is_folder: Option<bool>,
    filter: CommitFilter,
    returned: u64,
    /// The commit that was returned last, or passed because of its changes.
    last: Option<ObjectId>,
    /// How many commits of earlier pages still have to be skipped.
    skip: u64,
}

/// A commit that matches, and what was computed for it so far.
struct Match {
    node: WalkNode,
    commit_info: Option<CommitInfo>,
    /// The change of the followed file, if one is followed.
    file: Option<ChangedFile>,
}

impl<'a> Log<'a> {
    fn new(
        history: &'a History,
        cursor: LogCursor,
        path: Option<RepoPath>,
        filter: CommitFilter,
        cancel: &Cancel,
    ) -> Result<Log<'a>, HistoryError> {
        let plan = Plan {
            from: cursor.from.clone(),
            excluded: cursor.excluded.first().copied(),
            dates: Dates {
                since: cursor.since,
                until: cursor.until,
            },
        };
        let mut log = Log {
            history,
            walk: LogWalk::new(history, plan, None, None)?,
            view: View::of(path.as_ref(), cursor.is_folder, None),
            path,
            is_folder: cursor.is_folder,
            filter,
            returned: cursor.returned,
            last: None,
            skip: 0,
        };
        log.start(Some(&cursor), cancel)?;
        Ok(log)
    }

    /// The next commit.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop. [`Log::cursor`] is then the position to
    /// resume from.
    pub fn next(&mut self, cancel: &Cancel) -> Result<Option<LogEntry>, HistoryError> {
        let Some(matched) = self.advance(cancel)? else {
            return Ok(None);
        };
        match self.entry(&matched, cancel) {
            Ok(entry) => {
                self.move_past(&matched);
                self.returned += 1;
                Ok(Some(entry))
            }
            Err(error) => {
                self.walk.put_back(matched.node);
                Err(error)
            }
        }
    }

    /// Whether another commit follows. Call this last: it advances past that commit.
    ///
    /// # Errors
    /// As [`Log::next`].
    pub fn has_more(&mut self, cancel: &Cancel) -> Result<bool, HistoryError> {
        Ok(self.advance(cancel)?.is_some())
    }

    /// The position of the log.
    pub fn cursor(&self) -> LogCursor {
        let plan = &self.walk.plan;
        // While commits of earlier pages are skipped, only their number is a valid position.
        let mut walk = self.walk.state().filter(|_| self.skip == 0);
        let (mut name, mut last) = (None, None);
        if let View::File(followed) = &self.view {
            let shown = followed.path().display();
            let is_exact = RepoPath::parse(&shown).is_ok_and(|path| path == *followed.path());
            walk = walk.filter(|_| is_exact);
            name = walk.as_ref().map(|_| shown.clone());
            let is_returned = is_exact && self.skip == 0 && walk.is_none();
            let commit = self.last.filter(|_| is_returned);
            last = commit.map(|commit| LastCommit {
                commit,
                name: shown,
            });
        }
        LogCursor {
            from: plan.from.clone(),
            excluded: plan.excluded.into_iter().collect(),
            since: plan.dates.since,
            until: plan.dates.until,
            returned: self.returned,
            is_folder: self.is_folder,
            walk,
            name,
            last,
        }
    }

    /// The next commit that no earlier page returned.
    fn advance(&mut self, cancel: &Cancel) -> Result<Option<Match>, HistoryError> {
        loop {
            if self.walk.frontier.must_restart() {
                self.start(None, cancel)?;
            }
            let next = match &self.view {
                View::File(followed) => self.walk.next_touching(followed.path(), cancel)?,
                View::All | View::Folder(_) => self.walk.next(cancel)?,
            };
            let Some(node) = next else {
                return Ok(None);
            };
            match self.match_commit(&node, cancel) {
                Ok(Some(matched)) if self.skip > 0 => {
                    self.skip -= 1;
                    self.move_past(&matched);
                }
                Ok(matched @ Some(_)) => return Ok(matched),
                Ok(None) => {}
                Err(error) => {
                    self.walk.put_back(node);
                    return Err(error);
                }
            }
        }
    }

    /// Whether the commit matches.
    fn match_commit(
        &mut self,
        node: &WalkNode,
        cancel: &Cancel,
    ) -> Result<Option<Match>, HistoryError> {
        let sides = match &mut self.view {
            View::All | View::Folder(_) => None,
            View::File(followed) => match followed.effect_of(self.history, node)? {
                CommitEffect::File { old, new } => {
                    self.is_folder = Some(false);
                    Some((old, new))
                }
                CommitEffect::Folder if self.is_folder.is_none() => {
                    self.is_folder = Some(true);
                    self.start(None, cancel)?;
                    return Ok(None);
                }
                CommitEffect::Folder | CommitEffect::Nothing => return Ok(None),
            },
        };
        let mut commit_info = None;
        if self.filter.reads_commits() {
            let read = self.history.commit_info(self.history.id_of(node.key))?;
            if !self.filter.admits(&read)? {
                return Ok(None);
            }
            commit_info = Some(read);
        }
        let file = match (&self.view, sides) {
            (View::File(followed), Some(sides)) => {
                Some(followed.change(self.history, node, sides, cancel)?)
            }
            _ => None,
        };
        let matched = Match {
            node: node.clone(),
            commit_info,
            file,
        };
        if !self.changes_text(&matched, sides, cancel)? {
            // git follows a rename in a commit that it does not show because of the text.
            self.move_past(&matched);
            return Ok(None);
        }
        Ok(Some(matched))
    }

    fn entry(&mut self, matched: &Match, cancel: &Cancel) -> Result<LogEntry, HistoryError> {
        let history = self.history;
        let commit_info = match &matched.commit_info {
            Some(commit_info) => commit_info.clone(),
            None => history.commit_info(history.id_of(matched.node.key))?,
        };
        let list = match (&mut self.view, &matched.file) {
            (_, Some(file)) => FileList::single(file.clone()),
            (View::Folder(limiter), None) => {
                let old = history.first_parent_tree(&matched.node)?;
                let found = limiter.differences(history, old, Some(matched.node.tree), cancel)?;
                let blobs = Blobs::new(&history.git);
                FileList::of(Changes::of(&blobs, found, cancel)?)
            }
            (_, None) => FileList::clone(&*history.file_list(&matched.node, cancel)?),
        };
        Ok(LogEntry {
            short: history.short(commit_info.id),
            commit_info,
            files: list.files,
            files_total: list.total,
            renames_cut: list.renames_cut,
        })
    }

    /// Moves past a commit: a followed file takes the name that it had before.
    fn move_past(&mut self, matched: &Match) {
        self.last = Some(self.history.id_of(matched.node.key));
        if let (View::File(followed), Some(file)) = (&mut self.view, &matched.file)
            && let Some(old) = &file.old_path
        {
            followed.rename(old.clone());
        }
    }
}

#[cfg(test)]
mod tests;
