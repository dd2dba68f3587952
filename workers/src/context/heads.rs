//! Where many projects stand, for lists of them.

use std::sync::Arc;

use archway_proto::failure::Failure;
use archway_repo::{Head, RepoError};

use super::ToolContext;
use crate::projects::Project;

/// At how many work trees one list of projects has a look.
const MOST_LOOKS: usize = 8;

impl ToolContext {
    /// Where HEAD of each project stands; `None` without git, or where it is not mounted.
    pub async fn heads(&self, projects: &[Arc<Project>]) -> Result<Vec<Option<Head>>, Failure> {
        let repos = Arc::clone(&self.doors.repos);
        let (tenant, asked) = (self.pass.tenant.clone(), projects.to_vec());
        let cancel = self.cancel.clone();
        let heads = move || {
            let head = |project: &Arc<Project>| {
                cancel.check().map_err(RepoError::Stopped)?;
                match repos.head(&tenant, &project.slug) {
                    Err(RepoError::Absent { .. }) => Ok(None),
                    head => Ok(head?),
                }
            };
            asked.iter().map(head).collect::<Result<Vec<_>, Failure>>()
        };
        let heads = self.blocking(heads).await??;
        self.watch_statuses(projects, &heads);
        Ok(heads)
    }

    /// Whether work trees are dirty is found out after the answer: first of the projects of which
    /// nothing is known yet.
    fn watch_statuses(&self, projects: &[Arc<Project>], heads: &[Option<Head>]) {
        let both = projects.iter().zip(heads);
        let mut due: Vec<_> = both
            .filter_map(|(project, head)| Some((head.as_ref()?.dirty, project.slug.clone())))
            .collect();
        // By chance, so that each gets its turn; the sort is stable.
        let chance = jiff::Timestamp::now().subsec_microsecond().unsigned_abs();
        let first = chance as usize % due.len().max(1);
        due.rotate_left(first);
        due.sort_by_key(|(dirty, _)| dirty.is_some());
        due.truncate(MOST_LOOKS);
        let (repos, tenant) = (Arc::clone(&self.doors.repos), self.pass.tenant.clone());
        drop(tokio::task::spawn_blocking(move || {
            due.iter().for_each(|(_, slug)| repos.look(&tenant, slug));
        }));
    }
}
