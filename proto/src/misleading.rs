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
