//! Joins segments.

use std::io::Write;
use std::sync::Arc;

use crate::error::SegmentError;
use crate::layout::DocumentRow;
use crate::number_set::NumberSet;
use crate::posting_list::PostingListBuilder;
use crate::segment::{Lists, Segment};
use crate::trigram::Trigram;
use crate::writer::PartsWriter;

/// Writes a segment of those documents of several segments that are to be kept, and returns what it
/// was written to.
///
/// No two of these documents may be of one blob. Texts are copied as they are. `check` is called
/// between documents and between lists.
///
/// # Errors
/// [`SegmentError`] of a segment, or of the writer, and the error of `check`.
pub fn merge<W: Write, E: From<SegmentError>>(
    segments: &[(Arc<Segment>, NumberSet)],
    out: W,
    mut check: impl FnMut() -> Result<(), E>,
) -> Result<W, E> {
    let mut parts = PartsWriter::new(out);
    let mut inputs = Vec::new();
    for (segment, kept) in segments {
        let mut numbers = vec![None; segment.sections() as usize];
        for document in kept.iter() {
            check()?;
            let row = segment.row(document)?;
            let first = parts.sections();
            for section in segment.sections_of(document) {
                let (length, compressed) = segment.section(section)?;
                let number = parts.section(length, &compressed)?;
                if let Some(new) = numbers.get_mut(section as usize) {
                    *new = Some(number);
                }
            }
            let first_section = u32::try_from(first).map_err(|_overflow| SegmentError::TooLarge)?;
            parts.document(DocumentRow {
                first_section: first_section.into(),
                ..row
            })?;
        }
        let mut lists = segment.lists();
        inputs.push(Input {
            next: lists.next()?,
            lists,
            numbers,
        });
    }
    let mut parts = parts.lists();
    while let Some(trigram) = least(&inputs) {
        check()?;
        let mut list = PostingListBuilder::default();
        for input in &mut inputs {
            input.take(trigram, &mut list)?;
        }
        if !list.is_empty() {
            parts.list(trigram, &list)?;
        }
    }
    Ok(parts.finish()?)
}

/// A segment that is merged.
struct Input<'s> {
    lists: Lists<'s>,
    next: Option<(Trigram, NumberSet)>,
    /// The new numbers of its sections.
    numbers: Vec<Option<u32>>,
}

impl Input<'_> {
    /// Adds its sections that have this trigram.
    fn take(
        &mut self,
        trigram: Trigram,
        list: &mut PostingListBuilder,
    ) -> Result<(), SegmentError> {
        let Some((_, sections)) = self.next.take_if(|(next, _)| *next == trigram) else {
            return Ok(());
        };
        let number = |section: u32| self.numbers.get(section as usize).copied().flatten();
        sections
            .iter()
            .filter_map(number)
            .for_each(|new| list.push(new));
        self.next = self.lists.next()?;
        Ok(())
    }
}

fn least(inputs: &[Input<'_>]) -> Option<Trigram> {
    let next = inputs.iter().filter_map(|input| input.next.as_ref());
    next.map(|(trigram, _)| *trigram).min()
}
