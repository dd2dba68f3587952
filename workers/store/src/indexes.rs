//! What of a project is indexed, and by whom: rows of `indexes` and what hangs on them.
//!
//! Any number of workers may read them; only who holds the lease makes them whole. A lease runs out
//! by Postgres' clock, so that a worker that was killed, or froze, is no obstacle for long.

mod lease;
mod lost;
mod pieces;
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
pub use texts::{StoredText, TextState};

/// How an index stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexRow {
    /// The row's number.
    pub id: i64,
    /// HEAD's commit when it was last whole; `None`: it never was.
    pub commit: Option<String>,
    /// The fingerprint of the path rules then.
    pub rules: Option<String>,
    /// When it was last made whole.
    pub indexed_at: Option<Timestamp>,
    /// How often it was made whole; below 0 while it is not, since its home lost texts.
    pub edition: i64,
    /// The store that its texts were brought to.
    pub home: Uuid,
    /// How many chunks it had when it was last whole.
    pub chunks: i64,
    /// Texts that are at home, of those that are to be.
    pub done: i64,
    /// Texts that it is to have.
    pub total: i64,
    /// Some of its texts have no vectors yet: words alone can rank all of them.
    pub lacks_vectors: bool,
}

/// A folder that this worker has, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedProject {
    /// The tenant and project.
    pub project_key: ProjectKey,
    /// The tenant's slug.
    pub tenant: String,
    /// The project's slug.
    pub project: String,
    /// The operator's path rules; `None`: they do not parse.
    pub rules: Option<Arc<Rules>>,
    /// HEAD's commit when its index was last whole, if it ever was; there may have been none.
    pub indexed: Option<Option<String>>,
    /// The fingerprint of all its path rules then.
    pub rules_fingerprint: Option<String>,
    /// The store that its texts were brought to.
    pub home: Uuid,
    /// Somebody wants its index to be looked at, or it was not made whole when last tried.
    pub is_requested: bool,
    /// Some of its texts have no vectors yet.
    pub lacks_vectors: bool,
}

/// A file or an entry, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Document {
    /// File, discovery or entry.
    pub source: Source,
    /// The bytes of a path, or of an id.
    pub name: Vec<u8>,
    /// The text that it has.
    pub blob: Blob,
}

impl Document {
    /// Which note it is, if it is one.
    pub fn note(&self) -> Option<NoteId> {
        let name = String::from_utf8(self.name.clone()).ok();
        let name = name.filter(|_| self.source != Source::File)?;
        let source = self.source;
        Some(NoteId { source, name })
    }
}

impl Stores {
    /// Which projects these folders `(tenant, project)` are, and how the index of each stands that
    /// was made so; folders that are none are passed over.
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
            home: row.home_id.unwrap_or_default(),
            is_requested: row.is_asked,
            lacks_vectors: row.lacks_vectors,
        });
        Ok(mounted.collect())
    }
}

impl TenantStore<'_> {
    /// How the index of a project stands that was made so; `None` if there is none.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn index(
        &self,
        project: Uuid,
        made_by: &str,
    ) -> Result<Option<IndexRow>, StoreError> {
        let mut tx = self.begin().await?;
        let row = sqlx::query!(
            r#"select id, commit_id, rules, (extract(epoch from indexed_at) * 1000)::bigint as indexed_ms,
                      edition, home_id, chunks, done, total, lacks_vectors
               from indexes where tenant_id = $1 and project_id = $2 and made_by = $3"#,
            self.tenant,
            project,
            made_by
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(failed("reading how an index stands"))?;
        Ok(row.map(|row| IndexRow {
            id: row.id,
            commit: row.commit_id,
            rules: row.rules,
            indexed_at: row
                .indexed_ms
                .and_then(|ms| Timestamp::from_millisecond(ms).ok()),
            edition: row.edition,
            home: row.home_id,
            chunks: row.chunks,
            done: row.done,
            total: row.total,
            lacks_vectors: row.lacks_vectors,
        }))
    }

    /// How many texts of these projects' indexes that were made so are at home, and of how many;
    /// those without an index are left out.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn progress_of_indexes(
        &self,
        projects: &[Uuid],
        made_by: &str,
    ) -> Result<HashMap<Uuid, (i64, i64)>, StoreError> {
        let mut tx = self.begin().await?;
        let rows = sqlx::query!(
            "select project_id, done, total from indexes \
             where tenant_id = $1 and project_id = any($2) and made_by = $3",
            self.tenant,
            projects,
            made_by
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading how far indexes are"))?;
        let rows = rows.into_iter();
        Ok(rows
            .map(|row| (row.project_id, (row.done, row.total)))
            .collect())
    }

    /// All documents of an index, as of its last edition, by source and name.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn documents(&self, index: i64) -> Result<Vec<Document>, StoreError> {
        let mut tx = self.begin().await?;
        let rows = sqlx::query!(
            "select source, name, blob from index_documents \
             where tenant_id = $1 and index_id = $2 order by source, name",
            self.tenant,
            index
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading what is indexed"))?;
        let document = |source, name, blob: Vec<u8>| {
            Some(Document {
                source: Source::of(source)?,
                name,
                blob: blob.try_into().ok()?,
            })
        };
        let documents = rows.into_iter();
        Ok(documents
            .filter_map(|row| document(row.source, row.name, row.blob))
            .collect())
    }
}
