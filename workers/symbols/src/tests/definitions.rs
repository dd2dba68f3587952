//! Definitions, language by language: kind, container, and whether they are exported.

use archway_repo::syntax::Language;

use super::defined;

#[test]
fn rust_has_impls_traits_macros_and_constants() {
    let text = "pub struct Circuit { pub open: bool, count: u8 }\n\
        enum State { Open, Closed(u8) }\n\
        pub trait Gate { type Out; fn pass(&self) -> bool; }\n\
        impl Circuit {\n    pub fn admit(&self) { fn inner() {} let local = 1; }\n}\n\
        impl Gate for Circuit { fn pass(&self) -> bool { true } }\n\
        const LIMIT: u32 = 5;\nstatic mut TABLE: u8 = 1;\ntype Short = Vec<u8>;\n\
        macro_rules! shout { () => {}; }\nmod inner_mod { pub fn deep() {} }\nmod elsewhere;\n\
        union Raw { a: u8 }\n";
    let expected = [
        "+struct Circuit",
        "+field Circuit::open",
        "field Circuit::count",
        "enum State",
        "+constant State::Open",
        "+constant State::Closed",
        "+trait Gate",
        "+type Gate::Out",
        "+method Gate::pass",
        "+method Circuit::admit",
        "function Circuit::admit::inner",
        "+method Circuit::pass",
        "constant LIMIT",
        "variable TABLE",
        "type Short",
        "macro shout",
        "module inner_mod",
        "+function inner_mod::deep",
        "module elsewhere",
        "struct Raw",
        "field Raw::a",
    ];
    assert_eq!(defined(Language::Rust, text), expected);
}

#[test]
fn python_has_classes_constants_and_fields() {
    let text = "LIMIT = 5\n_cache, other = {}, 1\nLIMIT = 6\n\n\
        @decorated\nclass Circuit(Base):\n    open: bool = True\n    def admit(self, x):\n        y = 1\n\
        \x20       self.z = 2\n        def inner(): pass\n    async def _wait(self): ...\n\n\
        def build(): return lambda q: q\ntype Alias = int\n";
    let expected = [
        "+constant LIMIT",
        "variable _cache",
        "+variable other",
        "+class Circuit",
        "+field Circuit.open",
        "+method Circuit.admit",
        "+function Circuit.admit.inner",
        "method Circuit._wait",
        "+function build",
        "+type Alias",
    ];
    assert_eq!(defined(Language::Python, text), expected);
}

#[test]
fn scripts_have_functions_in_bindings_and_exports() {
    let text = "export default class Circuit { #open = 1; admit = () => {}; static make() {} }\n\
        export const LIMIT = 5, other = function () {};\nlet counter = 0;\nfunction* each() { const local = 1; }\n\
        exports.run = function () {};\nCircuit.prototype.close = () => 1;\nconst fs = require('fs');\n\
        const handlers = { onOpen() {}, onClose: () => 2, size: 1 };\nfunction listed() {}\nexport { listed };\n";
    let expected = [
        "+class Circuit",
        "field Circuit.#open",
        "+method Circuit.admit",
        "+method Circuit.make",
        "+constant LIMIT",
        "+function other",
        "variable counter",
        "function each",
        "+function run",
        "method Circuit.close",
        "constant handlers",
        "+method handlers.onOpen",
        "+method handlers.onClose",
        "+function listed",
    ];
    assert_eq!(defined(Language::JavaScript, text), expected);
}

#[test]
fn typescript_has_interfaces_types_enums_and_namespaces() {
    let text = "export interface Gate { open: boolean; pass(x: number): void }\n\
        type Short = { a: string };\nexport enum State { Open, Closed = 2 }\n\
        namespace Deep { export function f() {} }\nabstract class Base { abstract go(): void; private n = 1; }\n\
        declare function outside(): void;\nexport const Button = (p: { x: number }) => p.x;\n";
    let expected = [
        "+interface Gate",
        "+field Gate.open",
        "+method Gate.pass",
        "type Short",
        "+field Short.a",
        "+enum State",
        "+constant State.Open",
        "+constant State.Closed",
        "module Deep",
        "+function Deep.f",
        "class Base",
        "+method Base.go",
        "field Base.n",
        "function outside",
        "+function Button",
    ];
    for language in [Language::TypeScript, Language::Tsx] {
        assert_eq!(defined(language, text), expected);
    }
}

#[test]
fn go_has_receivers_and_groups() {
    let text = "package p\n\nconst (\n\tLimit = 5\n\tother = 6\n)\nvar a, B = 1, 2\n\
        type Circuit struct { Open bool; count, total int }\ntype Gate interface { Pass() bool }\ntype Short = int\n\
        func (c *Circuit) Admit(x int) { var local = 1; _ = local }\nvar run = func() { var inner int; const limit = 1 }\nfunc build[T any]() {}\n";
    let expected = [
        "+constant Limit",
        "constant other",
        "variable a",
        "+variable B",
        "+struct Circuit",
        "+field Circuit.Open",
        "field Circuit.count",
        "field Circuit.total",
        "+interface Gate",
        "+method Gate.Pass",
        "+type Short",
        "+method Circuit.Admit",
        "variable run",
        "function build",
    ];
    assert_eq!(defined(Language::Go, text), expected);
}

#[test]
fn java_has_members_of_every_kind() {
    let text = "package p;\npublic class Circuit<T> {\n  public static final int LIMIT = 5;\n  private int a, b;\n\
        \x20 public Circuit() {}\n  @Override protected void admit(int x) { int local = 1; }\n\
        \x20 enum State { OPEN, CLOSED }\n}\ninterface Gate { int MAX = 1; boolean pass(); }\n\
        @interface Mark { String value(); }\nrecord Point(int x) {}\n";
    let expected = [
        "+class Circuit",
        "+constant Circuit.LIMIT",
        "field Circuit.a",
        "field Circuit.b",
        "+method Circuit.Circuit",
        "+method Circuit.admit",
        "enum Circuit.State",
        "+constant Circuit.State.OPEN",
        "+constant Circuit.State.CLOSED",
        "interface Gate",
        "+constant Gate.MAX",
        "+method Gate.pass",
        "interface Mark",
        "+method Mark.value",
        "class Point",
    ];
    assert_eq!(defined(Language::Java, text), expected);
}

#[test]
fn c_has_prototypes_macros_and_typedefs() {
    let text = "#define LIMIT 5\n#define TWICE(x) ((x) * 2)\nstruct point { int x, *y; };\n\
        typedef struct { int a; } pair_t;\ntypedef int (*callback)(int);\nenum state { OPEN, CLOSED = 2 };\n\
        static int counter = 1;\nextern int elsewhere;\nint declared(int);\n\
        static char *made(struct point *p, int n) { int local = 2; return 0; }\n";
    let expected = [
        "+macro LIMIT",
        "+macro TWICE",
        "+struct point",
        "+field point::x",
        "+field point::y",
        "+field a",
        "+type pair_t",
        "+type callback",
        "+enum state",
        "+constant state::OPEN",
        "+constant state::CLOSED",
        "variable counter",
        "+function declared",
        "function made",
    ];
    assert_eq!(defined(Language::C, text), expected);
}

#[test]
fn cpp_has_namespaces_templates_and_outer_members() {
    let text = "namespace net { template <class T> class Circuit : Base { public: Circuit(); ~Circuit() {} \
        bool admit(int x) const; int open_; }; using Short = int; }\n\
        bool net::Circuit::admit(int x) const { return x; }\n\
        template <typename T> T twice(T x) { return x; }\nbool operator==(const A& a, const B& b) { return true; }\n";
    let expected = [
        "+module net",
        "+class net::Circuit",
        "+method net::Circuit::Circuit",
        "+method net::Circuit::~Circuit",
        "+method net::Circuit::admit",
        "+field net::Circuit::open_",
        "+type net::Short",
        "+method net::Circuit::admit",
        "+function twice",
        "+function operator==",
    ];
    assert_eq!(defined(Language::Cpp, text), expected);
}

#[test]
fn c_sharp_has_namespaces_properties_and_delegates() {
    let text = "namespace A.B;\npublic class Circuit : Base {\n  public const int Limit = 5;\n  private int a, b;\n\
        \x20 public bool Open { get; set; }\n  public event Action Done;\n  public Circuit() {}\n\
        \x20 protected void Admit(int x) { int local = 1; void Inner() {} }\n}\n\
        internal enum State { Open }\npublic delegate void Handler(int x);\npublic record Point(int X);\nstruct Raw {}\n";
    let expected = [
        "+module A.B",
        "+class A.B.Circuit",
        "+constant A.B.Circuit.Limit",
        "field A.B.Circuit.a",
        "field A.B.Circuit.b",
        "+field A.B.Circuit.Open",
        "+field A.B.Circuit.Done",
        "+method A.B.Circuit.Circuit",
        "+method A.B.Circuit.Admit",
        "function A.B.Circuit.Admit.Inner",
        "+enum A.B.State",
        "+constant A.B.State.Open",
        "+type A.B.Handler",
        "+class A.B.Point",
        "+struct A.B.Raw",
    ];
    assert_eq!(defined(Language::CSharp, text), expected);
}

#[test]
fn ruby_has_modules_singletons_and_constants() {
    let text = "module Net\n  LIMIT = 5\n  class Circuit < Base\n    attr_reader :open, :closed\n    def admit?(x)\n      y = call(:z)\n    end\n\
        \x20   def self.make; end\n    def open=(value); end\n    alias_method :shut, :make\n    alias pass admit?\n\
        \x20 end\nend\nclass Net::Other; end\ndef build; end\n";
    let expected = [
        "+module Net",
        "+constant Net::LIMIT",
        "+class Net::Circuit",
        "+field Net::Circuit::open",
        "+field Net::Circuit::closed",
        "+method Net::Circuit::admit?",
        "+method Net::Circuit::make",
        "+method Net::Circuit::open=",
        "+method Net::Circuit::shut",
        "+method Net::Circuit::pass",
        "+class Net::Other",
        "+function build",
    ];
    assert_eq!(defined(Language::Ruby, text), expected);
}

#[test]
fn php_has_traits_properties_and_cases() {
    let text = "<?php\nnamespace App\\Net;\nconst LIMIT = 5;\nabstract class Circuit extends Base {\n  const MAX = 1;\n\
        \x20 private $open = true;\n  public function __construct(private int $size) { $local = 1; }\n\
        \x20 protected static function admit($x) {}\n}\ninterface Gate { public function pass(); }\ntrait Loud {}\n\
        enum State: string { case Open = 'o'; }\nfunction build() {}\n";
    let expected = [
        "+module App\\Net",
        "+constant App\\Net::LIMIT",
        "+class App\\Net::Circuit",
        "+constant App\\Net::Circuit::MAX",
        "field App\\Net::Circuit::open",
        "+method App\\Net::Circuit::__construct",
        "field App\\Net::Circuit::__construct::size",
        "method App\\Net::Circuit::admit",
        "+interface App\\Net::Gate",
        "+method App\\Net::Gate::pass",
        "+trait App\\Net::Loud",
        "+enum App\\Net::State",
        "+constant App\\Net::State::Open",
        "+function App\\Net::build",
    ];
    assert_eq!(defined(Language::Php, text), expected);
}

#[test]
fn variables_of_a_block_are_local_whatever_is_around() {
    let text = "BOGUS(x\nstatic int f(a, b) int a; int b; {\n  int inner;\n}\n";
    let found = defined(Language::C, text);
    assert!(!found.iter().any(|it| it.contains("inner")), "{found:?}");
}

#[test]
fn ambient_values_are_defined() {
    let expected = ["constant LIMIT"];
    assert_eq!(
        defined(Language::TypeScript, "declare const LIMIT: number;\n"),
        expected
    );
}
