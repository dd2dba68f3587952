//! Reads all lists of a segment, one after the other.

use super::Segment;
use crate::error::SegmentError;
use crate::layout::TrigramRow;
use crate::number_set::NumberSet;
use crate::trigram::Trigram;

/// All lists of a segment, in ascending order of their trigrams.
pub(crate) struct Lists<'s> {
    segment: &'s Segment,
    next_block: usize,
    /// The rest of the current block, last row first, with the positions of the lists.
    rows: Vec<(u64, TrigramRow)>,
}

impl Segment {
    /// Reads everything, to find out whether it is damaged.
    ///
    /// # Errors
    /// [`SegmentError::Damaged`] or [`SegmentError::Io`].
    pub fn verify(&self) -> Result<(), SegmentError> {
        for number in 0..self.sections() {
            self.section(number)?;
        }
        let mut lists = self.lists();
        while lists.next()?.is_some() {}
        Ok(())
    }

    pub(crate) fn lists(&self) -> Lists<'_> {
        Lists {
            segment: self,
            next_block: 0,
            rows: Vec::new(),
        }
    }
}

impl Lists<'_> {
    /// The next list.
    pub(crate) fn next(&mut self) -> Result<Option<(Trigram, NumberSet)>, SegmentError> {
        if self.rows.is_empty() && self.next_block < self.segment.blocks.len() {
            let mut buffer = Vec::new();
            let (rows, mut at) = self.segment.block(self.next_block, &mut buffer)?;
            self.rows.extend(rows.iter().map(|row| {
                let list_at = at;
                at += u64::from(row.length);
                (list_at, *row)
            }));
            self.rows.reverse();
            self.next_block += 1;
        }
        let Some((at, row)) = self.rows.pop() else {
            return Ok(None);
        };
        Ok(Some((row.trigram.get(), self.segment.list(at, &row)?)))
    }
}
