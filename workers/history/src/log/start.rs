//! Starts or resumes a log.

use archway_repo::Cancel;

use super::{Log, View};
use crate::HistoryError;
use crate::cursor::LogCursor;
use crate::path_history::PathHistory;
use crate::walk::LogWalk;

impl<'a> Log<'a> {
    /// Walks from the beginning and skips earlier pages, or resumes after a page if the cursor
    /// allows it.
    ///
    /// # Errors
    /// If a commit can't be read, or the call has to stop.
    pub(super) fn start(
        &mut self,
        cursor: Option<&LogCursor>,
        cancel: &Cancel,
    ) -> Result<(), HistoryError> {
        self.view = View::of(self.path.as_ref(), self.is_folder, None);
        self.skip = self.returned;
        let is_file = self.path.is_some() && self.is_folder == Some(false);
        let (history, plan) = (self.history, &self.walk.plan);
        let path_history = match is_file && LogWalk::allows_path_history(plan) {
            true => PathHistory::from(history, &plan.from, cancel)?,
            false => None,
        };
        match path_history {
            Some(path_history) => self.start_with_path_history(path_history, cursor, cancel),
            None => self.start_walk(cursor),
        }
    }

    fn start_walk(&mut self, cursor: Option<&LogCursor>) -> Result<(), HistoryError> {
        let saved = cursor.filter(|cursor| cursor.walk.is_some());
        if let Some(cursor) = saved {
            self.resume_as(cursor.name.clone());
        }
        let walk = saved.and_then(|cursor| cursor.walk.as_ref());
        let plan = self.walk.plan.clone();
        self.walk = LogWalk::new(self.history, plan, self.view.limiter(), walk)?;
        Ok(())
    }

    /// With path history, any commit of the log is enough to resume from.
    fn start_with_path_history(
        &mut self,
        mut path_history: PathHistory<'a>,
        cursor: Option<&LogCursor>,
        cancel: &Cancel,
    ) -> Result<(), HistoryError> {
        if let Some((commit, name)) = cursor.and_then(LogCursor::last_visited)
            && path_history.resume_after(commit, cancel)?
        {
            self.resume_as(Some(name));
            self.last = Some(commit);
        }
        let plan = self.walk.plan.clone();
        self.walk = LogWalk::new(self.history, plan, None, None)?.with_path_history(path_history);
        Ok(())
    }

    /// Resumes without skipping. `name` is the followed file's name at this point.
    fn resume_as(&mut self, name: Option<String>) {
        self.view = View::of(self.path.as_ref(), self.is_folder, name);
        self.skip = 0;
    }
}
