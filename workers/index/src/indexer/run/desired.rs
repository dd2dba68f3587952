//! The desired content of an index: the files of HEAD's commit, and the project's notes.

use std::sync::Arc;

use archway_repo::{Look, Repo};
use archway_store::{Document, Source};
use tokio::time::Instant;

use super::{Run, RunError, cancel};
use crate::prepare;

/// The desired content of an index.
pub(super) struct DesiredIndex {
    /// When it was determined.
    pub(super) begun: Instant,
    pub(super) repo: Repo,
    /// The state of the repository, not older than the files.
    pub(super) look: Look,
    pub(super) commit: Option<String>,
    /// Fingerprint of the path rules.
    pub(super) rules: String,
    /// Version of the project's memory.
    pub(super) notes: i64,
    /// Sorted by source and name.
    pub(super) documents: Vec<Document>,
}

impl Run<'_> {
    /// All files of HEAD's commit that callers may read, and all notes.
    pub(super) async fn desired(&self) -> Result<DesiredIndex, RunError> {
        let mut desired = self.files().await?;
        let project = self.lease.project_key.project;
        let notes = self.store().list_notes(project).await?;
        desired.notes = notes.mark;
        let notes = notes.ids.into_iter().map(|note| Document {
            source: note.source,
            blob: prepare::note_blob(&note),
            name: note.name.into_bytes(),
        });
        desired.documents.extend(notes);
        Ok(desired)
    }

    async fn files(&self) -> Result<DesiredIndex, RunError> {
        let rules = self.project.rules.clone().ok_or(RunError::InvalidRules)?;
        let repos = Arc::clone(&self.indexer.parts.repos);
        let (tenant, slug) = (self.project.tenant.clone(), self.project.project.clone());
        let id = self.project.project_key.project;
        let had_commit = matches!(self.project.indexed, Some(Some(_)));
        let (begun, stop) = (Instant::now(), self.stop.clone());
        let files = move || {
            let (repo, look) = repos.open_uncached(&tenant, (&slug, id), &rules)?;
            // A repository that is rejected for a moment must not empty its index.
            if let Some(why) = repo.git_refused().filter(|_| had_commit) {
                return Err(RunError::RepositoryRejected(why));
            }
            let files = repo.committed(&cancel(stop))?.into_iter();
            let files = files.filter_map(|file| {
                Some(Document {
                    source: Source::File,
                    name: file.path.as_bytes().to_vec(),
                    blob: file.blob.as_slice().try_into().ok()?,
                })
            });
            Ok(DesiredIndex {
                begun,
                documents: files.collect(),
                commit: repo.head().map(|head| head.commit),
                rules: repo.rules().fingerprint(),
                notes: 0,
                look,
                repo,
            })
        };
        self.indexer.thread.run(files).await?
    }
}
