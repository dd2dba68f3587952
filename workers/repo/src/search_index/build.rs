//! One build: adds what an index lacks of a snapshot's files.

use std::collections::HashSet;
use std::sync::Arc;

use archway_trigrams::{BlobId, SegmentError, SegmentWriter};

use super::project_index::ProjectIndex;
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

    /// Identifies a snapshot that never changes.
    fn snapshot(&self) -> Option<usize> {
        None
    }

    /// Called after the segments were published.
    fn finish(&self) {}
}

/// Why a build ended early. What it wrote before is used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error("the index would become too large")]
    Full,
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
    /// The size that the index may have, in bytes.
    limit: u64,
    written: u64,
    cancel: &'a Cancel,
}

/// What the current segment has.
#[derive(Default)]
struct Filled {
    text: usize,
    documents: usize,
}

impl<'a> Build<'a> {
    pub(super) fn new(index: &'a ProjectIndex, limit: u64, cancel: &'a Cancel) -> Build<'a> {
        let before = index.segments();
        Build {
            limit,
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

    /// Adds a blob that the index lacks.
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

        self.check_room(length)?;
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

    /// Checks whether the index may have another text: it takes about 0.6 of its length.
    fn check_room(&self, length: usize) -> Result<(), BuildError> {
        let open = self.writer.as_ref().map_or(0, |(_, filled)| filled.text);
        let bytes = self.before.bytes() + self.written + (open + length) as u64 * 3 / 5;
        (bytes <= self.limit).then_some(()).ok_or(BuildError::Full)
    }

    /// Publishes the last segment. Returns the blobs of the snapshot that the index has, and the
    /// number of bytes written.
    pub(super) fn finish(mut self) -> Result<(HashSet<BlobId>, u64), BuildError> {
        self.publish()?;
        Ok((self.live, self.written))
    }

    fn publish(&mut self) -> Result<(), BuildError> {
        let Some((writer, _)) = self.writer.take() else {
            return Ok(());
        };
        let (name, segment) = self.index.store.publish(writer.finish()?)?;
        self.written += segment.bytes();
        if self.before.bytes() + self.written > self.limit {
            self.index.store.remove(&name);
            return Err(BuildError::Full);
        }
        self.index
            .replace(&[], vec![OpenSegment::new(name, segment)]);
        Ok(())
    }
}
