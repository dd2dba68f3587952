//! Texts that would exhaust the stack, memory or time of a naive reader.

use archway_repo::{syntax::Language, testing::cancel};

use tokio::time::{Duration, Instant};

use super::symbols;
use crate::Symbols;

const ALL: [Language; 12] = [
    Language::Rust,
    Language::JavaScript,
    Language::TypeScript,
    Language::Tsx,
    Language::Python,
    Language::Go,
    Language::Java,
    Language::C,
    Language::Cpp,
    Language::CSharp,
    Language::Ruby,
    Language::Php,
];

#[test]
fn broken_deep_and_binary_texts_do_no_harm() {
    let texts = [
        "(".repeat(2_000),
        "a.".repeat(4_000),
        "class A { ".repeat(300),
        "fn a() { ".repeat(300),
        "\u{0}\u{1}\"/*".repeat(300),
        "def a(\n".repeat(300),
        "namespace a { int ".repeat(300),
        String::new(),
    ];
    for language in ALL {
        for text in &texts {
            if let Ok(symbols) = Symbols::of(language, text.as_bytes(), &cancel()) {
                let last = text.lines().count() + 1;
                let is_inside = |it: &crate::Definition| it.lines.1 as usize <= last;
                assert!(symbols.definitions.iter().all(is_inside), "{language:?}");
            }
        }
    }
}

#[test]
fn what_a_grammar_cannot_read_is_left_out_in_little_time() {
    let texts = [
        "AAA<".repeat(25_000),
        "AAA AAA::".repeat(15_000),
        "AAA(".repeat(25_000),
        "template <AAA(".repeat(10_000),
        "#if A\n{\n".repeat(15_000),
        "#if A\n{\n#else\n{\n#endif\n".repeat(5_000),
        format!("#define a {}\nint f(", "/**/".repeat(25_000)),
        "class AAA ".repeat(12_000),
        "R\"(".repeat(25_000),
        "int a;\n@\n".repeat(12_000),
        "AAA([]{".repeat(12_000) + &"});".repeat(12_000),
    ];
    for text in &texts {
        for language in [Language::C, Language::Cpp] {
            let started = Instant::now();
            drop(Symbols::of(language, text.as_bytes(), &cancel()));
            // Two parses, each of which may take its limit.
            assert!(
                started.elapsed() < Duration::from_secs(10),
                "{}",
                text.get(..40).unwrap()
            );
        }
    }
}

#[test]
fn bytes_that_are_no_text_and_the_owner_of_itself_are_read() {
    let bytes = b"fn a\xff() {}\nfn b() {}\n";
    let symbols = Symbols::of(Language::Rust, bytes, &cancel()).unwrap();
    assert!(symbols.definitions.iter().any(|it| *it.name == *"b"));
    let text = "impl S { fn f() { struct S; impl S { fn g() {} } } }";
    let symbols = Symbols::of(Language::Rust, text.as_bytes(), &cancel()).unwrap();
    let last = u32::try_from(symbols.definitions.len() - 1).unwrap();
    assert!(symbols.around(Some(last)).count() <= symbols.definitions.len());
}

#[test]
fn the_names_around_a_deep_definition_are_few() {
    let text = "mod a_module_with_a_long_name {".repeat(500) + "fn deep() {}" + &"}".repeat(500);
    let found = symbols(Language::Rust, &text).definitions;
    let bytes = |it: &crate::Definition| it.container.as_ref().map_or(0, |names| names.len());
    assert!(found.iter().map(bytes).max() < Some(600), "{}", found.len());
    assert!(found.iter().any(|it| &*it.name == "deep"));
}

#[test]
fn columns_of_one_long_line_are_counted_on() {
    let text = "é(x);".repeat(40_000);
    let symbols = symbols(Language::JavaScript, &text);
    let columns: Vec<u32> = symbols.uses_of("x").map(|it| it.column).collect();
    let expected: Vec<u32> = (0..40_000).map(|at| at * 5 + 3).collect();
    assert_eq!(columns, expected);
}
