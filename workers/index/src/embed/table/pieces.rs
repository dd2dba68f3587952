//! Spells words with the table's pieces.
//!
//! The table knows words of ASCII letters only. Identifiers are split as in training (camelCase,
//! `PascalCase`, `snake_case`, `ACRONYMWord`), without single letters. A word is spelled greedily with
//! the longest pieces that fit, and skipped if that fails.
//!
//! Pieces are looked up by their letters, five bits each. So words need no lower-cased copy, and the
//! key of a shorter piece is the same number with bits cleared.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::TableError;

/// Pieces of a text that count, at most.
const MAX_PIECES: usize = 512;
const BITS: usize = 5;
/// Letters of a piece, at most: as many as fit into a key besides the mark.
const MAX_LETTERS: usize = 25;
/// Marks a piece that continues a word.
const CONTINUES: u128 = 1 << 127;

/// Number of ways in which a piece may start: two letters and the mark.
const STARTS: usize = 1 << (2 * BITS + 1);

/// The rows of the pieces.
pub(super) struct Pieces {
    /// The keys are the table's own, so a hash that an attacker could choose keys for is fine.
    rows: HashMap<u128, u32, FixedState>,
    /// The most letters of a piece, by how it starts ([`start`]). Without it, a word that is in no
    /// piece would be looked up once per letter.
    longest: Box<[u8; STARTS]>,
}

impl Pieces {
    /// Reads one piece per line and row. Pieces that match no word of letters are skipped.
    pub(super) fn read(lines: &str, rows: usize) -> Result<Self, TableError> {
        let pieces = lines.split('\n').count();
        if pieces != rows {
            return Err(TableError::Pieces { pieces, rows });
        }
        let keys = lines.split('\n').map(key).zip(0..);
        let rows = keys.filter_map(|(key, row)| Some((key?, row)));
        let rows: HashMap<u128, u32, FixedState> = rows.collect();
        let mut longest = Box::new([0; STARTS]);
        for key in rows.keys() {
            if let Some(longest) = longest.get_mut(start(*key)) {
                *longest = letters(*key).max(*longest);
            }
        }
        Ok(Self { rows, longest })
    }

    /// The rows of a text's pieces, in order, up to 512.
    pub(super) fn of(&self, text: &str) -> Vec<u32> {
        let mut rows = Vec::with_capacity(MAX_PIECES.min(text.len()));
        let mut rest = text.as_bytes();
        while let Some((word, after)) = next_word(rest) {
            if rows.len() == MAX_PIECES {
                break;
            }
            if word.len() > 1 {
                self.spell(word, &mut rows);
            }
            rest = after;
        }
        rows
    }

    fn spell(&self, word: &[u8], rows: &mut Vec<u32>) {
        let before = rows.len();
        let mut rest = word;
        let mut mark = 0;
        while !rest.is_empty() && rows.len() < MAX_PIECES {
            let Some((row, length)) = self.longest(rest, mark) else {
                rows.truncate(before);
                return;
            };
            rows.push(row);
            rest = rest.get(length..).unwrap_or_default();
            mark = CONTINUES;
        }
    }

    /// The longest piece that is a prefix of `letters`, and its length.
    fn longest(&self, letters: &[u8], mark: u128) -> Option<(u32, usize)> {
        let most = letters.len().min(MAX_LETTERS);
        let mut key = letters.get(..most).map(pack)? | mark;
        // The bound is of pieces with two letters or more.
        let bound = self.longest.get(start(key)).copied().unwrap_or(0).max(1);
        for length in (1..=most.min(bound.into())).rev() {
            key &= mark | ((1 << (length * BITS)) - 1);
            if let Some(&row) = self.rows.get(&key) {
                return Some((row, length));
            }
        }
        None
    }
}

/// The first two letters of a key, and its mark, as an index below [`STARTS`].
fn start(key: u128) -> usize {
    let letters = key & ((1 << (2 * BITS)) - 1);
    let mark = (key & CONTINUES) >> (127 - 2 * BITS);
    usize::try_from(letters | mark).unwrap_or(0)
}

/// Number of letters of a key that is not empty.
fn letters(key: u128) -> u8 {
    let bits = 128 - (key & !CONTINUES).leading_zeros();
    u8::try_from((bits as usize).div_ceil(BITS)).unwrap_or(u8::MAX)
}

/// The key of a piece; `None` unless it consists of small letters.
fn key(piece: &str) -> Option<u128> {
    let (letters, mark) = match piece.strip_prefix("##") {
        Some(letters) => (letters, CONTINUES),
        None => (piece, 0),
    };
    let fits = (1..=MAX_LETTERS).contains(&letters.len())
        && letters.bytes().all(|letter| letter.is_ascii_lowercase());
    fits.then(|| pack(letters.as_bytes()) | mark)
}

/// Packs letters into a number, the first one lowest: 1 for a and A, 26 for z and Z.
fn pack(letters: &[u8]) -> u128 {
    letters
        .iter()
        .rev()
        .fold(0, |key, letter| key << BITS | u128::from(letter & 0b1_1111))
}

/// The first word of a text, and the rest.
fn next_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(u8::is_ascii_alphabetic)?;
    let text = text.get(start..)?;
    let capitals = run(text, u8::is_ascii_uppercase);
    let small = run(text.get(capitals..)?, u8::is_ascii_lowercase);
    let length = match (capitals, small) {
        (2.., 1..) => capitals - 1, // The last capital begins the next word.
        _ => capitals + small,
    };
    text.split_at_checked(length)
}

fn run(text: &[u8], belongs: fn(&u8) -> bool) -> usize {
    text.iter().take_while(|&letter| belongs(letter)).count()
}
