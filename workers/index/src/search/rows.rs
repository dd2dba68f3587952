//! States of indexes, with the last known ones while Postgres does not answer.

use std::collections::HashMap;

use archway_proto::chain::Chain;
use archway_store::{IndexRow, ProjectKey, StoreError};
use tokio::time::timeout;
use uuid::Uuid;

use super::{IndexSearch, STATE_TIMEOUT, SearchableIndex};

impl IndexSearch {
    /// States of these projects' indexes; projects whose indexing has not begun are left out.
    ///
    /// # Errors
    /// If Postgres does not answer, and the state of the first project is not cached.
    pub async fn rows(
        &self,
        tenant: Uuid,
        projects: &[Uuid],
    ) -> Result<HashMap<Uuid, IndexRow>, StoreError> {
        let cached = self.cached_rows(tenant, projects);
        let has_all = cached.len() == projects.len();
        let has_first = projects
            .iter()
            .next()
            .is_some_and(|it| cached.contains_key(it));
        let read = self.read_rows(tenant, projects);
        let read = match has_all {
            true => timeout(STATE_TIMEOUT, read).await.ok(),
            false => Some(read.await),
        };
        match read {
            Some(Ok(rows)) => Ok(rows),
            Some(Err(error)) if !has_first => Err(error),
            Some(Err(_)) | None => Ok(cached),
        }
    }

    /// As [`IndexSearch::rows`], but waits only briefly for Postgres: without it, cached states.
    pub async fn last_known_rows(
        &self,
        tenant: Uuid,
        projects: &[Uuid],
    ) -> HashMap<Uuid, IndexRow> {
        match timeout(STATE_TIMEOUT, self.read_rows(tenant, projects)).await {
            Ok(Ok(rows)) => rows,
            Ok(Err(_)) | Err(_) => self.cached_rows(tenant, projects),
        }
    }

    /// Marks indexes as incomplete and signals it. An index with a newer edition is left alone:
    /// the missing chunks may be ones that it no longer has.
    pub(super) async fn mark_lost(
        &self,
        tenant: Uuid,
        lost: impl Iterator<Item = &SearchableIndex>,
    ) {
        let store = self.stores.tenant(tenant);
        for SearchableIndex { row, project, .. } in lost {
            match timeout(STATE_TIMEOUT, store.mark_lost(row.id, row.edition)).await {
                Ok(Ok(())) => self.signals.changed(ProjectKey {
                    tenant,
                    project: *project,
                }),
                Ok(Err(error)) => {
                    tracing::debug!(error = %Chain(&error), "could not mark a lost index");
                }
                Err(_elapsed) => tracing::debug!("timeout while marking a lost index"),
            }
        }
    }

    fn cached_rows(&self, tenant: Uuid, projects: &[Uuid]) -> HashMap<Uuid, IndexRow> {
        let cached = projects.iter().filter_map(|&project| {
            let row = self.rows.get(&ProjectKey { tenant, project })?;
            Some((project, row))
        });
        cached.collect()
    }

    async fn read_rows(
        &self,
        tenant: Uuid,
        projects: &[Uuid],
    ) -> Result<HashMap<Uuid, IndexRow>, StoreError> {
        let store = self.stores.tenant(tenant);
        let rows = store.indexes(projects, &self.made_by).await?;
        for &project in projects {
            let project_key = ProjectKey { tenant, project };
            match rows.get(&project) {
                Some(row) => self.rows.insert(project_key, row.clone()),
                None => self.rows.invalidate(&project_key),
            }
        }
        Ok(rows)
    }
}
