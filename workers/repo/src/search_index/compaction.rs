//! Joins small segments, and drops texts that no file has any more.
//!
//! Segments are joined when several are of similar size, so that a text is copied a number of times
//! that grows with the logarithm of the index.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use archway_trigrams::{BlobId, NumberSet, Segment, SegmentError, merge};

use super::build::BuildError;
use super::project_index::ProjectIndex;
use super::room::Room;
use super::segments::{OpenSegment, Segments};
use crate::cancel::Cancel;

/// Segments of similar size that are joined.
const SIMILAR: usize = 4;
/// Sizes with the same logarithm to base 8 are similar: this many bits.
const SIZE_CLASS_BITS: u32 = 3;
/// Segments that are joined have at most a quarter of what all indexes may have: the old and the new ones
/// exist at the same time.
const JOINED_DIVISOR: u64 = 4;
/// Documents are dropped once there are this many for each that a file has.
const MAX_DOCUMENTS_PER_LIVE: usize = 2;

/// Joins and cleans the segments of an index.
pub(super) struct Compaction<'a> {
    pub(super) index: &'a ProjectIndex,
    pub(super) room: &'a Room,
    pub(super) cancel: &'a Cancel,
}

impl Compaction<'_> {
    /// Joins what is to be joined. `live` are the blobs that the last snapshot has, if all are known; others
    /// are dropped if there are many, or if the index is full. Returns whether any were.
    ///
    /// # Errors
    /// [`BuildError`]
    pub(super) fn run(
        &self,
        live: Option<HashSet<BlobId>>,
        is_full: bool,
    ) -> Result<bool, BuildError> {
        let segments = self.index.segments();
        let lengths = segments.list.iter().map(|open| open.segment.len() as usize);
        let documents: usize = lengths.sum();
        let mut has_dropped = false;
        if let Some(mut live) = live {
            // Work trees of one repository share its index.
            live.extend(self.index.blobs_in_use());
            if is_full || documents > live.len() * MAX_DOCUMENTS_PER_LIVE {
                has_dropped = self.drop_others(&segments, &live)?;
            }
        }
        let most = self.room.bytes() / JOINED_DIVISOR;
        while let Some(similar) = similar(&self.index.segments(), most) {
            self.join(&similar, |_| true)?;
        }
        Ok(has_dropped)
    }

    /// Drops the documents whose blobs are not live, segment by segment. Returns whether there were any.
    fn drop_others(&self, segments: &Segments, live: &HashSet<BlobId>) -> Result<bool, BuildError> {
        let mut has_dropped = false;
        for open in &segments.list {
            let mut documents = (0..open.segment.len()).filter_map(|it| open.segment.document(it));
            if documents.any(|document| !live.contains(&document.blob)) {
                self.join(std::slice::from_ref(open), |blob| live.contains(blob))?;
                has_dropped = true;
            }
        }
        Ok(has_dropped)
    }

    /// Replaces segments by one of those documents whose blobs are to be kept.
    fn join(
        &self,
        segments: &[Arc<OpenSegment>],
        is_kept: impl Fn(&BlobId) -> bool,
    ) -> Result<(), BuildError> {
        let mut seen = HashSet::new();
        let mut kept = |segment: &Segment| {
            let mut kept = NumberSet::none(segment.len());
            for number in 0..segment.len() {
                let blob = segment.document(number).map(|document| document.blob);
                if blob.is_some_and(|blob| is_kept(&blob) && seen.insert(blob)) {
                    kept.insert(number);
                }
            }
            kept
        };
        let inputs: Vec<_> = segments
            .iter()
            .map(|open| (Arc::clone(&open.segment), kept(&open.segment)))
            .collect();
        let old: Vec<PathBuf> = segments.iter().map(|open| open.name.clone()).collect();
        if seen.is_empty() {
            self.index.replace(&old, Vec::new());
            return Ok(());
        }
        let draft = self.index.store.draft().map_err(SegmentError::Io)?;
        let merged = merge(&inputs, draft, || {
            Ok::<(), BuildError>(self.cancel.check()?)
        });
        let merged = merged.inspect_err(|error| remove_damaged(self.index, segments, error))?;
        let (name, segment) = self.index.store.publish(merged)?;
        let bytes = segment.bytes();
        self.index
            .replace(&old, vec![OpenSegment::new(name, segment)]);
        self.room.make(bytes);
        Ok(())
    }
}

/// The smallest segments that are to be joined, of at most `most` bytes together.
fn similar(segments: &Segments, most: u64) -> Option<Vec<Arc<OpenSegment>>> {
    let mut classes: BTreeMap<u32, Vec<Arc<OpenSegment>>> = BTreeMap::new();
    for open in &segments.list {
        let class = open.segment.bytes().max(1).ilog2() / SIZE_CLASS_BITS;
        classes.entry(class).or_default().push(Arc::clone(open));
    }
    let bytes =
        |class: &[Arc<OpenSegment>]| -> u64 { class.iter().map(|open| open.segment.bytes()).sum() };
    classes
        .into_values()
        .find(|class| class.len() >= SIMILAR && bytes(class) <= most)
}

/// Finds and removes the segments that a merge found damaged.
fn remove_damaged(index: &ProjectIndex, segments: &[Arc<OpenSegment>], error: &BuildError) {
    if !matches!(error, BuildError::Segment(error) if error.is_damage()) {
        return;
    }
    for open in segments {
        if let Err(error) = open.segment.verify() {
            index.report(open, &error);
        }
    }
}
