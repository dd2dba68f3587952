//! Which blobs a work tree's files are, as of the last build of the index.
//!
//! A file's blob is known while one stat of the file proves that it is unchanged.

use std::cmp::Ordering;
use std::sync::{Arc, Weak};

use archway_trigrams::BlobId;
use gix::objs::Kind;
use parking_lot::Mutex;

use super::WorkTree;
use crate::listing::{Entry, EntryKind, Listing};
use crate::path::RepoPath;
use crate::scan::MAX_FILE;
use crate::search_index::{
    Build, BuildError, BuildSource, Content, IndexedFiles, ProjectIndex, SavedFile, blob_id,
    encode_files,
};
use crate::stamp::{ObservedState, Stamp};

/// A saved state holds by itself, whatever was listed with it.
const SAVED_BASIS: &str = "work tree";

/// The blobs of a listing's files.
#[derive(Debug)]
pub(crate) struct IndexedWorkTree {
    listing: Arc<Listing>,
    /// By position in the listing. `None` for a file that was not read yet, or only just written.
    states: Vec<Option<ObservedState>>,
    pub(crate) files: IndexedFiles,
    /// The number of files without a state.
    pub(crate) unread: usize,
}

impl IndexedWorkTree {
    fn new(listing: Arc<Listing>, files: Vec<Option<KnownFile>>) -> IndexedWorkTree {
        let is_file = listing
            .entries
            .iter()
            .map(|entry| entry.kind == EntryKind::File);
        let unread = is_file
            .zip(&files)
            .filter(|(is, file)| *is && file.is_none());
        IndexedWorkTree {
            unread: unread.count(),
            states: files
                .iter()
                .map(|file| file.map(|file| file.state))
                .collect(),
            files: IndexedFiles::new(
                files
                    .iter()
                    .map(|file| file.and_then(|it| it.blob))
                    .collect(),
            ),
            listing,
        }
    }

    /// The state in which the file at a position was read.
    pub(crate) fn state(&self, position: usize) -> Option<ObservedState> {
        *self.states.get(position)?
    }

    /// What a worker that starts again can use.
    fn saved(&self) -> impl Iterator<Item = (&Entry, Option<BlobId>, Option<Stamp>)> {
        let entries = self.listing.entries.iter().enumerate();
        entries.filter_map(|(position, entry)| {
            let KnownFile { state, blob } = self.known(position)?;
            match state {
                ObservedState::Stamped(stamp) => Some((entry, blob, Some(stamp))),
                ObservedState::Absent | ObservedState::TooRecent => None,
            }
        })
    }

    fn known(&self, position: usize) -> Option<KnownFile> {
        Some(KnownFile {
            state: self.state(position)?,
            blob: *self.files.blobs().get(position)?,
        })
    }
}

/// A file as it was read.
#[derive(Clone, Copy, Debug)]
struct KnownFile {
    state: ObservedState,
    /// `None` for a file that is too large to be searched, or cannot be read.
    blob: Option<BlobId>,
}

impl WorkTree {
    /// The blobs of the listed files, as far as they are known; at first, as they were `saved`.
    pub(crate) fn indexed(
        &self,
        listing: &Arc<Listing>,
        saved: impl FnOnce(&str) -> Option<Vec<SavedFile>>,
    ) -> Arc<IndexedWorkTree> {
        let known = self.indexed.lock().clone();
        let indexed = match known {
            Some(known) if Arc::ptr_eq(&known.listing, listing) => return known,
            Some(known) => moved(&known, listing),
            None => {
                let saved = saved(SAVED_BASIS).unwrap_or_default();
                moved(&restored(saved), listing)
            }
        };
        let indexed = Arc::new(indexed);
        *self.indexed.lock() = Some(Arc::clone(&indexed));
        indexed
    }
}

/// Files as they were saved.
fn restored(saved: Vec<SavedFile>) -> IndexedWorkTree {
    let known = |file: &SavedFile| {
        let state = ObservedState::Stamped(file.stamp?);
        let blob = file.blob;
        Some(KnownFile { state, blob })
    };
    let files = saved.iter().map(known).collect();
    let entries = saved.into_iter().map(|file| file.entry).collect();
    IndexedWorkTree::new(Arc::new(Listing { entries }), files)
}

/// The same files by their positions in another listing.
fn moved(known: &IndexedWorkTree, listing: &Arc<Listing>) -> IndexedWorkTree {
    let (old, mut from) = (&known.listing.entries, 0);
    let mut find = |path: &RepoPath| {
        while let Some(entry) = old.get(from) {
            match entry.path.cmp(path) {
                Ordering::Less => from += 1,
                Ordering::Equal => return known.known(from),
                Ordering::Greater => return None,
            }
        }
        None
    };
    let files = listing.entries.iter().map(|entry| find(&entry.path));
    IndexedWorkTree::new(Arc::clone(listing), files.collect())
}

/// The files of a work tree, for a build of the index. A waiting build keeps no project open.
pub(crate) struct WorkBlobs {
    work: Weak<WorkTree>,
    listing: Weak<Listing>,
    project: String,
    read: Mutex<Option<IndexedWorkTree>>,
}

impl WorkBlobs {
    pub(crate) fn new(work: &Arc<WorkTree>, listing: &Arc<Listing>, project: &str) -> WorkBlobs {
        WorkBlobs {
            project: project.to_owned(),
            work: Arc::downgrade(work),
            listing: Arc::downgrade(listing),
            read: Mutex::new(None),
        }
    }

    /// Passes a file to the build, of which a state may be known. `None` if the file was only just written,
    /// is gone, or has no room.
    fn read_file(
        work: &WorkTree,
        build: &mut Build<'_>,
        (path, known): (&RepoPath, Option<KnownFile>),
        buffer: &mut Vec<u8>,
    ) -> Result<Option<KnownFile>, BuildError> {
        let stat = work.jail.stat_unchecked(path);
        if let Some(known) = known.filter(|known| known.state.still_holds(stat))
            && known.blob.is_none_or(|blob| build.keep(&blob))
        {
            return Ok(Some(known));
        }
        let size = stat
            .ok()
            .and_then(|stat| usize::try_from(stat.st_size).ok());
        if size.is_some_and(|size| size as u64 <= MAX_FILE && !build.has_room(size)) {
            return Ok(None);
        }
        let observed_at = std::time::SystemTime::now();
        // A file that is too large, or cannot be read, is known and has no blob.
        let Ok(Some(state)) = work.read_observed(path, buffer) else {
            let stat = work.jail.stat(path);
            let state = stat.is_ok().then(|| ObservedState::at(observed_at, stat));
            return Ok(state
                .filter(is_settled)
                .map(|state| KnownFile { state, blob: None }));
        };
        let hash = gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, buffer);
        let Some(blob) = hash.ok().and_then(|hash| blob_id(&hash)) else {
            return Ok(None);
        };
        if !build.keep(&blob) {
            build.add(blob, &Content::Bytes(buffer))?;
        }
        let blob = Some(blob);
        Ok(Some(KnownFile { state, blob }).filter(|file| is_settled(&file.state)))
    }
}

impl BuildSource for WorkBlobs {
    fn read(&self, build: &mut Build<'_>) -> Result<(), BuildError> {
        let (Some(work), Some(listing)) = (self.work.upgrade(), self.listing.upgrade()) else {
            return Err(BuildError::Closed);
        };
        let (indexed, mut buffer) = (work.indexed(&listing, |_| None), Vec::new());
        // What a build that ends early does not look at stays as known as before.
        let known = (0..listing.entries.len()).map(|position| indexed.known(position));
        let mut files: Vec<Option<KnownFile>> = known.collect();
        let mut outcome = Ok(());
        for (position, entry) in listing.entries.iter().enumerate() {
            if entry.kind != EntryKind::File {
                continue;
            }
            let checked = build.cancel().check().map_err(BuildError::from);
            let file = (&entry.path, indexed.known(position));
            let read = checked.and_then(|()| Self::read_file(&work, build, file, &mut buffer));
            match (read, files.get_mut(position)) {
                (Ok(file), Some(place)) => *place = file,
                (Err(error), _) => {
                    outcome = Err(error);
                    break;
                }
                (Ok(_), None) => {}
            }
        }
        *self.read.lock() = Some(IndexedWorkTree::new(listing, files));
        outcome
    }

    fn finish(&self, index: &ProjectIndex) {
        let indexed = self.read.lock().take();
        let (Some(work), Some(indexed)) = (self.work.upgrade(), indexed) else {
            return;
        };
        index.save_files(&self.project, encode_files(SAVED_BASIS, indexed.saved()));
        *work.indexed.lock() = Some(Arc::new(indexed));
    }
}

fn is_settled(state: &ObservedState) -> bool {
    matches!(state, ObservedState::Stamped(_))
}
