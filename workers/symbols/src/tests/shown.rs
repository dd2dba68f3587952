//! What is shown of a definition: lines, signature, doc, and the marks for ranking.

use archway_repo::syntax::Language;

use super::symbols;
use crate::Definition;

fn definition(language: Language, text: &str, name: &str) -> Definition {
    let symbols = symbols(language, text);
    let found = symbols.definitions.iter().find(|it| *it.name == *name);
    found.unwrap().clone()
}

/// A text, a name in it, and its signature.
const SIGNATURES: [(Language, &str, &str, &str); 9] = [
    (
        Language::Rust,
        "#[inline]\npub fn admit<T>(\n    &self,\n    x: T,\n) -> bool\nwhere\n    T: Copy,\n{\n    true\n}\n",
        "admit",
        "pub fn admit<T>( &self, x: T, ) -> bool where T: Copy",
    ),
    (
        Language::Rust,
        "const LIMIT: u32 = 5;",
        "LIMIT",
        "const LIMIT: u32 = 5",
    ),
    (
        Language::Rust,
        "pub struct Circuit {\n    a: u8,\n}",
        "Circuit",
        "pub struct Circuit",
    ),
    (
        Language::Python,
        "@cached\nasync def admit(self, x: int = 1) -> bool:\n    return True\n",
        "admit",
        "async def admit(self, x: int = 1) -> bool",
    ),
    (
        Language::TypeScript,
        "export const admit = async (x: number): Promise<void> => {\n  go();\n};\n",
        "admit",
        "export const admit = async (x: number): Promise<void>",
    ),
    (
        Language::Go,
        "package p\nfunc (c *C) Admit(x int) error {\n}\n",
        "Admit",
        "func (c *C) Admit(x int) error",
    ),
    (
        Language::Java,
        "class A {\n  @Override\n  @Nullable\n  public int admit(int x) throws E {\n  }\n}",
        "admit",
        "public int admit(int x) throws E",
    ),
    (
        Language::C,
        "static int\nadmit(int x)\n{\n}\n",
        "admit",
        "static int admit(int x)",
    ),
    (
        Language::Ruby,
        "def admit(x, y = 1)\n  x\nend\n",
        "admit",
        "def admit(x, y = 1)",
    ),
];

#[test]
fn a_signature_is_one_line_without_the_body() {
    for (language, text, name, signature) in SIGNATURES {
        assert_eq!(
            *definition(language, text, name).signature,
            *signature,
            "{text}"
        );
    }
}

#[test]
fn a_long_signature_is_cut() {
    let long = format!("fn f({}) {{}}", "argument: u8, ".repeat(100));
    assert_eq!(
        definition(Language::Rust, &long, "f")
            .signature
            .chars()
            .count(),
        300
    );
}

#[test]
fn a_doc_is_the_first_sentence_of_the_comment_above() {
    for (language, text, doc) in [
        (
            Language::Rust,
            "/// Admits a call.\n/// Or not.\n#[inline]\nfn admit() {}",
            Some("Admits a call."),
        ),
        (Language::Rust, "//! The module.\nfn admit() {}", None),
        (Language::Rust, "// Far away.\n\nfn admit() {}", None),
        (
            Language::Python,
            "def admit():\n    \"\"\"Admits a\n    call, e.g.one. Or not.\"\"\"\n",
            Some("Admits a call, e.g.one."),
        ),
        (
            Language::Python,
            "# Admits a call\ndef admit(): pass",
            Some("Admits a call"),
        ),
        (
            Language::Java,
            "class A {\n  /**\n   * Admits a call.\n   * @param x it\n   */\n  @Override\n  void admit() {}\n}",
            Some("Admits a call."),
        ),
        (
            Language::CSharp,
            "class A {\n  /// <summary>\n  /// Admits a call.\n  /// </summary>\n  void admit() {}\n}",
            Some("Admits a call."),
        ),
        (
            Language::Go,
            "package p\n// Admits a call\n// for good.\nfunc admit() {}",
            Some("Admits a call for good."),
        ),
        (
            Language::C,
            "#include <a.h>\nint admit(void) { return 0; }",
            None,
        ),
    ] {
        let found = definition(language, text, "admit").doc;
        assert_eq!(found.as_deref(), doc, "{text}");
    }
}

#[test]
fn lines_cover_modifiers_and_body_and_name_the_name() {
    let text = "import x\n\n@cached\n@other\ndef admit():\n    pass\n\nz = 1\n";
    let found = definition(Language::Python, text, "admit");
    assert_eq!((found.lines, found.name_line), ((3, 6), 5));
    let text = "a = 1\n\nexport function admit() {\n}\n";
    let found = definition(Language::TypeScript, text, "admit");
    assert_eq!((found.lines, found.name_line), ((3, 4), 3));
}

#[test]
fn tests_and_prototypes_are_marked() {
    let text = "#[test]\nfn checked() {}\n#[cfg(test)]\nmod tests {\n    fn helper() {}\n}\nfn plain() {}\n";
    for (name, is_test) in [("checked", true), ("helper", true), ("plain", false)] {
        assert_eq!(
            definition(Language::Rust, text, name).is_test,
            is_test,
            "{name}"
        );
    }
    assert!(!definition(Language::C, "int admit(void);", "admit").is_whole);
    assert!(definition(Language::C, "int admit(void) {}", "admit").is_whole);
}

#[test]
fn a_head_that_says_so_marks_generated_files() {
    for (text, is_generated) in [
        (
            "// Code generated by protoc. DO NOT EDIT.\npackage p\n",
            true,
        ),
        ("// @generated by a script\n", true),
        ("// Generates code for other files.\n", false),
    ] {
        assert_eq!(
            symbols(Language::Go, text).is_generated,
            is_generated,
            "{text}"
        );
    }
}

#[test]
fn members_beside_their_type_are_inside_of_it() {
    let text = "impl A { fn f() {} }\nstruct A;\nimpl B { fn g() {} }\n";
    let symbols = symbols(Language::Rust, text);
    let parent = |name: &str| {
        let found = symbols.definitions.iter().find(|it| *it.name == *name);
        let parent = symbols.definition(found.unwrap().parent);
        parent.map(|it| it.name.to_string())
    };
    assert_eq!((parent("f"), parent("g")), (Some("A".to_owned()), None));
}
