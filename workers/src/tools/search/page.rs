//! A page of a search of every project, while projects are added.

use std::sync::Arc;

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{Matches, Query, SearchTotals};
use serde_json::{Value, json};

use super::{
    collected::{CollectedMatches, Match, SkippedProject},
    place::Place,
    run::timeout,
};
use crate::{
    context::Snapshot,
    projects::Project,
    tools::{is_of_the_project, paging},
};

/// Projects of one page that may be skipped: an answer names them all, and has a bound.
const MAX_SKIPPED: usize = 50;

/// The search and how much a page may have.
pub(super) struct PageRequest {
    pub(super) query: Arc<Query>,
    /// Matching lines.
    pub(super) limit: usize,
    /// Bytes.
    pub(super) budget: usize,
    pub(super) cursor: Option<String>,
}

/// A page in the making.
pub(super) struct EveryProject<M> {
    pub(super) collected: CollectedMatches<M>,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
    /// `{searched, remaining, skipped}`, for `_meta`.
    pub(super) projects: Value,
}

/// What one project adds to a page.
enum Added {
    /// All of its matches.
    Whole,
    /// As many matches as the page had room for; or none, as the page has some already.
    Part { next: Place },
    /// The matches before the time was up.
    TimeUp { next: Place },
}

pub(super) fn commit(snapshot: &Snapshot<Matches>) -> Option<String> {
    snapshot.repo.head().map(|head| head.commit)
}

/// Sends a warning to the caller.
pub(super) type Warn<'a> = Box<dyn Fn(Value) + Send + Sync + 'a>;

/// A page, while projects are added.
pub(super) struct Page<'a, M> {
    warn: Warn<'a>,
    request: &'a PageRequest,
    /// The hash of its slug.
    default: Option<String>,
    collected: CollectedMatches<M>,
    /// Projects of this page and of later ones.
    projects: usize,
    searched: usize,
    codes: Vec<Value>,
    next: Option<Place>,
}

impl<'a, M: Match> Page<'a, M> {
    pub(super) fn new(
        warn: Warn<'a>,
        request: &'a PageRequest,
        default: Option<String>,
        projects: usize,
    ) -> Page<'a, M> {
        Page {
            warn,
            request,
            default,
            collected: CollectedMatches::new(String::new()),
            projects,
            searched: 0,
            codes: Vec::new(),
            next: None,
        }
    }

    /// Adds a project, of which earlier pages have `skip` matches. Returns true if the page ends.
    /// `following` is the project after it.
    pub(super) fn add(
        &mut self,
        (project, following): (&Project, Option<&Project>),
        skip: usize,
        found: Result<Snapshot<Matches>, Failure>,
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
                self.collected.totals.incomplete = true;
                self.next = match self.is_first() {
                    true => self.without((project, following), failure)?,
                    false => Some(self.place(project, None, 0)),
                };
                return Ok(true);
            }
            Err(failure) => return Err(failure),
        };
        let commit = commit(&snapshot);
        let moved = snapshot.moved;
        let added = self.add_matches(project, (skip, commit), snapshot.value);
        if !matches!(&added, Added::Part { next } if next.skip == 0) {
            self.collected.moved |= moved;
        }
        self.next = match added {
            Added::Whole => {
                self.searched += 1;
                return Ok(false);
            }
            Added::Part { next } => Some(next),
            Added::TimeUp { next } => {
                self.collected.totals.incomplete = true;
                match self.is_first() && next.skip == skip {
                    true => self.without((project, following), timeout())?,
                    false => Some(next),
                }
            }
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
        if self.request.cursor.is_none() {
            failure.message = format!(
                "the time was up before project {} was searched",
                project.slug
            );
            failure.suggestion =
                "narrow the search: another project, a glob, a rarer pattern".into();
            return Err(failure);
        }
        failure.message = format!(
            "the time was up before project {} was searched to its end",
            project.slug
        );
        self.skip(project, failure);
        Ok(following.map(|next| self.place(next, None, 0)))
    }

    fn add_matches(
        &mut self,
        project: &Project,
        (skip, commit): (usize, Option<String>),
        mut found: Matches,
    ) -> Added {
        let room = self.request.limit.saturating_sub(self.collected.len());
        let rest = usize::try_from(found.totals.matches).unwrap_or(usize::MAX);
        let rest = rest.saturating_sub(skip);
        let is_empty = self.collected.len() == 0;
        if !is_empty && rest > room {
            return Added::Part {
                next: self.place(project, None, 0),
            };
        }
        let (totals, lines) = (found.totals, found.lines.len());
        found.totals = SearchTotals::default();
        let before = self.collected.len();
        self.collected.add(found, Some(&project.slug));
        let mut shown = lines;
        if !self.collected.fits(self.request.budget) {
            if !is_empty {
                self.collected.truncate(before);
                return Added::Part {
                    next: self.place(project, None, 0),
                };
            }
            shown = self.collected.cut(self.request.budget);
        }
        self.collected.totals += SearchTotals {
            incomplete: false,
            ..totals
        };
        let next = self.place(project, commit, skip + shown);
        match (shown < rest, totals.incomplete) {
            (_, true) => Added::TimeUp { next },
            (true, false) => Added::Part { next },
            (false, false) => Added::Whole,
        }
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
        self.collected.skipped.push(SkippedProject { slug, why });
    }

    pub(super) fn finish(mut self) -> EveryProject<M> {
        let done = self.searched + self.codes.len();
        self.collected.projects = done;
        let projects = json!({
            "searched": self.searched,
            "remaining": self.projects.saturating_sub(done),
            "skipped": self.codes,
        });
        EveryProject {
            collected: self.collected,
            next: self.next.map(|place| place.cursor()),
            projects,
        }
    }
}

#[cfg(test)]
mod tests {
    use archway_repo::{MatchedLine, RepoPath, Rules, SearchPattern, testing::Sandbox};
    use parking_lot::Mutex;
    use serde::Serialize;
    use uuid::Uuid;

    use super::*;
    use crate::tools::search::{collected::SurroundingLines, grep_codebase::EXCLUDED};

    #[derive(Serialize)]
    struct Line {
        project: Option<String>,
        around: SurroundingLines,
    }

    impl Match for Line {
        fn new(_: MatchedLine, project: Option<String>, around: SurroundingLines) -> Line {
            Line { project, around }
        }

        fn surrounding_lines(&mut self) -> &mut SurroundingLines {
            &mut self.around
        }

        fn file(&self) -> String {
            String::new()
        }
    }

    fn request(cursor: Option<&str>) -> PageRequest {
        let query = Query {
            pattern: SearchPattern::regex("needle".to_owned(), true),
            glob: None,
            excluded: &EXCLUDED,
            context: 0,
        };
        PageRequest {
            query: Arc::new(query),
            limit: 10,
            budget: 10_000,
            cursor: cursor.map(str::to_owned),
        }
    }

    fn project(slug: &str) -> Project {
        Project {
            id: Uuid::nil(),
            slug: slug.to_owned(),
            name: slug.to_owned(),
            rules: Arc::new(Rules::new(&[], &[], None).unwrap()),
            mirror: None,
            hosted: Default::default(),
        }
    }

    /// The search of one project.
    #[derive(Clone, Copy)]
    enum Search {
        /// It found so many lines, in time or not.
        Found(usize, bool),
        Failed(Fault),
    }
    use Search::{Failed, Found};

    const LATE: Search = Failed(Fault::SearchTimeout);
    const AWAY: Search = Failed(Fault::Unavailable);

    /// What a page says: projects with matches, skipped projects, where the next page begins, and whether
    /// the time was up.
    type Said = (Vec<String>, Vec<String>, Option<String>, bool);

    /// The page of projects `a`, `b`, and so on, of which earlier pages have `skip` matches of the first.
    fn page(cursor: Option<&str>, skip: usize, searches: &[Search]) -> Result<Said, Failure> {
        let (app, request, warnings) = (Sandbox::new(), request(cursor), Mutex::new(0));
        let warn = Box::new(|_| *warnings.lock() += 1);
        let projects: Vec<Project> = ["a", "b", "c", "d"].map(project).into();
        let projects = projects.get(..searches.len()).unwrap();
        let mut page: Page<'_, Line> = Page::new(warn, &request, None, projects.len());
        for (nth, search) in searches.iter().enumerate() {
            let found = match *search {
                Failed(code) => Err(Failure::new(code, "away", "wait")),
                Found(lines, in_time) => Ok(Snapshot {
                    value: matches(lines, in_time, if nth == 0 { skip } else { 0 }),
                    repo: app.repo(),
                    moved: false,
                    synced_at: None,
                }),
            };
            let skip = if nth == 0 { skip } else { 0 };
            let pair = (projects.get(nth).unwrap(), projects.get(nth + 1));
            if page.add(pair, skip, found)? {
                break;
            }
        }
        let mut done = page.finish();
        assert_eq!(*warnings.lock(), done.collected.skipped.len());
        let incomplete = done.collected.totals.incomplete;
        let skipped = std::mem::take(&mut done.collected.skipped);
        let whole = done
            .collected
            .whole_page(done.next.is_some(), tokio::time::Instant::now());
        let found = whole.matches.into_iter().filter_map(|it| it.project);
        let next = done
            .next
            .map(|next| Place::parse(&next, std::iter::empty()).unwrap());
        Ok((
            found.collect(),
            SkippedProject::slugs(skipped),
            next.map(|next| format!("{}:{}", next.project, next.skip)),
            incomplete,
        ))
    }

    fn matches(lines: usize, in_time: bool, skip: usize) -> Matches {
        let line = MatchedLine {
            path: RepoPath::root(),
            line: 1,
            column: 1,
            text: "needle".to_owned(),
            cut: false,
            before: Vec::new(),
            after: Vec::new(),
        };
        let totals = SearchTotals {
            matches: (skip + lines) as u64,
            incomplete: !in_time,
            ..SearchTotals::default()
        };
        Matches {
            lines: vec![line; lines],
            files: Vec::new(),
            totals,
        }
    }

    fn said(found: &[&str], skipped: &[&str], next: Option<&str>, incomplete: bool) -> Said {
        let owned = |slugs: &[&str]| slugs.iter().map(|slug| (*slug).to_owned()).collect();
        (
            owned(found),
            owned(skipped),
            next.map(str::to_owned),
            incomplete,
        )
    }

    #[test]
    fn a_later_page_skips_a_project_that_takes_all_its_time() {
        for first in [LATE, Found(0, false)] {
            let later = page(Some("*-/a@-:0"), 0, &[first, Found(1, true)]).unwrap();
            assert_eq!(later, said(&[], &["a"], Some("b:0"), true));
            let last = page(Some("*-/a@-:0"), 0, &[first]).unwrap();
            assert_eq!(last, said(&[], &["a"], None, true), "no other follows");
        }
    }

    #[test]
    fn a_first_page_that_searched_nothing_in_time_fails() {
        for first in [LATE, Found(0, false)] {
            for searches in [&[first][..], &[first, Found(1, true)]] {
                let failure = page(None, 0, searches).unwrap_err();
                assert_eq!(failure.code, Fault::SearchTimeout);
                assert!(failure.message.contains("project a"), "{failure:?}");
            }
        }
    }

    #[test]
    fn a_later_project_begins_the_next_page_when_the_time_is_up() {
        for late in [LATE, Found(0, false)] {
            for cursor in [None, Some("*-/a@-:0")] {
                let middle = page(cursor, 0, &[Found(1, true), late, Found(1, true)]).unwrap();
                assert_eq!(middle, said(&["a"], &[], Some("b:0"), true));
                let after_away = page(cursor, 0, &[AWAY, late, Found(1, true)]).unwrap();
                assert_eq!(after_away, said(&[], &["a"], Some("b:0"), true));
                let last = page(cursor, 0, &[Found(1, true), late]).unwrap();
                assert_eq!(last, said(&["a"], &[], Some("b:0"), true));
            }
        }
    }

    #[test]
    fn matches_before_the_time_was_up_are_shown_and_not_repeated() {
        let part = page(Some("*-/a@-:5"), 5, &[Found(2, false), Found(1, true)]).unwrap();
        assert_eq!(part, said(&["a", "a"], &[], Some("a:7"), true));
        for nothing_more in [LATE, Found(0, false)] {
            let page = page(Some("*-/a@-:5"), 5, &[nothing_more, Found(1, true)]).unwrap();
            assert_eq!(page, said(&[], &["a"], Some("b:0"), true));
        }
    }
}
