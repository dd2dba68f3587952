//! Which pattern a name means, and which names are near one that means none.

use archway_proto::{failure::Failure, fault::Fault};

use crate::{
    architecture::{
        document::{Document, Kind},
        library::Library,
    },
    text::shown,
};

/// How many near names are told.
const MOST_NEAR: usize = 5;

/// How much of a name is compared, in characters.
const COMPARED: usize = 64;

/// The pattern of that name; case makes no difference unless two differ by it alone.
pub(super) fn pattern<'l>(library: &'l Library, name: &str) -> Result<&'l Document, Failure> {
    let lower = name.to_lowercase();
    let any_case = || {
        let mut patterns = library.of_kind(Kind::Pattern);
        patterns.find(|pattern| pattern.slug.to_lowercase() == lower)
    };
    let found = library.get(Kind::Pattern, name).or_else(any_case);
    found.ok_or_else(|| {
        let slugs = library.of_kind(Kind::Pattern);
        let slugs = slugs.map(|pattern| pattern.slug.as_str());
        with_left_out(missing(name, slugs), library.left_out())
    })
}

fn missing<'l>(name: &str, slugs: impl Iterator<Item = &'l str>) -> Failure {
    let near = nearest(name, slugs);
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

/// The names most like `name`, the likest first; those that share a part of it before others.
fn nearest<'l>(name: &str, slugs: impl Iterator<Item = &'l str>) -> Vec<String> {
    let start = |text: &str| {
        text.to_lowercase()
            .chars()
            .take(COMPARED)
            .collect::<String>()
    };
    let name = start(name);
    let mut near: Vec<_> = slugs
        .map(|slug| {
            let lower = start(slug);
            let shares = lower.contains(&name) || name.contains(&lower);
            (!shares, strsim::damerau_levenshtein(&name, &lower), slug)
        })
        .collect();
    near.sort_unstable();
    let slugs = near.into_iter().map(|(.., slug)| shown(slug).into_owned());
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
        let near = nearest("Repository", slugs.into_iter());
        assert_eq!(near.len(), MOST_NEAR);
        assert_eq!(near[..2], ["repository-pattern", "repositories"]);
        let typo = nearest("oubtox", slugs.into_iter());
        assert_eq!(typo[0], "outbox");
    }

    #[test]
    fn a_pattern_that_may_be_left_out_is_told_to_be() {
        let left_out = ["docs/architecture/patterns/x.md is left out: it is not text".to_owned()];
        let failure = with_left_out(missing("x", ["saga"].into_iter()), &left_out);
        assert!(failure.suggestion.contains("details.left_out"));
        assert_eq!(failure.details["left_out"][0], left_out[0]);
        let failure = with_left_out(missing("x", ["saga"].into_iter()), &[]);
        assert!(!failure.suggestion.contains("left"));
    }

    #[test]
    fn a_project_without_patterns_is_told_where_they_would_be() {
        let failure = missing("x", std::iter::empty());
        assert_eq!(failure.code, Fault::PatternNotFound);
        assert!(failure.suggestion.contains("docs/architecture/patterns"));
    }
}
