//! Resolves the name of a pattern, and suggests similar names.

use archway_proto::{failure::Failure, fault::Fault};

use archway_architecture::{
    document::{Document, Kind},
    library::Library,
};
use archway_repo::text::shown;

/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 5;

/// Number of characters of a name that are compared.
const COMPARED_CHARS: usize = 64;

/// The pattern of this name, or else the only one with this title. Case is ignored unless two names
/// differ only in case.
pub(super) fn pattern<'l>(library: &'l Library, name: &str) -> Result<&'l Document, Failure> {
    let any_case = || library.of_kind(Kind::Pattern).find(|it| is_named(it, name));
    let found = library.get(Kind::Pattern, name).or_else(any_case);
    found.or_else(|| titled(library, name)).ok_or_else(|| {
        let failure = missing(name, library.of_kind(Kind::Pattern));
        with_left_out(with_other_kind(failure, library, name), library.omitted())
    })
}

fn is_named(document: &Document, name: &str) -> bool {
    document.slug.to_lowercase() == name.to_lowercase()
}

fn is_titled(document: &Document, title: &str) -> bool {
    document.title.trim().to_lowercase() == title.trim().to_lowercase()
}

/// The only pattern with this title.
fn titled<'l>(library: &'l Library, title: &str) -> Option<&'l Document> {
    let mut patterns = library.of_kind(Kind::Pattern);
    let found = patterns.find(|pattern| is_titled(pattern, title))?;
    let is_alone = !patterns.any(|pattern| is_titled(pattern, title));
    is_alone.then_some(found)
}

fn missing<'l>(name: &str, patterns: impl Iterator<Item = &'l Document>) -> Failure {
    let names = patterns.map(|it| (it.slug.as_str(), it.title.as_str()));
    let similar = nearest(name, names);
    let suggestion = match similar.as_slice() {
        [] => {
            "the project has no patterns; they are markdown files in docs/architecture/patterns, \
               mcp/resources/patterns or where its .archway.toml says"
                .to_owned()
        }
        similar => format!("give one of the nearest names: {}", similar.join(", ")),
    };
    let message = format!("no pattern is called `{}`", shown(name));
    Failure::new(Fault::PatternNotFound, message, suggestion).detail("nearest", similar)
}

/// Adds a hint if a document of another kind has this name: only patterns can be checked.
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
            "only patterns can be checked, so read the {kind} by search_architecture; {}",
            failure.suggestion
        );
    }
    failure
}

/// Adds a hint about files that were left out: the pattern may be among them.
fn with_left_out(mut failure: Failure, left_out: &[String]) -> Failure {
    if left_out.is_empty() {
        return failure;
    }
    failure
        .suggestion
        .push_str("; it may be among the files that are left out: see details.left_out");
    failure.detail("left_out", left_out.to_vec())
}

/// The pattern names most similar to `name` by name or title, best first. Names that contain
/// `name`, or are contained in it, come before others.
fn nearest<'l>(name: &str, patterns: impl Iterator<Item = (&'l str, &'l str)>) -> Vec<String> {
    let start = |text: &str| {
        text.to_lowercase()
            .chars()
            .take(COMPARED_CHARS)
            .collect::<String>()
    };
    let name = start(name);
    let distance = |candidate: &str| {
        let lower = start(candidate);
        let shares = lower.contains(&name) || name.contains(&lower);
        (!shares, strsim::damerau_levenshtein(&name, &lower))
    };
    let mut similar: Vec<_> = patterns
        .map(|(slug, title)| (distance(slug).min(distance(title)), slug))
        .collect();
    similar.sort_unstable();
    let slugs = similar
        .into_iter()
        .map(|(_, slug)| shown(slug).into_owned());
    slugs.take(MAX_SUGGESTIONS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_five_most_similar_names_are_suggested_best_first() {
        let slugs = [
            "saga",
            "repository-pattern",
            "repositories",
            "cqrs",
            "outbox",
            "events",
        ];
        let similar = nearest("Repository", slugs.into_iter().map(|slug| (slug, slug)));
        assert_eq!(similar.len(), MAX_SUGGESTIONS);
        assert_eq!(similar[..2], ["repository-pattern", "repositories"]);
        let typo = nearest("oubtox", slugs.into_iter().map(|slug| (slug, slug)));
        assert_eq!(typo[0], "outbox");
        let titled = [("cqrs", "CQRS"), ("p7", "Transactional outbox")];
        assert_eq!(nearest("outbox", titled.into_iter())[0], "p7");
    }

    #[test]
    fn a_pattern_that_may_be_left_out_is_mentioned() {
        let left_out = ["docs/architecture/patterns/x.md is left out: it is not text".to_owned()];
        let failure = with_left_out(missing("x", std::iter::empty()), &left_out);
        assert!(failure.suggestion.contains("details.left_out"));
        assert_eq!(failure.details["left_out"][0], left_out[0]);
        let failure = with_left_out(missing("x", std::iter::empty()), &[]);
        assert!(!failure.suggestion.contains("left"));
    }

    #[test]
    fn without_patterns_the_suggestion_names_their_folders() {
        let failure = missing("x", std::iter::empty());
        assert_eq!(failure.code, Fault::PatternNotFound);
        assert!(failure.suggestion.contains("docs/architecture/patterns"));
    }
}
