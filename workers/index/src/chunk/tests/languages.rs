//! Declarations of compiled languages.

use super::*;

#[test]
fn rust_has_methods_of_impls_and_traits() {
    let text = r#"// Copyright someone
// Licensed somehow

//! Says what the module owns and why it is there.

use std::fmt;

const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// A thing.
#[derive(Debug)]
pub struct Thing<T> {
    a: T,
}

impl<T> fmt::Display for crate::Thing<T> {
    type Output = T;

    /// Shows it.
    #[inline]
    fn fmt(&self) {
        fn nested() {}
    }
}

/// What can be told.
pub trait Tell {
    fn announced(&self);
    /// Has a default.
    fn told(&self) -> u8 { 1 }
}

type Alias = u8;
macro_rules! make { () => {} }

mod inner {
    pub fn deep() {}
}
extern "C" {
    fn foreign(a: i32);
}"#;
    assert_eq!(
        outline("a.rs", text),
        [
            "Lines  4-4",
            "Lines  8-8",
            r#"Class Thing 10-14 doc "/// A thing.""#,
            r#"Method Thing.fmt 19-23 doc "/// Shows it.""#,
            r#"Interface Tell 26-28 doc "/// What can be told.""#,
            r#"Method Tell.told 29-30 doc "/// Has a default.""#,
            "Type Alias 33-33",
            "Function make 34-34",
            "Function inner.deep 37-37",
            "Function foreign 40-40",
        ]
    );
}

#[test]
fn go_methods_belong_to_their_receivers() {
    let text = "// Package p does things.
package p

import \"fmt\"

// Thing is one.
type Thing struct{ a int }

type (
	// Teller tells.
	Teller interface{ Tell() }
	Number int
)

// Tell tells.
func (t *Thing[T]) Tell() { fmt.Println() }
func (Thing) Other()      {}

// Not a comment of what is below.

func free() {}

const (
	FirstOfSeveral = iota
	SecondOfSeveral
)
";
    assert_eq!(
        outline("a.go", text),
        [
            r#"Class Thing 6-7 doc "// Thing is one.""#,
            r#"Interface Teller 10-11 doc "// Teller tells.""#,
            "Type Number 12-12",
            r#"Method Thing.Tell 15-16 doc "// Tell tells.""#,
            "Method Thing.Other 17-17",
            "Lines  19-19",
            "Function free 21-21",
            "Lines  23-26",
        ]
    );
}

#[test]
fn java_has_classes_in_classes() {
    let text = "/* Licensed to you */
package a.b;
import java.util.List;

/** A thing. */
@Named
public class Thing<T> extends Base {
  private int x;

  /** Makes it. */
  public Thing() { x = 1; }

  /** Tells. */
  @Override public void tell() {}

  abstract void announced();

  static class Node {
    int value;
    int get() { return value; }
  }
}

interface Teller { void a(); default void b() {} }
record Point(int x) { Point {} }
@interface Named { String value(); }
";
    assert_eq!(
        outline("A.java", text),
        [
            r#"Class Thing 5-8 doc "/** A thing. */""#,
            r#"Method Thing.Thing 10-11 doc "/** Makes it. */""#,
            r#"Method Thing.tell 13-14 doc "/** Tells. */""#,
            "Class Thing 16-16",
            "Class Thing.Node 18-19",
            "Method Node.get 20-20",
            "Interface Teller 24-24",
            "Method Teller.b 24-24",
            "Class Point 25-25",
            "Method Point.Point 25-25",
            "Interface Named 26-26",
        ]
    );
}

#[test]
fn c_sharp_properties_with_a_body_are_methods() {
    let text = "using System;
namespace N.M {
  /// <summary>A thing.</summary>
  [Serializable]
  public class Thing : Base {
    public int Auto { get; set; }
    public int Full { get { return 1; } }
    public int Arrow => 1;
    /// Tells.
    public void Tell() {}
    public Thing() {}
    public static Thing operator +(Thing a, Thing b) { return a; }
  }
  public interface ITeller { void Tell(); }
  public record Point(int X);
  public enum Color { Red }
  public delegate void Told(int a);
}
";
    assert_eq!(
        outline("a.cs", text),
        [
            r#"Class N.M.Thing 3-6 doc "/// <summary>A thing.</summary>""#,
            "Method Thing.Full 7-7",
            "Method Thing.Arrow 8-8",
            r#"Method Thing.Tell 9-10 doc "/// Tells.""#,
            "Method Thing.Thing 11-11",
            "Method Thing.+ 12-12",
            "Interface N.M.ITeller 14-14",
            "Class N.M.Point 15-15",
            "Class N.M.Color 16-16",
            "Type N.M.Told 17-17",
        ]
    );
}
