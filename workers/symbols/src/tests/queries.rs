//! Which definitions a name means.

use archway_repo::syntax::Language;

use super::symbols;
use crate::{Match, NameQuery, spelling::parts};

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

/// The names of a text's definitions that match.
fn matched(language: Language, text: &str, query: &str) -> Vec<(Box<str>, Match)> {
    let symbols = symbols(language, text);
    let query = NameQuery::parse(query).unwrap();
    let matches = symbols.definitions.iter();
    let matches = matches.filter_map(|it| Some((it.name.clone(), query.matches(it, "a")?)));
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
fn arguments_and_parentheses_are_no_part_of_a_name() {
    for (query, expected) in [
        ("pub fn admit", vec!["admit"]),
        ("struct Gate", vec!["Gate"]),
        (" Circuit :: admit ", vec!["Circuit", "admit"]),
        ("`Circuit<T>::admit`", vec!["Circuit", "admit"]),
        ("Vec<Box<dyn Fn() -> T>>::push", vec!["Vec", "push"]),
        ("Vec::<T>::push(value)", vec!["Vec", "push"]),
        ("<Vec<T> as Extend<T>>::extend", vec!["Vec", "extend"]),
        ("(*Circuit).Admit", vec!["Circuit", "Admit"]),
        (
            "net.(*Circuit).Admit(x int)",
            vec!["net", "Circuit", "Admit"],
        ),
        ("(*Circuit[K]).Admit", vec!["Circuit", "Admit"]),
        ("List[int].append", vec!["List", "append"]),
        ("Circuit<T>", vec!["Circuit"]),
        ("admit (1, (2))", vec!["admit"]),
        ("valid?(x)", vec!["valid?"]),
        ("a < b", vec!["a < b"]),
    ] {
        assert_eq!(parts(query), expected, "{query}");
    }
    assert_eq!(names("Circuit<T>::admit(1)"), ["net::Circuit::admit"]);
}

#[test]
fn operators_are_names() {
    for (query, expected) in [
        ("operator==", vec!["operator=="]),
        ("Gate::operator ()", vec!["Gate", "operator()"]),
        ("Gate<T>::operator->", vec!["Gate", "operator->"]),
        ("Gate::operator()(int x)", vec!["Gate", "operator()"]),
        ("operator[](int)", vec!["operator[]"]),
        ("operator.add", vec!["operator", "add"]),
        ("my_operator<T>", vec!["my_operator"]),
        ("Money#<=>", vec!["Money", "<=>"]),
        ("Money#[]", vec!["Money", "[]"]),
        ("Money.<<", vec!["Money", "<<"]),
        ("Money#-@", vec!["Money", "-@"]),
    ] {
        assert_eq!(parts(query), expected, "{query}");
    }
    let text = "struct A {\n  bool operator ==(const A& b);\n  bool operator<(const A& b);\n};\n";
    for (query, expected) in [
        ("A::operator==", Some(Match::Exact)),
        ("operator ==", Some(Match::Exact)),
        ("operator !=", None),
    ] {
        let found = matched(Language::Cpp, text, query);
        let found = found.first().map(|(_, matched)| *matched);
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn private_names_are_found_with_and_without_their_sign() {
    let text = "class Gate {\n  #open = 1;\n  #admit() {}\n  admit() {}\n}\n";
    for (query, expected) in [
        ("#open", vec![("#open", Match::Exact)]),
        ("Gate.#open", vec![("#open", Match::Exact)]),
        ("Gate##open", vec![("#open", Match::Exact)]),
        ("open", vec![("#open", Match::Inside)]),
        ("Gate#open", vec![("#open", Match::Inside)]),
        ("#admit", vec![("#admit", Match::Exact)]),
        (
            "admit",
            vec![("#admit", Match::Inside), ("admit", Match::Exact)],
        ),
    ] {
        let found = matched(Language::JavaScript, text, query);
        let found: Vec<(&str, Match)> = found.iter().map(|(it, how)| (&**it, *how)).collect();
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn a_container_may_be_a_glob() {
    let members = ["net::Circuit::admit"];
    for query in ["Circuit::*", "Circ*::*", "*cuit::a*", "net::C*::admit"] {
        assert_eq!(names(query), members, "{query}");
    }
    assert!(names("Circ*::other").is_empty());
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
    for text in ["", " ", "::", "..", "#", "()", "``", "##"] {
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
        ("operator==", "bool operator ==(A)", true),
        ("#open", "this.#open", true),
        ("open", "this.#open", true),
        ("Circuit::*", "impl Circuit {", true),
        ("Circuit::*", "impl CircuitBreaker {", false),
        ("Circ*::*", "impl Circuit {", true),
        ("Circuit::?", "fn a()", false),
        ("circuit::*", "fn admit()", true),
        ("Circuit::a*", "fn admit()", true),
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
