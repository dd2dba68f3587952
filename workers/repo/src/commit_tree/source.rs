//! File contents of a commit for searches and for the index.

use std::sync::{Arc, Weak};

use gix::ObjectId;

use super::CommitListing;
use crate::file_text::{FileText, LoadedFile, Wanted};
use crate::git::Git;
use crate::pack_cache;
use crate::scan::{Count, MAX_FILE};
use crate::search::{EmptyTotals, FileSource, ListedFile, PatternKey};
use crate::search_index::{
    Build, BuildError, BuildSource, Content, ProjectIndex, Selection, encode_files,
};

/// The files of a commit, with what the index says of them.
pub(crate) struct CommitFiles<'a> {
    pub(crate) git: &'a Git,
    pub(crate) listing: &'a CommitListing,
    /// `None` without an index.
    pub(crate) selection: Option<Selection>,
}

/// The files of a commit, for a build of the index. A waiting build keeps no project open.
pub(crate) struct CommitBlobs {
    git: Weak<Git>,
    listing: Weak<CommitListing>,
    project: String,
    basis: String,
}

impl CommitBlobs {
    /// `basis` is that of the listing.
    pub(crate) fn new(
        git: &Arc<Git>,
        listing: &Arc<CommitListing>,
        (project, basis): (&str, String),
    ) -> CommitBlobs {
        CommitBlobs {
            project: project.to_owned(),
            basis,
            git: Arc::downgrade(git),
            listing: Arc::downgrade(listing),
        }
    }
}

impl CommitFiles<'_> {
    fn blob(&self, file: ListedFile<'_>) -> Option<ObjectId> {
        let blobs = self.listing.indexed.blobs();
        blobs.get(file.position)?.map(ObjectId::from)
    }

    fn size(&self, repository: &gix::Repository, file: ListedFile<'_>) -> Option<u64> {
        Some(repository.find_header(self.blob(file)?).ok()?.size())
    }
}

impl FileSource for CommitFiles<'_> {
    fn known_counts(&self, files: &[ListedFile<'_>]) -> Vec<Option<Count>> {
        let known = |file: &ListedFile<'_>| self.selection.as_ref()?.known_count(file.position);
        files.iter().map(known).collect()
    }

    fn record_counts(&self, pattern: &PatternKey, counted: &[(usize, u64)]) {
        if let Some(selection) = &self.selection {
            selection.record_counts(pattern, counted);
        }
    }

    fn load<'a>(
        &self,
        file: ListedFile<'_>,
        wanted: Wanted,
        buffer: &'a mut Vec<u8>,
    ) -> Option<LoadedFile<'a>> {
        let selection = self.selection.as_ref();
        let indexed = selection.and_then(|it| it.text(file.position, wanted, buffer));
        if let Some(is_skipped) = indexed {
            return Some(LoadedFile::indexed(buffer, is_skipped));
        }
        let repository = self.git.objects();
        if self.size(&repository, file)? > MAX_FILE {
            return None;
        }
        *buffer = repository.find_blob(self.blob(file)?).ok()?.take_data();
        Some(LoadedFile::new(FileText::decode(buffer), None))
    }

    fn empty_totals(&self) -> Option<&EmptyTotals> {
        self.selection.as_ref()?.empty_totals()
    }

    fn is_too_large(&self, file: ListedFile<'_>) -> bool {
        let size = self.size(&self.git.objects(), file);
        size.is_some_and(|size| size > MAX_FILE)
    }
}

impl BuildSource for CommitBlobs {
    fn snapshot(&self) -> Option<&str> {
        Some(&self.basis)
    }

    fn read(&self, build: &mut Build<'_>) -> Result<(), BuildError> {
        let (Some(git), Some(listing)) = (self.git.upgrade(), self.listing.upgrade()) else {
            return Err(BuildError::Closed);
        };
        let mut repository = git.objects();
        pack_cache::enable(&mut repository);
        for blob in listing.indexed.blobs().iter().flatten() {
            build.cancel().check()?;
            if build.keep(blob) {
                continue;
            }
            // A blob that cannot be read is not searched by a scan either.
            let id = ObjectId::from(*blob);
            let Ok(header) = repository.find_header(id) else {
                continue;
            };
            if header.size() > MAX_FILE {
                build.add(*blob, &Content::TooLarge)?;
                continue;
            }
            let has_room = usize::try_from(header.size()).is_ok_and(|size| build.has_room(size));
            if let Some(content) = has_room
                .then(|| repository.find_blob(id))
                .and_then(Result::ok)
            {
                build.add(*blob, &Content::Bytes(&content.data))?;
            }
        }
        Ok(())
    }

    fn finish(&self, index: &ProjectIndex) {
        if let Some(listing) = self.listing.upgrade() {
            let entries = listing.listing.entries.iter();
            let files = entries.zip(listing.indexed.blobs());
            let files = files.map(|(entry, blob)| (entry, *blob, None));
            index.save_files(&self.project, encode_files(&self.basis, files));
            listing.record_save();
        }
    }
}
