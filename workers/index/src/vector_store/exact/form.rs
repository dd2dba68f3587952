//! A text's chunks as bytes: what stands in a row, and what a segment is made of.
//!
//! A byte that says the form, then the chunks one after the other. Numbers are of variable length
//! (seven bits a byte, the lowest first); words go by their differences. A vector has a byte for
//! each number, and one scale for all: what that loses is less than what tells two texts apart.

use super::super::{Piece, Place};
use crate::chunk::Kind;
use crate::terms::Term;

/// Changes with the form.
const FORM: u8 = 1;

/// A chunk as it is read: what is counted of it, and where the rest stands.
pub(super) struct Read {
    pub(super) place: Place,
    pub(super) length: u32,
    pub(super) counts: Vec<(Term, u16)>,
    pub(super) dense: Option<Quantized>,
}

/// A vector in bytes: a number is its byte times the scale.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quantized {
    pub(super) scale: f32,
    pub(super) values: Vec<i8>,
}

impl Quantized {
    /// The nearest vector that can be written.
    pub(super) fn of(vector: &[f32]) -> Quantized {
        let most = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let scale = if most > 0.0 { most / 127.0 } else { 1.0 };
        // `as` saturates, and what is no number becomes 0.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "within -127 to 127 by the scale"
        )]
        let values = vector.iter().map(|x| (x / scale).round() as i8);
        Quantized {
            scale,
            values: values.collect(),
        }
    }
}

/// The bytes of a text's chunks, with their vectors or without.
pub(super) fn written(pieces: &[Piece], is_dense: bool) -> Vec<u8> {
    let mut out = vec![FORM];
    number(&mut out, pieces.len());
    for piece in pieces {
        write_place(&mut out, &piece.place);
        number(&mut out, piece.terms.length as usize);
        number(&mut out, piece.terms.counts.len());
        let mut last = 0;
        for &(term, count) in &piece.terms.counts {
            number(&mut out, term.wrapping_sub(last) as usize);
            number(&mut out, usize::from(count));
            last = term;
        }
        let dense = piece.dense.as_deref().filter(|_| is_dense);
        let dense = dense.map(Quantized::of);
        number(
            &mut out,
            dense.as_ref().map_or(0, |dense| dense.values.len()),
        );
        if let Some(dense) = dense {
            out.extend(dense.scale.to_le_bytes());
            out.extend(dense.values.iter().map(|value| value.cast_unsigned()));
        }
    }
    out
}

fn write_place(out: &mut Vec<u8>, place: &Place) {
    out.push(code(place.kind));
    for name in [&place.symbol, &place.parent] {
        let bytes = name.as_deref().unwrap_or_default().as_bytes();
        number(out, name.as_ref().map_or(0, |_| bytes.len() + 1));
        out.extend(bytes);
    }
    for (from, to) in [place.bytes, place.lines] {
        number(out, from as usize);
        number(out, to.saturating_sub(from) as usize);
    }
}

/// A place as it is kept while its chunk is: a part of a row.
pub(super) fn packed(place: &Place) -> Vec<u8> {
    let mut out = Vec::new();
    write_place(&mut out, place);
    out
}

/// What [`packed`] made.
pub(super) fn unpacked(bytes: &[u8]) -> Option<Place> {
    Reader(bytes).place()
}

/// The chunks of a row; `None` if it is of another form, or broken.
pub(super) fn read(row: &[u8]) -> Option<Vec<Read>> {
    let (chunks, mut reader) = begun(row)?;
    // Not a capacity: it may be a lie.
    (0..chunks).map(|_| reader.chunk()).collect()
}

/// How many chunks a row has, and what reads them.
fn begun(row: &[u8]) -> Option<(usize, Reader<'_>)> {
    let (form, rest) = row.split_first()?;
    let mut reader = Reader(rest);
    let chunks = reader.number().filter(|_| *form == FORM)?;
    Some((chunks, reader))
}

/// Reads what was written, from its start on.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn chunk(&mut self) -> Option<Read> {
        let place = self.place()?;
        let length = self.small()?;
        let (words, mut term) = (self.number()?, 0_u32);
        let mut counts = Vec::new();
        for _ in 0..words {
            term = term.wrapping_add(self.small()?);
            counts.push((term, u16::try_from(self.number()?).ok()?));
        }
        let dense = match self.number()? {
            0 => None,
            dimensions => {
                let scale = f32::from_le_bytes(self.take(4)?.try_into().ok()?);
                let values = self.take(dimensions)?;
                Some(Quantized {
                    scale,
                    values: values.iter().map(|value| value.cast_signed()).collect(),
                })
            }
        };
        Some(Read {
            place,
            length,
            counts,
            dense,
        })
    }

    fn place(&mut self) -> Option<Place> {
        let kind = kind(*self.take(1)?.first()?)?;
        let (symbol, parent) = (self.name()?, self.name()?);
        let (bytes, lines) = (self.span()?, self.span()?);
        Some(Place {
            kind,
            symbol,
            parent,
            bytes,
            lines,
        })
    }

    fn name(&mut self) -> Option<Option<String>> {
        let Some(length) = self.number()?.checked_sub(1) else {
            return Some(None);
        };
        let name = std::str::from_utf8(self.take(length)?).ok()?;
        Some(Some(name.to_owned()))
    }

    fn span(&mut self) -> Option<(u32, u32)> {
        let from = self.small()?;
        Some((from, from.checked_add(self.small()?)?))
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = 0_usize;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= usize::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }
}

fn number(out: &mut Vec<u8>, number: usize) {
    let mut rest = number;
    loop {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Function => 1,
        Kind::Class => 2,
        Kind::Method => 3,
        Kind::Interface => 4,
        Kind::Type => 5,
        Kind::Section => 6,
        Kind::Lines => 7,
        Kind::Entry => 8,
    }
}

fn kind(code: u8) -> Option<Kind> {
    let mut all = Kind::ALL.into_iter();
    all.find(|kind| self::code(*kind) == code)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::terms::Terms;

    fn pieces() -> impl Strategy<Value = Vec<Piece>> {
        let name = proptest::option::of(".{0,12}");
        let place = (1_u8..=8, name.clone(), name, any::<(u16, u16, u16, u16)>());
        let place = place.prop_map(|(kind, symbol, parent, (byte, bytes, line, lines))| Place {
            kind: self::kind(kind).unwrap(),
            symbol,
            parent,
            bytes: (byte.into(), u32::from(byte) + u32::from(bytes)),
            lines: (line.into(), u32::from(line) + u32::from(lines)),
        });
        let counts = proptest::collection::btree_map(any::<u32>(), 1_u16.., 0..20);
        let terms = counts.prop_map(|counts| Terms {
            length: counts.values().map(|count| u32::from(*count)).sum(),
            counts: counts.into_iter().collect(),
        });
        let dense = proptest::option::of(proptest::collection::vec(-1.0_f32..1.0, 1..20));
        let piece = (place, terms, dense);
        let piece = piece.prop_map(|(place, terms, dense)| Piece {
            place,
            terms,
            dense,
        });
        proptest::collection::vec(piece, 0..5)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(pieces in pieces()) {
            let read = read(&written(&pieces, true)).unwrap();
            prop_assert_eq!(read.len(), pieces.len());
            for (read, piece) in read.into_iter().zip(pieces) {
                prop_assert_eq!(&read.place, &piece.place);
                prop_assert_eq!(unpacked(&packed(&piece.place)), Some(piece.place));
                prop_assert_eq!(read.length, piece.terms.length);
                prop_assert_eq!(read.counts, piece.terms.counts);
                prop_assert_eq!(read.dense, piece.dense.as_deref().map(Quantized::of));
            }
        }

        #[test]
        fn a_broken_row_is_no_row(pieces in pieces(), cut in 1_usize..40) {
            let mut row = written(&pieces, true);
            row.truncate(row.len().saturating_sub(cut));
            prop_assert!(read(&row).is_none() || row.len() == 2);
        }

        #[test]
        fn any_bytes_are_read_without_harm(row in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(read(&row));
        }

        #[test]
        fn a_vector_in_bytes_is_off_by_half_a_step_at_most(
            vector in proptest::collection::vec(-1.0_f32..1.0, 1..64)
        ) {
            let written = Quantized::of(&vector);
            for (value, x) in written.values.iter().zip(&vector) {
                let error = (f32::from(*value) * written.scale - x).abs();
                prop_assert!(error <= 0.501 * written.scale, "{error}");
            }
        }
    }
}
