//! One build: adds what an index lacks of a snapshot's files.

use std::collections::HashSet;
use std::sync::Arc;

use archway_trigrams::{BlobId, SegmentError, SegmentWriter};

use super::project_index::ProjectIndex;
use super::room::Room;
use super::segments::{OpenSegment, Segments};
use super::store::Draft;
use crate::cancel::{Cancel, Stopped};
use crate::scan;

/// Text of one segment, in bytes: its lists are in memory until it is written.
const SEGMENT_TEXT: usize = 128 << 20;
/// Distinct trigrams of one segment: git's own repository has some 200,000.
const SEGMENT_TRIGRAMS: usize = 400_000;
/// Documents of one segment.
const SEGMENT_DOCUMENTS: usize = 100_000;

/// The files of a snapshot.
pub(crate) trait BuildSource: Send + 'static {
    /// Passes every file to the build: [`Build::keep`] for a blob that it has, else [`Build::add`].
    ///
    /// # Errors
    /// [`BuildError`]
    fn read(&self, build: &mut Build<'_>) -> Result<(), BuildError>;

    /// Names a snapshot that never changes.
    fn snapshot(&self) -> Option<&str> {
        None
    }

    /// Called after the segments were published.
    fn finish(&self, index: &ProjectIndex);
}

/// Why a build ended early. What it wrote before is used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error("the index would become too large")]
    Full,
    #[error("the project was closed meanwhile")]
    Closed,
    #[error("another worker writes to the index")]
    Busy,
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// The content of a blob.
pub(crate) enum Content<'a> {
    /// It is too large to be searched.
    TooLarge,
    /// Its bytes.
    Bytes(&'a [u8]),
}

/// A build in progress.
pub(crate) struct Build<'a> {
    index: &'a ProjectIndex,
    before: Arc<Segments>,
    /// The blobs of the snapshot that the index has.
    live: HashSet<BlobId>,
    writer: Option<(SegmentWriter<Draft>, Filled)>,
    room: &'a Room,
    written: u64,
    /// Whether a text was left out for want of room.
    is_full: bool,
    cancel: &'a Cancel,
}

/// What a build leaves.
pub(super) struct Built {
    /// The blobs of the snapshot that the index has.
    pub(super) live: HashSet<BlobId>,
    /// Whether it lacks some for want of room.
    pub(super) is_full: bool,
}

/// What the current segment has.
#[derive(Default)]
struct Filled {
    text: usize,
    documents: usize,
}

impl<'a> Build<'a> {
    pub(super) fn new(index: &'a ProjectIndex, room: &'a Room, cancel: &'a Cancel) -> Build<'a> {
        let before = index.segments();
        Build {
            room,
            is_full: false,
            index,
            before,
            live: HashSet::new(),
            writer: None,
            written: 0,
            cancel,
        }
    }

    /// When the build has to stop.
    pub(crate) fn cancel(&self) -> &Cancel {
        self.cancel
    }

    /// Records that the snapshot has a blob. False if the index lacks it: add it.
    pub(crate) fn keep(&mut self, blob: &BlobId) -> bool {
        if self.live.contains(blob) {
            return true;
        }
        let is_known = self.before.find(blob).is_some();
        if is_known {
            self.live.insert(*blob);
        }
        is_known
    }

    /// Whether the index may have another text of this length: it takes about 0.6 of that. Otherwise the
    /// text is left out.
    pub(crate) fn has_room(&mut self, length: usize) -> bool {
        let open = self.writer.as_ref().map_or(0, |(_, filled)| filled.text);
        let bytes = self.before.bytes() + self.written + (open + length) as u64 * 3 / 5;
        let has_room = bytes <= self.room.bytes();
        self.is_full |= !has_room;
        has_room
    }

    /// Adds a blob that the index lacks, if it has room for the text, and if that has no excessive number
    /// of trigrams.
    ///
    /// # Errors
    /// [`BuildError`]
    pub(crate) fn add(&mut self, blob: BlobId, content: &Content<'_>) -> Result<(), BuildError> {
        let text = match content {
            Content::TooLarge => None,
            Content::Bytes(bytes) => scan::decode(bytes),
        };
        let text = text.as_deref();
        let is_skipped = match text {
            Some(text) => scan::has_long_line(text),
            None => matches!(content, Content::TooLarge),
        };
        let length = text.map_or(0, str::len);
        if !self.has_room(length) || text.is_some_and(has_excessive_trigrams) {
            return Ok(());
        }
        let (writer, filled) = match &mut self.writer {
            Some(open) => open,
            None => {
                let draft = self.index.store.draft().map_err(SegmentError::Io)?;
                self.writer
                    .insert((SegmentWriter::new(draft), Filled::default()))
            }
        };
        writer.add(blob, text, is_skipped)?;
        self.live.insert(blob);
        filled.text += length;
        filled.documents += 1;
        let is_full = filled.text >= SEGMENT_TEXT
            || filled.documents >= SEGMENT_DOCUMENTS
            || writer.trigrams() >= SEGMENT_TRIGRAMS;
        if is_full {
            self.publish()?;
        }
        Ok(())
    }

    /// Publishes the last segment.
    pub(super) fn finish(mut self) -> Result<Built, BuildError> {
        self.publish()?;
        Ok(Built {
            live: self.live,
            is_full: self.is_full,
        })
    }

    fn publish(&mut self) -> Result<(), BuildError> {
        let Some((writer, _)) = self.writer.take() else {
            return Ok(());
        };
        let (name, segment) = self.index.store.publish(writer.finish()?)?;
        let bytes = segment.bytes();
        if self.before.bytes() + self.written + bytes > self.room.bytes() {
            // The estimate of its size was too low.
            self.index.store.remove(&name);
            self.is_full = true;
            return Ok(());
        }
        self.written += bytes;
        self.index
            .replace(&[], vec![OpenSegment::new(name, segment)]);
        self.room.make(bytes);
        Ok(())
    }
}

/// Whether a text has so many distinct trigrams that its lists would take more memory than all others
/// of a segment: only noise has. It is scanned.
fn has_excessive_trigrams(text: &str) -> bool {
    if text.len() < SEGMENT_TRIGRAMS {
        return false;
    }
    let mut seen = vec![0_u64; 1 << 18];
    let mut distinct = 0;
    for trigram in text.as_bytes().windows(3) {
        let number = trigram
            .iter()
            .fold(0, |number, byte| number << 8 | usize::from(*byte));
        if let Some(word) = seen.get_mut(number / 64) {
            let bit = 1_u64 << (number % 64);
            distinct += usize::from(*word & bit == 0);
            *word |= bit;
        }
    }
    distinct > SEGMENT_TRIGRAMS
}

#[cfg(test)]
mod tests {
    use super::has_excessive_trigrams;

    #[test]
    fn noise_has_excessive_trigrams_and_text_has_not() {
        let mut state = 1_u32;
        let letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b' ' + u8::try_from((state >> 16) % 95).unwrap())
        });
        let noise: String = letters.take(2_000_000).collect();
        assert!(has_excessive_trigrams(&noise));
        assert!(!has_excessive_trigrams(
            &"some words of text ".repeat(100_000)
        ));
        assert!(!has_excessive_trigrams("short"));
    }
}
