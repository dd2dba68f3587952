//! Decides which documents may be found: by the current path rules, and by the filters of the
//! request.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use archway_index::fuse::Candidate;
use archway_index::search::SearchableIndex;
use archway_index::vector_store::AllowedBlobs;
use archway_proto::failure::Failure;
use archway_repo::{Kind, RepoError, RepoPath, Rules};
use archway_store::{NoteId, Source};
use uuid::Uuid;

use super::matches::{DocumentMatch, index_unavailable};
use super::ranked::Ranked;
use super::request::SearchRequest;
use crate::projects::Project;
use crate::tools::ToolContext;

/// Maximum number of notes of a kind or module, newest first.
const MAX_NOTES: u16 = 10_000;
/// Number of documents that are checked between two checks of the deadline: a few milliseconds.
const CHECK_INTERVAL: usize = 4096;

/// The documents that may be found.
pub(super) struct Filter {
    projects: Vec<Arc<Project>>,
    /// The path rules of each project, with those of its manifest.
    rules: HashMap<Uuid, Arc<Rules>>,
    request: Arc<SearchRequest>,
    /// The selected notes, if a filter applies to notes.
    notes: Option<HashSet<(Uuid, NoteId)>>,
    /// Older notes were not considered.
    pub(super) is_cut: bool,
}

impl Filter {
    pub(super) async fn of(
        cx: &ToolContext,
        projects: &[Arc<Project>],
        request: &Arc<SearchRequest>,
    ) -> Result<Filter, Failure> {
        let ids: Vec<Uuid> = projects.iter().map(|project| project.id).collect();
        let (mut notes, mut is_cut) = (None, false);
        if request.filters_notes() {
            let selected = selected_notes(cx, &ids, request).await?;
            is_cut = selected.len() >= MAX_NOTES.into();
            notes = Some(selected.into_iter().collect());
        }
        let rules = cx.rules(projects).await?;
        Ok(Filter {
            rules: ids.into_iter().zip(rules).collect(),
            projects: projects.to_vec(),
            request: Arc::clone(request),
            notes,
            is_cut,
        })
    }

    /// Which texts may be found: those of all documents that pass. There may be hundreds of thousands to check.
    pub(super) async fn blobs(
        filter: &Arc<Filter>,
        cx: &ToolContext,
        indexes: &[SearchableIndex],
    ) -> Result<Option<AllowedBlobs>, Failure> {
        let (filter, cancel) = (Arc::clone(filter), cx.cancel().clone());
        let indexes = indexes.to_vec();
        let collect = move || {
            let (mut allowed, mut refused) = (HashSet::new(), HashSet::new());
            for index in &indexes {
                for (at, (blob, source, name)) in index.documents.iter().enumerate() {
                    if at % CHECK_INTERVAL == 0 {
                        cancel.check().map_err(RepoError::Stopped)?;
                    }
                    match filter.allows(index.project, source, name) {
                        true => allowed.insert(*blob),
                        false => refused.insert(*blob),
                    };
                }
            }
            Ok(AllowedBlobs::of(allowed, refused))
        };
        cx.blocking(collect).await?
    }

    /// Whether an index was built under other path rules than the current ones.
    pub(super) fn is_newer(&self, indexes: &[SearchableIndex]) -> bool {
        indexes.iter().any(|index| {
            let rules = self.rules.get(&index.project);
            index.row.rules != rules.map(|rules| rules.fingerprint())
        })
    }

    /// Whether a document may be found: by the current path rules, and by the filters.
    fn allows(&self, project: Uuid, source: Source, name: &[u8]) -> bool {
        match source {
            Source::File => {
                let path = RepoPath::trusted(name);
                let rules = self.rules.get(&project);
                let is_readable = rules.is_some_and(|rules| rules.check(&path, Kind::File).is_ok());
                is_readable && self.request.matches_file(&path)
            }
            Source::Discovery | Source::Entry if !self.request.includes_notes() => false,
            Source::Discovery | Source::Entry => self.notes.as_ref().is_none_or(|notes| {
                let name = String::from_utf8_lossy(name).into_owned();
                notes.contains(&(project, NoteId { source, name }))
            }),
        }
    }

    /// Removes from notes the paths that rules have closed since.
    pub(super) fn hide_closed(&self, ranked: &mut [Ranked]) {
        for found in ranked {
            let project = self.projects.get(found.project);
            let rules = project.and_then(|project| self.rules.get(&project.id));
            let is_open = |path: &String| rules.is_some_and(|rules| rules.allows_naming(path));
            if let Some(note) = &mut found.note {
                note.paths.retain(is_open);
            }
        }
    }

    /// The first document with a candidate's text that may be found.
    pub(super) fn documented(
        &self,
        candidate: Candidate,
        indexes: &[SearchableIndex],
    ) -> Option<DocumentMatch> {
        let id = candidate.project;
        let index = indexes.iter().find(|index| index.project == id)?;
        let mut documents = index.documents.of_text(&candidate.blob).iter();
        let (source, name) = documents.find(|(source, name)| self.allows(id, *source, name))?;
        Some(DocumentMatch {
            project: self.projects.iter().position(|project| project.id == id)?,
            source: *source,
            name: name.to_vec(),
            candidate,
        })
    }
}

/// The notes of the requested kind and module.
async fn selected_notes(
    cx: &ToolContext,
    projects: &[Uuid],
    request: &SearchRequest,
) -> Result<Vec<(Uuid, NoteId)>, Failure> {
    let (store, most) = (cx.store(), i64::from(MAX_NOTES));
    let selected_notes = match (&request.module, request.note_kind) {
        (Some(module), kind) => store.notes_of_module(projects, (module, kind), most).await,
        (None, Some(kind)) => store.notes_of_kind(projects, kind, most).await,
        (None, None) => Ok(Vec::new()),
    };
    selected_notes.map_err(|error| index_unavailable(&error))
}
