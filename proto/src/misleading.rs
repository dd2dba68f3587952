//! The characters that could make an agent see other text than a reviewer sees. One list: workers
//! escape them in what others wrote, gateways in what a refusal repeats.
//!
//! Joiners (U+200C, U+200D) and the variation selectors FE00–FE0F are none of them, since languages
//! and emoji need them; nor are tab and line ends, since text is made of them.

/// Whether a character shows nothing, reorders what is shown, or can carry hidden bytes.
pub fn is_misleading(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => false,
        // C0, DEL and C1 controls.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Bidirectional controls.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{200e}' | '\u{200f}' | '\u{61c}' => true,
        // Characters that show nothing.
        '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{180e}' | '\u{feff}' => true,
        // Tags, and the variation selectors that can carry hidden bytes.
        '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is escaped, as first and last, and the next on either side, which stays.
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
        // What shows nothing.
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
    fn each_range_begins_and_ends_where_it_should() {
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
    fn nothing_outside_the_ranges_is_escaped_and_nothing_inside_stays() {
        for character in '\0'..=char::MAX {
            let listed = RANGES
                .iter()
                .any(|(_, first, last, _)| (*first..=*last).contains(&character));
            assert_eq!(is_misleading(character), listed, "{character:?}");
        }
    }

    #[test]
    fn what_languages_and_emoji_need_stays() {
        for character in "\t\n\r\u{200c}\u{200d}\u{fe00}\u{fe0e}\u{fe0f}".chars() {
            assert!(!is_misleading(character), "{character:?}");
        }
    }
}
