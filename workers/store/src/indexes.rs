//! The state of each project's index: rows of `indexes` and their dependent rows.
//!
//! Any number of workers may read an index; only the holder of its lease updates it. Leases expire
//! by Postgres' clock, so a killed or frozen worker blocks an index only briefly.

mod documents;
mod lease;
mod lost;
mod pieces;
mod recorded;
mod texts;

use std::collections::HashMap;
use std::sync::Arc;

use archway_repo::Rules;
use jiff::Timestamp;
use uuid::Uuid;

use super::keys::{Blob, ProjectKey, Source};
use super::{NoteId, StoreError, Stores, TenantStore, failed};

pub use lease::{CompletedIndex, LEASE, Lease};
pub use pieces::EncodedText;
pub use recorded::{RecordedIndex, RecordedText, TextState};
pub use texts::StoredText;

/// The state of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexRow {
    /// The row's id.
    pub id: i64,
    /// HEAD's commit when the index was last complete; `None` if it never was.
    pub commit: Option<String>,
    /// The fingerprint of the path rules at that time.
    pub rules: Option<String>,
    /// When it was last completed.
    pub indexed_at: Option<Timestamp>,
    /// How often it was completed; negative while it is incomplete because its vector store lost
    /// texts.
    pub edition: i64,
    /// The id of the vector store that its texts were written to.
    pub store_id: Uuid,
    /// The number of chunks when it was last complete.
    pub chunks: i64,
    /// Texts in the vector store, out of `total`.
    pub done: i64,
    /// The number of texts to index.
    pub total: i64,
    /// Whether some of its texts have no vectors yet: only words can rank all of them.
    pub lacks_vectors: bool,
    /// How many files are not in it, because they exceed the memory of a search.
    pub left_out: i64,
}

/// A project whose folder this worker can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedProject {
    /// The tenant's and project's ids.
    pub project_key: ProjectKey,
    /// The tenant's slug.
    pub tenant: String,
    /// The project's slug.
    pub project: String,
    /// The operator's path rules; `None` if they do not parse.
    pub rules: Option<Arc<Rules>>,
    /// HEAD's commit when its index was last complete; the outer `None` if it never was, the inner
    /// one without commits.
    pub indexed: Option<Option<String>>,
    /// The fingerprint of all path rules at that time.
    pub rules_fingerprint: Option<String>,
    /// The id of the vector store that its texts were written to.
    pub store_id: Uuid,
    /// Whether a run was requested, or the last one did not complete the index.
    pub is_requested: bool,
    /// Whether some of its texts have no vectors yet.
    pub lacks_vectors: bool,
}

#[cfg(feature = "testing")]
impl MountedProject {
    /// A project whose index is complete and of no commit, for tests of other crates. The folder is
    /// `t<tenant>/p<project>`.
    pub fn found(tenant: u128, project: u128) -> MountedProject {
        MountedProject {
            project_key: ProjectKey {
                tenant: Uuid::from_u128(tenant),
                project: Uuid::from_u128(project),
            },
            tenant: format!("t{tenant}"),
            project: format!("p{project}"),
            rules: Rules::new(&[], &[], None).ok().map(Arc::new),
            indexed: Some(None),
            rules_fingerprint: Some(String::new()),
            store_id: Uuid::nil(),
            is_requested: false,
            lacks_vectors: false,
        }
    }
}

/// An indexed file or note, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Document {
    /// File, discovery or entry.
    pub source: Source,
    /// The bytes of the path or id.
    pub name: Vec<u8>,
    /// The id of its text.
    pub blob: Blob,
}

impl Document {
    /// The note's id, if the document is a note.
    pub fn note(&self) -> Option<NoteId> {
        let name = String::from_utf8(self.name.clone()).ok();
        let name = name.filter(|_| self.source != Source::File)?;
        let source = self.source;
        Some(NoteId { source, name })
    }
}

impl Stores {
    /// Finds the projects of these folders `(tenant, project)`, each with the state of its index
    /// made by `made_by`. Folders that are not projects are left out.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn mounted(
        &self,
        folders: &[(String, String)],
        made_by: &str,
    ) -> Result<Vec<MountedProject>, StoreError> {
        let (tenants, projects): (Vec<String>, Vec<String>) = folders.iter().cloned().unzip();
        let rows = sqlx::query!(
            r#"select tenant_id as "tenant_id!", tenant as "tenant!",
                      project_id as "project_id!", project as "project!",
                      open_globs as "open_globs!", close_globs as "close_globs!", allow_globs,
                      commit_id, rules, home_id, is_whole as "is_whole!", is_asked as "is_asked!",
                      lacks_vectors as "lacks_vectors!"
               from mounted_projects($1, $2, $3)"#,
            &tenants,
            &projects,
            made_by
        )
        .fetch_all(&self.pool)
        .await
        .map_err(failed("reading which projects are mounted"))?;
        let plain = Rules::new(&[], &[], None).ok().map(Arc::new);
        let mounted = rows.into_iter().map(|row| MountedProject {
            rules: match (&*row.open_globs, &*row.close_globs, row.allow_globs) {
                ([], [], None) => plain.clone(),
                (open, close, allow) => {
                    let rules = Rules::new(open, close, allow.as_deref());
                    rules.ok().map(Arc::new)
                }
            },
            project_key: ProjectKey {
                tenant: row.tenant_id,
                project: row.project_id,
            },
            tenant: row.tenant,
            project: row.project,
            indexed: row.is_whole.then_some(row.commit_id),
            rules_fingerprint: row.rules,
            store_id: row.home_id.unwrap_or_default(),
            is_requested: row.is_asked,
            lacks_vectors: row.lacks_vectors,
        });
        Ok(mounted.collect())
    }
}

impl TenantStore<'_> {
    /// The states of these projects' indexes made by `made_by`; projects without one are left out.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn indexes(
        &self,
        projects: &[Uuid],
        made_by: &str,
    ) -> Result<HashMap<Uuid, IndexRow>, StoreError> {
        let mut tx = self.begin().await?;
        let rows = sqlx::query!(
            r#"select project_id, id, commit_id, rules,
                      (extract(epoch from indexed_at) * 1000)::bigint as indexed_ms,
                      edition, home_id, chunks, done, total, lacks_vectors, left_out
               from indexes where tenant_id = $1 and project_id = any($2) and made_by = $3"#,
            self.tenant,
            projects,
            made_by
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading the state of indexes"))?;
        let states = rows.into_iter().map(|row| {
            let milliseconds = row.indexed_ms;
            let state = IndexRow {
                id: row.id,
                commit: row.commit_id,
                rules: row.rules,
                indexed_at: milliseconds.and_then(|ms| Timestamp::from_millisecond(ms).ok()),
                edition: row.edition,
                store_id: row.home_id,
                chunks: row.chunks,
                done: row.done,
                total: row.total,
                lacks_vectors: row.lacks_vectors,
                left_out: row.left_out,
            };
            (row.project_id, state)
        });
        Ok(states.collect())
    }

    /// All documents of an index as of its last edition, by source and name.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn documents(&self, index: i64) -> Result<Vec<Document>, StoreError> {
        let mut tx = self.begin().await?;
        documents::all(&mut tx, self.tenant, index).await
    }
}
