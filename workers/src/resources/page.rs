//! Pages of lists over all projects that a caller may read.
//!
//! The default project comes first, the others by slug. A cursor names the last item that was
//! returned, so that a commit in between neither repeats nor skips items. If that item has since
//! been removed, the cursor is rejected.
//!
//! A page may be short or empty and still have a cursor: thousands of projects with few items are
//! read page by page, so that each page meets its deadline.

use std::sync::Arc;

use archway_proto::{failure::Failure, fault::Fault};
use serde::Deserialize;
use tokio::time::Instant;

use crate::{context::ToolContext, projects::Project};

/// Maximum number of items of a page.
const MAX_ITEMS: usize = 100;
/// Maximum number of projects that are read for a page, if there is time.
const MAX_PROJECTS: usize = 100;

/// The params of a list request.
#[derive(Default, Deserialize)]
pub(crate) struct ListArgs {
    /// `<project> <item>`: the last item that was returned. An empty item starts at the project's
    /// first item.
    #[serde(default)]
    cursor: Option<String>,
}

/// A project whose items are listed.
pub(crate) struct PageProject {
    pub(crate) project: Arc<Project>,
    /// Its slug, as a prefix of item names. `None` for the caller's default project.
    pub(crate) prefix: Option<String>,
}

/// A page while it is filled.
pub(crate) struct ListPage<T> {
    items: Vec<T>,
    /// The project and the name of the last item.
    last: Option<(String, String)>,
    /// Where the previous page ended, until that item is found.
    after: Option<(String, String)>,
    is_full: bool,
    /// Projects that may still be read.
    projects_left: usize,
    /// No project is started after this time, except the first.
    deadline: Instant,
    /// The first project of the next page, if this page ended for another reason than its item
    /// count.
    next_project: Option<String>,
}

impl ListArgs {
    /// Whether the first page is requested.
    pub(crate) fn is_start(&self) -> bool {
        self.cursor.is_none()
    }

    /// Returns the projects that are still to be read, of those whose documents the caller may read, and an empty page.
    pub(crate) async fn begin<T>(
        self,
        cx: &ToolContext,
    ) -> Result<(Vec<PageProject>, ListPage<T>), Failure> {
        let after = match self.cursor {
            None => None,
            Some(cursor) => {
                let position = cursor.split_once(' ').ok_or_else(malformed_cursor)?;
                Some((position.0.to_owned(), position.1.to_owned()))
            }
        };
        let mut page_projects = page_projects(cx).await?;
        if let Some((project, _)) = &after {
            let position = page_projects
                .iter()
                .position(|it| it.project.slug == *project);
            page_projects.drain(..position.ok_or_else(expired_cursor)?);
        }
        let now = Instant::now();
        let time_left = cx.cancel().deadline.saturating_duration_since(now);
        let after = after.filter(|(_, item)| !item.is_empty());
        // Half of the time, because the last project may take as long as all before it.
        Ok((page_projects, ListPage::new(after, now + time_left / 2)))
    }
}

/// The projects whose documents the caller may read: its default first, the others by slug.
async fn page_projects(cx: &ToolContext) -> Result<Vec<PageProject>, Failure> {
    if !cx.reads_documents() {
        return Ok(Vec::new());
    }
    let mut readable = cx.readable(cx.document_families()).await?.list();
    let default = cx.default_project(&readable).map(|it| it.slug.clone());
    let is_default = |slug: &str| default.as_deref() == Some(slug);
    readable.sort_by_key(|project| !is_default(&project.slug));
    let page_projects = readable.into_iter().map(|project| PageProject {
        prefix: (!is_default(&project.slug)).then(|| project.slug.clone()),
        project,
    });
    Ok(page_projects.collect())
}

/// The part of a project's items that a page needs.
#[derive(Clone)]
pub(crate) struct PageSlice {
    /// The last item of the previous page.
    after: Option<String>,
    /// Items that still fit into the page.
    remaining: usize,
}

impl PageSlice {
    /// Selects the items that fit into the page, and one more: it shows that the list continues.
    ///
    /// # Errors
    /// If the last item of the previous page has been removed.
    pub(crate) fn select<T>(
        &self,
        items: impl Iterator<Item = (String, T)>,
    ) -> Result<Vec<(String, T)>, Failure> {
        let mut items = items;
        if let Some(after) = &self.after {
            let found = items.find(|(name, _)| name == after);
            found.ok_or_else(expired_cursor)?;
        }
        Ok(items.take(self.remaining + 1).collect())
    }
}

impl<T> ListPage<T> {
    fn new(after: Option<(String, String)>, deadline: Instant) -> ListPage<T> {
        ListPage {
            items: Vec::new(),
            last: None,
            after,
            is_full: false,
            projects_left: MAX_PROJECTS,
            deadline,
            next_project: None,
        }
    }

    /// Whether `project`, the next in order, may be read for this page.
    pub(crate) fn has_room_for(&mut self, project: &str) -> bool {
        let is_first = self.projects_left == MAX_PROJECTS;
        let has_time = Instant::now() < self.deadline;
        let is_allowed = is_first || (self.projects_left > 0 && has_time);
        if self.is_full || !is_allowed {
            self.next_project = Some(project.to_owned());
            return false;
        }
        self.projects_left -= 1;
        true
    }

    /// The part of the items of `project`, the next in order, that the page needs.
    pub(crate) fn slice_of(&mut self, project: &str) -> PageSlice {
        let after = self.after.take_if(|(of, _)| of == project);
        PageSlice {
            after: after.map(|(_, name)| name),
            remaining: MAX_ITEMS - self.items.len(),
        }
    }

    /// Adds the selected items of a project.
    pub(crate) fn add(&mut self, project: &str, items: Vec<(String, T)>) {
        for (name, item) in items {
            if self.items.len() == MAX_ITEMS {
                self.is_full = true;
                return;
            }
            self.items.push(item);
            self.last = Some((project.to_owned(), name));
        }
    }

    /// Returns the items, and the cursor of the next page if there is one.
    pub(crate) fn finish(self) -> (Vec<T>, Option<String>) {
        let last = self.last.filter(|_| self.is_full);
        let last = last.map(|(project, name)| format!("{project} {name}"));
        let next = self.next_project.map(|project| format!("{project} "));
        (self.items, last.or(next))
    }
}

/// The failure for a cursor that does not parse.
fn malformed_cursor() -> Failure {
    cursor_failure("the cursor is malformed")
}

/// The failure for a cursor whose project or item has been removed.
fn expired_cursor() -> Failure {
    cursor_failure("the cursor has expired: the list changed")
}

fn cursor_failure(message: &str) -> Failure {
    let suggestion = "start again without a cursor";
    Failure::new(Fault::InvalidArguments, message, suggestion)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn page(after: Option<(&str, &str)>) -> ListPage<u32> {
        let after = after.map(|(project, name)| (project.to_owned(), name.to_owned()));
        ListPage::new(after, Instant::now() + Duration::from_secs(60))
    }

    fn add(page: &mut ListPage<u32>, project: &str, count: u32) -> Result<(), Failure> {
        let items = (0..count).map(|number| (format!("n{number}"), number));
        let slice = page.slice_of(project).select(items)?;
        page.add(project, slice);
        Ok(())
    }

    #[test]
    fn pages_join_to_the_whole_list() {
        let mut first = page(None);
        add(&mut first, "a", 60).unwrap();
        assert!(first.has_room_for("b"));
        add(&mut first, "b", 60).unwrap();
        assert!(!first.has_room_for("c"));
        let (items, cursor) = first.finish();
        assert_eq!((items.len(), cursor.as_deref()), (100, Some("b n39")));
        let mut second = page(Some(("b", "n39")));
        add(&mut second, "b", 60).unwrap();
        let (items, cursor) = second.finish();
        assert_eq!((items, cursor), ((40..60).collect(), None));
    }

    #[test]
    fn a_page_with_exactly_the_last_items_has_no_cursor() {
        let mut whole = page(None);
        add(&mut whole, "a", 100).unwrap();
        assert_eq!(whole.finish().1, None);
    }

    #[test]
    fn a_page_reads_at_least_one_project_and_is_bounded_in_number_and_time() {
        let mut many = page(None);
        let read = (0..1_000).take_while(|nth| many.has_room_for(&format!("p{nth}")));
        assert_eq!(read.count(), MAX_PROJECTS);
        assert_eq!(many.finish().1.as_deref(), Some("p100 "));
        let mut late = ListPage::<u32>::new(None, Instant::now());
        assert!(late.has_room_for("a") && !late.has_room_for("b"));
        assert_eq!(late.finish().1.as_deref(), Some("b "));
    }

    #[test]
    fn a_cursor_whose_item_is_gone_is_rejected() {
        let mut page = page(Some(("a", "gone")));
        let failure = add(&mut page, "a", 3).unwrap_err();
        assert_eq!(failure.message, "the cursor has expired: the list changed");
    }
}
