//! Encodes a text's chunks as the bytes of a row.
//!
//! A format byte, then the chunks in order. Numbers have variable length (seven bits a byte, lowest
//! first); words are stored as differences. A vector has a byte per number and one scale: the
//! rounding is smaller than the distance between different texts.

use super::super::{ChunkLocation, IndexedChunk};
use crate::chunk::{DeclarationPlace, Kind};
use crate::terms::Term;

/// Increment with each change of the format.
const FORMAT: u8 = 2;

/// A decoded chunk.
pub(super) struct DecodedChunk {
    pub(super) location: ChunkLocation,
    pub(super) length: u32,
    pub(super) counts: Vec<(Term, u16)>,
    pub(super) dense: Option<Quantized>,
}

/// A vector of bytes: each number is its byte times the scale.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quantized {
    pub(super) scale: f32,
    pub(super) values: Vec<i8>,
}

impl Quantized {
    /// The nearest vector that can be encoded.
    pub(super) fn of(vector: &[f32]) -> Quantized {
        let most = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let scale = if most > 0.0 { most / 127.0 } else { 1.0 };
        // `as` saturates, and turns NaN into 0.
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

/// Encodes a text's chunks, with or without their vectors.
pub(super) fn encode(chunks: &[IndexedChunk], is_dense: bool) -> Vec<u8> {
    let mut out = vec![FORMAT];
    number(&mut out, chunks.len());
    for chunk in chunks {
        write_location(&mut out, &chunk.location);
        number(&mut out, chunk.terms.length as usize);
        number(&mut out, chunk.terms.counts.len());
        let mut last = 0;
        for &(term, count) in &chunk.terms.counts {
            number(&mut out, term.wrapping_sub(last) as usize);
            number(&mut out, usize::from(count));
            last = term;
        }
        let dense = chunk.dense.as_deref().filter(|_| is_dense);
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

fn write_location(out: &mut Vec<u8>, location: &ChunkLocation) {
    out.push(code(location.kind));
    for name in [&location.symbol, &location.parent] {
        let bytes = name.as_deref().unwrap_or_default().as_bytes();
        number(out, name.as_ref().map_or(0, |_| bytes.len() + 1));
        out.extend(bytes);
    }
    for (from, to) in [location.bytes, location.lines] {
        number(out, from as usize);
        number(out, to.saturating_sub(from) as usize);
    }
    // Lines begin at 1: a zero says that there is no declaration.
    let Some(of) = location.declaration else {
        return number(out, 0);
    };
    for (from, to) in [of.lines, of.bytes] {
        number(out, from as usize);
        number(out, to.saturating_sub(from) as usize);
    }
    number(out, of.body as usize);
}

/// Encodes a location alone, as part of a row.
pub(super) fn encode_location(location: &ChunkLocation) -> Vec<u8> {
    let mut out = Vec::new();
    write_location(&mut out, location);
    out
}

/// Decodes what [`encode_location`] made.
pub(super) fn decode_location(bytes: &[u8]) -> Option<ChunkLocation> {
    Reader(bytes).location()
}

/// Decodes the chunks of a row; `None` if it is corrupt or of another format.
pub(super) fn decode(row: &[u8]) -> Option<Vec<DecodedChunk>> {
    let (chunks, mut reader) = open_row(row)?;
    // No preallocation: the count may be wrong.
    (0..chunks).map(|_| reader.chunk()).collect()
}

/// The number of chunks in a row, and a reader behind it.
fn open_row(row: &[u8]) -> Option<(usize, Reader<'_>)> {
    let (format, rest) = row.split_first()?;
    let mut reader = Reader(rest);
    let chunks = reader.number().filter(|_| *format == FORMAT)?;
    Some((chunks, reader))
}

/// Decodes values from the front of its bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn chunk(&mut self) -> Option<DecodedChunk> {
        let location = self.location()?;
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
        Some(DecodedChunk {
            location,
            length,
            counts,
            dense,
        })
    }

    fn location(&mut self) -> Option<ChunkLocation> {
        let kind = kind(*self.take(1)?.first()?)?;
        let (symbol, parent) = (self.name()?, self.name()?);
        let (bytes, lines) = (self.span()?, self.span()?);
        Some(ChunkLocation {
            kind,
            symbol,
            parent,
            bytes,
            lines,
            declaration: self.declaration()?,
        })
    }

    fn declaration(&mut self) -> Option<Option<DeclarationPlace>> {
        let Some(first) = self.small()?.checked_sub(1) else {
            return Some(None);
        };
        let last = first.checked_add(self.small()?)?;
        Some(Some(DeclarationPlace {
            lines: (first.checked_add(1)?, last.checked_add(1)?),
            bytes: self.span()?,
            body: self.small()?,
        }))
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

    fn pieces() -> impl Strategy<Value = Vec<IndexedChunk>> {
        let name = proptest::option::of(".{0,12}");
        let location = (1_u8..=8, name.clone(), name, any::<(u16, u16, u16, u16)>());
        let place = (1_u16.., any::<(u16, u16, u16)>());
        let place = place.prop_map(|(line, (byte, bytes, body))| DeclarationPlace {
            lines: (line.into(), u32::from(line) + u32::from(body)),
            bytes: (byte.into(), u32::from(byte) + u32::from(bytes)),
            body: body.into(),
        });
        let location = (location, proptest::option::of(place));
        let location = location.prop_map(
            |((kind, symbol, parent, (byte, bytes, line, lines)), declaration)| ChunkLocation {
                kind: self::kind(kind).unwrap(),
                symbol,
                parent,
                bytes: (byte.into(), u32::from(byte) + u32::from(bytes)),
                lines: (line.into(), u32::from(line) + u32::from(lines)),
                declaration,
            },
        );
        let counts = proptest::collection::btree_map(any::<u32>(), 1_u16.., 0..20);
        let terms = counts.prop_map(|counts| Terms {
            length: counts.values().map(|count| u32::from(*count)).sum(),
            counts: counts.into_iter().collect(),
        });
        let dense = proptest::option::of(proptest::collection::vec(-1.0_f32..1.0, 1..20));
        let chunk = (location, terms, dense);
        let chunk = chunk.prop_map(|(location, terms, dense)| IndexedChunk {
            location,
            terms,
            dense,
        });
        proptest::collection::vec(chunk, 0..5)
    }

    proptest! {
        #[test]
        fn a_row_is_decoded_as_it_was_encoded(chunks in pieces()) {
            let read = decode(&encode(&chunks, true)).unwrap();
            prop_assert_eq!(read.len(), chunks.len());
            for (read, chunk) in read.into_iter().zip(chunks) {
                prop_assert_eq!(&read.location, &chunk.location);
                prop_assert_eq!(decode_location(&encode_location(&chunk.location)), Some(chunk.location));
                prop_assert_eq!(read.length, chunk.terms.length);
                prop_assert_eq!(read.counts, chunk.terms.counts);
                prop_assert_eq!(read.dense, chunk.dense.as_deref().map(Quantized::of));
            }
        }

        #[test]
        fn a_truncated_row_is_rejected(chunks in pieces(), cut in 1_usize..40) {
            let mut row = encode(&chunks, true);
            row.truncate(row.len().saturating_sub(cut));
            prop_assert!(decode(&row).is_none() || row.len() == 2);
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(row in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(decode(&row));
        }

        #[test]
        fn a_quantized_vector_is_off_by_half_a_step_at_most(
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
