//! Conditions of the preprocessor in texts with errors: which branches are read, and what is used in them.

use archway_repo::{
    syntax::Language::{self, C, Cpp, Ruby},
    testing::cancel,
};

use super::{defined, used};

/// An error, so that a text is mended.
const ERROR: &str = "int last(void) { return f(1\n#if A\n, 2\n#endif\n); }\n";

/// Another one, of branches with half a block.
const HALVES: &str = "void zz(int a) {\n#ifdef Q\n if (a) {\n#else\n if (!a) {\n#endif\n }\n}\n";

fn is_sound(language: Language, text: &str) -> bool {
    let parsed = language.parse(text.as_bytes(), &cancel()).unwrap();
    parsed.error_line(&cancel()).unwrap().is_none()
}

fn names(language: Language, text: &str) -> Vec<String> {
    let all = defined(language, text);
    let names = all.iter().filter_map(|it| it.rsplit_once(' '));
    names.map(|(_, name)| name.to_owned()).collect()
}

#[test]
fn words_of_lines_that_are_left_out_are_used() {
    let text = format!("#if defined(CONFIG_X) && CONFIG_Y > 1\nint a;\n#endif\n{ERROR}");
    assert_eq!(used(C, &text, "CONFIG_X"), ["1:13 other"]);
    assert_eq!(used(C, &text, "CONFIG_Y"), ["1:26 other"]);
    assert_eq!(used(C, &text, "A"), ["5:5 other in last"]);
    assert_eq!(
        used(C, &text, "defined").len() + used(C, &text, "if").len(),
        0
    );
}

#[test]
fn the_mark_of_the_byte_order_is_no_word() {
    let text = format!("\u{feff}#define FIRST 1\n#define SECOND 2\n{ERROR}");
    assert_eq!(names(C, &text), ["FIRST", "SECOND", "last"]);
}

#[test]
fn what_is_never_compiled_defines_nothing() {
    for condition in ["0", "(0)", "0 // why", "0 /* why */", "0\r", "false"] {
        let never = format!(
            "#if {condition}\nint never;\n#define NEVER {{\n#if B\nint no;\n#endif\n#else\nint b;\n#endif\n"
        );
        assert_eq!(names(C, &never), ["b"], "{condition}");
        assert_eq!(used(C, &never, "B").len(), 0, "{condition}");
        let broken = never + ERROR;
        assert_eq!(names(C, &broken), ["b", "last"], "{condition}");
        assert_eq!(used(C, &broken, "B").len(), 0, "{condition}");
    }
    let text = "#if false\nvoid never() {\n#endif\nint b;\nclass Gate { int c; };\n";
    assert_eq!(names(Cpp, text), ["b", "Gate", "Gate::c"]);
    let text = "#if 0 || A\nint some;\n#endif\n";
    assert_eq!(names(C, text), ["some"]);
    assert_eq!(names(C, &format!("{text}{ERROR}")), ["some", "last"]);
}

#[test]
fn only_the_head_of_a_block_says_that_it_is_an_enumeration() {
    let text = format!("enum foo;\nstruct bar {{\n  int a;\n#define BAR 1\n  int b;\n}};\n{ERROR}");
    assert!(names(C, &text).contains(&"bar::BAR".to_owned()));
    let text = "enum class E : std::uint8_t {\n  LOW = 1\n#ifdef HIGH\n  , TOP = 2\n#endif\n};\nint behind;\n";
    assert_eq!(names(Cpp, text), ["E", "E::LOW", "E::TOP", "behind"]);
}

#[test]
fn an_open_bracket_ends_with_its_block() {
    let text = format!(
        "int a(void) {{ f((1; }}\n#define ONE 1\nint b(void) {{ f(;\n {{ }}\n#define TWO 2\n}}\n{ERROR}"
    );
    let found = names(C, &text);
    for name in ["ONE", "b::TWO"] {
        assert!(found.contains(&name.to_owned()), "{found:?}");
    }
}

#[test]
fn one_of_the_heads_before_a_body_stays() {
    let text = "#if A\nint f(int a)\n#else\nint g(void)\n#endif\n{\n  return 1;\n}\nint h(void) { return 2; }\n";
    assert_eq!(names(Cpp, text), ["f", "h"]);
    assert!(is_sound(Cpp, text));
}

#[test]
fn an_end_is_not_written_into_what_is_left_out() {
    let text = "static int list[] = {\n#if A\n  1,\n#else\n#if B\n int f(int a) {\n#else\n int f(void) {\n#endif\n  2,\n }\n#endif\n};\n\
        int behind(void) { return 1; }\n";
    assert!(is_sound(C, text));
    assert_eq!(names(C, text), ["list", "behind"]);
}

#[test]
fn a_comment_of_several_lines_stays_in_its_macro() {
    let text = format!("#define BOTH 1 /* one\n two */ + inner(2\n{ERROR}");
    assert!(is_sound(C, &text));
    assert_eq!(names(C, &text), ["BOTH", "last"]);
}

#[test]
fn only_calls_in_the_body_of_a_class_define() {
    let text = "class A\n  attr_reader :a\n  self.attr_writer :b\n  def c\n    link.attr(:href)\n    attr(:d)\n  end\n  other.attr :e\nend\n";
    let found = defined(Ruby, text);
    let fields: Vec<&String> = found.iter().filter(|it| it.contains("field")).collect();
    assert_eq!(fields, ["+field A::a", "+field A::b"]);
}

#[test]
fn a_branch_is_whole_though_one_inside_of_it_has_halves() {
    let text = "#ifdef O\nvoid f(int a) {\n#ifdef A\n if (a) {\n#else\n if (a>1) {\n#endif\n g(); }\n}\n#else\nvoid h(void){}\n#endif\n";
    assert_eq!(names(C, text), ["f", "h"]);
    let text = text.replace("#ifdef A", "#if 0\n } old(); }\n#elif A");
    assert_eq!(names(C, &text), ["f", "h"]);
}

#[test]
fn conditions_far_from_an_error_stay() {
    let text = "Py_BEGIN_ALLOW_THREADS\n#define LIMIT 3\n#ifdef W\nint open_w(int a){return a;}\n#else\nint open_u(int a){return a;}\n#endif\n";
    let found = names(C, &format!("{text}int between;\n{HALVES}"));
    for name in ["LIMIT", "open_w", "open_u", "zz"] {
        assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
    }
    let found = names(C, &format!("int x\n#define LIMIT 3\n= 1;\n{HALVES}"));
    assert!(found.contains(&"LIMIT".to_owned()), "{found:?}");
}

#[test]
fn a_bracket_that_is_not_closed_ends_with_its_statement() {
    let text = format!(
        "{HALVES}#ifdef O\nOPEN(x\n#endif\nint q;\n#define GAMMA 1\n#ifdef B\nint b1(void){{return 0;}}\n#else\nint b2(void){{return 0;}}\n#endif\n"
    );
    let found = names(C, &text);
    for name in ["zz", "GAMMA", "b1", "b2"] {
        assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
    }
    let head = "void f(int a) {\n for (int i = 0;\n#ifdef A\n i < 1;\n#else\n i < 2;\n#endif\n i++) { g(); }\n}\nint behind;\n";
    assert!(is_sound(C, head));
    assert_eq!(names(C, head), ["f", "behind"]);
}

#[test]
fn the_branches_behind_one_that_is_never_compiled_are_settled() {
    let text = "int f(int a)\n#if 0\n{ old();\n#elif A\n{ a();\n#else\n{ b();\n#endif\n}\nint later(void){ return 1; }\n";
    assert!(is_sound(C, text));
    assert_eq!(names(C, text), ["f", "later"]);
    assert_eq!(used(C, text, "old").len(), 0);
    assert_eq!(used(C, text, "b"), ["7:3 other in f"]);
}

#[test]
fn the_head_of_a_body_is_in_its_branch() {
    let text =
        "int main(int c, char **v)\n#ifdef S\n{\n#else\ntry_block(x) {\n#endif\n return 0; }\n";
    let symbols = super::symbols(C, text);
    let main = symbols.definitions.iter().find(|it| &*it.name == "main");
    assert!(main.is_some_and(|it| it.is_whole));
}

#[test]
fn only_code_is_left_out() {
    let line = |text: &str| C.parse(text.as_bytes(), &cancel()).unwrap().left_out_line();
    assert_eq!(line(&format!("#define A /* x */ 1\n{HALVES}")), Some(3));
}
