//! The projects of a search, and those that could not be searched.

use std::sync::Arc;

use archway_proto::{failure::Failure, fault::Fault};
use serde_json::{Value, json};

use super::SearchArgs;
use super::request::ProjectScope;
use crate::projects::Project;
use crate::tools::ToolContext;

/// Maximum number of projects of one search, since the index's filter names each of them.
const MAX_PROJECTS: usize = 4096;
/// Maximum number of projects that an answer names because they are not in it.
const MAX_NAMED: usize = 20;

/// The projects of a search.
pub(super) struct SearchScope {
    /// The requested project or the default one first, then the others by slug.
    pub(super) projects: Vec<Arc<Project>>,
    /// Whether the first project is the requested or default one.
    has_current: bool,
    /// Whether every project is searched. Then none is required.
    pub(super) is_all: bool,
    /// How many projects exceed the limit of one search.
    beyond: usize,
}

impl SearchScope {
    /// The projects that the arguments name.
    ///
    /// # Errors
    /// If a named project can't be read, or one is required and there is no default.
    pub(super) async fn of(cx: &ToolContext, args: &SearchArgs) -> Result<SearchScope, Failure> {
        let named = args.project.as_deref();
        if args.project_scope == ProjectScope::All {
            let readable = cx.projects().await?;
            let current = match named {
                Some(_) => Some(cx.project(named).await?),
                None => cx.default_project(&readable),
            };
            return Ok(SearchScope::all(current, readable));
        }
        let project = cx.project(named).await?;
        let mut projects = vec![Arc::clone(&project)];
        if args.project_scope == ProjectScope::AllLinked {
            projects.extend(cx.linked(&project).await?);
        }
        Ok(SearchScope {
            projects,
            has_current: true,
            is_all: false,
            beyond: 0,
        })
    }

    fn all(current: Option<Arc<Project>>, mut projects: Vec<Arc<Project>>) -> SearchScope {
        let is_current = |slug: &str| current.as_ref().is_some_and(|it| it.slug == slug);
        projects.sort_by_cached_key(|it| (!is_current(&it.slug), it.slug.clone()));
        let beyond = projects.len().saturating_sub(MAX_PROJECTS);
        projects.truncate(MAX_PROJECTS);
        SearchScope {
            projects,
            has_current: current.is_some(),
            is_all: true,
            beyond,
        }
    }

    /// The project whose commit the answer names.
    pub(super) fn current(&self) -> Option<&Arc<Project>> {
        self.projects.first().filter(|_| self.has_current)
    }

    /// Whether the project of this index is the current one.
    pub(super) fn is_current(&self, number: usize) -> bool {
        number == 0 && self.has_current
    }

    /// The project without which there is no answer.
    pub(super) fn required(&self) -> Option<&Arc<Project>> {
        self.current().filter(|_| !self.is_all)
    }

    /// `{searched, remaining, skipped}`, for `_meta`.
    pub(super) fn meta(&self, left_out: &LeftOut) -> Value {
        let codes = left_out.0.iter().take(MAX_NAMED);
        let skipped = codes.map(|(slug, why)| json!({ "project": slug, "code": why.code() }));
        json!({
            "searched": self.projects.len().saturating_sub(left_out.0.len()),
            "remaining": self.beyond,
            "skipped": skipped.collect::<Vec<_>>(),
        })
    }

    /// Sentences on the projects that are not in the answer.
    pub(super) fn notes(&self, left_out: &LeftOut) -> Vec<String> {
        let mut notes = left_out.notes();
        if self.beyond > 0 {
            let (beyond, most) = (self.beyond, self.projects.len());
            notes.push(format!(
                "{beyond} projects were not searched, since one search has {most}: name the project"
            ));
        }
        notes
    }
}

/// Why a project is not in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhyLeftOut {
    /// Its index was never complete.
    NotIndexed,
    /// Its index did not fit into the memory or the time.
    Unsearched,
    /// Its repository can't be read.
    Unreadable(Fault),
}

impl WhyLeftOut {
    fn code(self) -> Fault {
        match self {
            WhyLeftOut::NotIndexed | WhyLeftOut::Unsearched => Fault::IndexNotReady,
            WhyLeftOut::Unreadable(fault) => fault,
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            WhyLeftOut::NotIndexed => "these projects are not cloned or not indexed yet",
            WhyLeftOut::Unsearched => {
                "the memory or the time was not enough to search these projects; name one to search it"
            }
            WhyLeftOut::Unreadable(_) => "the repositories of these projects can't be read now",
        }
    }
}

/// The slugs of the projects that are not in an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOut(Vec<(String, WhyLeftOut)>);

impl LeftOut {
    pub(super) fn add(&mut self, project: &Project, why: WhyLeftOut) {
        self.0.push((project.slug.clone(), why));
    }

    /// One sentence for each reason, which names some of the projects.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<(&'static str, Vec<&str>)> = Vec::new();
        for (slug, why) in &self.0 {
            let sentence = why.sentence();
            match notes.iter_mut().find(|(said, _)| *said == sentence) {
                Some((_, slugs)) => slugs.push(slug),
                None => notes.push((sentence, vec![slug])),
            }
        }
        let note = |(sentence, slugs): (&str, Vec<&str>)| {
            let more = slugs.len().saturating_sub(MAX_NAMED);
            let named: Vec<&str> = slugs.into_iter().take(MAX_NAMED).collect();
            let named = named.join(", ");
            match more {
                0 => format!("{sentence}: {named}"),
                more => format!("{sentence}: {named} and {more} more"),
            }
        };
        notes.into_iter().map(note).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(slug: &str) -> Arc<Project> {
        Arc::new(Project::with_slug(slug))
    }

    fn slugs(scope: &SearchScope) -> Vec<&str> {
        let slugs = scope.projects.iter().map(|it| it.slug.as_str());
        slugs.collect()
    }

    #[test]
    fn the_current_project_is_first_and_none_is_required() {
        let all = || vec![project("c"), project("a"), project("b")];
        let scope = SearchScope::all(Some(project("b")), all());
        assert_eq!(slugs(&scope), ["b", "a", "c"]);
        assert_eq!(scope.current().map(|it| it.slug.as_str()), Some("b"));
        assert!(scope.required().is_none());
        let scope = SearchScope::all(None, all());
        assert_eq!(slugs(&scope), ["a", "b", "c"]);
        assert!(scope.current().is_none());
    }

    #[test]
    fn projects_beyond_the_limit_are_counted_in_the_note() {
        let many = (0..MAX_PROJECTS + 3).map(|at| project(&format!("p{at:05}")));
        let scope = SearchScope::all(None, many.collect());
        assert_eq!(scope.projects.len(), MAX_PROJECTS);
        let left_out = LeftOut::default();
        assert_eq!(scope.meta(&left_out)["remaining"], 3);
        let notes = scope.notes(&left_out);
        assert!(
            notes[0].starts_with("3 projects were not searched"),
            "{notes:?}"
        );
    }

    #[test]
    fn a_note_names_twenty_projects_and_counts_the_others() {
        let mut left_out = LeftOut::default();
        for at in 0..25 {
            left_out.add(&project(&format!("p{at:02}")), WhyLeftOut::NotIndexed);
        }
        left_out.add(&project("gone"), WhyLeftOut::Unreadable(Fault::Unavailable));
        left_out.add(&project("large"), WhyLeftOut::Unsearched);
        let notes = left_out.notes();
        assert_eq!(notes.len(), 3);
        assert!(notes[0].starts_with("these projects are not cloned or not indexed yet: p00, p01"));
        assert!(notes[0].ends_with("p19 and 5 more"), "{notes:?}");
        assert!(notes[1].ends_with(": gone"));
        assert!(notes[2].starts_with("the memory or the time was not enough"));
        assert!(notes[2].ends_with(": large"), "{notes:?}");
    }
}
