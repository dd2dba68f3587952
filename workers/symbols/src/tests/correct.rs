//! Code that a grammar reads as it is stays so, whatever stands beside it: words in capitals are types and names, too.

use archway_repo::syntax::Language::{C, Cpp};

use super::{defined, used};

/// A macro that the grammar cannot read, so that a text is looked at.
const MACRO: &str = "NET_BEGIN(1)\nstatic NET_HOT(2) int admit(void) NET_PURE { return 1; }\n";

#[test]
fn types_and_names_in_capitals_are_no_macros() {
    for (text, expected) in [
        (
            "struct S { int const MAX; UINT32 x __attribute__((packed)); };",
            "MAX x",
        ),
        (
            "static const char *const USAGE = \"x\";\nint const LIMIT = 5;",
            "USAGE LIMIT",
        ),
        ("int __attribute__((unused)) DEBUG = 0;", "DEBUG"),
        (
            "class URL final {};\nstruct JSON final : Base { int a; };",
            "URL JSON a",
        ),
        ("enum STATE next(int a) { return IDLE; }", "next"),
        ("struct R { UINT32 x PACKED; };", "x"),
    ] {
        for text in [format!("{text}\n"), format!("{MACRO}{text}\n")] {
            let found = defined(Cpp, &text);
            for name in expected.split(' ') {
                let is_it = |it: &String| {
                    it.ends_with(&format!(" {name}")) || it.ends_with(&format!("::{name}"))
                };
                assert!(found.iter().any(is_it), "{name} in {text}: {found:?}");
            }
        }
    }
}

#[test]
fn a_call_in_a_macro_that_is_read_stays_a_call() {
    let text = format!(
        "{MACRO}struct POINT corner;\nvoid f(void) {{\n  ASSERT(close((int)fd) == 0);\n  int a[] = {{ MAX(close(1), 2) }};\n}}\n"
    );
    assert_eq!(
        used(C, &text, "close"),
        ["5:10 call in f", "6:19 call in f"]
    );
}

#[test]
fn a_type_that_the_text_declares_is_no_macro() {
    let error = "int first(int a { }\n";
    for text in [
        "struct POINT { int x; };\nvoid f() { struct POINT p{}; use(p); }\n".to_owned(),
        format!("struct POINT {{ int x; }};\nstruct POINT p{{}};\n{error}"),
        format!("void f() {{ for (struct NODE p : nodes) {{ use(p); }} }}\nint g;\n{MACRO}"),
        format!("void f() {{ for (struct NODE p : nodes) {{ use(p; }} }}\n{error}"),
        format!("struct S {{ enum STATE p : 3; int q }};\n{error}"),
    ] {
        let found = defined(Cpp, &text);
        let is_type =
            |it: &String| (it.contains("struct") || it.contains("enum")) && it.ends_with(" p");
        assert!(!found.iter().any(is_type), "{text}: {found:?}");
    }
}
