//! What the index knows of each listed file, for one pattern.

use std::sync::Arc;

use archway_trigrams::{BlobId, NumberSet};
use parking_lot::Mutex;

use super::project_index::ProjectIndex;
use super::recent_counts::{FileCounts, RecentCounts};
use super::segments::{DocumentId, OpenSegment, Segments};
use crate::cancel::Cancel;
use crate::error::RepoError;
use crate::file_text::{TextParts, Wanted};
use crate::scan::Count;
use crate::search::{EmptyTotals, PatternKey, SearchPattern};

/// The blobs of a listing's files, and where an index has them.
#[derive(Debug)]
pub(crate) struct IndexedFiles {
    /// By position in the listing. `None` for a link, or a file whose blob is not known.
    blobs: Arc<Vec<Option<BlobId>>>,
    located: Mutex<Option<Arc<LocatedFiles>>>,
}

/// Where a set of segments has the files.
#[derive(Debug)]
struct LocatedFiles {
    /// The id of the set of segments.
    segments: u64,
    documents: Vec<Option<DocumentId>>,
    /// Their sections by segment.
    sections: Vec<NumberSet>,
    /// The number of files whose blobs are not in the segments.
    missing: usize,
    empty_totals: EmptyTotals,
    counts: RecentCounts,
}

/// What the index says of all files of a listing, for one pattern.
pub(crate) struct Selection {
    index: Arc<ProjectIndex>,
    segments: Arc<Segments>,
    files: Arc<LocatedFiles>,
    /// The sections that may match, by segment. `None` for a segment that cannot be read.
    candidates: Vec<Option<NumberSet>>,
    /// What earlier searches counted in them.
    counts: Option<Arc<FileCounts>>,
}

impl IndexedFiles {
    pub(crate) fn new(blobs: Vec<Option<BlobId>>) -> IndexedFiles {
        IndexedFiles {
            blobs: Arc::new(blobs),
            located: Mutex::new(None),
        }
    }

    /// The blobs by position in the listing.
    pub(crate) fn blobs(&self) -> &[Option<BlobId>] {
        &self.blobs
    }

    fn locate(&self, segments: &Segments) -> Arc<LocatedFiles> {
        let known = self.located.lock().clone();
        if let Some(known) = known.filter(|known| known.segments == segments.id) {
            return known;
        }
        let find = |blob: &Option<BlobId>| segments.find(blob.as_ref()?);
        let documents: Vec<_> = self.blobs.iter().map(find).collect();
        let empty = |open: &Arc<OpenSegment>| NumberSet::none(open.segment.sections());
        let mut sections: Vec<NumberSet> = segments.list.iter().map(empty).collect();
        for id in documents.iter().flatten() {
            let at = id.segment as usize;
            if let (Some(set), Some(open)) = (sections.get_mut(at), segments.list.get(at)) {
                for section in open.segment.sections_of(id.number) {
                    set.insert(section);
                }
            }
        }
        let pairs = self.blobs.iter().zip(&documents);
        let located = Arc::new(LocatedFiles {
            segments: segments.id,
            missing: pairs
                .filter(|(blob, document)| blob.is_some() && document.is_none())
                .count(),
            documents,
            sections,
            empty_totals: EmptyTotals::default(),
            counts: RecentCounts::default(),
        });
        *self.located.lock() = Some(Arc::clone(&located));
        located
    }
}

impl Selection {
    /// Looks up a pattern among the files of a project's listing.
    ///
    /// # Errors
    /// If the pattern is invalid.
    pub(crate) fn of(
        index: &Arc<ProjectIndex>,
        (project, files): (&str, &IndexedFiles),
        pattern: &SearchPattern,
        cancel: &Cancel,
    ) -> Result<Selection, RepoError> {
        let requirement = &pattern.compiled()?.requirement;
        index.record_use();
        index.record_files(project, &files.blobs);
        let segments = index.segments();
        let files = files.locate(&segments);
        let candidates = segments
            .list
            .iter()
            .zip(&files.sections)
            .map(|(open, among)| {
                // What is not looked up in time has to be read.
                cancel.check().ok()?;
                let found = open.segment.candidates(requirement, among);
                found.inspect_err(|error| index.report(open, error)).ok()
            });
        Ok(Selection {
            candidates: candidates.collect(),
            counts: files.counts.of(pattern.key()),
            files,
            index: Arc::clone(index),
            segments,
        })
    }

    /// The number of files whose blobs are known, but not in the index.
    pub(crate) fn missing(&self) -> usize {
        self.files.missing
    }

    /// Where to remember the totals, if no file whose blob is known can match.
    pub(crate) fn empty_totals(&self) -> Option<&EmptyTotals> {
        let mut candidates = self.candidates.iter();
        let excludes_all =
            |found: &Option<NumberSet>| found.as_ref().is_some_and(NumberSet::is_empty);
        let is_empty = self.files.missing == 0 && candidates.all(excludes_all);
        is_empty.then_some(&self.files.empty_totals)
    }

    /// The count of the file at a position of the listing, if the index excludes it or an earlier
    /// search counted it. `None` for a file that has to be read.
    pub(crate) fn known_count(&self, position: usize) -> Option<Count> {
        let (open, id) = self.located(position)?;
        let candidates = self.candidates.get(id.segment as usize)?.as_ref()?;
        let document = open.segment.document(id.number)?;
        let mut sections = open.segment.sections_of(id.number);
        let lines = match sections.any(|section| candidates.contains(section)) {
            true => self.counts.as_ref()?.get(position)?,
            false => 0,
        };
        Some(Count {
            lines,
            skipped_lines: document.is_skipped,
        })
    }

    /// Remembers counts by position, each of the text that the index has.
    pub(crate) fn record_counts(&self, pattern: &PatternKey, counted: &[(usize, u64)]) {
        self.files.counts.add(pattern, counted);
    }

    /// Reads the text of the file at a position into `text`, decoded as for a search: all of it, or
    /// the sections that can match. Returns whether the file has lines that are not searched; `None`
    /// if the index does not have it.
    pub(crate) fn text(&self, position: usize, wanted: Wanted, text: &mut Vec<u8>) -> Option<bool> {
        let (open, id) = self.located(position)?;
        let candidates = self.candidates.get(id.segment as usize)?.as_ref();
        let among = candidates.filter(|_| wanted == Wanted::Candidates);
        let document = open.segment.document(id.number)?;
        match open.segment.text(id.number, among, text) {
            Ok(has_text) => has_text.then_some(document.is_skipped),
            Err(error) => {
                self.index.report(open, &error);
                None
            }
        }
    }

    /// The parts of the text of the file at a position that can match. `None` if the index does not
    /// know.
    pub(crate) fn parts(&self, position: usize) -> Option<TextParts> {
        let (open, id) = self.located(position)?;
        let candidates = self.candidates.get(id.segment as usize)?.as_ref()?;
        let document = open.segment.document(id.number)?;
        Some(TextParts {
            ranges: open.segment.ranges(id.number, candidates),
            is_skipped: document.is_skipped,
        })
    }

    fn located(&self, position: usize) -> Option<(&OpenSegment, DocumentId)> {
        let id = (*self.files.documents.get(position)?)?;
        Some((self.segments.list.get(id.segment as usize)?, id))
    }
}
