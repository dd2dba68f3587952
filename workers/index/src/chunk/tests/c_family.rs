//! Declarations of C and C++.

use super::outline;

#[test]
fn c_names_are_found_in_their_declarators() {
    let text = "#include <stdio.h>
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define LONG(a) \\
  do { a; } \\
  while (0)

/* A thing. */
struct thing { int a; struct { int b; } c; };
typedef struct node { int v; } node_t;
typedef unsigned char u8;
enum color { RED };

/**
 * Finds it.
 */
static int *find(int a)
{
\treturn 0;
}
int (*chosen(void))(int) { return 0; }
struct thing used(struct thing *p) { return *p; }
int announced_only(struct thing *first, int second);
";
    assert_eq!(
        outline("a.c", text),
        [
            "Function LONG 3-5",
            r#"Class thing 7-8 doc "/* A thing. */""#,
            "Class node_t 9-9",
            "Type u8 10-10",
            "Class color 11-11",
            r#"Function find 13-19 doc "/**\n * Finds it.\n */""#,
            "Function chosen 20-20",
            "Function used 21-21",
            "Lines  22-22",
        ]
    );
}

#[test]
fn cpp_members_belong_to_their_class_wherever_defined() {
    let text = "namespace outer { namespace inner {
/// A list.
template <typename T>
class List : public Base {
 public:
  List() = default;
  /// How many.
  int size() const { return 1; }
  using value_type = T;
};
} }
int outer::List<int>::at(int i) { return i; }
Thing::~Thing() {}
bool Thing::operator==(const Thing& o) { return true; }
Thing::operator bool() const { return true; }
template <class T> T larger(T a, T b) { return a; }
using Alias = int;
TEST(ListTest, IsEmptyAtFirst) { EXPECT_TRUE(true); }
extern \"C\" { void plain(void) {} }
";
    assert_eq!(
        outline("a.cpp", text),
        [
            r#"Class inner.List 2-6 doc "/// A list.""#,
            r#"Method List.size 7-8 doc "/// How many.""#,
            "Method List.at 12-12",
            "Method Thing.~Thing 13-13",
            "Method Thing.operator== 14-14",
            "Method Thing.operator bool 15-15",
            "Function larger 16-16",
            "Type Alias 17-17",
            "Function TEST(ListTest, IsEmptyAtFirst) 18-18",
            "Function plain 19-19",
        ]
    );
}

#[test]
fn constructors_of_all_caps_classes_are_not_macros() {
    let text = "class QA {
 public:
  QA() {}
  ~QA() {}
  SLOT(int, clicked) { return; }
};
template <> class URL<int> { URL() {} };
URL::URL(int x) {}
URL::~URL() {}
TEST(URL, Parses) {}
";
    assert_eq!(
        outline("a.cpp", text),
        [
            "Class QA 1-2",
            "Method QA.QA 3-3",
            "Method QA.~QA 4-4",
            "Method QA.SLOT(int, clicked) 5-5",
            "Class URL<int> 7-7",
            "Method URL<int>.URL 7-7",
            "Method URL.URL 8-8",
            "Method URL.~URL 9-9",
            "Function TEST(URL, Parses) 10-10",
        ]
    );
}

#[test]
fn a_header_is_cpp_if_c_cannot_parse_it() {
    let text = "class Thing {\n public:\n  int tell() { return 1; }\n};\n";
    assert_eq!(
        outline("a.h", text),
        ["Class Thing 1-2", "Method Thing.tell 3-3"]
    );
    let text = "/* Tells. */\nint tell(int class) { return class; }\n";
    let outlined = [r#"Function tell 1-2 doc "/* Tells. */""#];
    assert_eq!(outline("a.h", text), outlined);
}

#[test]
fn macros_belong_to_the_declaration_behind_them() {
    let text = "#pragma once
NET_BEGIN
namespace net {
class NET_API Gate : public Base {
 public:
  NET_INLINE void open(int left) NET_NOEXCEPT {
    while (left > 0) { left -= step(left); }
  }
};
#ifdef NET_WIDE
NET_FUNC int pass(int left, int right) {
#else
NET_FUNC int pass(int left) {
#endif
  return left;
}
}
NET_END
";
    assert_eq!(
        outline("gate.h", text),
        [
            "Class net.Gate 4-5",
            "Method Gate.open 6-8",
            "Lines net. 10-12",
            "Function net.pass 13-16"
        ]
    );
}

#[test]
fn a_comment_stays_with_its_declaration_around_macros() {
    let text = "int first;\n\n/// Opens it.\nNET_INLINE\nNET_HOT(1)\nvoid open(int a) NET_NOEXCEPT {\n  close(a);\n}\n\n\
        /// Ends.\n#ifdef NET_WIDE\n#endif\nvoid end(int a) NET_NOEXCEPT {\n  close(a);\n}\n";
    let outlined = outline("a.cpp", text);
    let expected = r#"Function open 3-8 doc "/// Opens it.""#.to_owned();
    assert!(outlined.contains(&expected), "{outlined:?}");
    assert!(
        outlined.contains(&"Function end 13-15".to_owned()),
        "{outlined:?}"
    );
}
