//! Which documents may be found: by the path rules of now, and by what is asked for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use archway_index::fuse::Candidate;
use archway_index::meaning::Whole;
use archway_proto::failure::Failure;
use archway_repo::{Kind, RepoError, RepoPath, Rules};
use archway_store::{Blob, NoteId, Source};
use uuid::Uuid;

use super::asked::Asked;
use super::found::{Named, away};
use super::ranked::Ranked;
use crate::projects::Project;
use crate::tools::ToolContext;

/// How many notes of a kind or module are looked through, the newest.
const MOST_PICKED: u16 = 10_000;
/// Documents that are judged between two looks at the call's time: some milliseconds' work.
const JUDGED_AT_ONCE: usize = 4096;

/// Which documents may be found.
pub(super) struct Filter {
    projects: Vec<Arc<Project>>,
    /// The path rules of each, what it says about itself included.
    rules: HashMap<Uuid, Arc<Rules>>,
    asked: Arc<Asked>,
    /// The notes that were picked, where not each may be found.
    notes: Option<HashSet<(Uuid, NoteId)>>,
    /// There are older ones.
    pub(super) is_cut: bool,
}

impl Filter {
    pub(super) async fn of(
        cx: &ToolContext,
        projects: &[Arc<Project>],
        asked: &Arc<Asked>,
    ) -> Result<Filter, Failure> {
        let (mut notes, mut is_cut) = (asked.picks_notes().then(HashSet::new), false);
        if let Some(notes) = &mut notes {
            for project in projects {
                let picked = picked(cx, project.id, asked).await?;
                is_cut |= picked.len() >= MOST_PICKED.into();
                notes.extend(picked.into_iter().map(|id| (project.id, id)));
            }
        }
        let rules = cx.rules(projects).await?;
        let ids = projects.iter().map(|project| project.id);
        Ok(Filter {
            rules: ids.zip(rules).collect(),
            projects: projects.to_vec(),
            asked: Arc::clone(asked),
            notes,
            is_cut,
        })
    }

    /// The texts of all documents that may be found. There may be hundreds of thousands to judge.
    pub(super) async fn blobs(
        filter: &Arc<Filter>,
        cx: &ToolContext,
        wholes: &[Whole],
    ) -> Result<Arc<HashSet<Blob>>, Failure> {
        let (filter, cancel) = (Arc::clone(filter), cx.cancel().clone());
        let wholes = wholes.to_vec();
        let judge = move || {
            let mut blobs = HashSet::new();
            for whole in &wholes {
                for (at, (blob, source, name)) in whole.documents.iter().enumerate() {
                    if at % JUDGED_AT_ONCE == 0 {
                        cancel.check().map_err(RepoError::Stopped)?;
                    }
                    if filter.passes(whole.project, source, name) {
                        blobs.insert(*blob);
                    }
                }
            }
            Ok(Arc::new(blobs))
        };
        cx.blocking(judge).await?
    }

    /// Whether an index was made by other path rules than hold now.
    pub(super) fn is_newer(&self, wholes: &[Whole]) -> bool {
        wholes.iter().any(|whole| {
            let rules = self.rules.get(&whole.project);
            whole.row.rules != rules.map(|rules| rules.fingerprint())
        })
    }

    /// Whether a document may be found: by the path rules of now, and by what is asked for.
    fn passes(&self, project: Uuid, source: Source, name: &[u8]) -> bool {
        match source {
            Source::File => {
                let path = RepoPath::trusted(name);
                let rules = self.rules.get(&project);
                let is_seen = rules.is_some_and(|rules| rules.check(&path, Kind::File).is_ok());
                is_seen && self.asked.takes_file(&path)
            }
            Source::Discovery | Source::Entry if !self.asked.wants_notes() => false,
            Source::Discovery | Source::Entry => self.notes.as_ref().is_none_or(|notes| {
                let name = String::from_utf8_lossy(name).into_owned();
                notes.contains(&(project, NoteId { source, name }))
            }),
        }
    }

    /// Takes from what was noted the paths that were closed since.
    pub(super) fn hide_closed(&self, ranked: &mut [Ranked]) {
        for found in ranked {
            let project = self.projects.get(found.project);
            let rules = project.and_then(|project| self.rules.get(&project.id));
            let is_open = |path: &String| {
                let path = RepoPath::trusted(path.as_bytes());
                let judge = |kind| rules.is_some_and(|rules| rules.check(&path, kind).is_ok());
                judge(Kind::File) && judge(Kind::Directory)
            };
            if let Some(note) = &mut found.note {
                note.paths.retain(is_open);
            }
        }
    }

    /// The first document of a candidate's text that may be found.
    pub(super) fn named(&self, candidate: Candidate, wholes: &[Whole]) -> Option<Named> {
        let id = candidate.project;
        let whole = wholes.iter().find(|whole| whole.project == id)?;
        let mut documents = whole.documents.of_text(&candidate.blob).iter();
        let (source, name) = documents.find(|(source, name)| self.passes(id, *source, name))?;
        Some(Named {
            project: self.projects.iter().position(|project| project.id == id)?,
            source: *source,
            name: name.to_vec(),
            candidate,
        })
    }
}

/// The notes of the kind and module that are asked for.
async fn picked(cx: &ToolContext, project: Uuid, asked: &Asked) -> Result<Vec<NoteId>, Failure> {
    let (store, most) = (cx.store(), i64::from(MOST_PICKED));
    let picked = match (&asked.module, asked.note_kind) {
        (Some(module), kind) => store.notes_of_module(project, (module, kind), most).await,
        (None, Some(kind)) => store.notes_of_kind(project, kind, most).await,
        (None, None) => Ok(Vec::new()),
    };
    picked.map_err(|error| away(&error))
}
