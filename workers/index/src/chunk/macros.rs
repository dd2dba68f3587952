//! Macros before a declaration, which its grammar does not know and which are in no node.

use std::ops::Range;

/// The start of a declaration with the macros before it, each of them on the line before or the same.
/// `unread` has the words that are in no node, in the order of the text.
pub(super) fn begin(text: &str, unread: &[Range<usize>], declaration: usize) -> usize {
    let mut start = declaration;
    let before = unread.partition_point(|it| it.end <= declaration);
    for word in unread.get(..before).into_iter().flatten().rev() {
        let between = text.get(word.end..start).unwrap_or_default();
        let head = text.get(..word.start).unwrap_or_default();
        let line = head.rsplit('\n').next().unwrap_or_default();
        let is_line = between.matches('\n').count() < 2 && line.chars().all(is_of_macro);
        if !is_line || !between.chars().all(is_of_macro) {
            break;
        }
        start = word.start;
    }
    start
}

/// Whether a character may stand in the name or the arguments of a macro.
fn is_of_macro(it: char) -> bool {
    matches!(it, '_' | '(' | ')' | ',' | '"') || it.is_ascii_alphanumeric() || it.is_whitespace()
}
