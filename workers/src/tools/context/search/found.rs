//! What the index finds, ranked, before anything is read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_proto::{failure::Failure, fault::Fault};
use uuid::Uuid;

use super::asked::Asked;
use super::ranked::{Ranked, ranked, with_notes};
use crate::index::fuse::Candidate;
use crate::index::home::HomeError;
use crate::index::meaning::{Query, Whole};
use crate::projects::Project;
use crate::repo::{Kind, RepoPath, Rules};
use crate::store::{IndexRow, NoteId, Source};
use crate::tools::ToolContext;

/// How many results there are at most, shown or not.
const MOST: usize = 200;

/// What was found.
pub(super) struct Found {
    pub(super) ranked: Vec<Ranked>,
    pub(super) total: usize,
    /// How the index of the project stands that was asked about.
    pub(super) row: IndexRow,
    pub(super) is_hybrid: bool,
    pub(super) note: Option<String>,
}

impl Found {
    /// What answers, of the first project and those that it links to; at most `limit` results.
    ///
    /// # Errors
    /// If the first project has no index yet, or the index gives no answer.
    pub(super) async fn of(
        cx: &ToolContext,
        projects: &[Arc<Project>],
        asked: &Asked,
        limit: usize,
    ) -> Result<Found, Failure> {
        let (wholes, missing) = wholes(cx, projects).await?;
        let filter = Filter::of(cx, projects, asked).await?;
        let passes = |project, source, name: &[u8]| filter.passes(project, source, name);
        let query = Query {
            text: &asked.query,
            kinds: asked.kinds.clone(),
            is_filtered: asked.is_filtered(),
            // What was closed since a project was indexed must not take the place of what is open.
            passes: (asked.is_filtered() || filter.is_newer(&wholes)).then_some(&passes),
            deadline: cx.cancel().deadline,
        };
        let found = cx.meaning().find(cx.tenant(), &wholes, &query).await;
        let found = found.map_err(|error| not_searched(&error))?;
        let candidates = found.candidates.into_iter();
        let named: Vec<Named> = candidates
            .filter_map(|candidate| filter.named(candidate, &wholes))
            .take(MOST)
            .collect();
        // What is hidden now was not found: else the refusal would tell that it is there.
        if named.is_empty() && found.is_embedder_away {
            return Err(no_words());
        }
        let total = named.len();
        let ranked = ranked(cx, projects, named).await;
        let (ranked, all_read) = with_notes(cx, projects, ranked, limit).await;
        Ok(Found {
            ranked,
            total,
            row: wholes
                .into_iter()
                .next()
                .map(|whole| whole.row)
                .unwrap_or_default(),
            is_hybrid: found.is_hybrid,
            note: note(&missing, found.is_embedder_away, all_read),
        })
    }
}

/// The indexes of projects, and which others have none yet.
async fn wholes(
    cx: &ToolContext,
    projects: &[Arc<Project>],
) -> Result<(Vec<Whole>, Vec<String>), Failure> {
    let (mut wholes, mut missing) = (Vec::new(), Vec::new());
    for (number, project) in projects.iter().enumerate() {
        let shelf = cx.shelf(project);
        let row = cx
            .meaning()
            .row(shelf)
            .await
            .map_err(|error| away(&error))?;
        let whole = match row.clone() {
            Some(row) => cx
                .meaning()
                .whole(shelf, row)
                .await
                .map_err(|error| away(&error))?,
            None => None,
        };
        match whole {
            Some(whole) => wholes.push(whole),
            None if number == 0 => return Err(not_ready(row.unwrap_or_default())),
            None => missing.push(project.slug.clone()),
        }
    }
    Ok((wholes, missing))
}

/// Which documents may be found.
struct Filter<'a> {
    projects: &'a [Arc<Project>],
    /// The path rules of each, what it says about itself included.
    rules: HashMap<Uuid, Arc<Rules>>,
    asked: &'a Asked,
    /// The notes that were picked, where not each may be found.
    notes: Option<HashSet<(Uuid, NoteId)>>,
}

/// A candidate, and the document that it is shown as.
pub(super) struct Named {
    pub(super) candidate: Candidate,
    /// Which of the projects, from 0.
    pub(super) project: usize,
    pub(super) source: Source,
    pub(super) name: Vec<u8>,
}

impl<'a> Filter<'a> {
    async fn of(
        cx: &ToolContext,
        projects: &'a [Arc<Project>],
        asked: &'a Asked,
    ) -> Result<Filter<'a>, Failure> {
        let mut notes = asked.picks_notes().then(HashSet::new);
        if let Some(notes) = &mut notes {
            for project in projects {
                let heads = cx.store().note_heads(project.id, asked.note_kind).await;
                let heads = heads.map_err(|error| away(&error))?.into_iter();
                let heads = heads.filter(|head| asked.takes_module(head.module.as_deref()));
                notes.extend(heads.map(|head| (project.id, head.id)));
            }
        }
        let rules = cx.rules(projects).await?;
        let ids = projects.iter().map(|project| project.id);
        Ok(Filter {
            projects,
            rules: ids.zip(rules).collect(),
            asked,
            notes,
        })
    }

    /// Whether an index was made by other path rules than hold now.
    fn is_newer(&self, wholes: &[Whole]) -> bool {
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
                let is_seen = rules.is_some_and(|rules| rules.judge(&path, Kind::File).is_ok());
                is_seen && self.asked.takes_file(&path)
            }
            Source::Discovery | Source::Entry if !self.asked.wants_notes() => false,
            Source::Discovery | Source::Entry => self.notes.as_ref().is_none_or(|notes| {
                let name = String::from_utf8_lossy(name).into_owned();
                notes.contains(&(project, NoteId { source, name }))
            }),
        }
    }

    /// The first document of a candidate's text that may be found.
    fn named(&self, candidate: Candidate, wholes: &[Whole]) -> Option<Named> {
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

fn note(missing: &[String], is_embedder_away: bool, all_read: bool) -> Option<String> {
    let embedder = "the embedding service can't be asked now: these are matches of words alone";
    let unread = "discoveries and memory can't be read now, and are left out";
    let notes = [(is_embedder_away, embedder), (!all_read, unread)].into_iter();
    let mut notes: Vec<String> = notes
        .filter(|(is_so, _)| *is_so)
        .map(|(_, note)| note.to_owned())
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        notes.push(format!(
            "these linked projects are not indexed yet: {missing}"
        ));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

const FALLBACK: &str = "use grep_codebase meanwhile, and try again in a while";

fn not_ready(row: IndexRow) -> Failure {
    let message = match row.total {
        0 => "the project is not indexed yet".to_owned(),
        total => format!(
            "the project is not indexed yet: {} of {total} files are",
            row.done
        ),
    };
    Failure::new(Fault::IndexNotReady, message, FALLBACK)
        .detail("indexed", row.done)
        .detail("total", row.total)
}

fn not_searched(error: &HomeError) -> Failure {
    tracing::warn!(error = %Chain(error), "an index could not be searched");
    let message = match error {
        HomeError::Late(_) => "the index did not answer in time",
        HomeError::TooLarge { .. } => "the project's index is too large for the memory it may have",
        _ => "the index can't be searched now",
    };
    Failure::new(Fault::IndexNotReady, message, FALLBACK).detail("retry_after_seconds", 5)
}

fn no_words() -> Failure {
    Failure::new(
        Fault::EmbeddingUnavailable,
        "the embedding service can't be asked now, and nothing has the words of the query",
        "use words that the code has, or grep_codebase; or try again in a while",
    )
    .detail("retry_after_seconds", 5)
}

fn away(error: &(dyn std::error::Error + 'static)) -> Failure {
    tracing::warn!(error = %Chain(error), "the index could not be looked up");
    Failure::new(
        Fault::Unavailable,
        "the index can't be looked up now",
        "try again in a few seconds, or use grep_codebase",
    )
    .detail("retry_after_seconds", 5)
}
