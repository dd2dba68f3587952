//! Trigrams: three consecutive bytes of a text in its normal form.
//!
//! The normal form ignores case where Unicode's simple case folding joins a letter with an ASCII
//! one: ASCII letters are lower case, `ſ` (U+017F) is `s` and `K` (U+212A) is `k`. Other letters
//! stay as they are: a pattern that ignores their case requires one of several spellings.

use std::borrow::Cow;

/// Three bytes, the first one highest; less than 2^24.
pub(crate) type Trigram = u32;

/// The number of possible trigrams.
const TRIGRAMS: usize = 1 << 24;
const MASK: u32 = 0x00FF_FFFF;
const LENGTH: usize = 3;

/// The normal form of a text. The normal form of a part is a part of the normal form.
pub(crate) fn normal_form(text: &str) -> Vec<u8> {
    let folded: Cow<'_, str> = match !text.is_ascii() && text.contains(['ſ', '\u{212a}']) {
        true => text.replace('ſ', "s").replace('\u{212a}', "k").into(),
        false => text.into(),
    };
    let mut bytes = folded.into_owned().into_bytes();
    bytes.make_ascii_lowercase();
    bytes
}

/// The trigrams of bytes in normal form, in order, with repetitions. None contains a line end:
/// patterns match within a line.
pub(crate) fn trigrams(normal: &[u8]) -> impl Iterator<Item = Trigram> {
    let (mut window, mut length) = (0, 0);
    normal.iter().filter_map(move |&byte| {
        window = (window << 8 | u32::from(byte)) & MASK;
        length = if byte == b'\n' { 0 } else { length + 1 };
        (length >= LENGTH).then_some(window)
    })
}

/// Finds the distinct trigrams of one text after the other; 2 MiB of memory.
pub(crate) struct DistinctTrigrams {
    /// A bit for each trigram that was found in the current text.
    seen: Box<[u64]>,
    found: Vec<Trigram>,
}

impl DistinctTrigrams {
    pub(crate) fn new() -> DistinctTrigrams {
        DistinctTrigrams {
            seen: vec![0; TRIGRAMS / 64].into(),
            found: Vec::new(),
        }
    }

    /// The distinct trigrams of a text, in the order of their first occurrence.
    pub(crate) fn of(&mut self, text: &str) -> &[Trigram] {
        for trigram in self.found.drain(..) {
            if let Some(word) = self.seen.get_mut(trigram as usize / 64) {
                *word = 0;
            }
        }
        for trigram in trigrams(&normal_form(text)) {
            let Some(word) = self.seen.get_mut(trigram as usize / 64) else {
                continue;
            };
            let bit = 1 << (trigram % 64);
            if *word & bit == 0 {
                *word |= bit;
                self.found.push(trigram);
            }
        }
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distinct(texts: &[&str]) -> Vec<Vec<String>> {
        let mut finder = DistinctTrigrams::new();
        let mut shown = |text: &&str| {
            let found = finder.of(text).iter();
            let bytes = found.map(|trigram| trigram.to_be_bytes()[1..].to_vec());
            bytes
                .map(|bytes| String::from_utf8(bytes).unwrap())
                .collect()
        };
        texts.iter().map(&mut shown).collect()
    }

    #[test]
    fn a_text_has_each_trigram_once_and_none_across_lines() {
        let texts = ["abcabc", "ab\ncde", "ab", "ABC"];
        let expected: [&[&str]; 4] = [&["abc", "bca", "cab"], &["cde"], &[], &["abc"]];
        assert_eq!(distinct(&texts), expected);
    }

    #[test]
    fn letters_that_fold_to_ascii_are_ascii() {
        assert_eq!(normal_form("ſK\u{212a}Ä"), "skkÄ".as_bytes());
    }
}
