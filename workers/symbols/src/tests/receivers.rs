//! What stands before a name: members of the type around are told from what is in scope.

use archway_repo::syntax::Language;

use super::used;

const RUST: &str = "fn admit() {}\nimpl Gate {\n    fn f(&self) {\n        self.admit();\n        Self::admit();\n\
    \x20       admit();\n        self::admit();\n        super::admit();\n        Some(self).admit();\n    }\n}\n\
    mod inner {\n    fn g() {\n        super::admit();\n    }\n}\n";

#[test]
fn a_member_of_self_in_rust_is_of_its_type() {
    assert_eq!(
        used(Language::Rust, RUST, "admit"),
        [
            "4:14 call of Gate in f",
            "5:15 call of Gate in f",
            "6:9 call in f",
            "7:15 call in f",
            "8:16 call of ? in f",
            "9:20 call of ? in f",
            "14:16 call in g",
        ]
    );
}

#[test]
fn a_member_of_self_in_a_macro_is_of_its_type() {
    let text = "trait Gate {\n    fn f(&self) {\n        assert!(self.admit() || Self::admit());\n\
        \x20       assert!(admit(), self::admit(), super::admit(), myself.admit(), a::admit());\n    }\n}\n";
    assert_eq!(
        used(Language::Rust, text, "admit"),
        [
            "3:22 call of Gate in f",
            "3:39 call of Gate in f",
            "4:17 call in f",
            "4:32 call in f",
            "4:48 call of ? in f",
            "4:64 call of ? in f",
            "4:76 call of ? in f",
        ]
    );
}

#[test]
fn self_outside_of_a_type_is_of_no_known_one() {
    let text = "fn f() {\n    self.admit();\n}\nimpl<T> Gate<T> {\n    fn f(&self) { self.admit() }\n}\n\
        impl Pass for &net::Door<u8> {\n    fn f(&self) { self.admit() }\n}\n";
    assert_eq!(
        used(Language::Rust, text, "admit"),
        [
            "2:10 call of ? in f",
            "5:24 call of Gate in f",
            "8:24 call of Door in f"
        ]
    );
}

#[test]
fn a_member_of_the_class_above_is_none_of_the_own() {
    for (language, text) in [
        (
            Language::TypeScript,
            "class A extends B { f() { super.admit(); } }",
        ),
        (
            Language::Java,
            "class A extends B { void f() { super.admit(); } }",
        ),
        (
            Language::CSharp,
            "class A : B { void f() { base.admit(); } }",
        ),
        (
            Language::Python,
            "class A(B):\n  def f(self): super().admit()",
        ),
        (
            Language::Php,
            "<?php class A extends B { function f() { parent::admit(); } }",
        ),
    ] {
        let found = used(language, text, "admit");
        let found: Vec<&str> = found.iter().filter_map(|it| it.split(' ').nth(3)).collect();
        assert_eq!(found, ["?"], "{language:?}");
    }
    let text = "<?php class A { function f() { self::admit(); static::admit(); } }";
    assert_eq!(
        used(Language::Php, text, "admit"),
        ["1:38 call of self in f", "1:55 call of self in f"]
    );
}

#[test]
fn private_members_of_scripts_are_used_by_their_names() {
    let text = "class Gate {\n  #open = 1;\n  #admit() { return this.#open; }\n  pass(other) {\n    this.#admit();\n\
        \x20   other.#open = 2;\n    return #open in other;\n  }\n}\n";
    for language in [Language::JavaScript, Language::TypeScript, Language::Tsx] {
        let open = [
            "3:26 other of self in #admit",
            "6:11 write of other in pass",
            "7:12 other of ? in pass",
        ];
        assert_eq!(used(language, text, "#open"), open, "{language:?}");
        let admit = ["5:10 call of self in pass"];
        assert_eq!(used(language, text, "#admit"), admit, "{language:?}");
    }
}
