//! Words, spelled with the table's pieces.
//!
//! The table knows words of ASCII letters only. Identifiers are cut as in training (camelCase,
//! `PascalCase`, `snake_case`, `ACRONYMWord`), single letters passed over. A word is spelled
//! greedily, each piece the longest that fits, and left out where it can't be.
//!
//! A piece is looked up by its letters, five bits each, so that a word is read where it stands:
//! nothing is lower-cased into a buffer, and a shorter piece is the same number with bits cleared.

use std::collections::HashMap;

use super::TableError;

/// The most pieces of a text that count.
const MOST: usize = 512;
const BITS: usize = 5;
/// The most letters of a piece: what fits into a key beside the mark.
const LONGEST: usize = 25;
/// Marks a piece that continues a word.
const CONTINUES: u128 = 1 << 127;

/// The pieces of a table, each with its row.
pub(super) struct Pieces(HashMap<u128, u32>);

impl Pieces {
    /// A piece stands for each row, lines. Those that no word of letters can have are passed over.
    pub(super) fn read(lines: &str, rows: usize) -> Result<Self, TableError> {
        let pieces = lines.split('\n').count();
        if pieces != rows {
            return Err(TableError::Pieces { pieces, rows });
        }
        let keys = lines.split('\n').map(key).zip(0..);
        Ok(Self(
            keys.filter_map(|(key, row)| Some((key?, row))).collect(),
        ))
    }

    /// The rows of a text's pieces, in its order, 512 at most.
    pub(super) fn of(&self, text: &str) -> Vec<u32> {
        let mut rows = Vec::with_capacity(MOST.min(text.len()));
        let mut rest = text.as_bytes();
        while let Some((word, after)) = next_word(rest) {
            if rows.len() == MOST {
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
        while !rest.is_empty() && rows.len() < MOST {
            let Some((row, length)) = self.longest(rest, mark) else {
                rows.truncate(before);
                return;
            };
            rows.push(row);
            rest = rest.get(length..).unwrap_or_default();
            mark = CONTINUES;
        }
    }

    /// The longest piece that `letters` begin with, and its length.
    fn longest(&self, letters: &[u8], mark: u128) -> Option<(u32, usize)> {
        let most = letters.len().min(LONGEST);
        let mut key = letters.get(..most).map(pack)?;
        for length in (1..=most).rev() {
            if let Some(&row) = self.0.get(&(key | mark)) {
                return Some((row, length));
            }
            key &= (1 << ((length - 1) * BITS)) - 1;
        }
        None
    }
}

/// What a piece is looked up by, if it is one of small letters.
fn key(piece: &str) -> Option<u128> {
    let (letters, mark) = match piece.strip_prefix("##") {
        Some(letters) => (letters, CONTINUES),
        None => (piece, 0),
    };
    let fits = (1..=LONGEST).contains(&letters.len())
        && letters.bytes().all(|letter| letter.is_ascii_lowercase());
    fits.then(|| pack(letters.as_bytes()) | mark)
}

/// Letters as a number, the first one lowest: 1 for a and A, 26 for z and Z.
fn pack(letters: &[u8]) -> u128 {
    letters
        .iter()
        .rev()
        .fold(0, |key, letter| key << BITS | u128::from(letter & 0b1_1111))
}

/// The first word of a text, and what follows it.
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
