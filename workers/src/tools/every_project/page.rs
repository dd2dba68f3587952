//! A page in the making: which projects it has, and where it ends.

use archway_proto::{failure::Failure, fault::Fault};
use serde_json::{Value, json};

use super::{Collect, EveryProject, ReadResult, place::Place, timeout};
use crate::{
    context::Snapshot,
    projects::Project,
    tools::{is_of_the_project, paging},
};

/// Projects of one page that may be skipped: an answer names them all, and has a bound.
const MAX_SKIPPED: usize = 50;

/// What one project adds to a page.
#[derive(Clone, Copy)]
pub(in crate::tools) enum Added {
    /// All of its items.
    Whole,
    /// As many as the page had room for; `None` if the page has some of others already, and no room.
    Part { shown: Option<usize> },
    /// Those before the time was up, after which the next page goes on.
    TimeUp { shown: usize },
    /// Some of those before the time was up. The next page cannot go on after them.
    Cut,
}

/// A project that could not be searched.
pub(in crate::tools) struct SkippedProject {
    pub(in crate::tools) slug: String,
    /// A sentence that names the project.
    pub(in crate::tools) why: String,
}

impl SkippedProject {
    /// The slugs of these projects.
    pub(in crate::tools) fn slugs(skipped: Vec<SkippedProject>) -> Vec<String> {
        skipped.into_iter().map(|it| it.slug).collect()
    }
}

pub(super) fn commit<T>(snapshot: &Snapshot<T>) -> Option<String> {
    snapshot.repo.head().map(|head| head.commit)
}

/// Sends a warning to the caller.
pub(super) type Warn<'a> = Box<dyn Fn(Value) + Send + Sync + 'a>;

/// A page, while projects are added.
pub(super) struct Page<'a> {
    warn: Warn<'a>,
    /// Another page was before this one.
    is_later: bool,
    /// The hash of its slug.
    default: Option<String>,
    /// Projects of this page and of later ones.
    projects: usize,
    searched: usize,
    skipped: Vec<SkippedProject>,
    codes: Vec<Value>,
    is_late: bool,
    moved: bool,
    next: Option<Place>,
}

impl<'a> Page<'a> {
    pub(super) fn new(
        warn: Warn<'a>,
        is_later: bool,
        default: Option<String>,
        projects: usize,
    ) -> Page<'a> {
        Page {
            warn,
            is_later,
            default,
            projects,
            searched: 0,
            skipped: Vec::new(),
            codes: Vec::new(),
            is_late: false,
            moved: false,
            next: None,
        }
    }

    /// Adds a project, of which earlier pages have `skip` items. Returns true if the page ends.
    /// `following` is the project after it.
    pub(super) fn add<C: Collect>(
        &mut self,
        collected: &mut C,
        (project, following): (&Project, Option<&Project>),
        skip: usize,
        found: ReadResult<C::Found>,
    ) -> Result<bool, Failure> {
        let snapshot = match found {
            Ok(snapshot) => snapshot,
            Err(failure) if is_of_the_project(failure.code) => {
                self.skip(project, failure);
                let next = following.filter(|_| self.codes.len() >= MAX_SKIPPED);
                self.next = next.map(|next| self.place(next, None, 0));
                return Ok(self.next.is_some());
            }
            Err(failure) if failure.code == Fault::SearchTimeout => {
                self.is_late = true;
                self.next = match self.is_first() {
                    true => self.without((project, following), failure)?,
                    false => Some(self.place(project, None, 0)),
                };
                return Ok(true);
            }
            Err(failure) => return Err(failure),
        };
        let (commit, moved) = (commit(&snapshot), snapshot.moved);
        let added = collected.add(project, skip, snapshot.value);
        self.moved |= moved && !matches!(added, Added::Part { shown: None });
        self.end((project, following), (skip, commit), added)
    }

    /// Ends the page unless a project was added whole.
    fn end(
        &mut self,
        (project, following): (&Project, Option<&Project>),
        (skip, commit): (usize, Option<String>),
        added: Added,
    ) -> Result<bool, Failure> {
        self.is_late |= matches!(added, Added::TimeUp { .. } | Added::Cut);
        self.next = match added {
            Added::Whole => {
                self.searched += 1;
                return Ok(false);
            }
            Added::Part { shown: None } => Some(self.place(project, None, 0)),
            Added::Part { shown: Some(shown) } => Some(self.place(project, commit, skip + shown)),
            Added::TimeUp { shown: 0 } if self.is_first() => {
                self.without((project, following), timeout())?
            }
            Added::TimeUp { shown } => Some(self.place(project, commit, skip + shown)),
            Added::Cut => self.cut((project, following), timeout()),
        };
        Ok(true)
    }

    /// Whether no project of this page was searched or skipped yet.
    fn is_first(&self) -> bool {
        self.searched + self.codes.len() == 0
    }

    /// Skips a project that had the time of a later page in vain: its next page would be as empty. The others
    /// follow.
    ///
    /// # Errors
    /// `search_timeout` on the first page, as nothing was searched yet: the query itself may be too slow.
    fn without(
        &mut self,
        (project, following): (&Project, Option<&Project>),
        mut failure: Failure,
    ) -> Result<Option<Place>, Failure> {
        if !self.is_later {
            failure.message = format!(
                "the time was up before project {} was searched",
                project.slug
            );
            failure.suggestion =
                "narrow the search: another project, a glob, a rarer pattern".into();
            return Err(failure);
        }
        Ok(self.cut((project, following), failure))
    }

    /// Skips the rest of a project. The others follow.
    fn cut(
        &mut self,
        (project, following): (&Project, Option<&Project>),
        mut failure: Failure,
    ) -> Option<Place> {
        failure.message = format!(
            "the time was up before project {} was searched to its end",
            project.slug
        );
        self.skip(project, failure);
        following.map(|next| self.place(next, None, 0))
    }

    fn place(&self, project: &Project, commit: Option<String>, skip: usize) -> Place {
        Place {
            default: self.default.clone(),
            project: project.slug.clone(),
            commit: commit
                .filter(|_| skip > 0)
                .map(|commit| paging::short_commit(&commit).to_owned()),
            skip,
        }
    }

    /// Logs to the caller at once that a project was skipped. The answer says so, too.
    fn skip(&mut self, project: &Project, failure: Failure) {
        let (slug, why) = (project.slug.clone(), failure.message);
        (self.warn)(json!({ "message": format!("not searched: {why}"), "project": slug }));
        self.codes
            .push(json!({ "project": slug, "code": failure.code }));
        self.skipped.push(SkippedProject { slug, why });
    }

    pub(super) fn finish(self) -> EveryProject {
        let done = self.searched + self.codes.len();
        let projects = json!({
            "searched": self.searched,
            "remaining": self.projects.saturating_sub(done),
            "skipped": self.codes,
        });
        EveryProject {
            next: self.next.map(|place| place.cursor()),
            projects,
            done,
            skipped: self.skipped,
            is_late: self.is_late,
            moved: self.moved,
        }
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::{Cancel, Repo, testing::Sandbox};
    use parking_lot::Mutex;

    use super::*;
    use crate::tools::every_project::ReadProject;

    /// The items of a page: each is the project that has it.
    #[derive(Default)]
    struct Items(Vec<String>);

    impl Collect for Items {
        /// How many a project has after the earlier pages, and how it ends.
        type Found = (usize, Added);

        fn read(&self) -> impl ReadProject<Self::Found> + use<> {
            |_: &Repo, _: &Cancel, _, _: &[_]| Ok((0, Added::Whole))
        }

        fn add(&mut self, project: &Project, _: usize, (items, added): Self::Found) -> Added {
            self.0
                .extend(std::iter::repeat_n(project.slug.clone(), items));
            added
        }
    }

    /// The read of one project.
    #[derive(Clone, Copy)]
    enum Read {
        /// It has so many items, and ends so.
        Found(usize, Added),
        Failed(Fault),
    }
    use Read::{Failed, Found};

    const ONE: Read = Found(1, Added::Whole);
    const LATE: Read = Failed(Fault::SearchTimeout);
    const LATE_WITHIN: Read = Found(0, Added::TimeUp { shown: 0 });
    const AWAY: Read = Failed(Fault::Unavailable);

    /// What a page says: projects with items, skipped projects, where the next page begins, and whether
    /// the time was up.
    type Said = (Vec<String>, Vec<String>, Option<String>, bool);

    /// The page of projects `a`, `b`, and so on, of which earlier pages have `skip` items of the first.
    fn page(cursor: Option<&str>, skip: usize, reads: &[Read]) -> Result<Said, Failure> {
        let (app, warnings) = (Sandbox::new(), Mutex::new(0));
        let warn = Box::new(|_| *warnings.lock() += 1);
        let projects: Vec<Project> = ["a", "b", "c", "d"].map(Project::with_slug).into();
        let projects = projects.get(..reads.len()).unwrap();
        let mut items = Items::default();
        let mut page = Page::new(warn, cursor.is_some(), None, projects.len());
        for (nth, read) in reads.iter().enumerate() {
            let found = match *read {
                Failed(code) => Err(Failure::new(code, "away", "wait")),
                Found(items, added) => Ok(Snapshot {
                    value: (items, added),
                    repo: app.repo(),
                    moved: false,
                    synced_at: None,
                }),
            };
            let skip = if nth == 0 { skip } else { 0 };
            let pair = (projects.get(nth).unwrap(), projects.get(nth + 1));
            if page.add(&mut items, pair, skip, found)? {
                break;
            }
        }
        let done = page.finish();
        assert_eq!(*warnings.lock(), done.skipped.len());
        let next = done
            .next
            .map(|next| Place::parse(&next, std::iter::empty()).unwrap());
        Ok((
            items.0,
            SkippedProject::slugs(done.skipped),
            next.map(|next| format!("{}:{}", next.project, next.skip)),
            done.is_late,
        ))
    }

    fn said(found: &[&str], skipped: &[&str], next: Option<&str>, is_late: bool) -> Said {
        let owned = |slugs: &[&str]| slugs.iter().map(|slug| (*slug).to_owned()).collect();
        (
            owned(found),
            owned(skipped),
            next.map(str::to_owned),
            is_late,
        )
    }

    #[test]
    fn a_later_page_skips_a_project_that_takes_all_its_time() {
        for first in [LATE, LATE_WITHIN] {
            let later = page(Some("*-/a@-:0"), 0, &[first, ONE]).unwrap();
            assert_eq!(later, said(&[], &["a"], Some("b:0"), true));
            let last = page(Some("*-/a@-:0"), 0, &[first]).unwrap();
            assert_eq!(last, said(&[], &["a"], None, true), "no other follows");
        }
    }

    #[test]
    fn a_first_page_that_searched_nothing_in_time_fails() {
        for first in [LATE, LATE_WITHIN] {
            for searches in [&[first][..], &[first, ONE]] {
                let failure = page(None, 0, searches).unwrap_err();
                assert_eq!(failure.code, Fault::SearchTimeout);
                assert!(failure.message.contains("project a"), "{failure:?}");
            }
        }
    }

    #[test]
    fn a_later_project_begins_the_next_page_when_the_time_is_up() {
        for late in [LATE, LATE_WITHIN] {
            for cursor in [None, Some("*-/a@-:0")] {
                let middle = page(cursor, 0, &[ONE, late, ONE]).unwrap();
                assert_eq!(middle, said(&["a"], &[], Some("b:0"), true));
                let after_away = page(cursor, 0, &[AWAY, late, ONE]).unwrap();
                assert_eq!(after_away, said(&[], &["a"], Some("b:0"), true));
                let last = page(cursor, 0, &[ONE, late]).unwrap();
                assert_eq!(last, said(&["a"], &[], Some("b:0"), true));
            }
        }
    }

    #[test]
    fn items_before_the_time_was_up_are_shown_and_not_repeated() {
        let two = Found(2, Added::TimeUp { shown: 2 });
        let part = page(Some("*-/a@-:5"), 5, &[two, ONE]).unwrap();
        assert_eq!(part, said(&["a", "a"], &[], Some("a:7"), true));
        for nothing_more in [LATE, LATE_WITHIN] {
            let page = page(Some("*-/a@-:5"), 5, &[nothing_more, ONE]).unwrap();
            assert_eq!(page, said(&[], &["a"], Some("b:0"), true));
        }
    }
    #[test]
    fn a_project_that_cannot_be_resumed_is_named_and_left() {
        let cut = Found(2, Added::Cut);
        for cursor in [None, Some("*-/a@-:0")] {
            let first = page(cursor, 0, &[cut, ONE]).unwrap();
            assert_eq!(first, said(&["a", "a"], &["a"], Some("b:0"), true));
        }
        let last = page(None, 0, &[ONE, cut]).unwrap();
        assert_eq!(last, said(&["a", "b", "b"], &["b"], None, true));
    }

    #[test]
    fn a_page_without_room_ends_before_the_next_project() {
        let none = Found(0, Added::Part { shown: None });
        let full = page(None, 0, &[ONE, none, ONE]).unwrap();
        assert_eq!(full, said(&["a"], &[], Some("b:0"), false));
        let some = Found(3, Added::Part { shown: Some(3) });
        let later = page(Some("*-/a@-:2"), 2, &[some, ONE]).unwrap();
        assert_eq!(later, said(&["a"; 3], &[], Some("a:5"), false));
    }
}
