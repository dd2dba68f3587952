//! A log: the commits that match a query, each with its files, page by page.
//!
//! Three views: all commits; those that changed a folder; those that changed a file, which is
//! followed through renames. A path that is missing where the log begins counts as a file until a
//! commit shows that it was a folder.

mod question;
mod beginning;
mod listed;

pub use question::LogQuery;

use listed::Listed;

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;

use super::blobs::Blobs;
use super::change::Changes;
use super::follow::{Follow, Touch};
use super::log_file::ChangedFile;
use super::place::{Last, LogCursor};
use super::scope::Scope;
use super::steps::Step;
use super::walk::{Dates, Plan, Walk};
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
    walk: Walk<'a>,
    view: View,
    /// The path of the query, if it is a file or not known yet.
    asked: Option<RepoPath>,
    is_folder: Option<bool>,
    /// In lower case.
    author: Option<String>,
    given: u64,
    /// The commit that was returned last.
    last: Option<ObjectId>,
    /// How many commits of earlier pages still have to be skipped.
    skip: u64,
}

enum View {
    All,
    Folder(Scope),
    File(Follow),
}

/// A commit that matches, and what was computed for it so far.
struct Hit {
    step: Step,
    commit_info: Option<CommitInfo>,
    /// The change of the followed file, if one is followed.
    file: Option<ChangedFile>,
}

impl<'a> Log<'a> {
    fn new(
        history: &'a History,
        place: LogCursor,
        path: Option<RepoPath>,
        author: Option<&str>,
        cancel: &Cancel,
    ) -> Result<Log<'a>, HistoryError> {
        let plan = Plan {
            from: place.from.clone(),
            without: place.without.first().copied(),
            dates: Dates {
                since: place.since,
                until: place.until,
            },
        };
        let mut log = Log {
            history,
            walk: Walk::new(history, plan, None, None)?,
            view: View::of(path.as_ref(), place.is_folder, None),
            asked: path,
            is_folder: place.is_folder,
            author: author.map(str::to_lowercase),
            given: place.given,
            last: None,
            skip: 0,
        };
        log.begin(Some(&place), cancel)?;
        Ok(log)
    }

    /// The next commit.
    ///
    /// # Errors
    /// If an object can't be read, or the call has to stop. [`Log::cursor`] is then the position to
    /// resume from.
    pub fn next(&mut self, cancel: &Cancel) -> Result<Option<LogEntry>, HistoryError> {
        let Some(hit) = self.advance(cancel)? else {
            return Ok(None);
        };
        match self.entry(&hit, cancel) {
            Ok(entry) => {
                self.pass(&hit);
                self.given += 1;
                Ok(Some(entry))
            }
            Err(error) => {
                self.walk.give_back(hit.step);
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
        let mut stand = self.walk.stand().filter(|_| self.skip == 0);
        let (mut name, mut last) = (None, None);
        if let View::File(follow) = &self.view {
            let shown = follow.path().display();
            let is_exact = RepoPath::parse(&shown).is_ok_and(|path| path == *follow.path());
            stand = stand.filter(|_| is_exact);
            name = stand.as_ref().map(|_| shown.clone());
            let is_told = is_exact && self.skip == 0 && stand.is_none();
            let commit = self.last.filter(|_| is_told);
            last = commit.map(|commit| Last {
                commit,
                name: shown,
            });
        }
        LogCursor {
            from: plan.from.clone(),
            without: plan.without.into_iter().collect(),
            since: plan.dates.since,
            until: plan.dates.until,
            given: self.given,
            is_folder: self.is_folder,
            stand,
            name,
            last,
        }
    }

    /// The next commit that no earlier page returned.
    fn advance(&mut self, cancel: &Cancel) -> Result<Option<Hit>, HistoryError> {
        loop {
            if self.walk.frontier.is_lost() {
                self.begin(None, cancel)?;
            }
            let next = match &self.view {
                View::File(follow) => self.walk.next_of(follow.path(), cancel)?,
                View::All | View::Folder(_) => self.walk.next(cancel)?,
            };
            let Some(step) = next else {
                return Ok(None);
            };
            match self.look(&step, cancel) {
                Ok(Some(hit)) if self.skip > 0 => {
                    self.skip -= 1;
                    self.pass(&hit);
                }
                Ok(hit @ Some(_)) => return Ok(hit),
                Ok(None) => {}
                Err(error) => {
                    self.walk.give_back(step);
                    return Err(error);
                }
            }
        }
    }

    /// Whether the commit matches.
    fn look(&mut self, step: &Step, cancel: &Cancel) -> Result<Option<Hit>, HistoryError> {
        let sides = match &mut self.view {
            View::All | View::Folder(_) => None,
            View::File(follow) => match follow.touch(self.history, step)? {
                Touch::File { old, new } => {
                    self.is_folder = Some(false);
                    Some((old, new))
                }
                Touch::Folder if self.is_folder.is_none() => {
                    self.is_folder = Some(true);
                    self.begin(None, cancel)?;
                    return Ok(None);
                }
                Touch::Folder | Touch::Nothing => return Ok(None),
            },
        };
        let mut commit_info = None;
        if let Some(author) = &self.author {
            let read = self.history.commit_info(self.history.id_of(step.spot))?;
            if !is_by(&read, author) {
                return Ok(None);
            }
            commit_info = Some(read);
        }
        let file = match (&self.view, sides) {
            (View::File(follow), Some(sides)) => {
                Some(follow.change(self.history, step, sides, cancel)?)
            }
            _ => None,
        };
        let step = step.clone();
        Ok(Some(Hit {
            step,
            commit_info,
            file,
        }))
    }

    fn entry(&mut self, hit: &Hit, cancel: &Cancel) -> Result<LogEntry, HistoryError> {
        let history = self.history;
        let commit_info = match &hit.commit_info {
            Some(commit_info) => commit_info.clone(),
            None => history.commit_info(history.id_of(hit.step.spot))?,
        };
        let listed = match (&mut self.view, &hit.file) {
            (_, Some(file)) => Listed::alone(file.clone()),
            (View::Folder(scope), None) => {
                let old = history.first_parent_tree(&hit.step)?;
                let found = scope.differences(history, old, Some(hit.step.tree), cancel)?;
                let blobs = Blobs::new(&history.git);
                Listed::of(Changes::of(&blobs, found, cancel)?)
            }
            (_, None) => Listed::clone(&*history.listed(&hit.step, cancel)?),
        };
        Ok(LogEntry {
            short: history.short(commit_info.id),
            commit_info,
            files: listed.files,
            files_total: listed.total,
            renames_cut: listed.renames_cut,
        })
    }

    /// Moves past a commit: a followed file takes the name that it had before.
    fn pass(&mut self, hit: &Hit) {
        self.last = Some(self.history.id_of(hit.step.spot));
        if let (View::File(follow), Some(file)) = (&mut self.view, &hit.file)
            && let Some(old) = &file.old_path
        {
            follow.rename(old.clone());
        }
    }
}

impl View {
    /// `name` is the followed file's name where the walk resumes.
    fn of(path: Option<&RepoPath>, is_folder: Option<bool>, name: Option<String>) -> View {
        let Some(path) = path else {
            return View::All;
        };
        if is_folder == Some(true) {
            return View::Folder(Scope::of(path.clone()));
        }
        let name = name.and_then(|name| RepoPath::parse(&name).ok());
        View::File(Follow::of(name.unwrap_or_else(|| path.clone())))
    }

    /// The path that limits the walk. A followed file does not limit it.
    fn scope(&self) -> Option<Scope> {
        match self {
            View::Folder(scope) => Some(Scope::of(scope.path().clone())),
            View::All | View::File(_) => None,
        }
    }
}

/// Whether the author's `Name <email>` contains `part`, which is in lower case.
fn is_by(commit_info: &CommitInfo, part: &str) -> bool {
    let author = format!("{} <{}>", commit_info.author.name, commit_info.author.email);
    author.to_lowercase().contains(part)
}

#[cfg(test)]
mod tests;
