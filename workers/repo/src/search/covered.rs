//! The files that a query covers, and what the index says of them.

use rayon::prelude::*;

use super::{FileSource, ListedFile, Query};
use crate::cancel::Cancel;
use crate::listing::{Entry, EntryKind, Listing};
use crate::scan::Count;
use crate::search_pool::SearchThreads;

/// Files read in parallel before their counts are merged.
const BLOCK: usize = 512;
/// Entries that one thread looks at, at a time.
const PART: usize = 256;
/// So few entries are looked at on the calling thread: waking others takes longer.
const FEW_ENTRIES: usize = 1_024;

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
    (threads, cancel): (&SearchThreads<'_>, &Cancel),
) -> Vec<CoveredFile<'a>> {
    let parts = listing.entries.chunks(PART).enumerate();
    let parts = parts.map(|(number, entries)| (number * PART, entries));
    let part = |(first, entries)| covered_part(content, (first, entries), query, cancel);
    if listing.entries.len() <= FEW_ENTRIES {
        return parts.flat_map(part).collect();
    }
    let parts: Vec<(usize, &[Entry])> = parts.collect();
    threads.install(|| parts.into_par_iter().flat_map_iter(part).collect())
}

/// The covered files among some entries, of which the first has this position in the listing.
fn covered_part<'a>(
    content: &impl FileSource,
    (first, entries): (usize, &'a [Entry]),
    query: &Query,
    cancel: &Cancel,
) -> Vec<CoveredFile<'a>> {
    let entries = entries.iter().enumerate();
    let covered = entries.filter(|(_, entry)| query.covers(entry));
    let files = covered.map(|(position, Entry { path, .. })| ListedFile {
        position: first + position,
        path,
    });
    let files: Vec<ListedFile<'a>> = files.collect();
    let known = match cancel.check() {
        Ok(()) => content.known_counts(&files),
        // Reading will find the same reason to stop.
        Err(_stopped) => vec![None; files.len()],
    };
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
