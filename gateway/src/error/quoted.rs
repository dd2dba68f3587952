//! Client text as messages repeat it.

use archway_proto::misleading::is_misleading;

/// Maximum bytes of client text that a message repeats.
pub(crate) const MAX_QUOTED_BYTES: usize = 200;

/// Quotes client text for a message: at most 200 bytes, on one line, with misleading characters
/// escaped.
pub(crate) fn quoted(text: &str) -> String {
    let shown = truncate(text);
    let mut quoted = String::with_capacity(shown.len() + 5);
    quoted.push('"');
    for character in shown.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if is_hidden(character) => quoted.extend(character.escape_unicode()),
            _ => quoted.push(character),
        }
    }
    quoted.push_str(if shown.len() < text.len() {
        "…\""
    } else {
        "\""
    });
    quoted
}

/// Control characters, misleading characters, and unassigned ones that may become misleading.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || is_misleading(character)
        || matches!(character, '\u{2065}' | '\u{e0080}'..='\u{e00ff}')
}

/// The first [`MAX_QUOTED_BYTES`] bytes, truncated at a character boundary.
pub(super) fn truncate(text: &str) -> &str {
    let end = text.floor_char_boundary(MAX_QUOTED_BYTES);
    text.get(..end).unwrap_or_default()
}
