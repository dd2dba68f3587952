//! Starts or resumes a log.

use archway_repo::Cancel;

use super::{Log, View};
use crate::HistoryError;
use crate::path_history::Course;
use crate::place::LogCursor;
use crate::walk::Walk;

impl<'a> Log<'a> {
    /// Walks from the beginning and skips earlier pages, or resumes after a page if the cursor
    /// allows it.
    ///
    /// # Errors
    /// If a commit can't be read, or the call has to stop.
    pub(super) fn begin(
        &mut self,
        place: Option<&LogCursor>,
        cancel: &Cancel,
    ) -> Result<(), HistoryError> {
        self.view = View::of(self.asked.as_ref(), self.is_folder, None);
        self.skip = self.given;
        let is_file = self.asked.is_some() && self.is_folder == Some(false);
        let (history, plan) = (self.history, &self.walk.plan);
        let course = match is_file && Walk::can_go_along(plan) {
            true => Course::from(history, &plan.from, cancel)?,
            false => None,
        };
        match course {
            Some(course) => self.begin_along(course, place, cancel),
            None => self.begin_walk(place),
        }
    }

    fn begin_walk(&mut self, place: Option<&LogCursor>) -> Result<(), HistoryError> {
        let standing = place.filter(|place| place.stand.is_some());
        if let Some(place) = standing {
            self.go_on_as(place.name.clone());
        }
        let stand = standing.and_then(|place| place.stand.as_ref());
        let plan = self.walk.plan.clone();
        self.walk = Walk::new(self.history, plan, self.view.scope(), stand)?;
        Ok(())
    }

    /// With path history, any commit of the log is enough to resume from.
    fn begin_along(
        &mut self,
        mut course: Course<'a>,
        place: Option<&LogCursor>,
        cancel: &Cancel,
    ) -> Result<(), HistoryError> {
        if let Some((commit, name)) = place.and_then(LogCursor::end)
            && course.go_on_after(commit, cancel)?
        {
            self.go_on_as(Some(name));
            self.last = Some(commit);
        }
        let plan = self.walk.plan.clone();
        self.walk = Walk::new(self.history, plan, None, None)?.along(course);
        Ok(())
    }

    /// Resumes without skipping. `name` is the followed file's name at this point.
    fn go_on_as(&mut self, name: Option<String>) {
        self.view = View::of(self.asked.as_ref(), self.is_folder, name);
        self.skip = 0;
    }
}
