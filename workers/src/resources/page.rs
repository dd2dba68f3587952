//! Lists over all projects that a caller may read, a page at a time.
//!
//! The default project comes first, the others by slug. A cursor names the last item that was
//! given, so a commit in between neither repeats nor skips any; if that item is gone since, the
//! list has to be started again.
//!
//! What a reader would get wrong: a page may be short, or empty, and have a cursor. Thousands of
//! projects with little in them are looked at page by page, so that each page ends in its time.

use std::sync::Arc;

use archway_proto::{failure::Failure, fault::Fault};
use serde::Deserialize;
use tokio::time::Instant;

use crate::{context::ToolContext, projects::Project};

/// Items of a page.
const ITEMS: usize = 100;
/// Projects that are looked at for a page, if there is time for so many.
const PROJECTS: usize = 100;

/// What a list asks for.
#[derive(Default, Deserialize)]
pub(crate) struct ListArgs {
    /// `<project> <item>`: the last that was given; `<project> ` is before the first of its items.
    #[serde(default)]
    cursor: Option<String>,
}

/// A project on the way through a list.
pub(crate) struct Shelf {
    pub project: Arc<Project>,
    /// Its slug in names, `None` for the caller's default.
    pub(crate) prefix: Option<String>,
}

/// A page that is being filled.
pub(crate) struct Page<T> {
    items: Vec<T>,
    /// The project and the name of the last item.
    last: Option<(String, String)>,
    /// Where the page before ended, until it is found.
    after: Option<(String, String)>,
    is_full: bool,
    /// How many projects may still be looked at, and until when; one is looked at in any case.
    projects: usize,
    until: Instant,
    /// The project that the next page begins with, if this one is full by others than its items.
    next: Option<String>,
}

impl ListArgs {
    /// Whether it is the first page that is asked for.
    pub(crate) fn is_start(&self) -> bool {
        self.cursor.is_none()
    }

    /// The projects that are still to be looked at, and a page to be filled from them.
    pub(crate) async fn begin<T>(self, cx: &ToolContext) -> Result<(Vec<Shelf>, Page<T>), Failure> {
        let after = match self.cursor {
            None => None,
            Some(cursor) => {
                let place = cursor.split_once(' ').ok_or_else(start_again)?;
                Some((place.0.to_owned(), place.1.to_owned()))
            }
        };
        let mut shelves = shelves(cx).await?;
        if let Some((project, _)) = &after {
            let place = shelves.iter().position(|it| it.project.slug == *project);
            shelves.drain(..place.ok_or_else(start_again)?);
        }
        let now = Instant::now();
        let left = cx.cancel().deadline.saturating_duration_since(now);
        let after = after.filter(|(_, item)| !item.is_empty());
        // The last project that is begun with has as long as all before it.
        Ok((shelves, Page::new(after, now + left / 2)))
    }
}

/// The projects that the caller may read: its default, then by slug.
async fn shelves(cx: &ToolContext) -> Result<Vec<Shelf>, Failure> {
    let mut readable = cx.projects().await?;
    let default = cx.default_project(&readable).map(|it| it.slug.clone());
    let is_default = |slug: &str| default.as_deref() == Some(slug);
    readable.sort_by_key(|project| !is_default(&project.slug));
    let shelves = readable.into_iter().map(|project| Shelf {
        prefix: (!is_default(&project.slug)).then(|| project.slug.clone()),
        project,
    });
    Ok(shelves.collect())
}

/// What a page wants of a project.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// The item after which it begins.
    after: Option<String>,
    room: usize,
}

impl Wanted {
    /// Of a project's named items those that the page has room for, and one more if there is one.
    ///
    /// # Errors
    /// If the last item of the page before is not among them any longer.
    pub(crate) fn of<T>(
        &self,
        items: impl Iterator<Item = (String, T)>,
    ) -> Result<Vec<(String, T)>, Failure> {
        let mut items = items;
        if let Some(after) = &self.after {
            let found = items.find(|(name, _)| name == after);
            found.ok_or_else(start_again)?;
        }
        Ok(items.take(self.room + 1).collect())
    }
}

impl<T> Page<T> {
    fn new(after: Option<(String, String)>, until: Instant) -> Page<T> {
        Page {
            items: Vec::new(),
            last: None,
            after,
            is_full: false,
            projects: PROJECTS,
            until,
            next: None,
        }
    }

    /// Whether this project, the next in order, is to be looked at for this page.
    pub(crate) fn goes_on(&mut self, project: &str) -> bool {
        let is_first = self.projects == PROJECTS;
        let has_time = is_first || (self.projects > 0 && Instant::now() < self.until);
        if self.is_full || !has_time {
            self.next = Some(project.to_owned());
            return false;
        }
        self.projects -= 1;
        true
    }

    /// What it wants of this project, the next in order.
    pub(crate) fn wants(&mut self, project: &str) -> Wanted {
        let after = self.after.take_if(|(of, _)| of == project);
        Wanted {
            after: after.map(|(_, name)| name),
            room: ITEMS - self.items.len(),
        }
    }

    /// Adds what was wanted of a project.
    pub(crate) fn add(&mut self, project: &str, items: Vec<(String, T)>) {
        for (name, item) in items {
            if self.items.len() == ITEMS {
                self.is_full = true;
                return;
            }
            self.items.push(item);
            self.last = Some((project.to_owned(), name));
        }
    }

    /// The items, and the cursor of the next page if there is one.
    pub(crate) fn end(self) -> (Vec<T>, Option<String>) {
        let last = self.last.filter(|_| self.is_full);
        let last = last.map(|(project, name)| format!("{project} {name}"));
        let next = self.next.map(|project| format!("{project} "));
        (self.items, last.or(next))
    }
}

/// The list changed too much since its page before.
pub(crate) fn start_again() -> Failure {
    Failure::new(
        Fault::InvalidArguments,
        "the cursor belongs to another state of the projects",
        "start again without a cursor",
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn page(after: Option<(&str, &str)>) -> Page<u32> {
        let after = after.map(|(project, name)| (project.to_owned(), name.to_owned()));
        Page::new(after, Instant::now() + Duration::from_secs(60))
    }

    fn add(page: &mut Page<u32>, project: &str, count: u32) -> Result<(), Failure> {
        let items = (0..count).map(|number| (format!("n{number}"), number));
        let wanted = page.wants(project).of(items)?;
        page.add(project, wanted);
        Ok(())
    }

    #[test]
    fn pages_join_to_the_whole() {
        let mut first = page(None);
        add(&mut first, "a", 60).unwrap();
        assert!(first.goes_on("b"));
        add(&mut first, "b", 60).unwrap();
        assert!(!first.goes_on("c"));
        let (given, cursor) = first.end();
        assert_eq!((given.len(), cursor.as_deref()), (100, Some("b n39")));
        let mut second = page(Some(("b", "n39")));
        add(&mut second, "b", 60).unwrap();
        let (given, cursor) = second.end();
        assert_eq!((given, cursor), ((40..60).collect(), None));
    }

    #[test]
    fn a_page_of_exactly_its_size_is_the_last() {
        let mut whole = page(None);
        add(&mut whole, "a", 100).unwrap();
        assert_eq!(whole.end().1, None);
    }

    #[test]
    fn a_page_ends_after_so_many_projects_or_half_its_time_and_looks_at_one_at_least() {
        let mut many = page(None);
        let looked = (0..1_000).take_while(|nth| many.goes_on(&format!("p{nth}")));
        assert_eq!(looked.count(), PROJECTS);
        assert_eq!(many.end().1.as_deref(), Some("p100 "));
        let mut late = Page::<u32>::new(None, Instant::now());
        assert!(late.goes_on("a") && !late.goes_on("b"));
        assert_eq!(late.end().1.as_deref(), Some("b "));
    }

    #[test]
    fn a_list_whose_place_is_gone_is_started_again() {
        let mut lost = page(Some(("a", "gone")));
        assert!(add(&mut lost, "a", 3).is_err());
    }
}
