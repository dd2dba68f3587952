//! Texts that a grammar can read: what it cannot read is replaced at the same length, so that places in the
//! tree are those of the text.
//!
//! In C and C++ these are macros and lines of the preprocessor, in TypeScript ends of members. Macros are
//! replaced only in items in which the tree has errors. Between `class` and a name they are replaced
//! everywhere: the grammar takes them for the name, and sees no error.

mod broken;
mod conditions;
mod edits;
mod macros;
mod places;
mod separators;
mod tokens;
mod words;

use std::ops::Range;

use edits::Edits;
use memchr::memmem;
use tokens::{Tokens, is_of_word};
use tree_sitter::Node;

use super::Language;

/// A text as its grammar can read it.
pub(super) struct Readable {
    /// Of the same length.
    pub(super) text: Vec<u8>,
    /// Words that are spaces in it, in the order of the text.
    pub(super) unread: Vec<Range<usize>>,
}

/// The text as its grammar can read it; `root` is that of its tree. `None` if nothing is to be replaced. A
/// text without errors keeps its conditions.
pub(super) fn readable(language: Language, text: &[u8], root: Node<'_>) -> Option<Readable> {
    match language {
        Language::TypeScript | Language::Tsx => {
            let text = separators::ended(std::str::from_utf8(text).ok()?)?;
            let unread = Vec::new();
            Some(Readable { text, unread })
        }
        Language::C | Language::Cpp => {
            let tokens = Tokens::of(text);
            let mut edits = Edits::of(text, &tokens);
            let broken = broken::items(root);
            if root.has_error() {
                conditions::settle(text, &tokens, &mut edits);
            }
            macros::drop(text, &tokens, &broken, &mut edits);
            edits.done(text)
        }
        _ => None,
    }
}

/// Whether a tree without errors may be wrong: in `class MACRO name {` the macro is taken for the name.
pub(super) fn is_misread(language: Language, text: &[u8]) -> bool {
    let is_cpp = matches!(language, Language::C | Language::Cpp);
    let keys: [&[u8]; 3] = [b"class ", b"struct ", b"union "];
    is_cpp
        && keys.iter().any(|key| {
            let mut found = memmem::find_iter(text, *key);
            found.any(|at| text.get(at + key.len()..).is_some_and(begins_with_macro))
        })
}

/// Whether a word without small letters comes first, and another word next.
fn begins_with_macro(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let length = text.iter().take_while(|it| is_of_word(**it)).count();
    let (word, rest) = text.split_at(length);
    if rest.trim_ascii_start().starts_with(b"final") {
        return false;
    }
    let is_upper = length > 2 && !word.iter().any(u8::is_ascii_lowercase);
    let next = rest.trim_ascii_start().first();
    is_upper && next.is_some_and(|it| *it == b'(' || (is_of_word(*it) && !rest.starts_with(&[*it])))
}
