//! Uses, language by language: their kind, what stands before them, and what is around.

use archway_repo::syntax::Language;

use super::used;

#[test]
fn strings_and_comments_use_nothing() {
    for (language, text) in [
        (
            Language::Rust,
            "// admit\nfn f() { let s = \"admit\"; /* admit */ }",
        ),
        (Language::Python, "# admit\n'''admit'''\nx = 'admit'"),
        (
            Language::JavaScript,
            "// admit\nconst s = 'admit' + `admit`;",
        ),
        (Language::Go, "package p\n// admit\nvar s = \"admit\""),
        (
            Language::Java,
            "class A { /** admit */ String s = \"admit\"; }",
        ),
        (Language::C, "/* admit */ char *s = \"admit\";"),
        (
            Language::CSharp,
            "class A { string s = \"admit\"; } // admit",
        ),
        (Language::Ruby, "# admit\nx = 'admit'"),
        (Language::Php, "<?php // admit\n$x = 'admit';"),
    ] {
        assert_eq!(
            used(language, text, "admit"),
            Vec::<String>::new(),
            "{language:?}"
        );
    }
}

#[test]
fn rust_tells_calls_types_imports_and_writes_apart() {
    let text = "use a::b::{admit, other as admit};\nfn f(c: Circuit) -> Circuit {\n    c.admit(1);\n    Circuit::admit();\n\
        \x20   assert_eq!(admit(2), c.admit(3));\n    self.admit = 4;\n    let admit = 5;\n    Circuit { admit: 6 }\n}\n";
    assert_eq!(
        used(Language::Rust, text, "admit"),
        [
            "1:12 import",
            "1:28 import",
            "3:7 call of c in f",
            "4:14 call of Circuit in f",
            "5:16 call in f",
            "5:28 call of ? in f",
            "6:10 write of ? in f",
            "7:9 local in f",
            "8:15 write of ? in f",
        ]
    );
    assert_eq!(
        used(Language::Rust, text, "Circuit"),
        [
            "2:9 type in f",
            "2:21 type in f",
            "4:5 other in f",
            "8:5 type in f"
        ]
    );
}

#[test]
fn python_tells_calls_types_imports_and_writes_apart() {
    let text = "from net import admit\ndef f(c: admit, g=1):\n    admit(c, admit=2)\n    c.admit()\n    self.admit = 3\n\
        \x20   g = admit\n    for admit in c: pass\n";
    assert_eq!(
        used(Language::Python, text, "admit"),
        [
            "1:17 import of net",
            "2:10 type in f",
            "3:5 call in f",
            "4:7 call of c in f",
            "5:10 write of self in f",
            "6:9 other in f",
            "7:9 local in f",
        ]
    );
    assert_eq!(
        used(Language::Python, text, "g"),
        ["2:17 local in f", "6:5 local in f"]
    );
}

#[test]
fn typescript_tells_calls_types_imports_and_writes_apart() {
    let text = "import { Gate as G, admit } from './net';\nfunction f(g: Gate, { x }: Gate) {\n  new Gate();\n  this.admit();\n\
        \x20 g.admit = admit;\n  const admit2 = (admit) => admit;\n}\nexport { admit } from './other';\nclass B extends Gate {}\n";
    assert_eq!(
        used(Language::TypeScript, text, "Gate"),
        [
            "1:10 unbound of ./net",
            "2:15 type in f",
            "2:28 type in f",
            "3:7 call in f",
            "9:17 type in B",
        ]
    );
    assert_eq!(
        used(Language::TypeScript, text, "admit"),
        [
            "1:21 import of ./net",
            "4:8 call of self in f",
            "5:5 write of g in f",
            "5:13 other in f",
            "6:19 local in admit2",
            "6:29 other in admit2",
            "8:10 unbound of ./other",
        ]
    );
}

#[test]
fn jsx_elements_are_calls() {
    let text = "const A = () => <Button onClick={go}><Card.Row /></Button>;\n";
    assert_eq!(
        used(Language::Tsx, text, "Button"),
        ["1:18 call in A", "1:52 other in A"]
    );
    assert_eq!(used(Language::Tsx, text, "Row"), ["1:44 call of Card in A"]);
    assert_eq!(used(Language::Tsx, text, "go"), ["1:34 other in A"]);
}

#[test]
fn go_tells_packages_from_names() {
    let text = "package p\nimport \"a/net\"\nfunc f(c net.Circuit) {\n\tnet.Admit(1)\n\tadmit := net.Admit\n\tc.admit = Circuit{admit: 2}\n}\n";
    assert_eq!(
        used(Language::Go, text, "Admit"),
        ["4:6 call of net in f", "5:15 other of net in f"]
    );
    assert_eq!(
        used(Language::Go, text, "admit"),
        ["5:2 local in f", "6:4 write of c in f", "6:20 write in f"]
    );
    assert_eq!(
        used(Language::Go, text, "Circuit"),
        ["3:14 type of net in f", "6:12 type in f"]
    );
}

#[test]
fn java_tells_calls_from_constructions_and_types() {
    let text = "import a.Gate;\nclass A extends Gate {\n  Gate g = new Gate();\n  void f(Gate x) { admit(); this.admit(); x.admit(); g = x; }\n}\n";
    assert_eq!(
        used(Language::Java, text, "Gate"),
        [
            "1:10 import",
            "2:17 type in A",
            "3:3 type in A",
            "3:16 call in g",
            "4:10 type in f"
        ]
    );
    assert_eq!(
        used(Language::Java, text, "admit"),
        [
            "4:20 call in f",
            "4:34 call of self in f",
            "4:45 call of x in f"
        ]
    );
    assert_eq!(used(Language::Java, text, "g"), ["4:54 write in f"]);
}

#[test]
fn c_and_cpp_tell_calls_from_members() {
    let text = "int f(struct gate *g) {\n  admit(g);\n  g->admit = 1;\n  int admit = 2;\n  return g->admit;\n}\n";
    assert_eq!(
        used(Language::C, text, "admit"),
        [
            "2:3 call in f",
            "3:6 write of g in f",
            "4:7 local in f",
            "5:13 other of g in f"
        ]
    );
    assert_eq!(used(Language::C, text, "gate"), ["1:14 type in f"]);
    let text = "void f(net::Gate& g) { auto* x = new Gate(); g.admit(); net::Gate::admit(); this->admit(); }\n";
    assert_eq!(
        used(Language::Cpp, text, "Gate"),
        ["1:13 type of net in f", "1:38 call in f", "1:62 other in f"]
    );
    assert_eq!(
        used(Language::Cpp, text, "admit"),
        [
            "1:48 call of g in f",
            "1:68 call of Gate in f",
            "1:83 call of self in f"
        ]
    );
}

#[test]
fn c_sharp_tells_calls_from_types() {
    let text = "using Net;\nclass A : Gate {\n  Gate g = new Gate();\n  void F(Gate x) { Admit(); this.Admit(); x.Admit<int>(); x?.Admit(); g = x; }\n}\n";
    assert_eq!(
        used(Language::CSharp, text, "Gate"),
        [
            "2:11 type in A",
            "3:3 type in A",
            "3:16 call in g",
            "4:10 type in F"
        ]
    );
    assert_eq!(
        used(Language::CSharp, text, "Admit"),
        [
            "4:20 call in F",
            "4:34 call of self in F",
            "4:45 call of x in F",
            "4:62 call of ? in F",
        ]
    );
}

#[test]
fn ruby_tells_calls_from_constants() {
    let text = "class A < Gate\n  def f(x)\n    admit(1)\n    x.admit\n    self.admit\n    Gate.new\n    y = Gate\n  end\nend\n";
    assert_eq!(
        used(Language::Ruby, text, "admit"),
        [
            "3:5 call in f",
            "4:7 call of x in f",
            "5:10 call of self in f"
        ]
    );
    assert_eq!(
        used(Language::Ruby, text, "Gate"),
        ["1:11 type in A", "6:5 other in f", "7:9 other in f"]
    );
}

#[test]
fn php_tells_calls_from_types() {
    let text = "<?php\nuse Net\\Gate;\nclass A extends Gate {\n  function f(Gate $gate) { admit(); $this->admit(); Gate::admit(); new Gate(); $gate->admit = 1; }\n}\n";
    assert_eq!(
        used(Language::Php, text, "Gate"),
        [
            "2:9 import",
            "3:17 type in A",
            "4:14 type in f",
            "4:53 other in f",
            "4:72 call in f",
        ]
    );
    assert_eq!(
        used(Language::Php, text, "admit"),
        [
            "4:28 call in f",
            "4:44 call of self in f",
            "4:59 call of Gate in f",
            "4:87 write of ? in f",
        ]
    );
}
