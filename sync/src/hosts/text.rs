//! Text by hosts, made fit for people: bounded, and without characters that mislead.

use archway_proto::misleading;

/// The longest text of a host in a message, in characters.
const LONGEST_SAID: usize = 300;

/// `text` on one line, at most `longest` characters: without control characters, other misleading ones
/// escaped as `\u{…}`. Cut text ends with `…`.
pub(super) fn clean(text: &str, longest: usize) -> String {
    // Each character is escaped to at most ten; the rest of a huge text need not be read.
    let head: String = text
        .chars()
        .filter(|&c| !c.is_control() || c.is_whitespace())
        .take(longest.saturating_mul(4))
        .collect();
    let words: Vec<&str> = head.split_whitespace().collect();
    let line = words.join(" ");
    cut(&misleading::on_one_line(&line), longest)
}

/// What a host answered besides data: the `message` or `error` of its JSON, or the text itself, at most
/// 300 characters, without `secret`.
pub(super) fn said(body: &[u8], secret: Option<&str>) -> String {
    let value: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let field = |name| value.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let said = field("message")
        .or_else(|| field("error_description"))
        .or_else(|| field("error"))
        .unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    shown(&said, secret)
}

/// `text` in a message: at most 300 characters, without `secret`.
pub(super) fn shown(text: &str, secret: Option<&str>) -> String {
    let secret = secret.map(str::trim).filter(|secret| !secret.is_empty());
    match secret {
        Some(secret) => clean(&text.replace(secret, "[secret]"), LONGEST_SAID),
        None => clean(text, LONGEST_SAID),
    }
}

/// Whether a name can be used as it is: it has `1..=longest` bytes, none of them misleading.
pub(super) fn is_plain(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && !misleading::misleads(text)
        && !text.chars().any(|c| c.is_control())
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some(_) => {
            let kept = text.chars().take(longest.saturating_sub(1));
            kept.chain(['…']).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_go_and_bidi_is_escaped() {
        assert_eq!(
            clean("a\u{1b}[31m\0 \n\t b\u{202e}c\u{85}", 200),
            "a[31m b\\u{202e}c"
        );
        assert_eq!(clean("", 5), "");
        assert_eq!(clean(" \r\n ", 5), "");
    }

    #[test]
    fn long_text_is_cut_by_characters() {
        assert_eq!(clean("äöüß", 4), "äöüß");
        assert_eq!(clean("äöüßx", 4), "äöü…");
        let hostile = "\u{202e}".repeat(1_000_000);
        assert_eq!(clean(&hostile, 200).chars().count(), 200);
    }

    #[test]
    fn messages_show_no_secret() {
        let body = br#"{"message":"bad token s3cr3t\u001b[2J"}"#;
        assert_eq!(said(body, Some("s3cr3t\n")), "bad token [secret][2J");
        assert_eq!(said(b"<html>s3cr3t", Some("s3cr3t")), "<html>[secret]");
        assert_eq!(said(&[0xff; 5000], None).chars().count(), 300);
        assert_eq!(said(b"[1]", Some("")), "[1]");
    }
}
