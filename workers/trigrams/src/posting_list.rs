//! The sections that have a trigram, encoded.
//!
//! A short list has the gaps between its sections as variable-length numbers, seven bits a byte,
//! lowest first. A list for which that would be longer has a bit for each section instead.

use crate::error::SegmentError;
use crate::number_set::NumberSet;

const GAPS: u8 = 0;
const BITS: u8 = 1;
const MORE: u8 = 0x80;
const BAD: SegmentError = SegmentError::Damaged("a list of sections");

/// A list in the making: sections come in ascending order.
#[derive(Debug, Default)]
pub(crate) struct PostingListBuilder {
    gaps: Vec<u8>,
    /// One more than the last section.
    next: u32,
}

impl PostingListBuilder {
    /// Adds a section that comes after all earlier ones.
    pub(crate) fn push(&mut self, section: u32) {
        let mut gap = section.saturating_sub(self.next);
        self.next = section.saturating_add(1);
        while gap >= u32::from(MORE) {
            self.gaps.push(gap.to_le_bytes()[0] | MORE);
            gap >>= 7;
        }
        self.gaps.push(gap.to_le_bytes()[0]);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    /// The encoded list of a segment of `sections` sections.
    pub(crate) fn encode(&self, sections: u32) -> Vec<u8> {
        let bytes = sections.div_ceil(8) as usize;
        if self.gaps.len() <= bytes {
            return [&[GAPS], self.gaps.as_slice()].concat();
        }
        let mut bits = vec![0; bytes + 1];
        if let Some((kind, bits)) = bits.split_first_mut() {
            *kind = BITS;
            for section in decode_gaps(&self.gaps).flatten() {
                if let Some(byte) = bits.get_mut(section as usize / 8) {
                    *byte |= 1 << (section % 8);
                }
            }
        }
        bits
    }
}

/// Decodes a list of a segment of `sections` sections.
///
/// # Errors
/// [`SegmentError::Damaged`]
pub(crate) fn decode(list: &[u8], sections: u32) -> Result<NumberSet, SegmentError> {
    let mut set = NumberSet::none(sections);
    let is_good = match list.split_first() {
        Some((&GAPS, gaps)) => {
            decode_gaps(gaps).all(|section| section.is_some_and(|it| set.insert(it)))
        }
        Some((&BITS, bits)) => set.insert_bits(bits),
        _ => false,
    };
    is_good.then_some(set).ok_or(BAD)
}

/// The sections of encoded gaps; `None` once they are malformed.
fn decode_gaps(gaps: &[u8]) -> impl Iterator<Item = Option<u32>> {
    let (mut bytes, mut next) = (gaps.iter(), 0u32);
    std::iter::from_fn(move || {
        let mut byte = *bytes.next()?;
        let (mut gap, mut shift) = (u32::from(byte & !MORE), 7);
        while byte & MORE != 0 {
            let Some(more) = bytes.next().filter(|_| shift < u32::BITS) else {
                bytes = [].iter();
                return Some(None);
            };
            byte = *more;
            gap |= u32::from(byte & !MORE) << shift;
            shift += 7;
        }
        let section = next.checked_add(gap);
        next = section.and_then(|it| it.checked_add(1)).unwrap_or(u32::MAX);
        Some(section)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_decodes_to_what_was_encoded(list: BTreeSet<u16>, more in 0..100u32) {
            let sections = list.last().map_or(0, |last| u32::from(*last) + 1) + more;
            let mut builder = PostingListBuilder::default();
            list.iter().for_each(|section| builder.push(u32::from(*section)));
            let encoded = builder.encode(sections);
            prop_assert!(encoded.len() <= sections.div_ceil(8) as usize + 1);
            let decoded = decode(&encoded, sections).unwrap();
            prop_assert!(decoded.iter().eq(list.into_iter().map(u32::from)));
        }

        #[test]
        fn any_bytes_decode_to_sections_that_exist_or_are_refused(bytes: Vec<u8>) {
            if let Ok(set) = decode(&bytes, 100) {
                prop_assert!(set.iter().all(|section| section < 100));
            }
        }
    }
}
