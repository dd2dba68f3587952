//! Texts made points, a bounded number at a time.

use archway_store::{Blob, Shelf};

use super::{point::Kept, requests::Batch};
use crate::vector_store::{HomeError, Text};

/// Points that are sent together, at most.
const MOST_POINTS: usize = 256;
/// Bytes that are sent together, about; one point may be more.
const MOST_BYTES: usize = 2 << 20;

/// One step of keeping a text.
enum Step<'a> {
    Chunk(Kept<'a>),
    /// All chunks of the blob were named, so many of them.
    Whole(Blob, u32),
}

/// The chunks of all texts, and after each text's how many it has.
pub(super) fn batches(
    shelf: Shelf,
    texts: &[Text],
    dense: bool,
) -> impl Iterator<Item = Result<Batch, HomeError>> {
    let mut steps = texts
        .iter()
        .flat_map(move |text| steps(shelf, text))
        .peekable();
    std::iter::from_fn(move || {
        steps.peek()?;
        let (mut room, mut batch) = (Room::new(), Batch::default());
        while let Some(step) = steps.next_if(|step| room.takes(step)) {
            match step {
                Step::Chunk(chunk) => match chunk.point(dense) {
                    Ok(point) => batch.points.push(point),
                    Err(error) => return Some(Err(error)),
                },
                Step::Whole(blob, length) => batch.whole.push((blob, length)),
            }
        }
        Some(Ok(batch))
    })
}

fn steps(shelf: Shelf, text: &Text) -> impl Iterator<Item = Step<'_>> {
    let blob = &text.blob;
    let length = u32::try_from(text.pieces.len()).unwrap_or(u32::MAX);
    let chunks = (0..length).zip(&text.pieces).map(move |(position, piece)| {
        Step::Chunk(Kept {
            shelf,
            blob,
            position,
            piece,
        })
    });
    chunks.chain([Step::Whole(*blob, length)])
}

/// What a batch still takes.
struct Room {
    points: usize,
    bytes: usize,
    first: bool,
}

impl Room {
    fn new() -> Self {
        Room {
            points: MOST_POINTS,
            bytes: MOST_BYTES,
            first: true,
        }
    }

    /// Whether the step goes into this batch; the first always does.
    fn takes(&mut self, step: &Step<'_>) -> bool {
        let size = match step {
            Step::Chunk(chunk) => chunk.size(),
            Step::Whole(..) => size_of::<Blob>() * 3,
        };
        let fits = self.first || (self.points > 0 && size <= self.bytes);
        self.first = false;
        self.points = self.points.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(size);
        fits
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{
        chunk::Kind,
        terms::Terms,
        vector_store::{Piece, Place},
    };

    const SHELF: Shelf = Shelf {
        tenant: Uuid::nil(),
        project: Uuid::nil(),
    };

    fn text(number: u8, pieces: usize, dimensions: usize) -> Text {
        let piece = Piece {
            place: Place {
                kind: Kind::Lines,
                symbol: None,
                parent: None,
                bytes: (0, 1),
                lines: (1, 1),
            },
            terms: Terms::default(),
            dense: Some(vec![1.0; dimensions]),
        };
        Text {
            blob: [number; 20],
            pieces: vec![piece; pieces],
        }
    }

    fn shapes(texts: &[Text]) -> Vec<(usize, usize)> {
        let batches = batches(SHELF, texts, true).map(Result::unwrap);
        batches
            .map(|batch| (batch.points.len(), batch.whole.len()))
            .collect()
    }

    #[test]
    fn small_texts_go_together_and_large_ones_in_parts() {
        let texts = [text(1, 3, 4), text(2, 0, 4), text(3, 600, 4)];
        // Of the steps of a batch, 256, two say that a text is whole.
        assert_eq!(shapes(&texts), [(254, 2), (256, 0), (93, 1)]);
        assert!(shapes(&[]).is_empty());
    }

    #[test]
    fn a_batch_ends_before_its_bytes_are_too_many() {
        let half = MOST_BYTES / 4 / 2;
        assert_eq!(shapes(&[text(1, 3, half)]), [(1, 0), (1, 0), (1, 1)]);
        assert_eq!(shapes(&[text(1, 1, 4 * half)]), [(1, 0), (0, 1)]);
    }

    #[test]
    fn a_text_is_whole_only_after_its_last_chunk() {
        let texts = [text(1, 300, 4), text(2, 2, 4)];
        let batches: Vec<_> = batches(SHELF, &texts, true).map(Result::unwrap).collect();
        assert!(batches[0].whole.is_empty());
        assert_eq!(batches[1].whole, [([1; 20], 300), ([2; 20], 2)]);
    }
}
