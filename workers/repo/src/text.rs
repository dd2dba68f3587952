//! Makes untrusted text safe to show.
//!
//! Each misleading character is replaced by its code point in plain ASCII (`\u{202e}`), and
//! counted. The contract lists these characters, because gateways escape them as well.

use std::borrow::Cow;

pub use archway_proto::misleading::{escape, visible_json};
use archway_proto::misleading::{misleads, on_one_line};
use serde_json::Value;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// [`escape`] for a file's text from its first byte: a leading byte order mark stays. Elsewhere
/// U+FEFF is misleading like the others.
pub fn escape_file(text: &str) -> (Cow<'_, str>, u64) {
    let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) else {
        return escape(text);
    };
    match escape(rest) {
        (Cow::Borrowed(_), count) => (Cow::Borrowed(text), count),
        (Cow::Owned(escaped), count) => (Cow::Owned(format!("{BYTE_ORDER_MARK}{escaped}")), count),
    }
}

/// Escapes every string of `value` in place, object keys included, at any depth. Returns the number
/// of escaped characters.
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

/// The part of a caller's input that an error repeats: at most 200 bytes, on one line.
pub fn shown(text: &str) -> Cow<'_, str> {
    const MOST: usize = 200;
    let (start, rest) = text
        .split_at_checked(text.floor_char_boundary(MOST))
        .unwrap_or((text, ""));
    let shown = on_one_line(start);
    if rest.is_empty() {
        return shown;
    }
    Cow::Owned(format!("{shown}…"))
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

/// Rebuilds the object only if a key has to change, which is rare.
fn escape_keys(fields: &mut serde_json::Map<String, Value>) -> u64 {
    if !fields.keys().any(|key| misleads(key)) {
        return 0;
    }
    let mut count = 0;
    for (mut key, value) in std::mem::take(fields) {
        count += escape_in_place(&mut key);
        fields.insert(key, value);
    }
    count
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    fn errors_repeat_at_most_200_bytes_of_input_on_one_line() {
        assert!(matches!(shown("src/main.rs"), Cow::Borrowed("src/main.rs")));
        assert_eq!(shown("a\nb\u{202e}\0"), r"a\nb\u{202e}\u{0}");
        let long = "ä".repeat(150);
        assert_eq!(shown(&long), format!("{}…", "ä".repeat(100)));
    }

    #[test]
    fn joiners_and_emoji_selectors_are_kept() {
        assert_eq!(escape("👩\u{200d}💻 ❤\u{fe0f} نمی\u{200c}خواهم").1, 0);
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
