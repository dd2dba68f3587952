//! The HEAD of many projects, for lists of projects.

use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_repo::{Head, RepoError};

use super::ToolContext;
use crate::projects::Project;

/// Maximum number of work trees whose status one list of projects refreshes.
const MAX_STATUS_REFRESHES: usize = 8;

impl ToolContext {
    /// Returns HEAD of each project, or `None` without git or if the project is not mounted.
    pub async fn heads(&self, projects: &[Arc<Project>]) -> Result<Vec<Option<Head>>, Failure> {
        let repos = Arc::clone(&self.shared.repos);
        let (tenant, listed) = (self.pass.tenant.clone(), projects.to_vec());
        let cancel = self.cancel.clone();
        let heads = move || {
            let head = |project: &Arc<Project>| {
                cancel.check().map_err(RepoError::Stopped)?;
                match repos.head(&tenant, (&project.slug, project.id)) {
                    Err(RepoError::Absent { .. }) => Ok(None),
                    head => Ok(head?),
                }
            };
            listed.iter().map(head).collect::<Result<Vec<_>, Failure>>()
        };
        let heads = self.blocking(heads).await??;
        self.refresh_statuses_later(projects, &heads);
        Ok(heads)
    }

    /// Finds out after the answer which work trees are dirty. Projects of unknown status come
    /// first.
    fn refresh_statuses_later(&self, projects: &[Arc<Project>], heads: &[Option<Head>]) {
        let both = projects.iter().zip(heads);
        let mut due: Vec<_> = both
            .filter_map(|(project, head)| Some((head.as_ref()?.dirty, Arc::clone(project))))
            .collect();
        // A random rotation, so that each project gets its turn. The sort is stable.
        let random = jiff::Timestamp::now().subsec_microsecond().unsigned_abs();
        let first = random as usize % due.len().max(1);
        due.rotate_left(first);
        due.sort_by_key(|(dirty, _)| dirty.is_some());
        due.truncate(MAX_STATUS_REFRESHES);
        let (repos, tenant) = (Arc::clone(&self.shared.repos), self.pass.tenant.clone());
        drop(tokio::task::spawn_blocking(move || {
            for (_, project) in due {
                repos.refresh_status(&tenant, (&project.slug, project.id), &project.rules);
            }
        }));
    }
}
