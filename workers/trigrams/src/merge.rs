//! Joins segments.

use std::io::Write;
use std::sync::Arc;

use crate::document_set::DocumentSet;
use crate::error::SegmentError;
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
    segments: &[(Arc<Segment>, DocumentSet)],
    out: W,
    mut check: impl FnMut() -> Result<(), E>,
) -> Result<W, E> {
    let mut parts = PartsWriter::new(out);
    let mut inputs = Vec::new();
    for (segment, kept) in segments {
        let mut numbers = vec![None; segment.len() as usize];
        for document in kept.iter() {
            check()?;
            let (row, compressed) = segment.row(document)?;
            let number = parts.document(row, &compressed)?;
            if let Some(new) = numbers.get_mut(document as usize) {
                *new = Some(number);
            }
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
    next: Option<(Trigram, DocumentSet)>,
    /// The new numbers of its documents.
    numbers: Vec<Option<u32>>,
}

impl Input<'_> {
    /// Adds its documents that have this trigram.
    fn take(
        &mut self,
        trigram: Trigram,
        list: &mut PostingListBuilder,
    ) -> Result<(), SegmentError> {
        let Some((_, documents)) = self.next.take_if(|(next, _)| *next == trigram) else {
            return Ok(());
        };
        let number = |document: u32| self.numbers.get(document as usize).copied().flatten();
        documents
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
