//! What a grammar cannot read, and is replaced before it reads: macros, lines of the preprocessor, ends of
//! members that are left out.

use archway_repo::{
    syntax::Language::{self, C, Cpp},
    testing::cancel,
};

use super::{defined, symbols, used};

/// Names of definitions that have a body or value, in the order of the text.
fn whole(language: Language, text: &str) -> Vec<String> {
    let symbols = symbols(language, text);
    let whole = symbols.definitions.iter().filter(|it| it.is_whole);
    whole.map(|it| it.qualified(language)).collect()
}

#[test]
fn a_macro_before_the_name_of_a_class_is_no_name() {
    // The first two are no errors to the grammar, and the type would be the macro.
    let text = "struct NET_API Pipe { int open; };\nclass NET_API(1) Gate {\n public:\n  bool admit();\n};\n\
        class NET_API Bridge final : public Gate {};\ntemplate <> class NET_API Box<int> : Gate { int a; };\n\
        struct POINT corner;\n";
    let expected = [
        "+struct Pipe",
        "+field Pipe::open",
        "+class Gate",
        "+method Gate::admit",
        "+class Bridge",
        "+class Box",
        "+field Box::a",
        "+variable corner",
    ];
    assert_eq!(defined(Cpp, text), expected);
    assert_eq!(defined(C, "struct NET_API pipe { int a; };\n").len(), 2);
    for (head, name) in [
        ("class NET_API finalizer {", "+class finalizer"),
        ("class\tNET_API Gate {", "+class Gate"),
        ("class NET_API Empty {", "+class Empty"),
        ("class QX Two {", "+class Two"),
    ] {
        let body = if name.ends_with("Empty") {
            ""
        } else {
            " void open() { close(); } "
        };
        let found = defined(Cpp, &format!("{head}{body}}};\n"));
        assert!(found.contains(&name.to_owned()), "{found:?}");
    }
}

#[test]
fn macros_around_functions_are_no_part_of_them() {
    let text = "NET_BEGIN\nnamespace net {\nNET_INLINE auto open(int x) NET_NOEXCEPT -> int { return x; }\n\
        static NET_HOT(1) const char* name(NET_UNUSED int a, long b NET_UNUSED) NET_PURE;\n\
        int NET_CALL twice(int x) { return x; }\n\
        template <typename T, NET_ENABLE_IF(is<T>(1))> NET_CONST void each(T x) {}\n\
        class Gate {\n NET_OBJECT(Gate)\n public:\n  NET_CONST Gate(int x) noexcept : x_(x) {}\n  NET_CONST ~Gate() {}\n\
        \x20 NET_CONST explicit operator bool() const { return unsigned(x_) < unsigned(9); }\n  int x_;\n};\n\
        NET_PROPERTY(int, size);\ntypedef NET_BARE(Gate) Bare;\nenum : ulong { FIRST = 1 };\n}\nNET_END\n";
    let expected = [
        "net",
        "net::open",
        "net::twice",
        "net::each",
        "net::Gate",
        "net::Gate::Gate",
        "net::Gate::~Gate",
        "net::Gate::operator bool",
        "net::Gate::x_",
        "net::Bare",
        "net::FIRST",
    ];
    assert_eq!(whole(Cpp, text), expected);
}

#[test]
fn macros_that_are_not_read_are_used() {
    let text = "class NET_API Gate : Base {\n  NET_INLINE\n  void open() NET_CALL(limit) { close(); }\n};\n";
    assert_eq!(used(Cpp, text, "NET_API"), ["1:7 other"]);
    assert_eq!(used(Cpp, text, "NET_INLINE"), ["2:3 other in Gate"]);
    assert_eq!(used(Cpp, text, "limit"), ["3:24 other in open"]);
    assert_eq!(used(Cpp, text, "close"), ["3:33 call in open"]);
    let text = "template <class T> NET_CONST void each(T x) {\n  int a NET_UNUSED; use(a) }\n";
    assert_eq!(used(Cpp, text, "NET_CONST").len(), 1);
    assert!(!used(Cpp, text, "NET_CONST")[0].contains(" of "));
}

#[test]
fn words_that_may_be_types_stay() {
    let text = "DWORD first(int a) { return (int) LIMIT; }\nHANDLE *second(void);\nstatic FILE *third;\n\
        unsigned int FOURTH = 4;\nint broken(int a { }\n";
    let found = defined(C, text);
    for name in [
        "+function first",
        "+function second",
        "variable third",
        "+variable FOURTH",
    ] {
        assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
    }
    let constants = used(C, text, "LIMIT");
    assert_eq!(constants, ["1:35 other in first"]);
}

#[test]
fn branches_with_half_a_block_are_read() {
    let text = "#ifdef _WIN32\nint wide(void) { return 1; }\nint umain(int n) {\n#else\nint main(int n) {\n#endif\n\
        #if A\n  if (n) {\n#elif B\n  while (n) {\n#endif\n    n--;\n  }\n  return n;\n}\n\
        double\nulp\n#ifdef KR\n  (x) double x;\n#else\n  (double x)\n#endif\n{\n  double local;\n  return x;\n}\n\
        static\n#if INLINE\ninline\n#endif\nint last(void) { return 0; }\n";
    let symbols = symbols(C, text);
    let found: Vec<(&str, bool)> = symbols
        .definitions
        .iter()
        .map(|it| (&*it.name, it.is_whole))
        .collect();
    let expected = [
        ("wide", true),
        ("umain", false),
        ("main", true),
        ("ulp", true),
        ("last", true),
    ];
    assert_eq!(found, expected);
}

#[test]
fn lines_of_the_preprocessor_in_lists_are_left_out() {
    let text = "static const char source[] = {\n#include \"source.inc\"\n  0,\n};\n\
        static double tens[] = { 1.0\n#ifdef VAX\n  , 2.0\n#else\n  , 3.0\n#endif\n};\n\
        enum { LOW = 1\n#if HIGH\n, TOP = 2\n#endif\n};\nint behind(void) { return f(1\n#if A\n, 2\n#endif\n); }\n";
    let expected = ["source", "tens", "LOW", "TOP", "behind"];
    assert_eq!(whole(C, text), expected);
    let text = "static const struct entry entries[] = {\n#include \"entries.h\"\n  ENTRY(first, \"_first\", 1),\n\
        #define BOTH(name) ENTRY(name, \"_\" #name, 3),\nBOTHS\n#undef BOTH\n  ENTRY(last, \"last\", 1),\n};\n#undef ENTRY\n\
        static int behind(void) {\n  return 1;\n}\n";
    let parsed = C.parse(text.as_bytes(), &cancel()).unwrap();
    assert_eq!(parsed.error_line(&cancel()).unwrap(), Some(5));
    assert_eq!(whole(C, text), ["entries", "behind"]);
}

#[test]
fn whole_branches_stay_and_what_is_never_compiled_goes() {
    let text = "#define FAIL(x) do { /* none */; } while (0)\n#ifdef A\nint one(void) { return 1; }\n#else\n\
        int two(void) { return 2; }\n#endif\n#if 0\nint never(void) { return 0; }\n#endif\nint three(void) { return 3 }\n";
    assert_eq!(whole(C, text), ["FAIL", "one", "two", "three"]);
    // Nor in a text without errors.
    let text = "#if 0\nint never;\n#endif\n#if 0\n#else\nint other;\n#endif\n";
    assert_eq!(whole(C, text), ["other"]);
}

#[test]
fn a_macro_with_a_definition_inside_stays() {
    let text = "FOO( int f(void) { return 1; } )\nint g;\nint last(int a { }\n";
    let found = defined(C, text);
    assert!(found.iter().any(|it| it.ends_with(" f")), "{found:?}");
    let text = "TEST_GROUP(\n class Inner { int a; };\n void helper(int a) { use(a); }\n)\nvoid after() {}\n";
    let found = defined(Cpp, text);
    for name in ["Inner", "helper", "after"] {
        assert!(
            found.iter().any(|it| it.ends_with(&format!(" {name}"))),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn statements_are_no_functions() {
    let text = "int f(int x) {\n  TRY { x++; }\n  CATCH(...) { x--; }\n  return x;\n}\n";
    assert_eq!(defined(Cpp, text), ["+function f"]);
}

#[test]
fn call_signatures_need_no_separators() {
    let text = "export interface Get {\n  // first\n  <K extends string>(key: K): Box<K>\n\n  // second\n\
        \x20 <\n    K,\n  >(key: K, other: number): [K]\n  <A>(key: A): { a: A };\n  <B>(key: B): B,\n  <C>(key: C): C\n}\n\
        export class Gate {}\n";
    let unindented = text.replace("\n  ", "\n");
    for language in [Language::TypeScript, Language::Tsx] {
        for text in [text, &unindented] {
            let found = defined(language, text);
            for expected in ["+interface Get", "+class Gate"] {
                assert!(found.contains(&expected.to_owned()), "{found:?}");
            }
        }
    }
}

#[test]
fn a_text_without_errors_is_read_as_it_is() {
    let text = "const a = b\n  <c\n\nfunction f() {}\n";
    assert_eq!(
        defined(Language::TypeScript, text),
        ["constant a", "function f"]
    );
    let text = "const view = () =>\n  <div>\n    text\n  </div>\nlet broken = {\nfunction f() {}\n";
    let parsed = Language::Tsx.parse(text.as_bytes(), &cancel()).unwrap();
    assert!(parsed.error_line(&cancel()).unwrap() > Some(4));
}
