//! Which pattern a name means, and which names are near one that means none.

use archway_proto::{failure::Failure, fault::Fault};

use archway_architecture::{
    document::{Document, Kind},
    library::Library,
};
use archway_repo::text::shown;

/// How many near names are told.
const MOST_NEAR: usize = 5;

/// How much of a name is compared, in characters.
const COMPARED: usize = 64;

/// The pattern of that name, else the only one of that title; case makes no difference unless two
/// differ by it alone.
pub(super) fn pattern<'l>(library: &'l Library, name: &str) -> Result<&'l Document, Failure> {
    let any_case = || library.of_kind(Kind::Pattern).find(|it| is_named(it, name));
    let found = library.get(Kind::Pattern, name).or_else(any_case);
    found.or_else(|| titled(library, name)).ok_or_else(|| {
        let failure = missing(name, library.of_kind(Kind::Pattern));
        with_left_out(with_other_kind(failure, library, name), library.left_out())
    })
}

fn is_named(document: &Document, name: &str) -> bool {
    document.slug.to_lowercase() == name.to_lowercase()
}

fn is_titled(document: &Document, title: &str) -> bool {
    document.title.trim().to_lowercase() == title.trim().to_lowercase()
}

/// The pattern that alone has this title.
fn titled<'l>(library: &'l Library, title: &str) -> Option<&'l Document> {
    let mut patterns = library.of_kind(Kind::Pattern);
    let found = patterns.find(|pattern| is_titled(pattern, title))?;
    let is_alone = !patterns.any(|pattern| is_titled(pattern, title));
    is_alone.then_some(found)
}

fn missing<'l>(name: &str, patterns: impl Iterator<Item = &'l Document>) -> Failure {
    let names = patterns.map(|it| (it.slug.as_str(), it.title.as_str()));
    let near = nearest(name, names);
    let suggestion = match near.as_slice() {
        [] => {
            "the project has no patterns; they are markdown files in docs/architecture/patterns, \
               mcp/resources/patterns or where its .archway.toml says"
                .to_owned()
        }
        near => format!("give one of the nearest names: {}", near.join(", ")),
    };
    let message = format!("no pattern is called `{}`", shown(name));
    Failure::new(Fault::PatternNotFound, message, suggestion).detail("nearest", near)
}

/// Says so if a document of another kind is called so: only patterns are checked.
fn with_other_kind(mut failure: Failure, library: &Library, name: &str) -> Failure {
    let others = [Kind::Guideline, Kind::Adr].into_iter();
    let mut others = others.flat_map(|kind| library.of_kind(kind));
    if let Some(other) = others.find(|it| is_named(it, name) || is_titled(it, name)) {
        let kind = match other.kind {
            Kind::Guideline => "guideline",
            Kind::Adr | Kind::Pattern => "decision",
        };
        failure.message = format!("`{}` is a {kind} and no pattern", shown(name));
        failure.suggestion = format!(
            "code is held against patterns only, so read the {kind} by search_architecture; {}",
            failure.suggestion
        );
    }
    failure
}

/// Says which files are left out too: the pattern may be among them.
fn with_left_out(mut failure: Failure, left_out: &[String]) -> Failure {
    if left_out.is_empty() {
        return failure;
    }
    failure
        .suggestion
        .push_str("; it may be among the files that are left out: see details.left_out");
    failure.detail("left_out", left_out.to_vec())
}

/// The names of the patterns most like `name` by name or title, the likest first; those that share
/// a part of it before others.
fn nearest<'l>(name: &str, patterns: impl Iterator<Item = (&'l str, &'l str)>) -> Vec<String> {
    let start = |text: &str| {
        text.to_lowercase()
            .chars()
            .take(COMPARED)
            .collect::<String>()
    };
    let name = start(name);
    let distance = |called: &str| {
        let lower = start(called);
        let shares = lower.contains(&name) || name.contains(&lower);
        (!shares, strsim::damerau_levenshtein(&name, &lower))
    };
    let mut near: Vec<_> = patterns
        .map(|(slug, title)| (distance(slug).min(distance(title)), slug))
        .collect();
    near.sort_unstable();
    let slugs = near.into_iter().map(|(_, slug)| shown(slug).into_owned());
    slugs.take(MOST_NEAR).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_are_five() {
        let slugs = [
            "saga",
            "repository-pattern",
            "repositories",
            "cqrs",
            "outbox",
            "events",
        ];
        let near = nearest("Repository", slugs.into_iter().map(|slug| (slug, slug)));
        assert_eq!(near.len(), MOST_NEAR);
        assert_eq!(near[..2], ["repository-pattern", "repositories"]);
        let typo = nearest("oubtox", slugs.into_iter().map(|slug| (slug, slug)));
        assert_eq!(typo[0], "outbox");
        let titled = [("cqrs", "CQRS"), ("p7", "Transactional outbox")];
        assert_eq!(nearest("outbox", titled.into_iter())[0], "p7");
    }

    #[test]
    fn a_pattern_that_may_be_left_out_is_told_to_be() {
        let left_out = ["docs/architecture/patterns/x.md is left out: it is not text".to_owned()];
        let failure = with_left_out(missing("x", std::iter::empty()), &left_out);
        assert!(failure.suggestion.contains("details.left_out"));
        assert_eq!(failure.details["left_out"][0], left_out[0]);
        let failure = with_left_out(missing("x", std::iter::empty()), &[]);
        assert!(!failure.suggestion.contains("left"));
    }

    #[test]
    fn a_project_without_patterns_is_told_where_they_would_be() {
        let failure = missing("x", std::iter::empty());
        assert_eq!(failure.code, Fault::PatternNotFound);
        assert!(failure.suggestion.contains("docs/architecture/patterns"));
    }
}
