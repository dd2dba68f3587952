//! Macros before a declaration, which its grammar does not know and which are in no node.

use std::ops::Range;

/// The start of a declaration with the macros before it, each of them on the line before or the same.
/// `unread` has the words that are in no node, in the order of the text.
pub(super) fn begin(text: &str, unread: &[Range<usize>], declaration: usize) -> usize {
    let (mut start, mut line_start) = (declaration, declaration);
    let before = unread.partition_point(|it| it.end <= declaration);
    for word in unread.get(..before).into_iter().flatten().rev() {
        let between = text.get(word.end..start).unwrap_or_default();
        if !between.chars().all(is_of_macro) || between.matches('\n').count() > 1 {
            break;
        }
        // The words of a line have the same head.
        if word.start < line_start {
            let head = text.get(..word.start).unwrap_or_default();
            line_start = head.rfind('\n').map_or(0, |at| at + 1);
            let head = head.get(line_start..).unwrap_or_default();
            if !head.chars().all(is_of_macro) {
                break;
            }
        }
        start = word.start;
    }
    start
}

/// Whether a character may stand in the name or the arguments of a macro.
fn is_of_macro(it: char) -> bool {
    matches!(it, '_' | '(' | ')' | ',' | '"') || it.is_ascii_alphanumeric() || it.is_whitespace()
}

#[cfg(test)]
mod tests {
    use tokio::time::{Duration, Instant};

    use super::begin;

    #[test]
    fn many_macros_of_a_line_take_little_time() {
        let text = "AAA ".repeat(250_000) + "int f();";
        let unread: Vec<_> = (0..250_000).map(|at| at * 4..at * 4 + 3).collect();
        let began = Instant::now();
        assert_eq!(begin(&text, &unread, 1_000_000), 0);
        assert!(began.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn macros_behind_other_code_stay_with_it() {
        let text = "x = AAA int f();\nBBB\nCCC int g();";
        let words = |names: &[&str]| -> Vec<_> {
            let place = |name: &&str| text.find(name).map(|at| at..at + 3);
            names.iter().filter_map(place).collect()
        };
        assert_eq!(begin(text, &words(&["AAA"]), 8), 8);
        assert_eq!(begin(text, &words(&["AAA", "BBB", "CCC"]), 25), 17);
    }
}
