//! What a client sent, as a message repeats it.

use archway_proto::misleading::is_misleading;

/// The most a message repeats of what the client sent, in bytes.
pub(crate) const MOST_REPEATED: usize = 200;

/// What a client sent, fit for a message: at most 200 bytes, on one line, misleading characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    let shown = cut(text);
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

/// On one line, and among the misleading ones what is unassigned yet and may come to be the like.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || is_misleading(character)
        || matches!(character, '\u{2065}' | '\u{e0080}'..='\u{e00ff}')
}

/// The first [`MOST_REPEATED`] bytes, up to a character's end.
pub(super) fn cut(text: &str) -> &str {
    let end = text.floor_char_boundary(MOST_REPEATED);
    text.get(..end).unwrap_or_default()
}
