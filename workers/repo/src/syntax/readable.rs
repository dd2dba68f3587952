//! Texts that a grammar can read: what it cannot read is replaced at the same length, so that places in the
//! tree are those of the text.
//!
//! In C and C++ these are macros and lines of the preprocessor, in TypeScript ends of members. Both are
//! replaced only in and around items in which the tree has errors, and macros between `class` and a name: the
//! grammar takes them for the name, and sees no error.

mod branches;
mod broken;
mod conditions;
mod edits;
mod macros;
mod places;
mod separators;
mod tokens;
mod words;

use std::ops::Range;

use broken::BrokenBytes;
use edits::Edits;
use tokens::Tokens;
use tree_sitter::Node;

use super::{Language, failed::LeftOut};

/// A text as its grammar can read it.
pub(super) struct Readable {
    /// Of the same length.
    pub(super) text: Vec<u8>,
    pub(super) left_out: LeftOut,
}

/// The text as its grammar can read it. `root` is that of its tree, and `misread` what [`misread`] found in it. `None`
/// if nothing is to be replaced.
pub(super) fn readable(
    language: Language,
    text: &[u8],
    root: Node<'_>,
    misread: Vec<Range<usize>>,
) -> Option<Readable> {
    match language {
        Language::TypeScript | Language::Tsx => separators::ended(std::str::from_utf8(text).ok()?),
        Language::C | Language::Cpp => {
            let tokens = Tokens::of(text);
            let mut edits = Edits::of(text, &tokens);
            let errors = broken::errors(root);
            conditions::settle(text, &tokens, &BrokenBytes::of(errors.clone()), &mut edits);
            let broken = BrokenBytes::of([errors, misread].concat());
            macros::drop(text, &tokens, &broken, &mut edits);
            edits.done(text)
        }
        _ => None,
    }
}

/// Places in bytes that the tree has no error for, though it reads them as what they are not.
pub(super) fn misread(language: Language, text: &[u8], root: Node<'_>) -> Vec<Range<usize>> {
    match language {
        Language::C | Language::Cpp => broken::misread(text, root),
        _ => Vec::new(),
    }
}
