//! Text that others wrote, made safe to show.
//!
//! Each misleading character is replaced by its code point in plain ASCII (`\u{202e}`), and
//! counted. Which those are stands in the contract, since gateways escape them, too.

use std::borrow::Cow;
use std::fmt::Write as _;

use archway_proto::misleading::is_misleading;
use serde_json::Value;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// `text` with every misleading character written out as `\u{…}`, and how many there were.
///
/// U+FEFF is one of them wherever it stands: only a file begins with a byte order mark
/// ([`escape_file`]).
pub fn escape(text: &str) -> (Cow<'_, str>, u64) {
    let Some(first) = first_misleading(text) else {
        return (Cow::Borrowed(text), 0);
    };
    let (clean, rest) = text.split_at_checked(first).unwrap_or(("", text));
    let mut escaped = String::with_capacity(text.len() + 16);
    escaped.push_str(clean);
    let mut count = 0;
    for character in rest.chars() {
        if is_misleading(character) {
            count += 1;
            // Writing to a String can't fail.
            _ = write!(escaped, "\\u{{{:x}}}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    (Cow::Owned(escaped), count)
}

/// The same for what a file holds from its first byte: a byte order mark there stays.
pub fn escape_file(text: &str) -> (Cow<'_, str>, u64) {
    let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) else {
        return escape(text);
    };
    match escape(rest) {
        (Cow::Borrowed(_), count) => (Cow::Borrowed(text), count),
        (Cow::Owned(escaped), count) => (Cow::Owned(format!("{BYTE_ORDER_MARK}{escaped}")), count),
    }
}

/// Escapes every string of `value` in place, object keys included, at any depth; returns how
/// many characters were escaped.
pub fn escape_json(value: &mut Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => escape_in_place(text),
        Value::Array(items) => items.iter_mut().map(escape_json).sum(),
        Value::Object(fields) => {
            let inside: u64 = fields.values_mut().map(escape_json).sum();
            inside + escape_keys(fields)
        }
    }
}

/// Compact JSON with every misleading character written as JSON's own escape: the same value, and
/// visible to whoever reads it as text.
pub(crate) fn visible_json(json: &str) -> Cow<'_, str> {
    if first_misleading(json).is_none() {
        return Cow::Borrowed(json);
    }
    let mut visible = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_misleading(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a String can't fail.
                _ = write!(visible, "\\u{unit:04x}");
            }
        } else {
            visible.push(character);
        }
    }
    Cow::Owned(visible)
}

/// What of a caller's own words an error repeats: at most 200 bytes, on one line.
pub fn shown(text: &str) -> Cow<'_, str> {
    const MOST: usize = 200;
    let (start, rest) = text
        .split_at_checked(text.floor_char_boundary(MOST))
        .unwrap_or((text, ""));
    let plain = start
        .chars()
        .all(|character| !character.is_control() && !is_misleading(character));
    if plain && rest.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut shown: String = start
        .replace('\n', "\\n")
        .replace('\r', "\\r")
        .replace('\t', "\\t");
    escape_in_place(&mut shown);
    if !rest.is_empty() {
        shown.push('…');
    }
    Cow::Owned(shown)
}

fn escape_in_place(text: &mut String) -> u64 {
    match escape(text) {
        (Cow::Borrowed(_), count) => count,
        (Cow::Owned(escaped), count) => {
            *text = escaped;
            count
        }
    }
}

/// Rebuilds the object only where a key has to change; nearly none does.
fn escape_keys(fields: &mut serde_json::Map<String, Value>) -> u64 {
    if fields.keys().all(|key| first_misleading(key).is_none()) {
        return 0;
    }
    let mut count = 0;
    for (mut key, value) in std::mem::take(fields) {
        count += escape_in_place(&mut key);
        fields.insert(key, value);
    }
    count
}

fn first_misleading(text: &str) -> Option<usize> {
    // Most text is plain: one pass over bytes answers for it without decoding characters.
    if text
        .bytes()
        .all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e))
    {
        return None;
    }
    text.char_indices()
        .find(|&(_, character)| is_misleading(character))
        .map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        let (text, count) = escape("fn main() {}\r\n\tlet ä = '…';\n");
        assert!(matches!(text, Cow::Borrowed(_)));
        assert_eq!(count, 0);
    }

    #[test]
    fn controls_are_written_out_and_counted() {
        let (text, count) = escape("a\u{202e}b\u{0}c\u{7f}d\u{85}e\u{e0041}f\u{e0100}");
        assert_eq!(text, r"a\u{202e}b\u{0}c\u{7f}d\u{85}e\u{e0041}f\u{e0100}");
        assert_eq!(count, 6);
    }

    #[test]
    fn a_byte_order_mark_stays_at_the_start_of_a_file_only() {
        let marked = "\u{feff}a";
        assert!(matches!(escape_file(marked), (Cow::Borrowed(kept), 0) if kept == marked));
        assert_eq!(
            escape_file("\u{feff}\u{feff}a\u{feff}"),
            (Cow::from("\u{feff}\\u{feff}a\\u{feff}"), 2)
        );
        assert_eq!(escape_file("a\u{feff}"), (Cow::from("a\\u{feff}"), 1));
        assert_eq!(escape(marked), (Cow::from("\\u{feff}a"), 1));
        assert_eq!(shown(marked), "\\u{feff}a");
        let mut value = json!({ "\u{feff}a": ["\u{feff}b"] });
        assert_eq!(escape_json(&mut value), 2);
        assert_eq!(value, json!({ "\\u{feff}a": ["\\u{feff}b"] }));
    }

    #[test]
    fn an_error_repeats_little_of_what_it_was_given_and_on_one_line() {
        assert!(matches!(shown("src/main.rs"), Cow::Borrowed("src/main.rs")));
        assert_eq!(shown("a\nb\u{202e}\0"), r"a\nb\u{202e}\u{0}");
        let long = "ä".repeat(150);
        assert_eq!(shown(&long), format!("{}…", "ä".repeat(100)));
    }

    #[test]
    fn joiners_and_emoji_selectors_stay() {
        assert_eq!(escape("👩\u{200d}💻 ❤\u{fe0f} نمی\u{200c}خواهم").1, 0);
    }

    #[test]
    fn json_that_is_made_visible_is_the_same_value() {
        let value = json!({ "a\u{200b}": "\u{202e}x\u{e0041}\u{0}", "plain": "ä" });
        let visible = visible_json(&value.to_string()).into_owned();
        assert_eq!(first_misleading(&visible), None, "{visible}");
        assert!(visible.contains(r"\udb40\udc41"), "{visible}");
        assert_eq!(serde_json::from_str::<Value>(&visible).unwrap(), value);
        assert!(matches!(visible_json("{}"), Cow::Borrowed("{}")));
    }

    #[test]
    fn json_is_escaped_in_strings_and_keys_at_any_depth() {
        let mut value = json!({ "a\u{200b}": [1, { "b": "\u{2066}x" }], "plain": null });
        assert_eq!(escape_json(&mut value), 2);
        assert_eq!(
            value,
            json!({ "a\\u{200b}": [1, { "b": "\\u{2066}x" }], "plain": null })
        );
    }
}
