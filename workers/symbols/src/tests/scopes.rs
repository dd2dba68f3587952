//! How far locals are visible, what imports name, and members that are no names in scope.

use archway_repo::syntax::Language;

use super::{symbols, used};
use crate::Definition;

/// `first-last` lines in which the locals of a name are visible.
fn visible(language: Language, text: &str, name: &str) -> Vec<String> {
    let symbols = symbols(language, text);
    let locals = symbols.locals_of(name);
    locals
        .map(|it| format!("{}-{}", it.line, it.last_line))
        .collect()
}

#[test]
fn locals_end_with_the_function_or_block_around() {
    let script = "test('a', (t, got) => {\n  got();\n});\nif (x) {\n  let got = 1;\n}\ngot();\n";
    let rust = "fn f() {\n    {\n        let got = 1;\n    }\n    got();\n}\n";
    let go = "package p\nfunc f() {\n\tif got := g(); got {\n\t}\n}\n";
    let python =
        "def f():\n    if x:\n        got = 1\n    return got\n\ny = [\n    got for got in z\n]\n";
    for (language, text, expected) in [
        (Language::TypeScript, script, vec!["1-3", "5-6"]),
        (Language::Rust, rust, vec!["3-4"]),
        (Language::Go, go, vec!["3-4"]),
        (Language::Python, python, vec!["3-4", "7-8"]),
    ] {
        assert_eq!(visible(language, text, "got"), expected, "{language:?}");
    }
}

#[test]
fn the_name_of_an_expression_is_local_to_it() {
    let text = "const got = () => {\n  return async function got() {\n    got();\n  };\n};\n\
        const a = class got {};\nconst b = function* got() {};\ngot();\n";
    for language in [Language::JavaScript, Language::TypeScript, Language::Tsx] {
        let expected = ["2-4", "6-6", "7-7"];
        assert_eq!(visible(language, text, "got"), expected, "{language:?}");
    }
}

#[test]
fn what_python_declares_to_be_global_is_no_local() {
    let text = "got = 1\ndef f():\n    global got\n    got = 2\n    def g():\n        got = 3\n    def h():\n\
        \x20       nonlocal got\n        got = 4\n    got = 5\ndef i():\n    got = 6\n";
    assert_eq!(visible(Language::Python, text, "got"), ["6-6", "12-12"]);
    let uses = used(Language::Python, text, "got");
    let writes: Vec<&String> = uses.iter().filter(|it| it.contains("write")).collect();
    assert_eq!(
        writes,
        ["4:5 write in f", "9:9 write in h", "10:5 write in f"]
    );
}

#[test]
fn an_import_is_of_its_module() {
    let python = "from .gate import admit as a\nimport gate.admit\nfrom admit import x\n";
    assert_eq!(
        used(Language::Python, python, "admit"),
        [
            "1:19 unbound of .gate",
            "2:13 import of ?",
            "3:6 import of ?"
        ]
    );
    let script = "import admit from './gate';\nimport * as admit from 'x';\nconst { admit } = require('y');\n";
    assert_eq!(
        used(Language::JavaScript, script, "admit"),
        [
            "1:8 import of ./gate",
            "2:13 import of ?",
            "3:9 import of y",
            "3:9 other of ?"
        ]
    );
}

#[test]
fn an_import_by_another_name_binds_that_one() {
    let script = "import { admit as pass, other as gate } from './a';\nexport { admit } from './b';\nadmit();\n";
    let python = "from a import admit as pass_, admit as admit\nfrom a import other as gate\n";
    let rust = "use a::admit as pass;\nuse a::admit::b as c;\n";
    for (language, text, expected) in [
        (
            Language::TypeScript,
            script,
            vec!["1:10 unbound of ./a", "2:10 unbound of ./b", "3:1 call"],
        ),
        (
            Language::Python,
            python,
            vec!["1:15 unbound of a", "1:31 import of a", "1:40 import of a"],
        ),
        (Language::Rust, rust, vec!["1:8 unbound", "2:8 import"]),
    ] {
        assert_eq!(used(language, text, "admit"), expected, "{language:?}");
    }
    let gate = [
        used(Language::TypeScript, script, "gate"),
        used(Language::Python, python, "gate"),
    ];
    assert_eq!(gate, [["1:34 import of ?"], ["2:24 import of ?"]]);
}

#[test]
fn elements_that_jsx_has_itself_are_no_names_in_scope() {
    let text = "const a = <html><Html/><html.x/></html>;\n";
    for (name, expected) in [
        (
            "html",
            vec![
                "1:12 call of ? in a",
                "1:25 other in a",
                "1:35 other of ? in a",
            ],
        ),
        ("Html", vec!["1:18 call in a"]),
    ] {
        assert_eq!(used(Language::Tsx, text, name), expected, "{name}");
    }
}

#[test]
fn keys_of_objects_are_members_and_no_names_in_scope() {
    let text =
        "function f(admit) {\n  g({ admit: 1 });\n  h({ admit });\n  const { open } = admit;\n}\n";
    assert_eq!(
        used(Language::JavaScript, text, "admit"),
        [
            "1:12 local in f",
            "2:7 other of ? in f",
            "3:7 other in f",
            "3:7 write of ? in f",
            "4:20 other in f",
        ]
    );
    assert_eq!(
        used(Language::JavaScript, text, "open"),
        ["4:11 local in f", "4:11 other of ? in f"]
    );
}

/// `name first-last` of each definition that is visible in a part of the text.
fn scoped(language: Language, text: &str) -> Vec<String> {
    let symbols = symbols(language, text);
    let definitions = symbols.definitions.iter();
    let show = |it: &Definition| {
        let (first, last) = it.visible?;
        Some(format!("{} {first}-{last}", it.name))
    };
    definitions.filter_map(show).collect()
}

#[test]
fn definitions_in_closures_and_blocks_are_visible_there() {
    let script = "const top = () => 1;\nit('a', () => {\n  const Card = () => <a/>;\n  class Gate { open() {} }\n});\n\
        namespace N {\n  export function f() {}\n}\ndeclare global {\n  interface Window { a: number }\n}\n\
        if (x) {\n  var g = () => 2;\n}\n";
    let python = "class A:\n    def f(self):\n        def g(): pass\n        class B:\n            def h(self): pass\n\
        if x:\n    def top(): pass\n";
    let rust = "mod m { fn f() {} }\nimpl A {\n    fn f() {\n        fn g() {}\n    }\n}\n";
    let cpp = "template <class T>\nclass A { int x; };\ntemplate <class T>\nT f(T x) {\n  struct B { int y; };\n}\n";
    let ruby = "def f\n  def g; end\nend\n";
    for (language, text, expected) in [
        (Language::Tsx, script, vec!["Card 2-5", "Gate 2-5", "f 6-8"]),
        (Language::Python, python, vec!["g 2-5", "B 2-5"]),
        (Language::Rust, rust, vec!["g 3-5"]),
        (Language::Cpp, cpp, vec!["B 4-6"]),
        (Language::Ruby, ruby, vec![]),
    ] {
        assert_eq!(scoped(language, text), expected, "{language:?}");
    }
}

#[test]
fn a_bare_name_is_of_the_innermost_scope_around() {
    let text = "function f() {}\nit(() => {\n  const f = () => 1;\n  it(() => {\n    const f = () => 2;\n  });\n});\n";
    let symbols = symbols(Language::JavaScript, text);
    let scopes = symbols.scopes();
    let found = [1, 3, 5, 7, 8].map(|line| scopes.at("f", line));
    let (outer, inner) = (Some((2, 7)), Some((4, 6)));
    assert_eq!(found, [None, outer, inner, outer, None]);
    assert_eq!(scopes.at("g", 5), None);
}

#[test]
fn hundreds_of_scopes_of_a_name_are_told_apart() {
    let closure = "  it(() => {\n    const f = () => 1;\n  });\n".repeat(500);
    let text = format!("it(() => {{\n  const f = () => 0;\n{closure}}});\n");
    let symbols = symbols(Language::JavaScript, &text);
    let scopes = symbols.scopes();
    for first in (3..1_503).step_by(3) {
        assert_eq!(scopes.at("f", first + 1), Some((first, first + 2)));
    }
    assert_eq!(scopes.at("f", 1_503), Some((1, 1_503)));
    assert_eq!(scopes.at("f", 1_504), None);
}

#[test]
fn a_line_of_two_blocks_is_of_the_shorter_or_first() {
    let text = "if (a) {\n  const f = () => 1;\n} else {\n  const f = () => 2;\n}\n\
        if (a) {\n  const f = () => 3;\n  a();\n} else {\n  const f = () => 4;\n}\n";
    let symbols = symbols(Language::JavaScript, text);
    let scopes = symbols.scopes();
    let found = [2, 3, 4, 8, 9, 10].map(|line| scopes.at("f", line));
    let expected = [(1, 3), (1, 3), (3, 5), (6, 9), (9, 11), (9, 11)];
    assert_eq!(found, expected.map(Some));
}
