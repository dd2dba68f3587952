//! Converts files of the work tree to what git would commit.
//!
//! Line ends, encodings and `$Id$` are normalized by the index's attributes. Filter commands that a
//! repository configures are removed first, so that none is ever run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use archway_repo::RepoPath;
use gix::filter::plumbing::pipeline::CrlfRoundTripCheck;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::index::entry::Mode;
use gix::objs::Find as _;
use gix::worktree::stack::state::attributes::Source;

use super::tracked::Index;

/// Converts files to what git would commit.
pub(super) struct Cleaner<'h> {
    repository: &'h gix::Repository,
    index: gix::worktree::Index,
    /// Created for the first file that needs it: most calls need none.
    filters: Option<Filters>,
}

struct Filters {
    pipeline: gix::filter::plumbing::Pipeline,
    attributes: gix::worktree::Stack,
}

impl<'h> Cleaner<'h> {
    pub(super) fn new(repository: &'h gix::Repository, index: &Index) -> Cleaner<'h> {
        Cleaner {
            repository,
            index: index.file.clone(),
            filters: None,
        }
    }

    /// The hash function of ids.
    pub(super) fn hash_kind(&self) -> gix::hash::Kind {
        self.repository.object_hash()
    }

    /// The content that git would commit at `path`. Returns the content unchanged if the conversion
    /// fails, where git would refuse.
    pub(super) fn clean(&mut self, path: &RepoPath, content: Vec<u8>) -> Vec<u8> {
        match self.cleaned(path, &content) {
            Ok(Some(cleaned)) => cleaned,
            Ok(None) => content,
            Err(error) => {
                tracing::debug!(%error, "filters failed; comparing the file unfiltered");
                content
            }
        }
    }

    /// `None` if the content is unchanged.
    fn cleaned(&mut self, path: &RepoPath, content: &[u8]) -> gix::Result<Option<Vec<u8>>> {
        let filters = match self.filters.take() {
            Some(filters) => filters,
            None => Filters::of(self.repository, &self.index)?,
        };
        let Filters {
            pipeline,
            attributes,
        } = self.filters.insert(filters);
        let objects = &self.repository.objects;
        let native_path = Path::new(OsStr::from_bytes(path.as_bytes()));
        let at_path = attributes.at_path(native_path, None, objects);
        let entry = at_path.map_err(gix::Error::from_error)?;
        let converted = pipeline.convert_to_git(
            content,
            native_path,
            &mut |_, found| {
                entry.matching_attributes(found);
            },
            &mut |buffer| {
                let entry = self.index.entry_by_path(path.as_bytes().into());
                let Some(entry) = entry.filter(|entry| entry.mode != Mode::COMMIT) else {
                    return Ok(None);
                };
                Ok(objects.try_find(&entry.id, buffer)?.map(|_| ()))
            },
        )?;
        Ok(match converted {
            ToGitOutcome::Buffer(buffer) => Some(buffer.to_vec()),
            // Without drivers no filter process exists.
            ToGitOutcome::Unchanged(_) | ToGitOutcome::Process(_) => None,
        })
    }
}

impl Filters {
    fn of(repository: &gix::Repository, index: &gix::worktree::Index) -> gix::Result<Filters> {
        // Attributes come from the index alone: a link in the work tree could lead anywhere.
        let attributes = repository
            .attributes_only(index, Source::IdMapping)?
            .detach();
        let filters = gix::filter::Pipeline::new(repository, attributes)?;
        let (mut pipeline, attributes) = filters.into_parts();
        let options = pipeline.options_mut();
        options.drivers.clear();
        options.encodings_with_roundtrip_check.clear();
        options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
        Ok(Filters {
            pipeline,
            attributes,
        })
    }
}
