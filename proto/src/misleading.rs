//! The characters that could mislead a reader about the text, and how they are escaped.
//!
//! There is one list: workers escape them in text by others, gateways in what a refusal repeats, and the
//! command line and the log in everything that people read.
//!
//! Joiners (U+200C, U+200D) and the variation selectors FE00–FE0F are not included, because languages and
//! emoji need them; nor are tabs and line ends, because text consists of them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` with every misleading character written as `\u{…}`, and their number.
pub fn escape(text: &str) -> (Cow<'_, str>, u64) {
    replace(text, is_misleading, |character, shown| {
        shown.extend(character.escape_unicode());
    })
}

/// The same on one line: tabs and line ends are escaped as well, as `\t`, `\n` and `\r`.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    let is_meant = |character| is_break(character) || is_misleading(character);
    let instead = |character: char, shown: &mut String| match is_break(character) {
        true => shown.extend(character.escape_default()),
        false => shown.extend(character.escape_unicode()),
    };
    replace(text, is_meant, instead).0
}

/// JSON with every misleading character as a JSON escape (`\u202e`): the same value, but visible in the
/// text.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let instead = |character: char, shown: &mut String| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            _ = write!(shown, "\\u{unit:04x}");
        }
    };
    replace(json, is_misleading, instead).0
}

/// Whether `text` contains a misleading character.
pub fn misleads(text: &str) -> bool {
    first(text, is_misleading).is_some()
}

/// Whether a character is invisible, reorders text, or can carry hidden bytes.
pub fn is_misleading(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => false,
        // C0, DEL and C1 controls.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Bidirectional controls.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{200e}' | '\u{200f}' | '\u{61c}' => true,
        // Invisible characters.
        '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{180e}' | '\u{feff}' => true,
        // Tags, and the variation selectors that can carry hidden bytes.
        '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}' => true,
        _ => false,
    }
}

/// `text` with each matching character replaced by `instead`, and their number.
fn replace(
    text: &str,
    is_meant: impl Fn(char) -> bool + Copy,
    instead: impl Fn(char, &mut String),
) -> (Cow<'_, str>, u64) {
    let Some(first) = first(text, is_meant) else {
        return (Cow::Borrowed(text), 0);
    };
    let (plain, rest) = text.split_at_checked(first).unwrap_or(("", text));
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(plain);
    let mut count = 0;
    for character in rest.chars() {
        if is_meant(character) {
            count += 1;
            instead(character, &mut shown);
        } else {
            shown.push(character);
        }
    }
    (Cow::Owned(shown), count)
}

/// The position of the first matching character.
fn first(text: &str, is_meant: impl Fn(char) -> bool) -> Option<usize> {
    // Most text is plain: one pass over the bytes avoids decoding characters.
    let breaks_stay = !is_meant('\n');
    let is_plain = |byte| match byte {
        b'\t' | b'\n' | b'\r' => breaks_stay,
        _ => matches!(byte, 0x20..=0x7e),
    };
    if text.bytes().all(is_plain) {
        return None;
    }
    let mut characters = text.char_indices();
    characters
        .find(|&(_, character)| is_meant(character))
        .map(|(at, _)| at)
}

fn is_break(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The escaped ranges, with their unescaped neighbours on both sides.
    const RANGES: [(Option<char>, char, char, Option<char>); 14] = [
        // C0, but for tab and line ends.
        (None, '\0', '\u{8}', Some('\t')),
        (Some('\n'), '\u{b}', '\u{c}', Some('\r')),
        (Some('\r'), '\u{e}', '\u{1f}', Some(' ')),
        // DEL and C1.
        (Some('~'), '\u{7f}', '\u{9f}', Some('\u{a0}')),
        // Bidirectional controls.
        (Some('\u{61b}'), '\u{61c}', '\u{61c}', Some('\u{61d}')),
        (Some('\u{200d}'), '\u{200e}', '\u{200f}', Some('\u{2010}')),
        (Some('\u{2029}'), '\u{202a}', '\u{202e}', Some('\u{202f}')),
        (Some('\u{2065}'), '\u{2066}', '\u{2069}', Some('\u{206a}')),
        // Invisible characters.
        (Some('\u{180d}'), '\u{180e}', '\u{180e}', Some('\u{180f}')),
        (Some('\u{200a}'), '\u{200b}', '\u{200b}', Some('\u{200c}')),
        (Some('\u{205f}'), '\u{2060}', '\u{2064}', Some('\u{2065}')),
        (Some('\u{fefe}'), '\u{feff}', '\u{feff}', Some('\u{ff00}')),
        // Tags.
        (
            Some('\u{dffff}'),
            '\u{e0000}',
            '\u{e007f}',
            Some('\u{e0080}'),
        ),
        // Variation selectors.
        (
            Some('\u{e00ff}'),
            '\u{e0100}',
            '\u{e01ef}',
            Some('\u{e01f0}'),
        ),
    ];

    #[test]
    fn each_range_has_its_exact_bounds() {
        for (before, first, last, behind) in RANGES {
            for inside in [first, last] {
                assert!(is_misleading(inside), "{inside:?} is escaped");
            }
            for outside in [before, behind].into_iter().flatten() {
                assert!(!is_misleading(outside), "{outside:?} stays");
            }
        }
    }

    #[test]
    fn exactly_the_ranges_are_escaped() {
        for character in '\0'..=char::MAX {
            let listed = RANGES
                .iter()
                .any(|(_, first, last, _)| (*first..=*last).contains(&character));
            assert_eq!(is_misleading(character), listed, "{character:?}");
        }
    }

    #[test]
    fn characters_of_languages_and_emoji_stay() {
        for character in "\t\n\r\u{200c}\u{200d}\u{fe00}\u{fe0e}\u{fe0f}".chars() {
            assert!(!is_misleading(character), "{character:?}");
        }
    }

    #[test]
    fn plain_text_is_borrowed() {
        let (text, count) = escape("fn main() {}\r\n\tlet ä = '…';\n");
        assert!(matches!(text, Cow::Borrowed(_)));
        assert_eq!(count, 0);
        assert!(matches!(on_one_line("größe, x"), Cow::Borrowed(_)));
        assert!(matches!(visible_json("{}"), Cow::Borrowed("{}")));
    }

    #[test]
    fn controls_are_written_out_and_counted() {
        let text = "a\u{202e}b\u{0}c\u{7f}d\u{85}e\u{e0041}f\u{e0100}";
        let shown = r"a\u{202e}b\u{0}c\u{7f}d\u{85}e\u{e0041}f\u{e0100}";
        assert_eq!(escape(text), (Cow::from(shown), 6));
        assert!(misleads(text) && !misleads(shown));
    }

    #[test]
    fn a_line_stays_one_line() {
        let shown = on_one_line("a\nb\tc\r\u{1b}[2J\u{200b}ä");
        assert_eq!(shown, r"a\nb\tc\r\u{1b}[2J\u{200b}ä");
        assert_eq!(on_one_line("a\nb"), r"a\nb");
    }

    #[test]
    fn visible_json_has_the_same_value() {
        let value = serde_json::json!({ "a\u{200b}": "\u{202e}x\u{e0041}\u{0}", "plain": "ä" });
        let visible = visible_json(&value.to_string()).into_owned();
        assert!(!misleads(&visible), "{visible}");
        assert!(visible.contains(r"\udb40\udc41"), "{visible}");
        let read: serde_json::Value = serde_json::from_str(&visible).unwrap();
        assert_eq!(read, value);
    }
}
