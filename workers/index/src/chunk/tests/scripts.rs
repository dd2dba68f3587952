//! Declarations of scripting languages.

use super::*;

#[test]
fn javascript_functions_take_the_names_of_their_bindings() {
    let text = "const { isAbsolute, normalize } = require('node:path');
/** Adds. */
export const add = async (a, b) => a + b;
const one = 1, two = () => 2;
export default function () { return 1; }
exports.find = function find() { return 1; };
module.exports = function create() {};
module.exports = () => {};
/** Bars. */
Foo.prototype.bar = function () { return this; };
app.handle = function handle(req) {};
const api = {
  /** Gets. */
  get() { return 1; },
  other: function () {
    return 2;
  },
  short: () => 1,
};
const Late = class { tell() {} };
function* steps() {}
describe('it', () => {
  it('is a test that says what it is about', () => {});
});
";
    assert_eq!(
        outline("a.js", text),
        [
            r#"Function add 2-3 doc "/** Adds. */""#,
            "Function two 4-4",
            "Function  5-5",
            "Function find 6-6",
            "Function create 7-7",
            "Function  8-8",
            r#"Method Foo.bar 9-10 doc "/** Bars. */""#,
            "Method app.handle 11-11",
            r#"Method api.get 13-14 doc "/** Gets. */""#,
            "Method api.other 15-17",
            "Class Late 20-20",
            "Method Late.tell 20-20",
            "Function steps 21-21",
            "Lines  22-24",
        ]
    );
}

#[test]
fn typescript_has_interfaces_types_and_decorated_members() {
    let text = "import x from 'y';
/** A thing. */
@Component({})
export class Thing extends Base {
  @Input() name: string;
  /** Tells. */
  @HostListener('x')
  tell(): void { return; }
  handler = (e) => {
    return e;
  };
}
export interface Teller { tell(): void }
export type Name = string | number;
export enum Color { Red }
namespace Inner { export function deep() {} }
declare module 'other' { export function far(): void; }
declare function announced(a: string): void;
abstract class Half { abstract a(): void; b() {} }
";
    let expected = [
        r#"Class Thing 2-5 doc "/** A thing. */""#,
        r#"Method Thing.tell 6-8 doc "/** Tells. */""#,
        "Method Thing.handler 9-11",
        "Interface Teller 13-13",
        "Type Name 14-14",
        "Class Color 15-15",
        "Function Inner.deep 16-16",
        "Function other.far 17-17",
        "Function announced 18-18",
        "Class Half 19-19",
        "Method Half.b 19-19",
    ];
    assert_eq!(outline("a.ts", text), expected);
    assert_eq!(outline("a.mts", text), expected);
    let component = "export const App = () => <div>hello</div>;\n";
    assert_eq!(outline("a.tsx", component), ["Function App 1-1"]);
}

#[test]
fn python_has_docstrings_and_decorators() {
    let text = "#!/usr/bin/env python
\"\"\"Says what this module is about.\"\"\"
import os
from a import b

LIMITS = {\"first\": 1, \"second\": 2, \"third\": 3}

# Above.
@decorator
def find(x):
    \"\"\"Finds it.\"\"\"
    def inner(): pass
    return x

# Only a comment.
def commented(): pass

class Thing(Base):
    \"\"\"A thing.\"\"\"
    attribute = 1

    # Tells.
    async def tell(self):
        pass

    class Inner:
        def deep(self): pass

    late_attribute_with_some_substance = 12345

type Alias = int
if True:
    def conditional(): pass
";
    assert_eq!(
        outline("a.py", text),
        [
            "Lines  1-2",
            "Lines  6-6",
            r#"Function find 8-13 doc "\"\"\"Finds it.\"\"\"""#,
            r##"Function commented 15-16 doc "# Only a comment.""##,
            r#"Class Thing 18-20 doc "\"\"\"A thing.\"\"\"""#,
            r##"Method Thing.tell 22-24 doc "# Tells.""##,
            "Class Thing.Inner 26-26",
            "Method Inner.deep 27-27",
            "Class Thing 29-29",
            "Type Alias 31-31",
            "Function conditional 33-33",
        ]
    );
}

#[test]
fn ruby_methods_belong_to_their_class_or_module() {
    let text = "require_relative 'some/other/file/of/the/same'
module Outer
  # A thing.
  class Thing < Base
    attr_reader :x
    # Tells.
    def tell
      1
    end
    def self.make; 2; end
    class << self
      def other(x)
        x
      end
    end
    private def hidden
      3
    end
  end
  def mixed_in
    1
  end
end
def top
  2
end
";
    assert_eq!(
        outline("a.rb", text),
        [
            r##"Class Outer.Thing 3-5 doc "# A thing.""##,
            r##"Method Thing.tell 6-9 doc "# Tells.""##,
            "Method Thing.make 10-10",
            "Method Thing.other 12-14",
            "Method Thing.hidden 16-18",
            "Method Outer.mixed_in 20-22",
            "Function top 24-26",
        ]
    );
}

#[test]
fn php_has_attributes_traits_and_enums() {
    let text = "<?php
namespace A\\B;
use X\\Y;

/** A thing. */
#[Attribute]
class Thing extends Base {
    private $x;
    /** Tells. */
    public function tell() { return 1; }
    abstract function announced();
}
interface Teller { function a(); }
trait Mixin { function b() { return 1; } }
enum Color { case Red; }
/** Finds. */
function find() { return 1; }
";
    assert_eq!(
        outline("a.php", text),
        [
            r#"Class Thing 5-8 doc "/** A thing. */""#,
            r#"Method Thing.tell 9-10 doc "/** Tells. */""#,
            "Class Thing 11-12",
            "Interface Teller 13-13",
            "Interface Mixin 14-14",
            "Method Mixin.b 14-14",
            "Class Color 15-15",
            r#"Function find 16-17 doc "/** Finds. */""#,
        ]
    );
}
