//! The language of a header, which its text says.

use archway_repo::{
    syntax::Language::{self, C, Cpp},
    testing::cancel,
};

use super::defined;
use crate::Parsed;

fn language(text: &str) -> Language {
    Parsed::of(C, text.as_bytes(), &cancel()).unwrap().language
}

#[test]
fn headers_of_cpp_are_known_by_their_text() {
    for text in [
        "namespace net {\nint f();\n}\n",
        "template <class T> T f(T x);\n",
        "class Gate;\n",
        "  class NET_API Gate final {\n",
        "struct Gate {\n public:\n  int open;\n};\n",
        "struct Gate {\n  virtual void open();\n};\n",
        "std::string f(int x);\n",
        "// C's\nusing size = unsigned long;\n",
        "/* \\ \" */ char c = '\"'; std::size_t x; // \"\n",
    ] {
        assert_eq!(language(text), Cpp, "{text}");
    }
}

#[test]
fn headers_of_c_stay_c() {
    for text in [
        "int f(void);\n",
        "// class Gate, std::string\nint f(void);\n",
        "/*\nclass Gate;\nnamespace of names\ntemplate <x>\nstd::x\n*/\nint f(void);\n",
        "const char *any = \"::1\";\nchar quote = '\"';\nconst char *x = \"std::x \\\" ::\";\n",
        "#error don't use namespace::x'\nint f(void);\n",
        "void f(int class) {\n  class = 1;\n}\n",
        "[[gnu::unused]] int f(void);\n",
        "struct Gate { int class_; int using_it; };\n",
    ] {
        assert_eq!(language(text), C, "{text}");
    }
    let parsed = Parsed::of(Language::Rust, b"mod a { use b::c; }", &cancel());
    assert_eq!(parsed.unwrap().language, Language::Rust);
}

#[test]
fn a_header_of_cpp_has_its_members() {
    let text = "template <> struct formatter<Gate> {\n  int open;\n};\n";
    let expected = ["+struct formatter", "+field formatter::open"];
    assert_eq!(defined(C, text), expected);
    let text = "class Gate : public Base {\n  int open_;\n  bool admit() const;\n};\n";
    let expected = ["+class Gate", "+field Gate::open_", "+method Gate::admit"];
    assert_eq!(defined(C, text), expected);
}
