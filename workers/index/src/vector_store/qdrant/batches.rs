//! Splits texts into upsert requests of bounded size.

use archway_store::{Blob, ProjectKey};

use super::{point::NewPoint, requests::Batch};
use crate::vector_store::{IndexedText, VectorStoreError};

/// Points per batch, at most.
const MAX_POINTS: usize = 256;
/// Bytes per batch; a single point may exceed them.
const MAX_BYTES: usize = 2 << 20;

/// One step of storing a text.
enum Step<'a> {
    Chunk(NewPoint<'a>),
    /// The blob's chunks end here; it has this many.
    Complete(Blob, u32),
}

/// Yields the chunks of all texts, and after each text its number of chunks.
pub(super) fn batches(
    project_key: ProjectKey,
    texts: &[IndexedText],
    dense: bool,
) -> impl Iterator<Item = Result<Batch, VectorStoreError>> {
    let mut steps = texts
        .iter()
        .flat_map(move |text| steps(project_key, text))
        .peekable();
    std::iter::from_fn(move || {
        steps.peek()?;
        let (mut budget, mut batch) = (BatchBudget::new(), Batch::default());
        while let Some(step) = steps.next_if(|step| budget.admits(step)) {
            match step {
                Step::Chunk(chunk) => match chunk.point(dense) {
                    Ok(point) => batch.points.push(point),
                    Err(error) => return Some(Err(error)),
                },
                Step::Complete(blob, length) => batch.complete.push((blob, length)),
            }
        }
        Some(Ok(batch))
    })
}

fn steps(project_key: ProjectKey, text: &IndexedText) -> impl Iterator<Item = Step<'_>> {
    let blob = &text.blob;
    let length = u32::try_from(text.chunks.len()).unwrap_or(u32::MAX);
    let chunks = (0..length).zip(&text.chunks).map(move |(position, chunk)| {
        Step::Chunk(NewPoint {
            project_key,
            blob,
            position,
            chunk,
        })
    });
    chunks.chain([Step::Complete(*blob, length)])
}

/// The room left in a batch.
struct BatchBudget {
    points: usize,
    bytes: usize,
    is_empty: bool,
}

impl BatchBudget {
    fn new() -> Self {
        BatchBudget {
            points: MAX_POINTS,
            bytes: MAX_BYTES,
            is_empty: true,
        }
    }

    /// Whether the step fits into this batch; the first always does.
    fn admits(&mut self, step: &Step<'_>) -> bool {
        let size = match step {
            Step::Chunk(chunk) => chunk.size(),
            Step::Complete(..) => size_of::<Blob>() * 3,
        };
        let fits = self.is_empty || (self.points > 0 && size <= self.bytes);
        self.is_empty = false;
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
        vector_store::{ChunkLocation, IndexedChunk},
    };

    const PROJECT_KEY: ProjectKey = ProjectKey {
        tenant: Uuid::nil(),
        project: Uuid::nil(),
    };

    fn text(number: u8, chunks: usize, dimensions: usize) -> IndexedText {
        let chunk = IndexedChunk {
            location: ChunkLocation {
                kind: Kind::Lines,
                symbol: None,
                parent: None,
                bytes: (0, 1),
                lines: (1, 1),
                declaration: None,
            },
            terms: Terms::default(),
            dense: Some(vec![1.0; dimensions]),
        };
        IndexedText {
            blob: [number; 20],
            chunks: vec![chunk; chunks],
        }
    }

    fn shapes(texts: &[IndexedText]) -> Vec<(usize, usize)> {
        let batches = batches(PROJECT_KEY, texts, true).map(Result::unwrap);
        batches
            .map(|batch| (batch.points.len(), batch.complete.len()))
            .collect()
    }

    #[test]
    fn small_texts_share_a_batch_and_large_ones_are_split() {
        let texts = [text(1, 3, 4), text(2, 0, 4), text(3, 600, 4)];
        // Of a batch's 256 steps, two complete a text.
        assert_eq!(shapes(&texts), [(254, 2), (256, 0), (93, 1)]);
        assert!(shapes(&[]).is_empty());
    }

    #[test]
    fn a_batch_ends_at_its_limit_of_bytes() {
        let half = MAX_BYTES / 4 / 2;
        assert_eq!(shapes(&[text(1, 3, half)]), [(1, 0), (1, 0), (1, 1)]);
        assert_eq!(shapes(&[text(1, 1, 4 * half)]), [(1, 0), (0, 1)]);
    }

    #[test]
    fn a_text_is_complete_only_after_its_last_chunk() {
        let texts = [text(1, 300, 4), text(2, 2, 4)];
        let batches: Vec<_> = batches(PROJECT_KEY, &texts, true)
            .map(Result::unwrap)
            .collect();
        assert!(batches[0].complete.is_empty());
        assert_eq!(batches[1].complete, [([1; 20], 300), ([2; 20], 2)]);
    }
}
