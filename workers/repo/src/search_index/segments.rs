//! The open segments of one index.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use archway_trigrams::{BlobId, Segment};

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// The open segments of one index, as of one moment.
#[derive(Debug)]
pub(super) struct Segments {
    /// Another set of segments has another id.
    pub(super) id: u64,
    pub(super) list: Vec<Arc<OpenSegment>>,
}

/// An open segment and its name in the store.
#[derive(Debug)]
pub(super) struct OpenSegment {
    pub(super) name: PathBuf,
    pub(super) segment: Arc<Segment>,
    is_damaged: AtomicBool,
    is_unreadable: AtomicBool,
}

/// A document of a set of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DocumentId {
    /// The position of its segment in the set.
    pub(super) segment: u32,
    /// Its number in the segment.
    pub(super) number: u32,
}

impl Segments {
    pub(super) fn new(list: Vec<Arc<OpenSegment>>) -> Segments {
        Segments {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            list,
        }
    }

    pub(super) fn find(&self, blob: &BlobId) -> Option<DocumentId> {
        let mut segments = (0u32..).zip(&self.list);
        segments.find_map(|(segment, open)| {
            let number = open.segment.find(blob)?;
            Some(DocumentId { segment, number })
        })
    }

    /// The memory that they take, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.list.iter().map(|open| open.segment.memory()).sum()
    }

    /// Their size, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.list.iter().map(|open| open.segment.bytes()).sum()
    }
}

impl OpenSegment {
    pub(super) fn new(name: PathBuf, segment: Segment) -> Arc<OpenSegment> {
        Arc::new(OpenSegment {
            name,
            segment: Arc::new(segment),
            is_damaged: AtomicBool::new(false),
            is_unreadable: AtomicBool::new(false),
        })
    }

    /// Records that it is damaged; true for the first time.
    pub(super) fn mark_damaged(&self) -> bool {
        !self.is_damaged.swap(true, Ordering::Relaxed)
    }

    /// Records that reading it failed; true for the first time.
    pub(super) fn mark_unreadable(&self) -> bool {
        !self.is_unreadable.swap(true, Ordering::Relaxed)
    }
}
