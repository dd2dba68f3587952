//! Joins small segments, and drops texts that no file has any more.
//!
//! Segments are joined when several are of similar size, so that a text is copied a number of times
//! that grows with the logarithm of the index.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use archway_trigrams::{BlobId, NumberSet, Segment, merge};

use super::build::BuildError;
use super::project_index::ProjectIndex;
use super::segments::{OpenSegment, Segments};
use crate::cancel::Cancel;

/// Segments of similar size that are joined.
const SIMILAR: usize = 4;
/// Segments are similar if their sizes have the same logarithm to the base 2 to the power of this.
const SIZE_CLASS_BITS: u32 = 3;
/// Segments are joined if they have at most this part of what all indexes may have: the old and the
/// new ones exist at the same time.
const MAX_JOINED: u64 = 4;
/// Documents are dropped once there are this many for each that a file has.
const MAX_DOCUMENTS_PER_LIVE: usize = 2;

/// Joins what is to be joined. `live` are the blobs that the last snapshot has, if all are known;
/// `limit` is the size of all indexes. Returns the number of bytes written.
///
/// # Errors
/// [`BuildError`]
pub(super) fn run(
    index: &ProjectIndex,
    live: Option<HashSet<BlobId>>,
    limit: u64,
    cancel: &Cancel,
) -> Result<u64, BuildError> {
    let mut written = 0;
    let segments = index.segments();
    let documents: usize = segments
        .list
        .iter()
        .map(|open| open.segment.len() as usize)
        .sum();
    if let Some(mut live) = live {
        // Work trees of one repository share its index.
        live.extend(index.blobs_in_use());
        if documents > live.len() * MAX_DOCUMENTS_PER_LIVE {
            written += join(index, &segments.list, |blob| live.contains(blob), cancel)?;
        }
    }
    while let Some(similar) = similar(&index.segments(), limit / MAX_JOINED) {
        written += join(index, &similar, |_| true, cancel)?;
    }
    Ok(written)
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

/// Replaces segments by one of those documents whose blobs are to be kept.
fn join(
    index: &ProjectIndex,
    segments: &[Arc<OpenSegment>],
    is_kept: impl Fn(&BlobId) -> bool,
    cancel: &Cancel,
) -> Result<u64, BuildError> {
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
    let draft = index
        .store
        .draft()
        .map_err(archway_trigrams::SegmentError::Io)?;
    let merged = merge(&inputs, draft, || Ok::<(), BuildError>(cancel.check()?));
    let merged = merged.inspect_err(|error| remove_damaged(index, segments, error))?;
    let (name, segment) = index.store.publish(merged)?;
    let written = segment.bytes();
    let old: Vec<PathBuf> = segments.iter().map(|open| open.name.clone()).collect();
    index.replace(&old, vec![OpenSegment::new(name, segment)]);
    Ok(written)
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
