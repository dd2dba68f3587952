//! Which definitions a name means.

use archway_repo::syntax::Language;

use super::symbols;
use crate::{Match, NameQuery};

const TEXT: &str = "mod net { pub struct Circuit; impl Circuit { fn admit() {} } fn admit() {} }";

fn found(query: &str) -> Vec<(String, Match)> {
    let symbols = symbols(Language::Rust, TEXT);
    let query = NameQuery::parse(query).unwrap();
    let matches = symbols.definitions.iter().filter_map(|it| {
        let matched = query.matches(it, "src/breaker/mod.rs")?;
        Some((it.qualified(Language::Rust), matched))
    });
    matches.collect()
}

fn names(query: &str) -> Vec<String> {
    found(query).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_container_may_be_written_as_in_any_language() {
    let expected = ["net::Circuit::admit"];
    for query in [
        "Circuit::admit",
        "Circuit.admit",
        "Circuit#admit",
        "circuit->admit",
        "net::Circuit::admit()",
        "breaker::net::Circuit::admit",
        "crate::breaker::net::Circuit::admit",
    ] {
        assert_eq!(names(query), expected, "{query}");
    }
    assert_eq!(names("admit"), ["net::Circuit::admit", "net::admit"]);
    assert_eq!(names("net::admit"), ["net::admit"]);
    assert!(names("Other::admit").is_empty());
}

#[test]
fn matches_say_how_good_they_are() {
    for (query, expected) in [
        ("Circuit", Some(Match::Exact)),
        ("circuit", Some(Match::AnyCase)),
        ("*circuit*", Some(Match::Exact)),
        ("*circ*", Some(Match::Prefix)),
        ("*cuit", Some(Match::Inside)),
        ("C?rcuit", Some(Match::Inside)),
        ("circ", None),
        ("*circ", None),
    ] {
        let matched = found(query)
            .into_iter()
            .find(|(name, _)| name == "net::Circuit");
        assert_eq!(matched.map(|(_, matched)| matched), expected, "{query}");
    }
}

#[test]
fn a_text_without_a_name_is_no_query() {
    for text in ["", " ", "::", "..", "#"] {
        assert_eq!(NameQuery::parse(text), None, "{text}");
    }
}

#[test]
fn the_pattern_of_a_name_finds_its_lines_alone() {
    for (name, line, is_found) in [
        ("admit", "fn admit()", true),
        ("admit", "fn admits()", false),
        ("*mit", "fn admit()", true),
        ("a?mit", "fn admit()", true),
        ("a?mit", "fn amit()", false),
        ("valid?", "def valid?", true),
        ("operator<", "bool operator<(A)", true),
        ("$el", "const $el = 1", true),
        ("größe", "fn größe()", true),
    ] {
        let pattern = NameQuery::parse(name).unwrap().line_pattern();
        let pattern = archway_repo::SearchPattern::regex(pattern, false);
        assert_eq!(
            pattern.is_in(line.as_bytes()).unwrap(),
            is_found,
            "{name}: {line}"
        );
    }
}
