//! Percent-encoding, as URLs have it.

use std::ops::Range;

/// The bytes of a text, percent-encoded ones read, and where each stands.
pub(crate) fn decoded(text: &str) -> impl Iterator<Item = (u8, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at;
        let byte = *text.as_bytes().get(begin)?;
        let hex = text.get(begin + 1..begin + 3).filter(|_| byte == b'%');
        let hex = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        at += if hex.is_some() { 3 } else { 1 };
        Some((hex.unwrap_or(byte), begin..at))
    })
}

/// A text, percent-encoded bytes read.
pub(crate) fn decoded_text(text: &str) -> String {
    let bytes: Vec<u8> = decoded(text).map(|(byte, _)| byte).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
