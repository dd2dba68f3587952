//! The files that a query covers, and what the index says of them.

use rayon::prelude::*;

use super::{FileSource, ListedFile, Query};
use crate::cancel::Cancel;
use crate::listing::{Entry, EntryKind, Listing};
use crate::scan::Count;

/// Files read in parallel before their counts are merged.
const BLOCK: usize = 512;
/// Files of which the index is asked at a time.
const LOOKED_UP: usize = 256;

/// A file to search.
pub(super) struct CoveredFile<'a> {
    pub(super) file: ListedFile<'a>,
    /// `None` if it has to be read.
    pub(super) known: Option<Count>,
}

/// The files that a query covers, in path order.
pub(super) fn covered<'a>(
    content: &impl FileSource,
    listing: &'a Listing,
    query: &Query,
    cancel: &Cancel,
) -> Vec<CoveredFile<'a>> {
    let entries = listing.entries.par_iter().enumerate();
    let entries = entries.with_min_len(LOOKED_UP);
    let covered = entries.filter(|(_, entry)| query.covers(entry));
    let files = covered.map(|(position, Entry { path, .. })| ListedFile { position, path });
    let files: Vec<ListedFile<'a>> = files.collect();
    let look_up = |files: &[ListedFile<'a>]| match cancel.check() {
        Ok(()) => content.known_counts(files),
        // Reading will find the same reason to stop.
        Err(_stopped) => vec![None; files.len()],
    };
    let known = files.par_chunks(LOOKED_UP).flat_map_iter(look_up);
    let known: Vec<Option<Count>> = known.collect();
    let files = files.into_iter().zip(known);
    files
        .map(|(file, known)| CoveredFile { file, known })
        .collect()
}

/// The number of files until [`BLOCK`] of them have to be read.
pub(super) fn end_of_block(files: &[CoveredFile<'_>]) -> usize {
    let unknown = files
        .iter()
        .enumerate()
        .filter(|(_, file)| file.known.is_none());
    let last = unknown.map(|(position, _)| position).nth(BLOCK - 1);
    last.map_or(files.len(), |last| last + 1)
}

impl Query {
    fn covers(&self, entry: &Entry) -> bool {
        // The target of a link is searched at its own path.
        entry.kind == EntryKind::File
            && !self.excluded.covers(&entry.path)
            && self
                .glob
                .as_ref()
                .is_none_or(|glob| glob.matches(&entry.path))
    }
}
