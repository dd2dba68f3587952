//! Splits a sentence into pieces: words, names in backticks, and the RFC 2119 keywords among the
//! words.

use crate::rules::Severity;

/// The keywords with their negations and severities; `None` requires nothing.
const KEYWORDS: [(&str, &str, Option<Severity>); 8] = [
    ("MUST", "MUST NOT", Some(Severity::Error)),
    ("SHALL", "SHALL NOT", Some(Severity::Error)),
    ("REQUIRED", "", Some(Severity::Error)),
    ("SHOULD", "SHOULD NOT", Some(Severity::Warning)),
    ("RECOMMENDED", "NOT RECOMMENDED", Some(Severity::Warning)),
    ("MAY", "", None),
    ("OPTIONAL", "", None),
    ("CAN", "", None),
];

/// A piece of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'s> {
    Word(&'s str),
    Name(&'s str),
    Mark(char),
}

/// An RFC 2119 keyword and its position.
pub(super) struct Keyword {
    pub(super) at: usize,
    pub(super) end: usize,
    /// As written, with NOT.
    pub(super) word: &'static str,
    /// The negated keyword.
    pub(super) negated: &'static str,
    pub(super) severity: Option<Severity>,
    pub(super) forbids: bool,
}

/// The pieces of a sentence, in order.
pub(super) fn pieces(sentence: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for (nth, part) in sentence.split('`').enumerate() {
        if nth % 2 == 1 {
            pieces.push(Piece::Name(part));
            continue;
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '_');
        for word in part.split_inclusive(|c| !is_part(c)) {
            let bare = word.trim_end_matches(|c| !is_part(c));
            if !bare.is_empty() {
                pieces.push(Piece::Word(bare));
            }
            let mark = word.chars().next_back();
            pieces.extend(
                mark.filter(|mark| ",;:()—–".contains(*mark))
                    .map(Piece::Mark),
            );
        }
    }
    pieces
}

/// The RFC 2119 keywords. They count only in upper case, as the RFC requires.
pub(super) fn keywords(pieces: &[Piece<'_>]) -> Vec<Keyword> {
    let keyword = |(at, piece): (usize, &Piece<'_>)| match piece {
        Piece::Word(word) => keyword(pieces, at, word),
        Piece::Name(_) | Piece::Mark(_) => None,
    };
    pieces.iter().enumerate().filter_map(keyword).collect()
}

fn keyword(pieces: &[Piece<'_>], at: usize, word_text: &str) -> Option<Keyword> {
    let is_not = |at: Option<usize>| {
        let piece = at.and_then(|at| pieces.get(at));
        matches!(piece, Some(Piece::Word(word))
            if word.eq_ignore_ascii_case("not") || word.eq_ignore_ascii_case("never"))
    };
    let (word, negated, severity) = KEYWORDS.iter().find(|(word, ..)| *word == word_text)?;
    // "NOT RECOMMENDED", but "MUST NOT".
    let is_adjective = negated.is_empty() || negated.starts_with("NOT");
    let (before, after) = (is_not(at.checked_sub(1)), is_not(Some(at + 1)));
    let forbids = if is_adjective { before } else { after };
    Some(Keyword {
        at: at - usize::from(is_adjective && before),
        end: at + 1 + usize::from(!is_adjective && after),
        word: if forbids { negated } else { word },
        negated: if negated.is_empty() {
            "MUST NOT"
        } else {
            negated
        },
        // A negated requirement makes its subject optional.
        severity: severity.filter(|_| !forbids || !negated.is_empty()),
        forbids,
    })
}

/// The number of pieces before the subject of the next keyword.
pub(super) fn object_length(pieces: &[Piece<'_>]) -> usize {
    let is_joint = |piece: &Piece<'_>| match piece {
        Piece::Mark(mark) => matches!(mark, ',' | ';' | '—' | '–'),
        Piece::Word(word) => ["and", "but", "while", "whereas"].contains(word),
        Piece::Name(_) => false,
    };
    pieces.iter().rposition(is_joint).unwrap_or(pieces.len())
}
